/* UTF-8: characters of text that may be invalid.
 *
 * Invalid bytes are grouped as the Unicode standard recommends and Python does: as many as could
 * have begun a character are one error.
 */
#include "base/utf8.h"

#include <assert.h>

/* The length that the first byte announces, and the range of the second byte. */
static int lead(uint8_t first, uint8_t *least, uint8_t *most)
{
    *least = 0x80;
    *most = 0xbf;
    if (first < 0x80) return 1;
    if (first < 0xc2 || first > 0xf4) return 0;
    if (first < 0xe0) return 2;
    if (first == 0xe0) *least = 0xa0;
    if (first == 0xed) *most = 0x9f;
    if (first == 0xf0) *least = 0x90;
    if (first == 0xf4) *most = 0x8f;
    return first < 0xf0 ? 3 : 4;
}

utf8_state utf8_take(const char *bytes, size_t n, size_t *taken, uint32_t *character)
{
    const uint8_t *at = (const uint8_t *)bytes;
    uint8_t        least, most;
    int            size = lead(at[0], &least, &most);
    *taken = 1;
    if (size == 0) return UTF8_INVALID;
    *character = size == 1 ? at[0] : at[0] & (0x7fu >> size);
    for (int i = 1; i < size; i++) {
        if ((size_t)i == n) return UTF8_INCOMPLETE;
        if (at[i] < least || at[i] > most) return UTF8_INVALID;
        *character = *character << 6 | (at[i] & 0x3f);
        ++*taken;
        least = 0x80;
        most = 0xbf;
    }
    return UTF8_CHARACTER;
}

size_t utf8_put(uint32_t c, char *bytes)
{
    assert(c <= 0x10ffff && (c < 0xd800 || c > 0xdfff));
    if (c < 0x80) {
        bytes[0] = (char)c;
        return 1;
    }
    size_t size = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = size - 1; i > 0; i--, c >>= 6) bytes[i] = (char)(0x80 | (c & 0x3f));
    bytes[0] = (char)((0xf00u >> size & 0xf0) | c);
    return size;
}
