/* Mixtures of experts on a GPU, beside a dense layer of the same active work, and those that drop no token
 * beside PyTorch's.
 *
 * Forward and gradients, in bf16, without an optimizer: of the input and of all weights.  The
 * dense layer is as wide as the experts of one token together.
 */
#include <stdio.h>
#include <stdlib.h>

#include "cuda_kernels.h"
#include "experts_torch.h"
#include "gpt2.h"
#include "run/store.h"

enum { STEPS = 10, SEQUENCES = 16, LENGTH = 1024, WIDTH = 1024, MOST_VARIABLES = 16 };

typedef struct mixture {
    const char *name;
    int64_t     experts, choices, hidden; /* experts 0: a dense layer, that wide */
    bool        dropless;
    double      target;
} mixture;

static const mixture mixtures[] = {
    {"8 experts, top-2", 8, 2, 4096, false, 0.8},
    {"8 experts, top-2, dropless", 8, 2, 4096, true, 0.8},
    {"128 experts, top-8, dropless", 128, 8, 512, true, 0.5},
};

typedef struct layer {
    mixture      form;
    mtf_session *session;
    mtf_program *program;
} layer;

static void run(void *context)
{
    layer *l = context;
    for (int k = 0; k < STEPS; k++) mtf_step(l->program);
    store_wait(store_of(l->session));
}

static mtf_tensor *build(mtf_tensor *x, const mixture *m, const mtf_layer_context *context)
{
    mtf_moe_told told;
    int64_t      hidden = gpt2_is_tiny() ? 16 : m->hidden;
    if (!m->experts)
        return mtf_dense_relu_dense(x, (mtf_dim){"hidden", hidden},
                                    &(mtf_dense_relu_dense_opts){.context = context});
    return mtf_moe(x,
                   &(mtf_moe_opts){.experts = m->experts,
                                   .hidden = hidden,
                                   .gating = "top_k",
                                   .k = m->choices,
                                   .dropless = m->dropless,
                                   .context = context},
                   &told);
}

static bool open_layer(layer *l)
{
    mtf_layer_context context = {.short_weights = true};
    bool              tiny = gpt2_is_tiny();
    mtf_shape         shape =
        mtf_shape((mtf_dim){"batch", tiny ? 1 : SEQUENCES}, (mtf_dim){"length", tiny ? 16 : LENGTH},
                  (mtf_dim){"channels", tiny ? 16 : WIDTH});
    mtf_tensor *of[1 + MOST_VARIABLES], *d[1 + MOST_VARIABLES];
    l->session = mtf_open_with(&(mtf_session_opts){.device = "cuda"});
    mtf_graph  *g = mtf_graph_new(l->session);
    mtf_tensor *x = of[0] = mtf_input(g, "x", MTF_BF16, shape),
               *dy = mtf_input(g, "dy", MTF_BF16, shape), *y = build(x, &l->form, &context);
    int n = 1 + mtf_variables(g, of + 1, MOST_VARIABLES);
    if (mtf_ok(l->session)) mtf_gradients(1, &y, n, of, &dy, d);
    l->program = mtf_ok(l->session) ? mtf_compile_n(g, n, d) : NULL;
    return l->program && cuda_feed_random(l->program, x, 1) && cuda_feed_random(l->program, dy, 2);
}

/* A step's seconds; 0 where it cannot run. */
static double seconds_of(bench *b, const mixture *m)
{
    layer l = {.form = *m};
    racer one = {run, &l, 0, NULL};
    if (open_layer(&l)) bench_race(1, &one, gpt2_is_tiny() ? 0.01 : 0.5);
    if (!mtf_ok(l.session)) bench_error(b, "%s: %s", m->name, mtf_error(l.session));
    mtf_close(l.session);
    return one.best / STEPS;
}

static void compare_with_torch(bench *b, const mixture *m, double own)
{
    const char   *python = getenv("MTF_BENCH_PYTHON"), *way = "";
    char          versus[48];
    experts_torch e = {python ? python : "python3", "cuda", "bf16",   m->experts, m->choices,
                       SEQUENCES * LENGTH,          WIDTH,  m->hidden};
    double        other = experts_torch_seconds(&e, &way);
    snprintf(versus, sizeof versus, "mtf : PyTorch, %s", way);
    if (other > 0) cuda_add(b, m->name, versus, own, other, 1);
}

void cuda_measure_experts(bench *b, bool torch)
{
    for (size_t k = 0; k < sizeof mixtures / sizeof *mixtures; k++) {
        const mixture *m = &mixtures[k];
        mixture        dense = {.name = "a dense layer", .hidden = m->choices * m->hidden};
        if (!bench_wants(b, m->name)) continue;
        bench_progress(b, "%s", m->name);
        double own = seconds_of(b, m), other = seconds_of(b, &dense);
        if (own > 0 && other > 0)
            cuda_add(b, m->name, "experts : dense layer of equal work", own, other, m->target);
        if (torch && m->dropless && own > 0) compare_with_torch(b, m, own);
    }
}
