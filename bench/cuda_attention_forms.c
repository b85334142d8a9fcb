/* Every form of attention on a GPU, beside plain attention.
 *
 * Plain means without options, of 64 or 128 elements, which cuDNN computes where there is one.
 * The ratio is that of flops per second: pairs that a form need not look at are not counted.
 */
#include <stdio.h>
#include <stdlib.h>

#include "cuda_kernels.h"
#include "gpt2.h"
#include "run/store.h"

enum { STEPS = 10, TOKENS = 32768, WIDTH = 768, MOST_INPUTS = 6, SEGMENTS = 4 };

typedef struct form {
    const char *name;
    int64_t     head, length;
    bool        full;            /* all positions are visible; else those up to the query's own */
    bool        distance, pairs; /* a bias with a gradient: by distance, or for each pair */
    bool        segments;
    int64_t     shared; /* so many heads share keys and values; 0: none do */
    int64_t     window; /* positions that a query sees; 0: all */
    double      dropout;
    mtf_dtype   type; /* f32, the first of the types: bf16 */
} form;

static const form forms[] = {
    {.name = "plain, causal", .head = 64, .length = 1024},
    {.name = "plain, full", .head = 64, .length = 1024, .full = true},
    {.name = "relative bias", .head = 64, .length = 512, .full = true, .distance = true},
    {.name = "relative, causal", .head = 64, .length = 1024, .distance = true},
    {.name = "additive bias", .head = 64, .length = 512, .full = true, .pairs = true},
    {.name = "dropout, causal", .head = 64, .length = 1024, .dropout = 0.1},
    {.name = "dropout, full", .head = 64, .length = 512, .full = true, .dropout = 0.1},
    {.name = "T5 with dropout",
     .head = 64,
     .length = 512,
     .full = true,
     .distance = true,
     .dropout = 0.1},
    {.name = "segments, causal", .head = 64, .length = 1024, .segments = true},
    {.name = "window of 256", .head = 64, .length = 4096, .window = 256},
    {.name = "4 heads share keys", .head = 64, .length = 1024, .shared = 4},
    {.name = "head 32", .head = 32, .length = 1024},
    {.name = "head 96", .head = 96, .length = 1024},
    {.name = "head 128", .head = 128, .length = 1024},
    {.name = "head 128, relative", .head = 128, .length = 1024, .full = true, .distance = true},
    {.name = "head 128, dropout", .head = 128, .length = 1024, .dropout = 0.1},
    {.name = "head 256", .head = 256, .length = 1024},
    {.name = "length 1000", .head = 64, .length = 1000},
    {.name = "length 1001, dropout", .head = 64, .length = 1001, .dropout = 0.1},
    {.name = "f16, relative bias",
     .head = 64,
     .length = 512,
     .full = true,
     .distance = true,
     .type = MTF_F16},
};

/* A form as a program. */
typedef struct running {
    form         form;
    bool         backward;
    int64_t      batch, heads;
    mtf_session *session;
    mtf_graph   *graph;
    mtf_program *program;
    int          n;
    mtf_tensor  *in[MOST_INPUTS];
} running;

static void run(void *context)
{
    running *r = context;
    for (int k = 0; k < STEPS; k++) mtf_step(r->program);
    store_wait(store_of(r->session));
}

static int64_t length_of(const form *f)
{
    return !gpt2_is_tiny() ? f->length : f->length % 16 ? 33 : 64;
}

/* Numbers of magnitudes around 1; of i32, the segments of sequences. */
static bool feed(const running *r, mtf_tensor *x, uint32_t state)
{
    int64_t n = mtf_shape_size(mtf_shape_of_tensor(x)), length = length_of(&r->form),
            each = length / SEGMENTS + 1;
    mtf_dtype type = mtf_dtype_of_tensor(x);
    if (type != MTF_I32 && type != MTF_F16) return cuda_feed_random(r->program, x, state);
    void *values = malloc((size_t)n * mtf_dtype_bytes(type));
    for (int64_t k = 0; values && k < n; k++) {
        state = state * 1664525u + 1013904223u;
        if (type == MTF_I32)
            ((int32_t *)values)[k] = (int32_t)(k % length / each);
        else
            ((uint16_t *)values)[k] = (uint16_t)(0x3800u | (state >> 16 & 0x83ffu)); /* 0.5 to 1 */
    }
    bool fed = values && mtf_feed(r->program, x, values);
    free(values);
    return fed;
}

static mtf_tensor *input(running *r, const char *name, mtf_dtype type, mtf_shape shape)
{
    return r->in[r->n++] = mtf_input(r->graph, name, type, shape);
}

/* Builds y from in[0 .. 2], and a bias in[3] where the form has one. */
static mtf_tensor *build(running *r)
{
    const form   *f = &r->form;
    const int64_t none_later = 0, window = 1 - f->window, tokens = length_of(f);
    int64_t       shared = f->shared ? f->shared : 1;
    mtf_dtype     type = f->type ? f->type : MTF_BF16;
    mtf_dim   batch = {"batch", r->batch}, length = {"length", tokens}, head = {"size", f->head};
    mtf_dim   families = {"families", r->heads / shared}, heads = {"heads", shared};
    mtf_shape of_q = mtf_shape(batch, length, families, heads, head),
              of_k = mtf_shape(batch, length, families, head);
    mtf_tensor *q = input(r, "q", type, of_q), *k = input(r, "k", type, of_k),
               *v = input(r, "v", type, of_k);
    mtf_attention_op_opts o = {
        .query = "length", .memory = "length", .key = "size", .value = "size", .scale = 0.125};
    o.dropout = f->dropout;
    if (!f->full) o.max_relative = &none_later;
    if (f->window) o.min_relative = &window;
    if (f->distance) {
        o.bias_relative = "distance";
        o.bias = input(r, "bias", MTF_F32,
                       mtf_shape(families, heads, (mtf_dim){"distance", 2 * tokens - 1}));
    } else if (f->pairs) {
        o.bias_memory = "memory";
        o.bias = input(r, "bias", MTF_F32,
                       mtf_shape(families, heads, length, (mtf_dim){"memory", tokens}));
    }
    if (f->segments)
        o.query_segment = o.memory_segment =
            input(r, "segments", MTF_I32, mtf_shape(batch, length));
    return mtf_attention(q, k, v, &o, NULL);
}

static bool open_form(running *r)
{
    const form *f = &r->form;
    bool        biased = f->distance || f->pairs;
    mtf_tensor *d[4];
    r->n = 0;
    r->session = mtf_open_with(&(mtf_session_opts){.device = "cuda"});
    r->graph = mtf_graph_new(r->session);
    r->batch = gpt2_is_tiny() ? 1 : TOKENS / f->length;
    r->heads = gpt2_is_tiny() ? (f->shared ? f->shared : 1) : WIDTH / f->head;
    mtf_tensor *y = build(r);
    if (r->backward) {
        mtf_tensor *dy = input(r, "dy", mtf_dtype_of_tensor(r->in[0]), mtf_shape_of_tensor(y));
        mtf_gradients(1, &y, biased ? 4 : 3, r->in, &dy, d);
    }
    r->program =
        r->backward ? mtf_compile_n(r->graph, biased ? 4 : 3, d) : mtf_compile(r->graph, y);
    bool fed = mtf_ok(r->session);
    for (int k = 0; fed && k < r->n; k++) fed = feed(r, r->in[k], (uint32_t)k);
    return fed;
}

/* Of a head's rows and positions, those that a form has to look at. */
static double pairs_of(const form *f)
{
    double n = (double)f->length, w = (double)f->window;
    if (f->window) return w * n - w * (w - 1) / 2;
    if (f->segments) return n * (n / SEGMENTS + 1) / 2;
    return f->full ? n * n : n * (n + 1) / 2;
}

static double flops_of(const running *r)
{
    return pairs_of(&r->form) * (double)(r->batch * r->heads * r->form.head);
}

/* A step's seconds; 0 where it cannot run. */
static double seconds_of(bench *b, running *r, const char *name)
{
    racer one = {run, r, 0, NULL};
    if (open_form(r)) bench_race(1, &one, gpt2_is_tiny() ? 0.01 : 0.3);
    if (!mtf_ok(r->session)) bench_error(b, "%s: %s", name, mtf_error(r->session));
    mtf_close(r->session);
    return one.best / STEPS;
}

/* What was measured of plain attention. */
typedef struct known {
    int     n;
    running plain[2 * sizeof forms / sizeof *forms];
    double  seconds[2 * sizeof forms / sizeof *forms];
} known;

static int find_plain(bench *b, known *all, const running *own)
{
    const form *f = &own->form;
    form plain = {.head = f->head > 64 ? 128 : 64, .length = f->length / 64 * 64, .full = f->full};
    for (int k = 0; k < all->n; k++) {
        const form *has = &all->plain[k].form;
        if (all->plain[k].backward == own->backward && has->head == plain.head &&
            has->length == plain.length && has->full == plain.full)
            return k;
    }
    all->plain[all->n] = (running){.form = plain, .backward = own->backward};
    all->seconds[all->n] = seconds_of(b, &all->plain[all->n], "plain attention");
    return all->n++;
}

static void measure(bench *b, known *all, const form *f, bool backward)
{
    running own = {.form = *f, .backward = backward};
    char    name[64];
    snprintf(name, sizeof name, "attention: %s, %s", f->name,
             backward ? "and gradients" : "forward");
    if (!bench_wants(b, name)) return;
    bench_progress(b, "%s", name);
    int    plain = find_plain(b, all, &own);
    double seconds = seconds_of(b, &own, name), other = all->seconds[plain];
    if (seconds > 0 && other > 0)
        cuda_add(b, name, "this form : plain", seconds,
                 other * flops_of(&own) / flops_of(&all->plain[plain]), 0.6);
}

void cuda_measure_attention_forms(bench *b)
{
    known all = {0};
    for (size_t k = 0; k < sizeof forms / sizeof *forms; k++)
        for (int backward = 0; backward < 2; backward++) measure(b, &all, &forms[k], backward);
}
