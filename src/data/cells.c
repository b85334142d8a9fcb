/* Cells of a table: text between separators, quoted or not. */
#include "data/cells.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"

/* ---- where it ends ---- */

static const char *take_plain(const cell_style *style, const char *at, const char *end, cell *c)
{
    const char *stop = at;
    while (stop < end && *stop != style->separator && *stop != '\n') stop++;
    *c = (cell){.text = at, .size = stop - at};
    bool last = stop == end || *stop == '\n';
    if (last && c->size && stop[-1] == '\r') c->size--;
    return stop;
}

/* `at` is after the opening quote. */
static const char *take_quoted(const cell_style *style, const char *at, const char *end, cell *c)
{
    const char *stop = at;
    for (;; stop += 2) {
        stop = stop < end ? memchr(stop, '"', (size_t)(end - stop)) : NULL;
        if (!stop) {
            *c = (cell){.quoted = true};
            return NULL;
        }
        if (stop + 1 == end || stop[1] != '"') break;
    }
    *c = (cell){.text = at, .size = stop - at, .quoted = true};
    const char *after = stop + 1;
    if (after < end && *after == '\r' && (after + 1 == end || after[1] == '\n')) after++;
    if (after == end || *after == style->separator || *after == '\n') return after;
    c->text = after;
    return NULL;
}

const char *cell_take(const cell_style *style, const char *at, const char *end, cell *c)
{
    bool quoted = style->quotes && at < end && *at == '"';
    return quoted ? take_quoted(style, at + 1, end, c) : take_plain(style, at, end, c);
}

/* ---- its text ---- */

cell cell_without_blanks(cell c)
{
    while (c.size && (*c.text == ' ' || *c.text == '\t')) c.text++, c.size--;
    while (c.size && (c.text[c.size - 1] == ' ' || c.text[c.size - 1] == '\t')) c.size--;
    return c;
}

/* The next piece, up to and with the first quote of a doubled one; false: there is no more. */
static bool next_piece(const cell *c, int64_t *at, int64_t *size)
{
    if (*at >= c->size) return false;
    const char *quote = c->quoted ? memchr(c->text + *at, '"', (size_t)(c->size - *at)) : NULL;
    *size = quote ? quote + 1 - (c->text + *at) : c->size - *at;
    return true;
}

bool cell_is(const cell *given, const char *text)
{
    cell    c = cell_without_blanks(*given);
    int64_t size;
    for (int64_t at = 0; next_piece(&c, &at, &size); at += size + (at + size < c.size)) {
        if (strnlen(text, (size_t)size) < (size_t)size) return false;
        if (memcmp(text, c.text + at, (size_t)size) != 0) return false;
        text += size;
    }
    return *text == 0;
}

void cell_show(const cell *c, char *text, int64_t room)
{
    int64_t size, used = 0;
    for (int64_t at = 0; next_piece(c, &at, &size); at += size + (at + size < c->size))
        for (int64_t i = 0; i < size && used < room - 1; i++) {
            unsigned char letter = (unsigned char)c->text[at + i];
            text[used++] = letter < 0x20 || letter == 0x7f ? '?' : (char)letter;
        }
    text[used] = 0;
}

void cell_offer_bytes(const cell *c, wanted *w)
{
    int64_t size;
    for (int64_t at = 0; next_piece(c, &at, &size); at += size + (at + size < c->size))
        offer(w, RAW_U8, c->text + at, size);
}

bool cell_offer_number(const cell *given, wanted *w)
{
    cell c = cell_without_blanks(*given);
    char copy[64], *end;
    if (c.size < 1 || c.size >= (int64_t)sizeof copy || isspace((unsigned char)*c.text))
        return false;
    memcpy(copy, c.text, (size_t)c.size);
    copy[c.size] = 0;
    errno = 0;
    int64_t whole = strtoll(copy, &end, 10);
    if (end == copy + c.size && !errno) {
        offer(w, MTF_I64, &whole, 1);
        return true;
    }
    double number = number_read(copy, &end);
    if (end != copy + c.size) return false;
    offer(w, MTF_F64, &number, 1);
    return true;
}
