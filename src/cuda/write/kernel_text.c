/* Kernels written from patterns, in which words stand for numbers. */
#include "cuda/write/kernel_text.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

#include "base/numbers.h"

kernel_text kernel_text_of(kernel_source *s, const instr *i, int64_t most)
{
    kernel_text k = {.source = s, .i = i, .t = kernel_textbuf(s)};
    k.wide = s->wide || index_needs_wide(i, most);
    kernel_set(&k, "I", "%s", index_type(k.wide));
    kernel_set(&k, "U", "%s", index_number(k.wide));
    return k;
}

/* ---- words ---- */

static void set_value(kernel_text *k, const char *name, const char *value)
{
    int at = 0;
    while (at < k->nwords && strcmp(k->words[at].name, name) != 0) at++;
    assert(at < MOST_WORDS);
    if (at == k->nwords) k->nwords++;
    k->words[at].name = name;
    k->words[at].value = value ? value : "";
    k->t.failed = k->t.failed || !value;
}

void kernel_set(kernel_text *k, const char *name, const char *format, ...)
{
    char    value[400];
    va_list args;
    if (k->source->only_sizes) return;
    va_start(args, format);
    number_vformat(value, sizeof value, format, args);
    va_end(args);
    set_value(k, name, arena_text(k->source->arena, value));
}

void kernel_set_pattern(kernel_text *k, const char *name, const char *pattern)
{
    set_value(k, name, pattern);
}

void kernel_set_number(kernel_text *k, const char *name, int64_t value)
{
    kernel_set(k, name, value < 0 ? "(%lld)" : "%lld", (long long)value);
}

void kernel_set_loops(kernel_text *k, const char *name, const nest *n, char letter,
                      const char *number, int vector)
{
    textbuf    t = {.arena = k->source->arena};
    const char prefix[] = {letter, 0};
    int64_t    below = 1;
    if (k->source->only_sizes) return;
    for (int l = n->nloops - 1; l >= 0; l--) {
        index_add_loop(&t, n, l, prefix, number, below, vector, k->wide);
        if (l > 0) text_add(&t, " ");
        below *= index_pieces(n, l, vector);
    }
    set_value(k, name, text_done(&t));
}

void kernel_set_offset(kernel_text *k, const char *name, const nest *n, char letter,
                       const access *a)
{
    textbuf    t = {.arena = k->source->arena};
    const char prefix[] = {letter, 0};
    if (k->source->only_sizes) return;
    text_add(&t, "(");
    text_add(&t, index_add_offset(&t, n, prefix, a) ? ")" : "0)");
    set_value(k, name, text_done(&t));
}

static bool is_word(char c)
{
    return isupper((unsigned char)c) || isdigit((unsigned char)c);
}

static const char *value_of(const kernel_text *k, const char *name, size_t length)
{
    int w = 0;
    while (w < k->nwords &&
           (strlen(k->words[w].name) != length || memcmp(k->words[w].name, name, length) != 0))
        w++;
    assert(w < k->nwords); /* else a word of a pattern was not set */
    return w < k->nwords ? k->words[w].value : "";
}

void kernel_say(kernel_text *k, const char *pattern)
{
    if (k->source->only_sizes) return;
    while (*pattern) {
        size_t plain = strcspn(pattern, "$"), length = 0;
        text_add(&k->t, "%.*s", (int)plain, pattern);
        pattern += plain;
        if (!*pattern) return;
        while (is_word(pattern[1 + length])) length++;
        kernel_say(k, value_of(k, pattern + 1, length));
        pattern += 1 + length;
    }
}

/* ---- patterns of files ---- */

/* After the line of one, as far as the text goes. */
static const char *line_after(const char *at, const char *end)
{
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    return stop ? stop + 1 : end;
}

static bool begins(const char *at, const char *end, const char *with)
{
    size_t length = strlen(with);
    return (size_t)(end - at) >= length && memcmp(at, with, length) == 0;
}

/* A copy of a pattern; NULL after an error. */
static const char *pattern_of(const kernel_text *k, const kernel_patterns *from, const char *name)
{
    const char *at = (const char *)from->text, *end = at + *from->bytes;
    size_t      length = strlen(name);
    while (at < end &&
           !(begins(at, end, "//: ") && begins(at + 4, end, name) && at[4 + length] == '\n'))
        at = line_after(at, end);
    assert(at < end); /* else the file has no such pattern */
    for (at = line_after(at, end); begins(at, end, "// ");) at = line_after(at, end);
    const char *stop = at;
    while (stop < end && *stop != '\n') stop = line_after(stop, end);
    char *copy = arena_array(k->source->arena, char, (size_t)(stop - at) + 1);
    return copy ? memcpy(copy, at, (size_t)(stop - at)) : NULL;
}

void kernel_set_from(kernel_text *k, const char *name, const kernel_patterns *from,
                     const char *pattern)
{
    if (!k->source->only_sizes) set_value(k, name, pattern_of(k, from, pattern));
}

void kernel_say_from(kernel_text *k, const kernel_patterns *from, const char *pattern)
{
    if (k->source->only_sizes) return;
    const char *text = pattern_of(k, from, pattern);
    if (text)
        kernel_say(k, text);
    else
        k->t.failed = true;
}

bool kernel_done_shaped(kernel_text *k, kernel_plan *plan, int64_t blocks,
                        const kernel_shape *shape)
{
    const char *body = text_done(&k->t);
    k->t = kernel_textbuf(k->source);
    return body && kernel_add_shaped(k->source, plan, k->i, body, blocks, shape);
}

bool kernel_done(kernel_text *k, kernel_plan *plan, int64_t blocks, int threads, int shared)
{
    return kernel_done_shaped(k, plan, blocks, &(kernel_shape){threads, shared, 1, 1});
}

/* ---- sizes ---- */

int kernel_pack(const nest *n, const nest *others, const access *a)
{
    int pack = PACK_BYTES / (int)mtf_dtype_bytes(a->type);
    if (n->nloops == 0 || nest_stride(n, a, 0) != 1) return 1;
    while (pack > 1 && (nest_inner(n) % pack != 0 || a->offset % pack != 0 ||
                        !index_keeps_aligned(n, 1, a, pack) ||
                        (others && !index_keeps_aligned(others, 0, a, pack))))
        pack /= 2;
    return pack;
}

int64_t kernel_power(int64_t least, int64_t most)
{
    int64_t power = 1;
    while (power < least && power < most) power *= 2;
    return power;
}
