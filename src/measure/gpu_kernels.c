/* Products, attention and convolutions in a trial of a GPU. */
#include "measure/gpu_kernels.h"

#include <math.h>
#include <stdio.h>

#include "measure/gpu_timing.h"

#define MOST_SECONDS 0.02 /* that a link may be expected to take */

/* ---- products ---- */

/* The results are a matrix whose sides are powers of two; rows are at least as many as columns. */
static bool time_product(gpu_trial *c, gpu_product *p, int log_results)
{
    int      m = 1 << (log_results + 1) / 2, n = 1 << log_results / 2, k = (int)p->terms;
    gpu_work w = gpu_work_begin(c, GPU_LINKS + 1);
    gpu_time each;
    for (int i = 0; i < GPU_LINKS; i++) {
        char name[20];
        snprintf(name, sizeof name, "h%d", i);
        gpu_add_matrix(c, &w.text, name, p->type, "k", k, "n", n);
    }
    gpu_add_matrix(c, &w.text, "h4", p->type, "m", m, "k", k);
    for (int i = 0; i < GPU_LINKS; i++)
        text_add(&w.text, "y%d: [p, m, n] = einsum(h4, h%d)\n", i, i);
    TRY(gpu_timing(c, &w, &each));
    p->results = (double)m * n;
    p->flops = 2 * p->terms * p->results / gpu_net_seconds(c, &each);
    return gpu_add_product(c->rates->gpu, *p);
}

/* From small products on, as long as the best rate so far promises a short time. */
static bool time_products(gpu_trial *c, mtf_dtype type, bool rounded, bool few)
{
    static const int logs[] = {16, 20, 23, 26}, terms[] = {64, 256, 1024, 4096, 16384};
    double           best = 0;
    for (int r = 0; r < 4; r++)
        for (int k = 0; k < 5; k++) {
            gpu_product p = {.type = type, .rounded = rounded, .terms = terms[k]};
            double      flops = 2.0 * terms[k] * ldexp(1, logs[r]);
            if (few && (k % 2 || r % 2)) continue;
            if (best > 0 && flops / best > MOST_SECONDS) continue;
            TRY(time_product(c, &p, logs[r]));
            best = fmax(best, p.flops);
        }
    return true;
}

bool gpu_products(gpu_trial *c)
{
    mtf_session *s = c->trial->session;
    bool         tf32 = s->opts.tf32;
    s->opts.tf32 = false;
    bool ok = time_products(c, MTF_F32, false, false) && time_products(c, MTF_BF16, false, false) &&
              time_products(c, MTF_F16, false, true) && time_products(c, MTF_F64, false, true);
    s->opts.tf32 = true;
    ok = ok && time_products(c, MTF_F32, true, true);
    s->opts.tf32 = tf32;
    return ok;
}

/* ---- attention ---- */

typedef struct attention_case {
    mtf_dtype type;
    int       heads, length, key; /* heads: of all examples */
} attention_case;

/* Each link has its own queries; keys and values are the same for all. */
static gpu_work attention_work(const gpu_trial *c, const attention_case *a, bool gradient)
{
    gpu_work w = gpu_work_begin(c, GPU_LINKS + 2);
    char     name[20];
    text_add(&w.text, "e%d: f32[p=%d, b=%d] = variable(init=\"normal(0, 1)\")\ne: %s = cast(e%d)\n",
             a->heads, c->parts, a->heads, mtf_dtype_name(a->type), a->heads);
    for (int k = 0; k < GPU_LINKS + 2; k++) {
        const char *positions = k < GPU_LINKS ? "i" : "j";
        snprintf(name, sizeof name, "f%d", k);
        gpu_add_matrix(c, &w.text, name, a->type, positions, a->length, "d", a->key);
        text_add(&w.text, "h%d: [p, b, %s, d] = e + %s\n", k, positions, name);
    }
    for (int k = 0; k < GPU_LINKS; k++) {
        text_add(&w.text,
                 "%s%d, lse%d = attention(h%d, h4, h5, query=i, memory=j, key=d, value=d, "
                 "scale=0.125, max_relative=0)\n",
                 gradient ? "z" : "y", k, k, k);
        if (gradient)
            text_add(&w.text, "y%d, y%d, y%d = gradients(z%d; h%d, h4, h5; h%d)\n", 3 * k,
                     3 * k + 1, 3 * k + 2, k, k, (k + 1) % GPU_LINKS);
    }
    w.outputs = gradient ? 3 : 1;
    return w;
}

/* The gradient's program also computes the result. */
static bool time_attention(gpu_trial *c, const attention_case *a)
{
    gpu_work      one = attention_work(c, a, false), both = attention_work(c, a, true);
    gpu_time      result, all;
    gpu_attention row = {.type = a->type, .key = a->key};
    TRY(gpu_timing(c, &one, &result) && gpu_timing(c, &both, &all));
    row.forward = result.flops / gpu_net_seconds(c, &result);
    row.backward = fmax(all.flops - result.flops, result.flops) /
                   fmax(all.seconds - result.seconds, all.seconds / 4);
    return gpu_add_attention(c->rates->gpu, row);
}

/* The longest length that elementwise work of as many flops promises to be short for. */
bool gpu_attentions(gpu_trial *c)
{
    static const mtf_dtype types[] = {MTF_F32, MTF_BF16};
    static const int       keys[] = {64, 128};
    for (int t = 0; t < 2; t++)
        for (int k = 0; k < 2; k++) {
            attention_case a = {types[t], 64, 1024, keys[k]};
            while (a.length > 16 &&
                   4.0 * a.heads * a.length * a.length * a.key / c->rates->flops > MOST_SECONDS / 4)
                a.length /= 2, a.heads = a.heads > 2 ? a.heads / 2 : 2;
            TRY(time_attention(c, &a));
        }
    return true;
}

/* ---- convolutions ---- */

typedef struct window_case {
    mtf_dtype type;
    int       channels, images, side;
} window_case;

static bool time_window(gpu_trial *c, const window_case *a, double *flops)
{
    enum { TAPS = 3 };
    gpu_work    w = gpu_work_begin(c, GPU_LINKS + 1);
    gpu_time    each;
    const char *name = mtf_dtype_name(a->type);
    for (int k = 0; k < GPU_LINKS; k++)
        text_add(&w.text,
                 "f%d: f32[fh=%d, fw=%d, c=%d, o=%d] = random_uniform\nh%d: %s = cast(f%d)\n", k,
                 TAPS, TAPS, a->channels, a->channels, k, name, k);
    gpu_add_matrix(c, &w.text, "x", MTF_F32, "b", a->images, "h", a->side);
    text_add(
        &w.text,
        "r: f32[w=%d, c=%d] = random_uniform\nxr: [p, b, h, w, c] = x * r\nh4: %s = cast(xr)\n",
        a->side, a->channels, name);
    for (int k = 0; k < GPU_LINKS; k++) text_add(&w.text, "y%d = conv2d(h4, h%d)\n", k, k);
    TRY(gpu_timing(c, &w, &each));
    *flops = each.flops / gpu_net_seconds(c, &each);
    return true;
}

/* As many images as this many flops suffice for; false: not even small ones do. */
static bool shrink(window_case *a, double most)
{
    double one = 2.0 * 9 * a->channels * a->channels;
    while (a->images > 1 && one * a->side * a->side * a->images > most / 10) a->images /= 2;
    while (a->side > 4 && one * a->side * a->side > most) a->side /= 2;
    return one * a->side * a->side <= most;
}

/* By kernels of our own, which are not much faster than elementwise work. */
static bool own_windows(gpu_trial *c)
{
    static const mtf_dtype types[] = {MTF_F32, MTF_BF16};
    static const int       channels[] = {4, 16, 64, 256};
    for (int t = 0; t < 2; t++)
        for (int k = 0; k < 4; k++) {
            window_case a = {types[t], channels[k], 256, 32};
            window_rate row = {.type = types[t], .channels = channels[k]};
            if (!shrink(&a, MOST_SECONDS * c->rates->flops) && k > 0) continue;
            TRY(time_window(c, &a, &row.flops));
            rates_add_window(c->rates, row);
        }
    return true;
}

/* By the library, which is about as fast as products are. */
static bool library_windows(gpu_trial *c, mtf_dtype type, bool rounded, bool few)
{
    static const int channels[] = {16, 64, 256};
    double           most = MOST_SECONDS * gpu_best_product(c->rates->gpu);
    for (int k = 0; k < 3; k++) {
        window_case a = {type, channels[k], 256, 32};
        window_rate row = {
            .type = type, .channels = channels[k], .library = true, .rounded = rounded};
        if ((few && k % 2) || (!shrink(&a, most) && k > 0)) continue;
        TRY(time_window(c, &a, &row.flops));
        rates_add_window(c->rates, row);
    }
    return true;
}

bool gpu_windows(gpu_trial *c)
{
    mtf_session *s = c->trial->session;
    bool         tf32 = s->opts.tf32;
    int64_t      least = s->can.least_window;
    s->opts.tf32 = false, s->can.least_window = INT64_MAX;
    bool ok = own_windows(c);
    s->can.least_window = least;
    if (least < INT64_MAX) {
        ok = ok && library_windows(c, MTF_BF16, false, false) &&
             library_windows(c, MTF_F16, false, true);
        s->opts.tf32 = true;
        ok = ok && library_windows(c, MTF_F32, true, true);
    }
    s->opts.tf32 = tf32;
    return ok;
}
