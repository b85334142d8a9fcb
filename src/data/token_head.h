/* What a file of tokens begins with where its name does not tell the type.
 *
 * Sixteen bytes, "mtf tokens u16\n" or "mtf tokens u32\n" and a zero, which no text has; files named .u16
 * or .u32 have none, so that any program reads them.
 */
#ifndef DATA_TOKEN_HEAD_H
#define DATA_TOKEN_HEAD_H

#include <string.h>

#include "base/raw_type.h"

enum { TOKEN_HEAD = 16 };

static inline const char *token_head_of(raw_type type)
{
    return type == RAW_U16 ? "mtf tokens u16\n" : "mtf tokens u32\n";
}

/* Its length, or 0 where there is none; then `type` stays as it was. */
static inline size_t token_head(const uint8_t *bytes, size_t n, raw_type *type)
{
    for (int wide = 0; wide < 2 && n >= TOKEN_HEAD; wide++) {
        raw_type known = wide ? RAW_U32 : RAW_U16;
        if (memcmp(bytes, token_head_of(known), TOKEN_HEAD) != 0) continue;
        *type = known;
        return TOKEN_HEAD;
    }
    return 0;
}

#endif
