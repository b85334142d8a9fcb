/* Schedules written as text: products of numbers and schedules.
 *
 *     schedule = factor { "*" factor } [ "from" number ]
 *     factor   = number | name [ "(" [ argument { "," argument } ] ")" ]
 *     argument = [ name "=" ] number
 *
 * "from N" counts steps, and their total, from step N on.
 */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/ascii.h"
#include "base/numbers.h"
#include "mtf_nn.h"
#include "nn/optimizer.h"
#include "nn/schedule_text.h"

enum { MOST_ARGUMENTS = 4 };

typedef struct argument {
    const char *name;
    double      otherwise;
} argument;

/* A row has one function, by the number of its arguments. */
typedef struct kind {
    const char *name;
    argument    arguments[MOST_ARGUMENTS];
    bool        share; /* from 0 to 1, of a rate that another factor gives */
    mtf_tensor *(*one)(mtf_tensor *, double, double);
    mtf_tensor *(*two)(mtf_tensor *, double, double, double);
    mtf_tensor *(*four)(mtf_tensor *, double, double, double, double, double);
} kind;

/* clang-format off */
static const kind kinds[] = {
    {"constant",        {{"value", 1}},              .one = mtf_schedule_constant},
    {"linear_warmup",   {{"steps", 10000}},  true,   .one = mtf_schedule_linear_warmup},
    {"linear_decay",    {{"steps", 0.1}},    true,   .one = mtf_schedule_linear_decay},
    {"truncated_rsqrt", {{"warmup", 10000}},         .one = mtf_schedule_truncated_rsqrt},
    {"linear_decay_learning_rate", {{"initial", 0.1}, {"offset", 0}},
                                                     .two = mtf_schedule_linear_decay_learning_rate},
    {"cosine",  {{"last", 0}, {"begin", 0}}, true,   .two = mtf_schedule_cosine},
    {"noam", {{"warmup", 10000}, {"fraction", 0.1}, {"multiplier", 1}, {"offset", 0}},
                                                     .four = mtf_schedule_noam},
    {"slanted_triangular", {{"cut", 0.1}, {"ratio", 32}, {"top", 0.01}, {"start", 0}},
                                                     .four = mtf_schedule_slanted_triangular},
};
/* clang-format on */
enum { KINDS = sizeof kinds / sizeof *kinds, LONGEST_WORD = 63 };

typedef struct reader {
    const char *text, *at;
    fault      *fault;
    bool        sized; /* a number was read, or a schedule with a rate of its own */
} reader;

static void skip_blanks(reader *r)
{
    while (isspace((unsigned char)*r->at)) r->at++;
}

static bool wrong(const reader *r, const char *says)
{
    return fail(r->fault, ERR_SYNTAX, "schedule \"%s\": at \"%s\": %s", r->text, r->at, says);
}

static bool take_char(reader *r, char c)
{
    skip_blanks(r);
    if (*r->at != c) return false;
    r->at++;
    return true;
}

/* A name, "" where none is here. */
static void take_word(reader *r, char word[LONGEST_WORD + 1])
{
    skip_blanks(r);
    size_t n = 0;
    for (; (ascii_is_alnum(*r->at) || *r->at == '_') && n < LONGEST_WORD; r->at++)
        word[n++] = *r->at;
    word[n] = 0;
}

static bool take_number(reader *r, double *x, const char *otherwise)
{
    skip_blanks(r);
    char *end;
    *x = number_read(r->at, &end);
    if (end == r->at || !isfinite(*x)) return wrong(r, otherwise);
    r->at = end;
    return true;
}

static bool starts_word(reader *r)
{
    skip_blanks(r);
    return ascii_is_letter(*r->at);
}

/* ---- factors ---- */

static const kind *find_kind(const reader *r, const char *word)
{
    nearest near = {.wanted = word};
    char    hint[100];
    for (int i = 0; i < KINDS; i++) {
        if (strcmp(kinds[i].name, word) == 0) return &kinds[i];
        nearest_offer(&near, kinds[i].name);
    }
    fail(r->fault, ERR_NAME, "schedule \"%s\": there is no schedule \"%s\"%s", r->text, word,
         nearest_hint(&near, hint, sizeof hint));
    return NULL;
}

static int count_arguments(const kind *k)
{
    return k->one ? 1 : k->two ? 2 : 4;
}

static bool find_argument(const reader *r, const kind *k, const char *word, int *which)
{
    nearest near = {.wanted = word};
    char    hint[100];
    for (*which = 0; *which < count_arguments(k); ++*which) {
        if (strcmp(k->arguments[*which].name, word) == 0) return true;
        nearest_offer(&near, k->arguments[*which].name);
    }
    return fail(r->fault, ERR_NAME, "schedule \"%s\": %s has no argument \"%s\"%s", r->text,
                k->name, word, nearest_hint(&near, hint, sizeof hint));
}

/* One number, with its name or at position i. */
static bool read_argument(reader *r, const kind *k, int i, double *values)
{
    char word[LONGEST_WORD + 1];
    if (starts_word(r)) {
        take_word(r, word);
        TRY(find_argument(r, k, word, &i));
        if (!take_char(r, '=')) return wrong(r, "expected \"=\" and a number");
    } else if (i >= count_arguments(k))
        return fail(r->fault, ERR_SYNTAX, "schedule \"%s\": %s takes no more than %d argument%s",
                    r->text, k->name, count_arguments(k), count_arguments(k) == 1 ? "" : "s");
    return take_number(r, &values[i], "expected a number");
}

static bool read_arguments(reader *r, const kind *k, double *values)
{
    for (int i = 0; i < count_arguments(k); i++) values[i] = k->arguments[i].otherwise;
    if (!take_char(r, '(') || take_char(r, ')')) return true;
    for (int i = 0;; i++) {
        TRY(read_argument(r, k, i, values));
        if (take_char(r, ')')) return true;
        if (!take_char(r, ',')) return wrong(r, "expected \",\" or \")\"");
    }
}

static mtf_tensor *call(const kind *k, mtf_tensor *step, double total, const double *v)
{
    if (k->one) return k->one(step, total, v[0]);
    if (k->two) return k->two(step, total, v[0], v[1]);
    return k->four(step, total, v[0], v[1], v[2], v[3]);
}

/* ---- products ---- */

/* Multiplies `product` by the factors from here to the end; with NULL it only reads them, and leaves
 * in `from` the step that counting starts at. */
static bool read_product(reader *r, mtf_tensor *step, double total, mtf_tensor **product,
                         double *from)
{
    do {
        double values[MOST_ARGUMENTS] = {0}, number;
        char   word[LONGEST_WORD + 1];
        if (!starts_word(r)) {
            TRY(take_number(r, &number, "expected a number or the name of a schedule"));
            r->sized = true;
            if (product) *product = mtf_scale(*product, number);
            continue;
        }
        take_word(r, word);
        const kind *k = find_kind(r, word);
        TRY(k && read_arguments(r, k, values));
        r->sized |= !k->share;
        if (product) *product = mtf_multiply(*product, call(k, step, total, values));
    } while (take_char(r, '*'));
    char        last[LONGEST_WORD + 1];
    const char *here = (skip_blanks(r), r->at);
    take_word(r, last);
    if (strcmp(last, "from") == 0)
        TRY(take_number(r, from, "expected a number of steps"));
    else
        r->at = here;
    skip_blanks(r);
    return *r->at ? wrong(r, "expected \"*\", \"from\" or the end") : true;
}

mtf_tensor *mtf_schedule(mtf_tensor *step, double total, const char *text)
{
    mtf_graph *g = graph_of(step);
    if (!g) return NULL;
    double      from = 0;
    reader      first = {.text = text, .at = text, .fault = &g->session->fault}, again = first;
    mtf_tensor *product = mtf_schedule_constant(step, total, 1);
    if (!product || !read_product(&first, NULL, 0, NULL, &from)) return NULL;
    if (from != 0) step = mtf_add_scalar(mtf_cast(step, MTF_F64), -from);
    return read_product(&again, step, total - from, &product, &from) ? product : NULL;
}

bool schedule_lacks_rate(const char *text)
{
    fault  unread = {0};
    double from = 0;
    reader r = {.text = text, .at = text, .fault = &unread};
    return read_product(&r, NULL, 0, NULL, &from) && !r.sized;
}
