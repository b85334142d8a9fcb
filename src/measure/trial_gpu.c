/* A trial of a GPU: how fast its kernels run in captured steps. */
#include "measure/trial_gpu.h"

#include <math.h>
#include <string.h>

#include "measure/gpu_kernels.h"
#include "measure/gpu_timing.h"

/* ---- starting, and memory ---- */

/* Maps of different lengths, which are not fused. */
static bool time_start(gpu_trial *c)
{
    enum { MANY = 24, SHORT = 64, UNALIKE = 16 };
    gpu_work w = gpu_work_begin(c, 0);
    gpu_time each;
    w.links = MANY;
    for (int k = 0; k < MANY; k++) {
        text_add(&w.text, "s%d: f32[p=%d, n%d=%d] = variable(init=\"ones\")\n", k, c->parts, k,
                 SHORT + k * UNALIKE);
        text_add(&w.text, "y%d = s%d * 0.5\n", k, k);
    }
    TRY(gpu_timing(c, &w, &each));
    c->rates->start = each.seconds / fmax(each.instrs, 1);
    return true;
}

enum { ROW = 256 };

static void add_operands(const gpu_trial *c, textbuf *t, int n)
{
    for (int k = 0; k < n; k++)
        text_add(
            t, "v%d_%d: f32[p=%d, m=%d, n=%d] = variable(init=\"ones\")\nv%d = identity(v%d_%d)\n",
            k, c->elements, c->parts, c->elements / ROW, ROW, k, k, c->elements);
}

static bool time_maps(gpu_trial *c, gpu_time *each)
{
    gpu_work w = gpu_work_begin(c, 0);
    add_operands(c, &w.text, GPU_LINKS + 1);
    for (int k = 0; k < GPU_LINKS; k++) text_add(&w.text, "y%d = v%d * 0.5 + v%d\n", k, k, k + 1);
    return gpu_timing(c, &w, each);
}

/* Operands grow as long as a link is short.  Those of the last size but one may fit into the GPU's
 * cache, where a step finds what the step before has left. */
static bool time_memory(gpu_trial *c)
{
    enum { FIRST = 1 << 13, LARGEST = 1 << 25, FACTOR = 8, CACHED = 1 << 19 };
    gpu_time each, cached = {0};
    c->elements = FIRST;
    TRY(time_maps(c, &each));
    while (c->elements < LARGEST && FACTOR * each.seconds < 2e-3) {
        c->elements *= FACTOR;
        TRY(time_maps(c, &each));
        if (c->elements == CACHED) cached = each;
    }
    c->rates->memory = each.bytes / gpu_net_seconds(c, &each);
    double near = cached.bytes > 0 ? cached.bytes / gpu_net_seconds(c, &cached) : 0;
    if (c->elements > CACHED && near > 1.1 * c->rates->memory)
        c->rates->caches[c->rates->ncaches++] = (cache_rate){GPU_LINKS * cached.bytes, near};
    return true;
}

static bool time_flops(gpu_trial *c)
{
    enum { STEPS = 48 };
    gpu_work w = gpu_work_begin(c, 0);
    gpu_time each;
    add_operands(c, &w.text, GPU_LINKS);
    for (int k = 0; k < GPU_LINKS; k++) {
        text_add(&w.text, "c%d_0 = v%d * 0.5\n", k, k);
        for (int i = 0; i < STEPS; i++)
            text_add(&w.text, "c%d_%d = c%d_%d * 0.5 + v%d\n", k, i + 1, k, i, k);
        text_add(&w.text, "y%d = identity(c%d_%d)\n", k, k, STEPS);
    }
    TRY(gpu_timing(c, &w, &each));
    c->rates->flops = each.flops / gpu_net_seconds(c, &each);
    return true;
}

/* ---- passes ---- */

/* The link of one kind of instruction, as a format with its number; the head computes `index`. */
typedef struct pass {
    const char *kind, *link;
} pass;

static const pass passes[] = {
    {"rows", "q%d: [p, m] = reduce_sum(square(v%d))\ny%d = v%d * rsqrt(q%d + 1)\n"},
    {"fold", "y%d: [p, n] = reduce_sum(v%d)\n"},
    {"move", "y%d: [p, n, m] = transpose(v%d)\n"},
    {"gather", "y%d = gather(v%d, index, dim=m)\n"},
    {"scan", "y%d = cumsum(v%d, dim=n)\n"},
};

static void add_link(textbuf *t, const char *format, int k)
{
    for (const char *at; (at = strstr(format, "%d")); format = at + 2)
        text_add(t, "%.*s%d", (int)(at - format), format, k);
    text_add(t, "%s", format);
}

static bool time_pass(gpu_trial *c, const pass *x)
{
    gpu_work w = gpu_work_begin(c, 0);
    gpu_time each;
    int      rows = c->elements / ROW;
    add_operands(c, &w.text, GPU_LINKS);
    text_add(&w.text, "order: i32[g=%d] = range\nindex = mod(order * 7919, %d)\n", rows, rows);
    for (int k = 0; k < GPU_LINKS; k++) add_link(&w.text, x->link, k);
    TRY(gpu_timing(c, &w, &each));
    return each.bytes <= 0 ||
           gpu_add_pass(c->rates->gpu, x->kind, each.bytes / gpu_net_seconds(c, &each));
}

static bool time_scatter(gpu_trial *c)
{
    gpu_work w = gpu_work_begin(c, 0);
    gpu_time each;
    int      rows = c->elements / ROW;
    add_operands(c, &w.text, GPU_LINKS);
    text_add(&w.text, "order: i32[g=%d] = range\nindex = mod(order * 7919, %d)\n", rows, rows);
    for (int k = 0; k < GPU_LINKS; k++)
        text_add(&w.text,
                 "g%d = rename_dimension(v%d, from=m, to=g)\n"
                 "y%d = scatter_add(g%d, index, dim=[m=%d])\n",
                 k, k, k, k, rows);
    TRY(gpu_timing(c, &w, &each));
    return gpu_add_pass(c->rates->gpu, "scatter", each.bytes / gpu_net_seconds(c, &each));
}

static bool time_draws(gpu_trial *c)
{
    gpu_work w = gpu_work_begin(c, 0);
    gpu_time each;
    for (int k = 0; k < GPU_LINKS; k++)
        text_add(&w.text, "y%d: f32[p=%d, m=%d, n=%d] = random_uniform\n", k, c->parts,
                 c->elements / ROW, ROW);
    TRY(gpu_timing(c, &w, &each));
    return gpu_add_pass(c->rates->gpu, "draw", each.bytes / gpu_net_seconds(c, &each));
}

static bool time_passes(gpu_trial *c)
{
    for (size_t k = 0; k < sizeof passes / sizeof *passes; k++) TRY(time_pass(c, &passes[k]));
    return time_scatter(c) && time_draws(c);
}

/* ---- collectives ---- */

/* A chain of all-reduces of n elements. */
static bool time_sum(const gpu_trial *c, int n, gpu_time *each)
{
    gpu_work w = gpu_work_begin(c, 0);
    text_add(&w.text, "w_%d: f32[p=%d, n=%d] = variable(init=\"ones\")\nx0 = identity(w_%d)\n", n,
             c->parts, n, n);
    for (int k = 0; k < GPU_LINKS; k++)
        text_add(&w.text, "y%d: [n] = reduce_sum(x%d)\nx%d = w_%d + y%d\n", k, k, k + 1, n, k);
    return gpu_timing(c, &w, each);
}

/* The shortest all-reduce is all latency.  What a longer one takes beyond it is for its bytes, and for
 * the addition between two of them. */
static bool time_wire(gpu_trial *c)
{
    enum { FEW = 8 };
    price_rates *r = c->rates;
    gpu_time     brief, longer;
    double       n = c->elements / 4.0, bytes = 4 * (n + (c->parts - 2) * n / c->parts);
    if (c->parts == 1) return true;
    TRY(time_sum(c, FEW, &brief) && time_sum(c, c->elements / 4, &longer));
    r->latency = r->outer_latency = fmax(brief.seconds - r->start, brief.seconds / 4);
    r->wire = r->outer_wire =
        bytes / fmax(longer.seconds - brief.seconds - 12 * n / r->memory, longer.seconds / 4);
    return true;
}

/* ---- the whole trial ---- */

bool trial_gpu_run(const trial *t, void (*tell)(void *context, int done, int parts), void *context,
                   price_rates *r)
{
    static bool (*const parts[])(gpu_trial * c) = {time_start,  time_memory,  time_flops,
                                                   time_passes, gpu_products, gpu_attentions,
                                                   gpu_windows, time_wire};
    enum { PARTS = sizeof parts / sizeof *parts };
    gpu_trial c = {.trial = t, .rates = r, .parts = mesh_size(&t->mesh)};
    TRY(rates_default(t->session, r));
    price_rates known = *r; /* what is not measured */
    *r = PRICE_RATES;
    r->wire = known.wire, r->latency = known.latency;
    r->outer_wire = r->wire, r->outer_latency = r->latency;
    r->described = true;
    r->can = t->session->can;
    r->gpu = arena_new(&t->session->arena, gpu_rates);
    TRY(r->gpu != NULL);
    for (int k = 0; k < PARTS; k++) {
        if (tell) tell(context, k, PARTS);
        TRY(parts[k](&c));
    }
    if (tell) tell(context, PARTS, PARTS);
    return true;
}
