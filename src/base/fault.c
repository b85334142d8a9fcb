/* Keeps the first error and drops its consequences. */
#include "base/fault.h"

#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/numbers.h"
#include "base/printable.h"

static const char *const words[] = {
    [ERR_NONE] = "",
#define ERROR(kind, word) [ERR_##kind] = word,
#include "base/errors.h"
#undef ERROR
};

/* Waits while another thread writes its error; false where there is an error already. */
static bool claim(fault *f)
{
    while (atomic_exchange_explicit(&f->writing, true, memory_order_acquire)) sched_yield();
    if (f->kind == ERR_NONE) return true;
    atomic_store_explicit(&f->writing, false, memory_order_release);
    return false;
}

/* The kind is written last: a thread that sees it can read the whole text. */
static void publish(fault *f, int kind)
{
    f->named = false;
    atomic_store_explicit(&f->kind, kind, memory_order_release);
    atomic_store_explicit(&f->writing, false, memory_order_release);
}

/* Names in a message may come from outside. */
static void write_text(char *to, size_t room, const char *format, va_list args)
{
    char text[sizeof((fault *)0)->text];
    number_vformat(text, sizeof text, format, args);
    printable_copy(text, to, room);
}

bool fail(fault *f, error_kind kind, const char *format, ...)
{
    if (!claim(f)) return false;
    int     used = snprintf(f->text, sizeof f->text, "%s: ", words[kind]);
    va_list args;
    va_start(args, format);
    write_text(f->text + used, sizeof f->text - (size_t)used, format, args);
    va_end(args);
    publish(f, (int)kind);
    return false;
}

bool fault_take(fault *f, int kind, const char *text)
{
    if (!claim(f)) return false;
    snprintf(f->text, sizeof f->text, "%s", text);
    publish(f, kind);
    return true;
}

void fault_clear(fault *f)
{
    f->text[0] = 0;
    f->named = false;
    f->kind = ERR_NONE;
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

void fault_more(fault *f, error_kind kind, const char *format, ...)
{
    size_t  used = strlen(f->text);
    va_list args;
    if (f->kind != (int)kind) return;
    va_start(args, format);
    write_text(f->text + used, sizeof f->text - used, format, args);
    va_end(args);
}
