/* Cases whose inputs are sums over a dimension that is cut.
 *
 * x: f32[a=2] = input  becomes  x_owed: f32[owed=3, a=2] = input  and
 * x: f32[a=2] = reduce_sum(x_owed).  The terms are 2x, -x and 0: in any order
 * their sum is x, and no function but a linear one takes the sum apart.  A sum
 * is paid where it has two readers, so each result is fetched alone.
 */
#include "harness_owed.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/node.h"
#include "harness_number.h"

enum { TERMS = 3 };

/* ---- terms ---- */

static void add_real(char **at, double x)
{
    *at += isnan(x) ? sprintf(*at, "nan ") : sprintf(*at, "%.17g ", x);
}

/* Term t of an element; of what has no double only the first is not 0. */
static void add_term(char **at, const void *data, mtf_dtype type, int64_t i, int t)
{
    double most = type == MTF_F16 ? 3e4 : type == MTF_F64 ? 8e307 : 1.6e38;
    double factor[] = {2, -1, 0}, x;
    switch (type) {
    case MTF_I32: {
        uint32_t v = (uint32_t)((const int32_t *)data)[i];
        *at += sprintf(*at, "%d ", (int)(int32_t)(t == 0 ? 2 * v : t == 1 ? -v : 0));
        break;
    }
    case MTF_I64: {
        uint64_t v = (uint64_t)((const int64_t *)data)[i];
        *at += sprintf(*at, "%lld ", (long long)(int64_t)(t == 0 ? 2 * v : t == 1 ? -v : 0));
        break;
    }
    default:
        x = number_at(data, type, i);
        add_real(at, fabs(x) <= most ? factor[t] * x : t == 0 ? x : 0);
    }
}

/* The numbers of [owed, x..] as text; NULL: out of memory, or no numbers. */
static char *terms_of(const char *numbers, mtf_dtype type, int64_t n)
{
    void *data = calloc((size_t)n + 1, 8);
    char *text = malloc((size_t)(n * TERMS + 1) * 32), *at = text;
    bool  good = data && text && numbers_write(numbers, type, n, data);
    for (int t = 0; t < TERMS && good; t++)
        for (int64_t i = 0; i < n; i++) add_term(&at, data, type, i, t);
    free(data);
    if (good) return text;
    free(text);
    return NULL;
}

/* ---- text ---- */

/* The line that declares the input, or NULL. */
static const char *line_of(const char *text, const char *name)
{
    size_t length = strlen(name);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (!strncmp(line, name, length) && line[length] == ':') return line;
    }
    return NULL;
}

/* The text with this input as a sum, to be freed; NULL: its line is written otherwise. */
static char *with_sum(const char *text, const char *name)
{
    const char *line = line_of(text, name), *open = line ? strchr(line, '[') : NULL;
    const char *end = line ? strchr(line, '\n') : NULL,
               *equals = line ? strstr(line, "= input") : NULL;
    if (!end || !open || !equals || open > equals || equals > end) return NULL;
    const char *type = line + strlen(name) + 1;
    const char *comma = open[1] == ']' ? "" : ", ";
    size_t      room = strlen(text) + 3 * (size_t)(end - line) + 100;
    char       *out = malloc(room);
    if (out)
        snprintf(out, room, "%.*s%s_owed:%.*s[owed=%d%s%.*s= input\n%.*s= reduce_sum(%s_owed)%s",
                 (int)(line - text), text, name, (int)(open - type), type, TERMS, comma,
                 (int)(equals - open - 1), open + 1, (int)(equals - line), line, name, end);
    return out;
}

/* ---- cases ---- */

/* Which inputs can be sums, and which results depend on them. */
typedef struct subject {
    const test_case *c;
    mtf_session     *s;
    mtf_graph       *g;
} subject;

static bool can_be_sum(const subject *s, int feed)
{
    const case_values *v = &s->c->feeds[feed];
    mtf_tensor        *x = v->variable ? NULL : mtf_find(s->g, v->name);
    return x && x->type != MTF_BOOL && x->shape.ndims < MTF_MAX_DIMS &&
           line_of(s->c->text, v->name) && !strchr(v->numbers, '?');
}

static bool depends(const node *n, const node *on, bool *seen)
{
    if (n == on) return true;
    if (seen[n->id]) return false;
    seen[n->id] = true;
    for (int i = 0; i < n->nin; i++)
        if (depends(n->in[i]->node, on, seen)) return true;
    return false;
}

static bool result_depends(const subject *s, int expected, int feed)
{
    bool *seen = calloc((size_t)s->g->nnodes + 1, 1);
    bool  found = seen && depends(mtf_find(s->g, s->c->expected[expected].name)->node,
                                  mtf_find(s->g, s->c->feeds[feed].name)->node, seen);
    free(seen);
    return found;
}

/* Makes input `feed` of the case a sum. */
static bool give_as_sum(const subject *s, int feed, test_case *c)
{
    const case_values *v = &s->c->feeds[feed];
    mtf_tensor        *x = mtf_find(s->g, v->name);
    char              *text = with_sum(c->text, v->name), *name = malloc(strlen(v->name) + 6);
    char              *terms = terms_of(v->numbers, x->type, shape_size(&x->shape));
    if (!text || !name || !terms) {
        free(text), free(name), free(terms);
        return false;
    }
    sprintf(name, "%s_owed", v->name);
    free(c->text);
    c->text = text;
    c->feeds[feed] = (case_values){.name = name, .numbers = terms};
    return true;
}

/* Result `expected` alone, with the inputs whose bits are set as sums. */
static void try_sums(mesh_trials *t, const subject *s, int expected, uint64_t sums, int nmeshes,
                     const char *const *meshes)
{
    mesh_trials mine = *t;
    test_case   c = *s->c;
    bool        good = true;
    c.gradient = 0;
    c.nexpected = 1;
    c.expected = &s->c->expected[expected];
    c.text = strdup(s->c->text);
    c.feeds = malloc(sizeof *c.feeds * (size_t)c.nfeeds);
    memcpy(c.feeds, s->c->feeds, sizeof *c.feeds * (size_t)c.nfeeds);
    for (int f = 0; f < c.nfeeds; f++)
        if (sums >> f & 1) good = good && give_as_sum(s, f, &c);
    mine.c = &c;
    mine.must = "owed";
    if (!good) {
        t->failed++;
        printf("%s: an input cannot be written as a sum\n", c.path);
    } else {
        if (trials_begin(&mine))
            for (int k = 0; k < nmeshes; k++) trials_on(&mine, meshes[k]);
        trials_end(&mine);
        t->passed = mine.passed, t->failed = mine.failed;
    }
    for (int f = 0; f < c.nfeeds; f++)
        if (c.feeds[f].name != s->c->feeds[f].name) free(c.feeds[f].name), free(c.feeds[f].numbers);
    free(c.feeds);
    free(c.text);
}

void trials_owed(mesh_trials *t, int nmeshes, const char *const *meshes)
{
    subject s = {.c = t->c, .s = mtf_open_with(&(mtf_session_opts){.threads = 1})};
    s.g = mtf_parse(s.s, t->c->text, t->c->path);
    for (int e = 0; e < t->c->nexpected && s.g; e++) {
        uint64_t all = 0;
        for (int f = 0; f < t->c->nfeeds && f < 64; f++) {
            if (!can_be_sum(&s, f) || !result_depends(&s, e, f)) continue;
            all |= (uint64_t)1 << f;
            try_sums(t, &s, e, (uint64_t)1 << f, nmeshes, meshes);
        }
        if (all & (all - 1)) try_sums(t, &s, e, all, nmeshes, meshes);
    }
    mtf_close(s.s);
}
