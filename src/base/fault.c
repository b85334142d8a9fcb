/* Keeps the first error and drops its consequences. */
#include "base/fault.h"

#include <stdarg.h>
#include <stdio.h>

static const char *const words[] = {
    [ERR_NONE] = "",
#define ERROR(kind, word) [ERR_##kind] = word,
#include "base/errors.h"
#undef ERROR
};

bool fail(fault *f, error_kind kind, const char *format, ...)
{
    int none = ERR_NONE;
    if (!atomic_compare_exchange_strong(&f->kind, &none, (int)kind)) return false;
    int     used = snprintf(f->text, sizeof f->text, "%s: ", words[kind]);
    va_list args;
    va_start(args, format);
    vsnprintf(f->text + used, sizeof f->text - (size_t)used, format, args);
    va_end(args);
    return false;
}
