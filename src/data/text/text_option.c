/* A dataset of text as one text, for command lines.
 *
 *     speeches.txt:length=512:joined
 *     pairs-*.tsv.gz:objective=pairs:length=128:inputs_length=128:pack
 */
#include "data/text/text_option.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "data/option_pieces.h"

/* ---- values ---- */

typedef struct named {
    const char *name;
    int         value;
} named;

static const named objectives[] = {{"lm", MTF_TEXT_LM},
                                   {"pairs", MTF_TEXT_PAIRS},
                                   {"delimited", MTF_TEXT_DELIMITED},
                                   {"spans", MTF_TEXT_SPANS},
                                   {"prefix", MTF_TEXT_PREFIX},
                                   {"prefix_delimited", MTF_TEXT_PREFIX_DELIMITED},
                                   {0}};
static const named documents[] = {{"blank", MTF_DOCUMENTS_BLANK},
                                  {"line", MTF_DOCUMENTS_LINE},
                                  {"file", MTF_DOCUMENTS_FILE},
                                  {0}};

static bool find_named(const named *all, const char *value, int *found)
{
    for (; all->name; all++)
        if (strcmp(all->name, value) == 0) {
            *found = all->value;
            return true;
        }
    return false;
}

static bool take_objective(mtf_text_opts *o, const char *value)
{
    int  found = 0;
    bool ok = find_named(objectives, value, &found);
    o->objective = (mtf_text_objective)found;
    return ok;
}

static bool take_documents(mtf_text_opts *o, const char *value)
{
    int  found = 0;
    bool ok = find_named(documents, value, &found);
    o->documents = (mtf_documents)found;
    return ok;
}

static bool take_count(const char *value, int64_t *count)
{
    char *end;
    errno = 0;
    *count = strtoll(value, &end, 10);
    return isdigit((unsigned char)*value) && !*end && !errno && *count > 0;
}

static bool take_length(mtf_text_opts *o, const char *value)
{
    return take_count(value, &o->length);
}

static bool take_inputs_length(mtf_text_opts *o, const char *value)
{
    return take_count(value, &o->inputs_length);
}

static bool take_seed(mtf_text_opts *o, const char *value)
{
    char *end;
    errno = 0;
    o->seed = strtoull(value, &end, 10);
    return isdigit((unsigned char)*value) && !*end && !errno;
}

static bool take_number(const char *value, double *number)
{
    char *end;
    *number = number_read(value, &end);
    return end != value && !*end && *number > 0;
}

static bool take_noise(mtf_text_opts *o, const char *value)
{
    return take_number(value, &o->noise) && o->noise < 1;
}

static bool take_span(mtf_text_opts *o, const char *value)
{
    return take_number(value, &o->mean_span) && o->mean_span >= 1 &&
           o->mean_span - o->mean_span == 0;
}

static bool take_format(mtf_text_opts *o, const char *value)
{
    o->format = value;
    return *value;
}

static bool take_inputs(mtf_text_opts *o, const char *value)
{
    o->inputs = value;
    return *value;
}

static bool take_targets(mtf_text_opts *o, const char *value)
{
    o->targets = value;
    return *value;
}

static bool take_joined(mtf_text_opts *o, const char *value)
{
    o->joined = true;
    return !*value;
}

static bool take_split(mtf_text_opts *o, const char *value)
{
    o->overlong = MTF_OVERLONG_SPLIT;
    return !*value;
}

static bool take_pack(mtf_text_opts *o, const char *value)
{
    o->pack = true;
    return !*value;
}

static bool take_ends(mtf_text_opts *o, const char *value)
{
    o->ensure_end = true;
    return !*value;
}

static const struct word {
    const char *name; /* with "=" where it has a value */
    bool (*take)(mtf_text_opts *o, const char *value);
    const char *right;
} words[] = {
    {"objective=", take_objective,
     "objective=O, one of lm, pairs, delimited, spans, prefix and prefix_delimited"},
    {"length=", take_length, "length=N, the tokens of a row of targets"},
    {"inputs_length=", take_inputs_length, "inputs_length=N, the tokens of a row of inputs"},
    {"documents=", take_documents, "documents=D, one of blank, line and file"},
    {"joined", take_joined, "joined, without a value"},
    {"split", take_split, "split, without a value"},
    {"pack", take_pack, "pack, without a value"},
    {"ends", take_ends, "ends, without a value"},
    {"format=", take_format, "format=F, one of text, tsv, tfrecord, u16 and u32"},
    {"inputs=", take_inputs, "inputs=C, a column or a feature"},
    {"targets=", take_targets, "targets=C, a column or a feature"},
    {"seed=", take_seed, "seed=N, a number from 0 on"},
    {"noise=", take_noise, "noise=X, a share between 0 and 1, as 0.15"},
    {"span=", take_span, "span=X, the mean length of a span, from 1 on"},
};
enum { WORDS = sizeof words / sizeof *words };
static const char *const bare[] = {"joined", "split", "pack", "ends", NULL};

/* ---- pieces ---- */

static const struct word *find_word(const char *piece)
{
    for (int i = 0; i < WORDS; i++)
        if (strncmp(piece, words[i].name, strlen(words[i].name)) == 0) return &words[i];
    return NULL;
}

static bool unknown_word(mtf_session *s, const char *flag, const char *all, char *piece)
{
    nearest near = {.wanted = piece};
    char    hint[100];
    char   *equals = strchr(piece, '=');
    if (equals) equals[1] = 0;
    for (int i = 0; i < WORDS; i++) nearest_offer(&near, words[i].name);
    return fail(&s->fault, ERR_USAGE,
                "--%s %s: after the files may stand " TEXT_WORDS ", and a colon in the name of a "
                "file is written \"\\:\"; there is no \"%s\"%s",
                flag, all, piece, nearest_hint(&near, hint, sizeof hint));
}

bool text_option_parse(mtf_session *s, const char *flag, const char *text, mtf_text_opts *o)
{
    char *copy = arena_text(&s->arena, text);
    TRY(copy != NULL);
    char *next = piece_end(copy, bare);
    if (!*copy)
        return fail(&s->fault, ERR_USAGE,
                    "--%s takes FILES, then any of " TEXT_WORDS ", not \"%s\"", flag, text);
    *o = (mtf_text_opts){.files = copy};
    if (piece_misspelt(copy)) return unknown_word(s, flag, text, piece_misspelt(copy));
    while (next) {
        char              *piece = next;
        const struct word *w;
        next = piece_end(piece, bare);
        if (!(w = find_word(piece))) return unknown_word(s, flag, text, piece);
        bool  ok = w->take(o, piece + strlen(w->name));
        char *colon = ok ? NULL : strrchr(piece, ':');
        if (colon) return unknown_word(s, flag, text, colon + 1);
        if (!ok)
            return fail(&s->fault, ERR_USAGE, "--%s %s: \"%s\" should be %s", flag, text, piece,
                        w->right);
    }
    return true;
}
