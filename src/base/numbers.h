/* Numbers as text, the same under every locale.
 *
 * A program that embeds the library may have set a locale with a decimal comma;
 * files and messages use a decimal point all the same.  NaN is written as
 * "nan", without the sign that some processors give it.  All text that may hold
 * a floating number is read and written here; tools/numbers.sh checks that.
 */
#ifndef BASE_NUMBERS_H
#define BASE_NUMBERS_H

#include <locale.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

/* As strtod without hexadecimal numbers (of "0x10" it reads the 0), snprintf, vsnprintf, and fprintf of up to 1000 characters. */
double number_read(const char *text, char **end);
int    number_format(char *text, size_t room, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int number_vformat(char *text, size_t room, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));
int number_print(FILE *to, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* For calls of libraries that write numbers: begin gives this thread a locale with a decimal point;
 * end takes what begin returned and restores the thread's own locale. */
locale_t number_begin(void);
void     number_end(locale_t before);

#endif
