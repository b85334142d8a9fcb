/* Keeps the first error and drops its consequences. */
#include "base/fault.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/numbers.h"

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
    number_vformat(f->text + used, sizeof f->text - (size_t)used, format, args);
    va_end(args);
    return false;
}

bool fault_take(fault *f, int kind, const char *text)
{
    int none = ERR_NONE;
    if (!atomic_compare_exchange_strong(&f->kind, &none, kind)) return false;
    snprintf(f->text, sizeof f->text, "%s", text);
    return true;
}

void fault_whose(fault *f, const char *whose)
{
    size_t skip = strlen(words[f->kind]) + 2, length = strlen(f->text); /* skip "word: " */
    if (f->kind == ERR_NONE || length < skip || f->named) return;
    size_t more = strlen(whose) + 2;
    if (skip + more >= sizeof f->text) return;
    if (length + more >= sizeof f->text) length = sizeof f->text - more - 1;
    memmove(f->text + skip + more, f->text + skip, length - skip);
    memcpy(f->text + skip, whose, more - 2);
    memcpy(f->text + skip + more - 2, ": ", 2);
    f->text[length + more] = 0;
    f->named = true;
}
