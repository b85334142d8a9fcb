/* Makes a program that it is linked into set its user's locale. */
#include <locale.h>

__attribute__((constructor)) static void set_locale(void)
{
    setlocale(LC_ALL, "");
}
