/* Rates that describe GPUs: products by shape, passes, attention. */
#include "price/gpu_rates.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/dtype.h"
#include "base/numbers.h"
#include "price/machine_assets.h"
#include "program/map_form.h"

/* ---- machines ---- */

typedef struct machine {
    const char          *name;
    const unsigned char *text;
    const size_t        *bytes;
} machine;

static const machine *machine_of(const char *name)
{
    static const machine machines[] = {{"h200", asset_h200, &asset_h200_bytes}};
    enum { MACHINES = sizeof machines / sizeof *machines };
    int k = 0;
    while (k < MACHINES && strcmp(machines[k].name, name) != 0) k++;
    assert(k < MACHINES); /* else a device names a machine that is not embedded */
    return &machines[k];
}

const char *gpu_machine(arena *a, const char *name)
{
    const machine *m = machine_of(name);
    char          *text = arena_array(a, char, *m->bytes + 1);
    return text ? memcpy(text, m->text, *m->bytes) : NULL;
}

int gpu_machine_multiprocessors(const char *name)
{
    static const char line[] = "\nmultiprocessors ";
    const machine    *m = machine_of(name);
    const char       *at = memmem(m->text, *m->bytes, line, sizeof line - 1);
    int               count = 0;
    assert(at); /* an embedded machine says it */
    for (at += sizeof line - 1; *at >= '0' && *at <= '9'; at++) count = 10 * count + *at - '0';
    return count;
}

/* ---- rows ---- */

static bool same_type(const gpu_product *a, const gpu_product *b)
{
    return a->type == b->type && a->rounded == b->rounded;
}

static bool stands_before(const gpu_product *a, const gpu_product *b)
{
    if (a->type != b->type) return a->type < b->type;
    if (a->rounded != b->rounded) return b->rounded;
    return a->terms != b->terms ? a->terms < b->terms : a->results <= b->results;
}

bool gpu_add_product(gpu_rates *c, gpu_product p)
{
    if (c->nproducts == MAX_GPU_PRODUCTS) return false;
    int at = c->nproducts++;
    for (; at > 0 && !stands_before(&c->products[at - 1], &p); at--)
        c->products[at] = c->products[at - 1];
    c->products[at] = p;
    return true;
}

bool gpu_add_pass(gpu_rates *c, const char *kind, double memory)
{
    if (c->npasses == MAX_GPU_PASSES || strlen(kind) >= MAX_PASS_NAME) return false;
    gpu_pass *p = &c->passes[c->npasses++];
    memcpy(p->kind, kind, strlen(kind) + 1);
    p->memory = memory;
    return true;
}

bool gpu_add_attention(gpu_rates *c, gpu_attention a)
{
    if (c->nattentions == MAX_GPU_ATTENTIONS) return false;
    int at = c->nattentions++;
    for (; at > 0; at--) {
        const gpu_attention *before = &c->attentions[at - 1];
        if (before->type < a.type || (before->type == a.type && before->key <= a.key)) break;
        c->attentions[at] = *before;
    }
    c->attentions[at] = a;
    return true;
}

/* ---- products ---- */

/* The value at x on the line through two points, all on logarithms. */
static double between(double x, double x0, double y0, double x1, double y1)
{
    if (x <= x0 || x1 <= x0) return y0;
    if (x >= x1) return y1;
    return y0 * pow(y1 / y0, log(x / x0) / log(x1 / x0));
}

/* The rate for these results in the rows from `first` on that have the same terms; `*end`: the row
 * after them. */
static double rate_along_results(const gpu_rates *c, int first, double results, int *end)
{
    const gpu_product *row = c->products;
    int                last = first;
    while (last + 1 < c->nproducts && same_type(&row[last + 1], &row[first]) &&
           row[last + 1].terms == row[first].terms)
        last++;
    *end = last + 1;
    int k = first;
    while (k < last && row[k + 1].results < results) k++;
    if (k == last) return row[last].flops;
    return between(results, row[k].results, row[k].flops, row[k + 1].results, row[k + 1].flops);
}

double gpu_product_rate(const gpu_rates *c, const gpu_product *like)
{
    double terms = 0, rate = 0;
    for (int k = 0, end; k < c->nproducts; k = end) {
        end = k + 1;
        if (!same_type(&c->products[k], like)) continue;
        double next = rate_along_results(c, k, like->results, &end);
        if (terms == 0 || c->products[k].terms <= like->terms)
            rate = next;
        else
            return between(like->terms, terms, rate, c->products[k].terms, next);
        terms = c->products[k].terms;
    }
    return rate;
}

double gpu_best_product(const gpu_rates *c)
{
    double best = 0;
    for (int k = 0; k < c->nproducts; k++) best = fmax(best, c->products[k].flops);
    return best;
}

/* Kernels of our own: 250 to 480 Tflop/s of bf16 under the profiler of an H200, whose library makes 780 in large
 * products; in a run the clock is higher. */
double gpu_grouped_rate(const gpu_rates *c, mtf_dtype type, double otherwise)
{
    static const double share = 0.55, large = 1e12;
    double              rate =
        share * gpu_product_rate(c, &(gpu_product){.type = type, .terms = large, .results = large});
    bool tensor_cores = type == MTF_BF16 || type == MTF_F16;
    return tensor_cores && rate > 0 ? rate : otherwise;
}

/* Tiles are computed whole, whatever part of them the product fills.  A product with a vector has no
 * tiles. */
static double tiled(int64_t size, bool vector)
{
    enum { TILE = 64 };
    return (double)(vector ? size : (size + TILE - 1) / TILE * TILE);
}

double gpu_product_seconds(const gpu_rates *c, const instr *i, bool rounded)
{
    const int64_t *size = i->size + i->nloops - 3;
    bool           vector = size[0] == 1 || size[1] == 1;
    double         products = 1;
    for (int d = 0; d < i->nloops - 3; d++) products *= (double)i->size[d];
    gpu_product like = {.type = i->in[0].type,
                        .rounded = rounded && i->in[0].type == MTF_F32,
                        .terms = (double)size[2],
                        .results = products * tiled(size[0], vector) * tiled(size[1], vector)};
    double      rate = gpu_product_rate(c, &like);
    if (rate == 0 && like.rounded) {
        like.rounded = false;
        rate = gpu_product_rate(c, &like);
    }
    if (rate == 0 && dtype_is_f8(like.type)) { /* not measured: no slower than bf16 */
        like.type = MTF_BF16;
        rate = gpu_product_rate(c, &like);
    }
    return rate > 0 ? 2 * like.terms * like.results / rate : 0;
}

/* ---- passes and attention ---- */

double gpu_pass_memory(const gpu_rates *c, const instr *i, double otherwise)
{
    const char *kind =
        i->kind == INSTR_MAP && (map_folds_rows(i) || i->map.sums) ? "rows" : instr_name(i->kind);
    for (int k = 0; k < c->npasses; k++)
        if (strcmp(c->passes[k].kind, kind) == 0) return c->passes[k].memory;
    return otherwise;
}

/* The row for the key's size; the first row also holds below itself. */
double gpu_attention_rate(const gpu_rates *c, const instr *i)
{
    const gpu_attention *row = NULL;
    for (int k = 0; k < c->nattentions; k++) {
        const gpu_attention *a = &c->attentions[k];
        if (a->type == i->in[0].type && (!row || a->key <= (double)i->attention->key)) row = a;
    }
    if (!row) return 0;
    return i->kind == INSTR_ATTENTION_GRAD ? row->backward : row->forward;
}

/* ---- lines ---- */

bool rate_parse(const char *text, bool zero, double *to)
{
    char  *end;
    double v = text ? number_read(text, &end) : 0;
    bool   sound = text && end > text && !*end && ((v >= 1e-30 && v <= 1e30) || (v == 0 && zero));
    if (sound) *to = v;
    return sound;
}

static bool type_of_word(const char *word, mtf_dtype *type)
{
    return dtype_parse(word, type) && *type != MTF_BOOL;
}

bool gpu_factors_parse(const char *word, mtf_dtype *type, bool *rounded)
{
    *rounded = strcmp(word, "tf32") == 0;
    *type = MTF_F32;
    return *rounded || type_of_word(word, type);
}

const char *gpu_factors_name(mtf_dtype type, bool rounded)
{
    return rounded ? "tf32" : mtf_dtype_name(type);
}

static bool take_product(gpu_rates *c, char **words)
{
    gpu_product p;
    TRY(gpu_factors_parse(words[1], &p.type, &p.rounded));
    TRY(rate_parse(words[2], false, &p.terms) && rate_parse(words[3], false, &p.results) &&
        rate_parse(words[4], false, &p.flops));
    return gpu_add_product(c, p);
}

static bool take_attention(gpu_rates *c, char **words)
{
    gpu_attention a;
    TRY(type_of_word(words[1], &a.type) && rate_parse(words[2], false, &a.key));
    TRY(rate_parse(words[3], false, &a.forward) && rate_parse(words[4], false, &a.backward));
    return gpu_add_attention(c, a);
}

bool gpu_take_line(gpu_rates *c, int n, char **words)
{
    double memory, count;
    if (n == 2 && strcmp(words[0], "multiprocessors") == 0) {
        TRY(rate_parse(words[1], false, &count) && count >= 1 && count <= MAX_MULTIPROCESSORS);
        c->multiprocessors = (int)count;
        return true;
    }
    if (n == 5 && strcmp(words[0], "product") == 0) return take_product(c, words);
    if (n == 5 && strcmp(words[0], "attention") == 0) return take_attention(c, words);
    return n == 3 && strcmp(words[0], "pass") == 0 && rate_parse(words[2], false, &memory) &&
           gpu_add_pass(c, words[1], memory);
}

void gpu_write(const gpu_rates *c, textbuf *t)
{
    if (c->multiprocessors > 0) text_add(t, "multiprocessors %d\n", c->multiprocessors);
    for (int k = 0; k < c->nproducts; k++) {
        const gpu_product *p = &c->products[k];
        text_add(t, "product %s %g %g %.3g\n", gpu_factors_name(p->type, p->rounded), p->terms,
                 p->results, p->flops);
    }
    for (int k = 0; k < c->nattentions; k++)
        text_add(t, "attention %s %g %.3g %.3g\n", mtf_dtype_name(c->attentions[k].type),
                 c->attentions[k].key, c->attentions[k].forward, c->attentions[k].backward);
    for (int k = 0; k < c->npasses; k++)
        text_add(t, "pass %s %.3g\n", c->passes[k].kind, c->passes[k].memory);
}
