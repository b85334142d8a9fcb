/* Mixtures of experts, beside a dense layer of the same active work, and those that drop no token beside
 * PyTorch's, where MTF_PEERS is.
 *
 * Forward and gradients of the input and of all weights, without an optimizer.  The dense layer is as wide as the
 * experts of one token together; experts have as many places as tokens make choices.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/dtype.h"
#include "contestant.h"
#include "experts_torch.h"
#include "groups.h"
#include "mtf_nn.h"

enum { SEQUENCES = 4, LENGTH = 512, WIDTH = 512, HIDDEN = 1024, EXPERTS = 8, CHOICES = 2 };
enum { ELEMENTS = SEQUENCES * LENGTH * WIDTH, MOST_VARIABLES = 4 };

typedef struct mixture {
    const char *name;
    mtf_dtype   type;
    bool        dropless;
} mixture;

static const mixture mixtures[] = {{"8 experts, top-2, f32", MTF_F32, false},
                                   {"8 experts, top-2, bf16", MTF_BF16, false},
                                   {"8 experts, top-2, dropless, f32", MTF_F32, true},
                                   {"8 experts, top-2, dropless, bf16", MTF_BF16, true}};

typedef struct layer {
    mtf_session *session;
    mtf_program *program;
} layer;

static void run(void *context)
{
    mtf_step(((layer *)context)->program);
}

/* NULL: the dense layer. */
static mtf_tensor *build(mtf_tensor *x, const mixture *m)
{
    if (!m)
        return mtf_dense_relu_dense(x, (mtf_dim){"hidden", CHOICES * HIDDEN},
                                    &(mtf_dense_relu_dense_opts){0});
    return mtf_moe(x,
                   &(mtf_moe_opts){.experts = EXPERTS,
                                   .hidden = HIDDEN,
                                   .gating = "top_k",
                                   .k = CHOICES,
                                   .capacity_train = CHOICES,
                                   .dropless = m->dropless},
                   NULL);
}

static layer open_layer(const mixture *m, mtf_dtype type, const void *values)
{
    layer       l = {.session = mtf_open_with(NULL)};
    mtf_graph  *g = mtf_graph_new(l.session);
    mtf_shape   shape = mtf_shape((mtf_dim){"batch", SEQUENCES}, (mtf_dim){"length", LENGTH},
                                  (mtf_dim){"channels", WIDTH});
    mtf_tensor *of[1 + MOST_VARIABLES], *d[1 + MOST_VARIABLES];
    mtf_tensor *x = of[0] = mtf_input(g, "x", type, shape), *dy = mtf_input(g, "dy", type, shape),
               *y = build(x, m);
    int n = 1 + mtf_variables(g, of + 1, MOST_VARIABLES);
    mtf_gradients(1, &y, n, of, &dy, d);
    l.program = mtf_ok(l.session) ? mtf_compile_n(g, n, d) : NULL;
    if (l.program) mtf_feed(l.program, x, values), mtf_feed(l.program, dy, values);
    return l;
}

static void compare_with_torch(bench *b, const mixture *m, double own)
{
    const char *peers = getenv("MTF_PEERS"), *way = "";
    char        python[5000];
    figure      f = {.group = "experts", .seconds = own, .aim = AT_LEAST, .target = 1.2};
    if (!peers || !contestants_python(peers, "torch")) return; /* the group peers says so */
    snprintf(python, sizeof python, "'%s/torch/bin/python'", peers);
    experts_torch e = {python, "cpu", mtf_dtype_name(m->type), EXPERTS, CHOICES, SEQUENCES * LENGTH,
                       WIDTH,  HIDDEN};
    f.other = experts_torch_seconds(&e, &way);
    snprintf(f.name, sizeof f.name, "%s", m->name);
    snprintf(f.versus, sizeof f.versus, "mtf : PyTorch, %s", way);
    if (f.other > 0) bench_figure(b, &f);
}

static void race(bench *b, const mixture *m, const void *values)
{
    layer  layers[] = {open_layer(m, m->type, values), open_layer(NULL, m->type, values)};
    racer  racers[] = {{run, &layers[0], 0, NULL}, {run, &layers[1], 0, NULL}};
    figure f = {.group = "experts",
                .versus = "experts : dense layer of equal work",
                .aim = AT_LEAST,
                .target = 0.9};
    bench_progress(b, "%s", m->name);
    if (mtf_ok(layers[0].session) && mtf_ok(layers[1].session)) {
        bench_race(2, racers, 4);
        snprintf(f.name, sizeof f.name, "%s", m->name);
        f.seconds = racers[0].best, f.other = racers[1].best;
    }
    for (int k = 0; k < 2; k++) {
        if (!mtf_ok(layers[k].session))
            bench_error(b, "%s: %s", m->name, mtf_error(layers[k].session));
        mtf_close(layers[k].session);
    }
    if (f.seconds > 0) bench_figure(b, &f);
    if (f.seconds > 0 && m->dropless) compare_with_torch(b, m, f.seconds);
}

void experts_measure(bench *b)
{
    float    *wide = malloc(ELEMENTS * sizeof *wide);
    uint16_t *narrow = malloc(ELEMENTS * sizeof *narrow);
    unsigned  seed = 1;
    for (int64_t i = 0; i < ELEMENTS && wide && narrow; i++) {
        seed = seed * 1664525u + 1013904223u;
        wide[i] = (float)(seed >> 8) / (1 << 23) - 1;
        narrow[i] = f32_to_bf16(wide[i]);
    }
    if (!wide || !narrow) bench_error(b, "no memory for the inputs of experts");
    for (size_t k = 0; k < sizeof mixtures / sizeof *mixtures && wide && narrow; k++)
        if (bench_wants(b, mixtures[k].name))
            race(b, &mixtures[k],
                 mixtures[k].type == MTF_F32 ? (const void *)wide : (const void *)narrow);
    free(wide);
    free(narrow);
}
