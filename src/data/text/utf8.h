/* UTF-8: characters of text that may be invalid. */
#ifndef DATA_TEXT_UTF8_H
#define DATA_TEXT_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum utf8_state {
    UTF8_CHARACTER,
    UTF8_INVALID,   /* these bytes begin no character: one U+FFFD replaces them */
    UTF8_INCOMPLETE /* they may begin one, and the text ends */
} utf8_state;

/* What n > 0 bytes begin with, and how many of them it takes. */
utf8_state utf8_take(const char *bytes, size_t n, size_t *taken, uint32_t *character);
/* Writes a character of up to 4 bytes, and returns how many. */
size_t utf8_put(uint32_t character, char *bytes);

#endif
