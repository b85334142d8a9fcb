/* A field as one text, for command lines.
 *
 *     images=train-*.gz:format=idx:scale=1/255
 *     labels=table.csv:part=label:range=0-9
 *
 * A piece begins at a colon with a word and "=" after it, so that a file's
 * name may contain a colon; an unknown word is an error.
 */
#include "data/field_text.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "base/numbers.h"
#include "data/option_pieces.h"

typedef struct field_text {
    mtf_session *session;
    const char  *flag, *all;
    mtf_field   *field;
} field_text;

static bool wrong(const field_text *t, const char *piece, const char *right)
{
    return fail(&t->session->fault, ERR_USAGE, "--%s %s: \"%s\" should be %s", t->flag, t->all,
                piece, right);
}

/* ---- values ---- */

static bool take_format(mtf_field *f, const char *value)
{
    f->format = value;
    return *value;
}

static bool take_part(mtf_field *f, const char *value)
{
    f->part = value;
    return *value;
}

/* A number, or a quotient of two. */
static bool take_scale(mtf_field *f, const char *value)
{
    char  *end;
    double by = 1;
    f->scale = number_read(value, &end);
    if (end == value) return false;
    if (*end == '/') {
        const char *divisor = end + 1;
        by = number_read(divisor, &end);
        if (end == divisor || by == 0) return false;
    }
    f->scale /= by;
    return !*end && f->scale - f->scale == 0 && f->scale != 0;
}

static bool take_count(const char *value, int64_t least, int64_t *count)
{
    char *end;
    errno = 0;
    *count = strtoll(value, &end, 10);
    return isdigit((unsigned char)*value) && !*end && !errno && *count >= least;
}

static bool take_length(mtf_field *f, const char *value)
{
    return take_count(value, 1, &f->length);
}

static bool take_shift(mtf_field *f, const char *value)
{
    return take_count(value, 0, &f->shift);
}

/* "0-9", "-1-1": the separator is the first "-" after a number. */
static bool take_range(mtf_field *f, const char *value)
{
    char *end;
    f->least = number_read(value, &end);
    if (end == value || *end != '-') return false;
    const char *most = end + 1;
    f->most = number_read(most, &end);
    return end != most && !*end && f->least <= f->most && (f->least != 0 || f->most != 0);
}

static bool take_header(mtf_field *f, const char *value)
{
    f->header = true;
    return !*value;
}

static const struct word {
    const char *name; /* with "=" where it has a value */
    bool (*take)(mtf_field *f, const char *value);
    const char *right;
} words[] = {
    {"format=", take_format, "format=F, as csv or npy"},
    {"part=", take_part, "part=P: a column, as 3, 0-15 or a name, or a feature"},
    {"scale=", take_scale, "scale=X, a number other than 0, as 0.5 or 1/255"},
    {"length=", take_length, "length=N, a number from 1 on"},
    {"header", take_header, "header, without a value"},
    {"shift=", take_shift, "shift=N, a number from 0 on"},
    {"range=", take_range, "range=A-B, the least and the largest number, as 0-9"},
};
enum { WORDS = sizeof words / sizeof *words };
static const char *const bare[] = {"header", NULL};

/* ---- pieces ---- */

static const struct word *find_word(const char *piece)
{
    for (int i = 0; i < WORDS; i++) {
        size_t n = strlen(words[i].name);
        if (strncmp(piece, words[i].name, n) == 0) return &words[i];
    }
    return NULL;
}

static bool unknown_word(const field_text *t, char *piece)
{
    nearest near = {.wanted = piece};
    char    hint[100];
    char   *equals = strchr(piece, '=');
    if (equals) equals[1] = 0;
    for (int i = 0; i < WORDS; i++) nearest_offer(&near, words[i].name);
    return fail(&t->session->fault, ERR_USAGE,
                "--%s %s: after NAME=FILES may stand " FIELD_WORDS ", and a colon in the name of a "
                "file is written \"\\:\"; there is no \"%s\"%s",
                t->flag, t->all, piece, nearest_hint(&near, hint, sizeof hint));
}

bool field_parse(mtf_session *s, const char *flag, const char *text, mtf_field *f)
{
    field_text t = {s, flag, text, f};
    char      *copy = arena_text(&s->arena, text);
    TRY(copy != NULL);
    char *next = piece_end(copy, bare), *equals = strchr(copy, '=');
    if (!equals || equals == copy || !equals[1])
        return fail(&s->fault, ERR_USAGE,
                    "--%s takes NAME=FILES, then any of " FIELD_WORDS ", not \"%s\"", flag, text);
    *equals = 0;
    *f = (mtf_field){.name = copy, .files = equals + 1};
    if (piece_misspelt(equals + 1)) return unknown_word(&t, piece_misspelt(equals + 1));
    while (next) {
        char              *piece = next;
        const struct word *w;
        next = piece_end(piece, bare);
        if (!(w = find_word(piece))) return unknown_word(&t, piece);
        if (!w->take(f, piece + strlen(w->name))) return wrong(&t, piece, w->right);
    }
    return true;
}
