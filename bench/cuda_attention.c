/* Attention of the device cuda against PyTorch's.
 *
 * Causal, in bf16: forward, and forward with gradients.  The other side is
 * peers/torch_attention_gpu.py; without it times are compared with those of as many flops
 * at a round rate.
 */
#include <stdio.h>
#include <stdlib.h>

#include "contestant.h"
#include "cuda_kernels.h"
#include "gpt2.h"
#include "run/store.h"

enum { STEPS = 20, TOKENS = 65536, WIDTH = 768 };
static const double flops_a_second = 400e12;

typedef struct attention {
    int64_t      head, length, batch, heads;
    bool         backward;
    mtf_session *session;
    mtf_program *program;
} attention;

static void run(void *context)
{
    attention *a = context;
    for (int i = 0; i < STEPS; i++) mtf_step(a->program);
    store_wait(store_of(a->session));
}

static bool open_attention(attention *a)
{
    static const char *const names[] = {"q", "k", "v", "dy"};
    const int64_t            none_later = 0;
    a->session = mtf_open_with(&(mtf_session_opts){.device = "cuda"});
    mtf_graph  *g = mtf_graph_new(a->session);
    mtf_shape   shape = mtf_shape((mtf_dim){"batch", a->batch}, (mtf_dim){"length", a->length},
                                  (mtf_dim){"heads", a->heads}, (mtf_dim){"size", a->head});
    mtf_tensor *x[4], *d[3];
    for (int k = 0; k < (a->backward ? 4 : 3); k++) x[k] = mtf_input(g, names[k], MTF_BF16, shape);
    mtf_tensor *y = mtf_attention(x[0], x[1], x[2],
                                  &(mtf_attention_op_opts){.query = "length",
                                                           .memory = "length",
                                                           .key = "size",
                                                           .value = "size",
                                                           .scale = 0.125,
                                                           .max_relative = &none_later},
                                  NULL);
    if (a->backward) mtf_gradients(1, &y, 3, x, &x[3], d);
    a->program = a->backward ? mtf_compile_n(g, 3, d) : mtf_compile(g, y);
    bool fed = mtf_ok(a->session);
    for (int k = 0; fed && k < (a->backward ? 4 : 3); k++)
        fed = cuda_feed_random(a->program, x[k], (uint32_t)k);
    return fed;
}

/* Two products of the visible pairs forward, five more backward. */
static double flops_of(const attention *a)
{
    double pairs = (double)(a->batch * a->heads * a->length) * (double)(a->length + 1) / 2;
    return (a->backward ? 14 : 4) * pairs * (double)a->head;
}

static void add(bench *b, const char *name, const char *versus, double seconds, double other,
                double target)
{
    figure f = {.group = "cuda", .seconds = seconds, .other = other, .aim = AT_LEAST};
    f.target = gpt2_is_tiny() ? 0 : target;
    snprintf(f.name, sizeof f.name, "%s", name);
    snprintf(f.versus, sizeof f.versus, "%s", versus);
    bench_figure(b, &f);
}

static void race_torch(bench *b, const attention *a, const char *name, double seconds)
{
    static const char *const ways[] = {"flash", "cudnn"};
    const char              *python = getenv("MTF_BENCH_PYTHON");
    for (int k = 0; k < 2; k++) {
        contestant torch = {.process = 0};
        char       versus[40];
        snprintf(torch.command, sizeof torch.command,
                 "exec %s '" MTF_BENCH_PEERS
                 "/torch_attention_gpu.py' %s %s %lld %lld %lld %lld %d",
                 python ? python : "python3", ways[k], a->backward ? "backward" : "forward",
                 (long long)a->batch, (long long)a->heads, (long long)a->length, (long long)a->head,
                 STEPS);
        snprintf(versus, sizeof versus, "mtf : PyTorch, %s", ways[k]);
        if (contestants_race(b, &torch, 1)) /* ours are to be as fast as flash */
            add(b, name, versus, seconds, torch.seconds / STEPS, k == 0 ? 1 : 0);
        contestant_stop(&torch);
    }
}

static void race(bench *b, int64_t head, int64_t length, bool backward, bool torch)
{
    attention a = {.head = head, .length = length, .backward = backward};
    char      name[64];
    racer     own = {run, &a, 0, NULL};
    a.batch = gpt2_is_tiny() ? 1 : TOKENS / length, a.heads = gpt2_is_tiny() ? 1 : WIDTH / head;
    snprintf(name, sizeof name, "attention %s, %lld x %lld", backward ? "and gradients" : "forward",
             (long long)length, (long long)head);
    if (!bench_wants(b, name)) return;
    if (gpt2_is_tiny()) a.length = 128;
    bench_progress(b, "%s", name);
    if (open_attention(&a)) {
        bench_race(1, &own, gpt2_is_tiny() ? 0.01 : 1);
        add(b, name, "mtf : 400 Tflop/s", own.best / STEPS, flops_of(&a) / flops_a_second, 0);
    }
    if (!mtf_ok(a.session)) bench_error(b, "%s: %s", name, mtf_error(a.session));
    mtf_close(a.session); /* before the other side needs the GPU's memory */
    if (torch && own.best > 0) race_torch(b, &a, name, own.best / STEPS);
}

void cuda_measure_attention(bench *b, bool torch)
{
    static const int64_t heads[] = {64, 128}, lengths[] = {1024, 4096};
    for (int h = 0; h < 2; h++)
        for (int l = 0; l < 2; l++)
            for (int backward = 0; backward < 2; backward++)
                race(b, heads[h], lengths[l], backward, torch);
}
