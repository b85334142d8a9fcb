/* Products in a trial: cubes, flat ones, few processors. */
#include "measure/trial_products.h"

#include <math.h>
#include <string.h>

#include "measure/timing.h"

/* ---- cubes ---- */

static void link_product(textbuf *t, int k)
{
    text_add(t, "y%d: [p, c, m, n] = einsum(x%d, b)\n", k, k);
    text_add(t, "x%d = rename_dimension(y%d, from=n, to=k)\n", k + 1, k);
}

/* Small products come in batches, like those of attention heads: then not all of them fit into the
 * cache. */
static int batch_for(int n)
{
    enum { FLOPS = 1 << 24, MOST = 64 };
    double crowd = FLOPS / (2.0 * n * n * n);
    return n < 16 || crowd < 1 ? 1 : crowd > MOST ? MOST : (int)crowd;
}

/* A chain of products, n by n by n, on `processors` processors. */
static chain chain_of_products(const trial *t, int processors, mtf_dtype type, int n)
{
    const char *name = mtf_dtype_name(type);
    int         crowd = batch_for(n);
    chain       c = {.head = {.arena = &t->session->arena},
                     .link = link_product,
                     .guess = 1e-6 + 2.0 * crowd * n * n * n / 20e9};
    for (int k = 0; k < 2; k++) {
        const char *what = k ? "b" : "x0";
        text_add(&c.head, "%s_%s_%d_%d: %s[p=%d, c=%d, %s=%d, %s=%d] = ", what, name, n, processors,
                 name, processors, crowd, k ? "k" : "m", n, k ? "n" : "k", n);
        text_add(&c.head, "variable(init=\"normal(0, 0.04)\")\n");
        text_add(&c.head, "%s = identity(%s_%s_%d_%d)\n", what, what, name, n, processors);
    }
    return c;
}

static bool time_product(const trial *t, mtf_dtype type, int n, double *seconds)
{
    chain c = chain_of_products(t, mesh_size(&t->mesh), type, n);
    TRY(timing_link(t, &c, seconds));
    *seconds /= batch_for(n);
    return true;
}

bool trial_start(const trial *t, price_rates *r)
{
    return time_product(t, MTF_F32, 2, &r->start);
}

/* A rate applies to sides from about two thirds of its own on.  The time to load and store operands
 * is not included. */
static bool time_cubes(const trial *t, price_rates *r)
{
    static const struct {
        mtf_dtype type;
        int       side;
    } rows[] = {{MTF_F32, 16},   {MTF_F32, 64},   {MTF_F32, 320}, {MTF_F32, 512}, {MTF_BF16, 64},
                {MTF_BF16, 192}, {MTF_BF16, 512}, {MTF_F64, 64},  {MTF_F64, 384}};
    double seconds;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        double n = rows[k].side, crowd = batch_for(rows[k].side);
        double bytes = 3 * n * n * (double)mtf_dtype_bytes(rows[k].type);
        double known = r->start / crowd + bytes / rates_memory(r, bytes * crowd);
        bool   first = k == 0 || rows[k].type != rows[k - 1].type;
        TRY(time_product(t, rows[k].type, rows[k].side, &seconds));
        double flops = 2 * n * n * n / fmax(seconds - known, seconds / 2);
        r->products[r->nproducts++] =
            (product_rate){rows[k].type, first ? 0 : floor(n / 1.5), flops};
    }
    return true;
}

/* ---- flat products ---- */

enum { SHORT = 32, BROAD = 512, LONG = 1024, FLATS = 4 };

/* Products of x and another matrix; each result becomes the next x. */
typedef struct flat {
    const char *few; /* what is short: columns, rows or terms */
    const char *x[2], *other[2], *y[2];
    const char *from, *to; /* y's dimension that is sliced to become x's */
} flat;

static int size_of(const char *dim)
{
    return strcmp(dim, "short") == 0 ? SHORT : strcmp(dim, "broad") == 0 ? BROAD : LONG;
}

static void add_matrix(textbuf *text, int processors, const char *const dims[2])
{
    text_add(text, ": f32[p=%d, %s=%d, %s=%d] = variable(init=\"normal(0, 0.04)\")\n", processors,
             dims[0], size_of(dims[0]), dims[1], size_of(dims[1]));
}

static const char *text_of_flats(const trial *t, const flat *f)
{
    textbuf text = {.arena = &t->session->arena};
    int     p = mesh_size(&t->mesh);
    text_add(&text, "%s", f->few);
    add_matrix(&text, p, f->x);
    text_add(&text, "x0 = identity(%s)\n", f->few);
    for (int k = 0; k < FLATS; k++) { /* separate, since real operands are not in the cache */
        text_add(&text, "%s%d", f->few, k);
        add_matrix(&text, p, f->other);
        text_add(&text, "y%d: [p, %s, %s] = einsum(x%d, %s%d)\n", k, f->y[0], f->y[1], k, f->few,
                 k);
        text_add(&text, "part%d = slice(y%d, dim=%s, begin=0, size=%d)\n", k, k, f->from,
                 size_of(f->to));
        text_add(&text, "x%d = rename_dimension(part%d, from=%s, to=%s)\n", k + 1, k, f->from,
                 f->to);
    }
    text_add(&text, "y = identity(x%d)\n", FLATS);
    return text_done(&text);
}

/* The time of products with one large operand beyond that of a cube with as many flops, and beyond
 * the time to load or store that operand. */
static bool time_flat(const trial *t, price_rates *r)
{
    static const flat kinds[] = {
        {"columns", {"broad", "short"}, {"long", "broad"}, {"long", "short"}, "long", "broad"},
        {"rows", {"short", "broad"}, {"broad", "long"}, {"short", "long"}, "long", "broad"},
        {"terms", {"short", "broad"}, {"long", "short"}, {"long", "broad"}, "long", "short"}};
    double *rate[] = {&r->flat.left, &r->flat.right, &r->flat.result};
    double  volume = (double)SHORT * BROAD * LONG, side = cbrt(volume), large = 4.0 * BROAD * LONG;
    double  cube = 2 * volume / rates_product(r, MTF_F32, volume);
    for (int k = 0; k < 3; k++) {
        int         apart = k < 2 ? FLATS : 2; /* results alternate between two buffers */
        double      seconds, known = r->start + cube + large / rates_memory(r, apart * large);
        const char *text = text_of_flats(t, &kinds[k]);
        TRY(text && timing_single(t, text, FLATS * 1e-3, &seconds));
        seconds /= FLATS;
        *rate[k] = (large - 4 * side * side) / fmax(seconds - known, seconds / 16);
    }
    return true;
}

/* ---- heads ---- */

enum { HEADS = 8, MEMORY = 256, DEPTH = 64 };

static void link_heads(textbuf *t, int k)
{
    text_add(t, "w%d: [p, heads, length, memory] = einsum(x%d, keys)\n", k, k);
    text_add(t, "x%d: [p, length, heads, depth] = einsum(w%d, values)\n", k + 1, k);
}

/* The known time of products besides their flops. */
static double flat_seconds(const price_rates *r, double volume, product_sides bytes)
{
    return rates_product_seconds(r, MTF_F32, volume, HEADS, &bytes) -
           2 * volume * HEADS / rates_product(r, MTF_F32, volume);
}

/* Products of that size are mostly attention heads: many of them, contiguous in memory.  The rate
 * for heads of `positions` positions applies from the side `from` on. */
static bool time_heads(const trial *t, int positions, double from, price_rates *r)
{
    const char *const names[][2] = {{"x0", "length"}, {"keys", "memory"}, {"values", "memory"}};
    double            volume = (double)positions * MEMORY * DEPTH, flops = 2 * 2 * HEADS * volume;
    double narrow = 4.0 * HEADS * positions * DEPTH, broad = 4.0 * HEADS * MEMORY * DEPTH;
    double weights = 4.0 * HEADS * positions * MEMORY, seconds;
    double bytes = 2 * (weights + narrow + broad);
    chain  c = {.head = {.arena = &t->session->arena}, .link = link_heads, .guess = flops / 40e9};
    for (int k = 0; k < 3; k++)
        text_add(
            &c.head,
            "h%d_%d: f32[p=%d, %s=%d, heads=%d, depth=%d] = variable(init=\"normal(0, 0.1)\")\n"
            "%s = identity(h%d_%d)\n",
            k, positions, mesh_size(&t->mesh), names[k][1], k ? MEMORY : positions, HEADS, DEPTH,
            names[k][0], k, positions);
    TRY(timing_link(t, &c, &seconds));
    double known = 2 * r->start + bytes / rates_memory(r, bytes) +
                   flat_seconds(r, volume, (product_sides){narrow, broad, weights}) +
                   flat_seconds(r, volume, (product_sides){weights, broad, narrow});
    rates_add_product(r, (product_rate){MTF_F32, from, flops / fmax(seconds - known, seconds / 2)});
    return true;
}

bool trial_products(const trial *t, price_rates *r)
{
    return time_cubes(t, r) && time_flat(t, r) && time_heads(t, 64, 80, r) &&
           time_heads(t, 256, 128, r);
}

/* ---- few processors ---- */

/* The speed of `processors` processors relative to all of them, for products of typical sizes. */
static bool time_few(const trial *t, int processors, double *speed)
{
    static const int sides[] = {128, 384};
    double           logs = 0;
    for (int k = 0; k < 2; k++) {
        chain  all = chain_of_products(t, mesh_size(&t->mesh), MTF_F32, sides[k]);
        chain  few = chain_of_products(t, processors, MTF_F32, sides[k]);
        double ratio;
        TRY(timing_ratio(t, &all, &few, &ratio));
        logs += log(ratio);
    }
    *speed = fmax(1, exp(logs / 2));
    return true;
}

/* The busy processors are spread evenly over all, like the parts of a short dimension. */
bool trial_fewer(const trial *t, price_rates *r)
{
    int n = mesh_size(&t->mesh);
    TRY(time_few(t, 1, &r->alone));
    if (n % 4) return true;
    TRY(time_few(t, n / 2, &r->half) && time_few(t, n / 4 * 3, &r->quarter));
    r->most = r->alone; /* one of four */
    return n == 4 || time_few(t, n / 4, &r->most);
}
