/* UTF-8: characters of text that may be invalid. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum utf8_state {
    UTF8_CHARACTER,
    UTF8_INVALID,   /* these bytes begin no character: one U+FFFD replaces them */
    UTF8_INCOMPLETE /* they may begin one, and the text ends */
} utf8_state;

/* What n > 0 bytes begin with, and how many of them it takes.  A zero byte ends every character: of a C
 * string UTF8_MOST bytes may be asked for. */
enum { UTF8_MOST = 4 };
utf8_state utf8_take(const char *bytes, size_t n, size_t *taken, uint32_t *character);
/* Writes a character of up to 4 bytes, and returns how many. */
size_t utf8_put(uint32_t character, char *bytes);
/* Can a character begin with this byte? */
static inline bool utf8_begins(char byte)
{
    return ((unsigned char)byte & 0xc0) != 0x80;
}

#endif
