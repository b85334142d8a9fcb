/* Text from outside, made safe for a terminal.
 *
 * Names in files may hold anything, commands to the terminal included.
 */
#ifndef BASE_PRINTABLE_H
#define BASE_PRINTABLE_H

#include <stddef.h>
#include <stdio.h>

/* The length in bytes of the character that begins the text; 0: it is a control character or invalid UTF-8. */
int printable_bytes(const char *text);

/* Messages and tables pass through these, which leave ends of lines and tabs. */
void printable_copy(const char *text, char *to, size_t room); /* cut where the room ends */
/* Calls `show` with the text, or where it has such bytes with one piece after the other. */
void printable_show(const char *text, void (*show)(void *context, const char *text), void *context);
void printable_put(FILE *to, const char *text);
/* As fprintf, of up to 8000 characters. */
void printable_print(FILE *to, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
