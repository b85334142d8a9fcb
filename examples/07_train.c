/* Trains a digit reader: data, network, optimizer, loop.
 *
 * The loop shows progress, saves and resumes.  Options: --data DIR (the four IDX
 * files), --steps N, --checkpoints DIR, and those of every mtf program, such as
 * --mesh x:2,y:2 --layout batch:x,hidden:y.
 */
#include <mtf_nn.h>
#include <mtf_train.h>

#include <stdio.h>
#include <stdlib.h>

static mtf_tensor *labels, *logits, *loss;

/* Built twice: for training, and without an optimizer for evaluation.  Both share variables by name. */
static mtf_graph *build(mtf_session *s)
{
    mtf_dim     batch = {"batch", 100}, rows = {"rows", 28}, cols = {"cols", 28};
    mtf_dim     hidden = {"hidden", 1024}, classes = {"classes", 10};
    mtf_graph  *g = mtf_graph_new(s);
    mtf_tensor *images = mtf_input(g, "images", MTF_F32, mtf_shape(batch, rows, cols));
    mtf_tensor *w1 = mtf_variable(g, "w1", mtf_shape(rows, cols, hidden), NULL);
    mtf_tensor *w2 = mtf_variable(g, "w2", mtf_shape(hidden, classes), NULL);
    labels = mtf_input(g, "labels", MTF_I32, mtf_shape(batch));
    mtf_tensor *h = mtf_relu(mtf_einsum(mtf_shape(batch, hidden), images, w1));
    logits = mtf_einsum(mtf_shape(batch, classes), h, w2);
    loss = mtf_reduce_mean(mtf_softmax_cross_entropy(logits, labels, classes), MTF_ALL);
    return g;
}

static mtf_dataset *digits(mtf_session *s, const char *part)
{
    char        images[4096], numbers[4096];
    const char *dir = mtf_option(s, "data", "data/mnist");
    snprintf(images, sizeof images, "%s/%s-images-idx3-ubyte*", dir, part);
    snprintf(numbers, sizeof numbers, "%s/%s-labels-idx1-ubyte*", dir, part);
    return mtf_dataset_open(s,
                            (mtf_field[]){{.name = "images", .files = images, .scale = 1.0 / 255},
                                          {.name = "labels", .files = numbers},
                                          {.name = NULL}});
}

int main(int argc, char **argv)
{
    mtf_session *s = mtf_open(argc, argv);
    mtf_graph   *g = build(s);
    mtf_adam(g, loss, NULL);
    mtf_train(g, loss,
              &(mtf_train_opts){.data = digits(s, "train"),
                                .batches = &(mtf_batches_opts){.shuffle = true},
                                .steps = atoll(mtf_option(s, "steps", "600")),
                                .checkpoint_dir = mtf_option(s, "checkpoints", NULL),
                                .resume = true});
    g = build(s);
    mtf_dim     classes = mtf_shape_dim(mtf_shape_of_tensor(logits), "classes");
    mtf_tensor *right = mtf_cast(mtf_equal(mtf_argmax(logits, classes), labels), MTF_F32);
    double      accuracy = mtf_evaluate(g, right, digits(s, "t10k"), NULL);
    if (mtf_ok(s) && mtf_is_first(s)) printf("test accuracy %.2f %%\n", 100 * accuracy);
    return mtf_close(s);
}
