/* Reading a plan: what layouts cost, and which to choose.
 *
 * Everything here is known when a program is compiled; nothing runs.  The command prints the same and
 * more, and without allocating the memory.  For this model as text, the third row of the table below:
 *
 *     $ mtf plan model.mtf --mesh p:4 --layout batch:p
 *     memory           2.63 MB   at most, on processor 0 ...          the column "memory"
 *     flops              119 M   476 M on all processors              "flops"
 *     sent              147 kB   590 kB by all processors             "sent"
 *       all_reduce      147 kB   along p, 3 times ...                 "times"
 *     time             4.92 ms   a step, predicted ...                "about", a cruder guess here
 */
#include <mtf.h>
#include <mtf_nn.h>

#include <stdio.h>

enum { BATCH = 4096, IN = 64, HIDDEN = 256, CLASSES = 32 };

/* A modest machine: what a processor does in a second, and the latency of a collective. */
static const double flops_rate = 30e9, wire_rate = 5e9, latency = 10e-6;

typedef struct way {
    const char *mesh, *layout;
    mtf_cost    cost;
    double      seconds;
} way;

static void price(way *w)
{
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.mesh = w->mesh, .layout = w->layout});
    mtf_graph   *g = mtf_graph_new(s);
    mtf_dim      batch = {"batch", BATCH}, in = {"in", IN}, hidden = {"hidden", HIDDEN},
            classes = {"classes", CLASSES};
    mtf_tensor *x = mtf_input(g, "x", MTF_F32, mtf_shape(batch, in));
    mtf_tensor *labels = mtf_input(g, "labels", MTF_I32, mtf_shape(batch));
    mtf_tensor *w1 = mtf_variable(g, "w1", mtf_shape(in, hidden), NULL);
    mtf_tensor *w2 = mtf_variable(g, "w2", mtf_shape(hidden, classes), NULL);
    mtf_tensor *h = mtf_relu(mtf_einsum(mtf_shape(batch, hidden), x, w1));
    mtf_tensor *logits = mtf_einsum(mtf_shape(batch, classes), h, w2);
    mtf_tensor *loss = mtf_reduce_mean(mtf_softmax_cross_entropy(logits, labels, classes), MTF_ALL);
    mtf_sgd(g, loss, &(mtf_sgd_opts){.rate = 0.5f});

    w->cost = mtf_program_cost(mtf_compile(g, loss));
    w->seconds = (double)w->cost.flops / flops_rate + (double)w->cost.sent_bytes / wire_rate +
                 (double)w->cost.collectives * latency;
    if (!mtf_ok(s)) printf("%s\n", mtf_error(s));
    mtf_close(s);
}

int main(void)
{
    way ways[] = {
        /* One processor does everything: no bytes are sent, and this is all there is to save. */
        {.mesh = "p:1", .layout = ""},
        /* Four that cut nothing do the same work four times: flops and memory as above. */
        {.mesh = "p:4", .layout = ""},
        /* The batch cut: activations and flops are a quarter, and the gradients of all weights,
         * which every processor keeps whole, are summed over the four. */
        {.mesh = "p:4", .layout = "batch:p"},
        /* The hidden units cut: weights too are a quarter, but every processor has the whole batch,
         * and sums over hidden units, as long as the batch, are combined. */
        {.mesh = "p:4", .layout = "hidden:p"},
        /* Both: each sum is over two processors only, and half as long. */
        {.mesh = "rows:2,cols:2", .layout = "batch:rows,hidden:cols"},
    };
    enum { WAYS = sizeof ways / sizeof *ways };

    /* memory: variables and the slab, on the processor that needs most.  flops, sent (bytes), and
     * collectives: of one processor, in one step.  All of these are exact; only the time is a guess. */
    printf("%-14s %-24s %9s %9s %9s %6s %9s\n", "mesh", "layout", "memory", "flops", "sent",
           "times", "about");
    int best = 0;
    for (int i = 0; i < WAYS; i++) {
        way *w = &ways[i];
        price(w);
        if (w->seconds < ways[best].seconds) best = i;
        printf("%-14s %-24s %6.2f MB %7.1f M %6.1f kB %6d %6.2f ms\n", w->mesh,
               *w->layout ? w->layout : "none", (double)w->cost.peak_bytes / 1e6,
               (double)w->cost.flops / 1e6, (double)w->cost.sent_bytes / 1e3,
               (int)w->cost.collectives, w->seconds * 1e3);
    }

    /* Cut in four, the work is about the same either way: what must be sent decides. */
    const way *w = &ways[best], *one = &ways[0];
    printf("\nchosen: --mesh %s --layout %s\n", w->mesh, w->layout);
    printf("it computes %.2f times less than one processor and needs %.2f times less memory;\n",
           (double)one->cost.flops / (double)w->cost.flops,
           (double)one->cost.peak_bytes / (double)w->cost.peak_bytes);
    printf("sending takes %.0f %% of its time\n",
           100 * (w->seconds - (double)w->cost.flops / flops_rate) / w->seconds);
    return 0;
}
