/* Trains the two-layer network on handwritten digits.
 *
 * The model is eight lines; the rest reads the data, shows progress and counts
 * right answers.  Options: --data DIR (the four IDX files), --epochs N,
 * --hidden N, --rate R, and those of every mtf program: --seed, --threads,
 * --device.
 */
#include <mtf.h>
#include <mtf_nn.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BATCH = 100, SIDE = 28, PIXELS = SIDE * SIDE };

typedef struct digits {
    mtf_idx images, labels;
    int     count;
} digits;

static digits read_digits(mtf_session *s, const char *dir, const char *part)
{
    char   path[4096];
    digits d = {.count = 0};
    snprintf(path, sizeof path, "%s/%s-images-idx3-ubyte.gz", dir, part);
    mtf_read_idx(s, path, &d.images);
    snprintf(path, sizeof path, "%s/%s-labels-idx1-ubyte.gz", dir, part);
    mtf_read_idx(s, path, &d.labels);
    if (mtf_ok(s)) d.count = (int)d.images.size[0];
    return d;
}

/* Everything that a batch of images goes through. */
typedef struct network {
    mtf_tensor *images, *labels, *logits, *loss;
} network;

static network build(mtf_graph *g, int64_t hidden_size)
{
    mtf_dim batch = {"batch", BATCH}, rows = {"rows", SIDE}, cols = {"cols", SIDE};
    mtf_dim hidden = {"hidden", hidden_size}, classes = {"classes", 10};

    mtf_tensor *images = mtf_input(g, "images", MTF_F32, mtf_shape(batch, rows, cols));
    mtf_tensor *labels = mtf_input(g, "labels", MTF_I32, mtf_shape(batch));
    mtf_tensor *w1 = mtf_variable(g, "w1", mtf_shape(rows, cols, hidden), NULL);
    mtf_tensor *w2 = mtf_variable(g, "w2", mtf_shape(hidden, classes), NULL);

    mtf_tensor *h = mtf_relu(mtf_einsum(mtf_shape(batch, hidden), images, w1));
    mtf_tensor *logits = mtf_einsum(mtf_shape(batch, classes), h, w2);
    mtf_tensor *loss = mtf_reduce_mean(mtf_softmax_cross_entropy(logits, labels, classes), MTF_ALL);
    return (network){images, labels, logits, loss};
}

static void feed(mtf_program *p, const network *n, const digits *d, const int *order, int first)
{
    static float   images[BATCH * PIXELS];
    static int32_t labels[BATCH];
    for (int i = 0; i < BATCH; i++) {
        int            k = order ? order[first + i] : first + i;
        const uint8_t *pixels = d->images.data + (size_t)k * PIXELS;
        for (int j = 0; j < PIXELS; j++) images[i * PIXELS + j] = (float)pixels[j] / 255.0f;
        labels[i] = d->labels.data[k];
    }
    mtf_feed(p, n->images, images);
    mtf_feed(p, n->labels, labels);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* One line that overwrites itself on a terminal; now and then a plain line elsewhere. */
static void show(int step, int steps, double loss, double begin)
{
    bool   terminal = isatty(STDOUT_FILENO);
    double spent = now() - begin, rate = spent > 0 ? step * BATCH / spent : 0;
    if (!terminal && step % 600 != 0) return;
    printf("%sstep %5d of %d   loss %.4f   %6.0f images/s   %3.0f s left%s", terminal ? "\r" : "", step, steps, loss,
           rate, spent / step * (steps - step), terminal ? " " : "\n");
    fflush(stdout);
}

static void shuffle(int *order, int n, unsigned *state)
{
    for (int i = n - 1; i > 0; i--) {
        *state = *state * 1664525u + 1013904223u;
        int j = (int)((*state >> 8) % (unsigned)(i + 1)), k = order[i];
        order[i] = order[j];
        order[j] = k;
    }
}

static void train(mtf_session *s, mtf_program *p, const network *n, const digits *d, int epochs)
{
    int      steps = epochs * (d->count / BATCH), step = 0;
    int     *order = malloc(sizeof *order * (size_t)(d->count + 1));
    unsigned state = 1;
    double   begin = now(), loss = 0;
    for (int i = 0; order && i < d->count; i++) order[i] = i;
    for (int e = 0; order && e < epochs; e++) {
        shuffle(order, d->count, &state);
        for (int at = 0; at + BATCH <= d->count && mtf_ok(s); at += BATCH) {
            feed(p, n, d, order, at);
            mtf_step(p);
            double here = mtf_fetch_scalar(p, n->loss);
            loss = step++ ? 0.99 * loss + 0.01 * here : here;
            if (step % 20 == 0 || step == steps) show(step, steps, loss, begin);
        }
    }
    printf("\n");
    free(order);
}

static double accuracy(mtf_session *s, mtf_program *p, const network *n, const digits *d)
{
    int right = 0;
    for (int at = 0; at + BATCH <= d->count && mtf_ok(s); at += BATCH) {
        static float logits[BATCH * 10];
        feed(p, n, d, NULL, at);
        mtf_step(p);
        mtf_fetch(p, n->logits, logits);
        for (int i = 0; i < BATCH; i++) {
            int best = 0;
            for (int c = 1; c < 10; c++)
                if (logits[i * 10 + c] > logits[i * 10 + best]) best = c;
            right += best == d->labels.data[at + i];
        }
    }
    return 100.0 * right / (d->count ? d->count : 1);
}

int main(int argc, char **argv)
{
    mtf_session *s = mtf_open(argc, argv);
    const char  *dir = mtf_option(s, "data", "data/mnist");
    int          epochs = atoi(mtf_option(s, "epochs", "4")), hidden = atoi(mtf_option(s, "hidden", "1024"));
    float        rate = strtof(mtf_option(s, "rate", "0.5"), NULL);
    digits       training = read_digits(s, dir, "train"), test = read_digits(s, dir, "t10k");

    mtf_graph *g = mtf_graph_new(s);
    network    n = build(g, hidden);
    mtf_sgd(g, n.loss, &(mtf_sgd_opts){.rate = rate});
    mtf_program *step = mtf_compile(g, n.loss);

    mtf_graph   *eval_graph = mtf_graph_new(s); /* the same variables, by name; no training */
    network      eval = build(eval_graph, hidden);
    mtf_program *eval_step = mtf_compile(eval_graph, eval.logits, eval.loss);

    mtf_cost cost = mtf_program_cost(step);
    if (mtf_ok(s))
        printf("%d training and %d test images; a step takes %.0f Mflop and %.1f MB\n", training.count, test.count,
               (double)cost.flops / 1e6, (double)cost.peak_bytes / 1e6);
    if (mtf_ok(s)) train(s, step, &n, &training, epochs);
    if (mtf_ok(s)) printf("test accuracy %.2f %%\n", accuracy(s, eval_step, &eval, &test));

    mtf_idx_free(s, &training.images);
    mtf_idx_free(s, &training.labels);
    mtf_idx_free(s, &test.images);
    mtf_idx_free(s, &test.labels);
    return mtf_close(s);
}
