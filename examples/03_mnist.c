/* Trains the two-layer network on handwritten digits.
 *
 * The model is a dozen lines; the rest shows progress.  Options: --data DIR
 * (the four IDX files), --epochs N, --hidden N, --rate R, and those of every
 * mtf program: --seed, --threads, --device, --mesh, --layout.
 */
#include <mtf.h>
#include <mtf_data.h>
#include <mtf_nn.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { BATCH = 100, SIDE = 28 };

static mtf_dataset *open_digits(mtf_session *s, const char *dir, const char *part)
{
    char images[4096], labels[4096];
    snprintf(images, sizeof images, "%s/%s-images-idx3-ubyte.gz", dir, part);
    snprintf(labels, sizeof labels, "%s/%s-labels-idx1-ubyte.gz", dir, part);
    return mtf_dataset_open(s,
                            (mtf_field[]){{.name = "images", .files = images, .scale = 1.0 / 255},
                                          {.name = "labels", .files = labels},
                                          {0}});
}

/* The results of a batch of images: their mean loss, and how many are classified right. */
typedef struct network {
    mtf_tensor *loss, *right;
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
    mtf_tensor *right = mtf_cast(mtf_equal(mtf_argmax(logits, classes), labels), MTF_F32);
    return (network){loss, mtf_reduce_sum(right, MTF_ALL)};
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
    printf("%sstep %5d of %d   loss %.4f   %6.0f images/s   %3.0f s left%s", terminal ? "\r" : "",
           step, steps, loss, rate, spent / step * (steps - step), terminal ? " " : "\n");
    fflush(stdout);
}

static void train(mtf_program *p, mtf_tensor *loss_of_batch, mtf_dataset *digits, int epochs)
{
    int          step = 0, steps = epochs * (int)(mtf_dataset_size(digits) / BATCH);
    double       begin = now(), loss = 0;
    mtf_batches *b =
        mtf_batches_new(digits, p, &(mtf_batches_opts){.epochs = epochs, .shuffle = true});
    while (mtf_batches_next(b) && mtf_step(p)) {
        double here = mtf_fetch_scalar(p, loss_of_batch);
        loss = step++ ? 0.99 * loss + 0.01 * here : here;
        if (step % 20 == 0 || step == steps) show(step, steps, loss, begin);
    }
    printf("\n");
}

static double accuracy(mtf_program *p, mtf_tensor *right_of_batch, mtf_dataset *digits)
{
    double       right = 0;
    mtf_batches *b = mtf_batches_new(digits, p, &(mtf_batches_opts){.epochs = 1});
    while (mtf_batches_next(b) && mtf_step(p)) right += mtf_fetch_scalar(p, right_of_batch);
    return 100 * right / (double)mtf_dataset_size(digits);
}

int main(int argc, char **argv)
{
    mtf_session *s = mtf_open(argc, argv);
    const char  *dir = mtf_option(s, "data", "data/mnist");
    int epochs = atoi(mtf_option(s, "epochs", "4")), hidden = atoi(mtf_option(s, "hidden", "1024"));
    float        rate = strtof(mtf_option(s, "rate", "0.5"), NULL);
    mtf_dataset *training = open_digits(s, dir, "train"), *test = open_digits(s, dir, "t10k");

    mtf_graph *g = mtf_graph_new(s);
    network    n = build(g, hidden);
    mtf_sgd(g, n.loss, &(mtf_sgd_opts){.rate = rate});
    mtf_program *step = mtf_compile(g, n.loss);

    mtf_graph   *eval_graph = mtf_graph_new(s); /* the same variables, by name; no training */
    network      eval = build(eval_graph, hidden);
    mtf_program *eval_step = mtf_compile(eval_graph, eval.right);

    mtf_cost cost = mtf_program_cost(step);
    if (mtf_ok(s))
        printf("%d training and %d test images; a step takes %.0f Mflop and %.1f MB\n",
               (int)mtf_dataset_size(training), (int)mtf_dataset_size(test),
               (double)cost.flops / 1e6, (double)cost.peak_bytes / 1e6);
    train(step, n.loss, training, epochs);
    if (mtf_ok(s)) printf("test accuracy %.2f %%\n", accuracy(eval_step, eval.right, test));
    return mtf_close(s);
}
