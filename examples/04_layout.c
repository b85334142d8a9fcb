/* One model, many layouts, the same numbers.
 *
 * The mesh names the axes of a grid of processors, the layout says which
 * dimension is cut along which axis.  Only speed and memory change: the loss
 * after twenty steps is the same everywhere, uneven parts included.
 */
#include <mtf.h>
#include <mtf_nn.h>

#include <math.h>
#include <stdio.h>

enum { BATCH = 12, IN = 10, HIDDEN = 7, CLASSES = 3, STEPS = 20 };

static double train(const char *mesh, const char *layout)
{
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.mesh = mesh, .layout = layout});
    mtf_graph   *g = mtf_graph_new(s);

    mtf_dim batch = {"batch", BATCH}, in = {"in", IN}, hidden = {"hidden", HIDDEN},
            classes = {"classes", CLASSES};
    mtf_tensor *x = mtf_input(g, "x", MTF_F32, mtf_shape(batch, in));
    mtf_tensor *labels = mtf_input(g, "labels", MTF_I32, mtf_shape(batch));
    mtf_tensor *w1 = mtf_variable(g, "w1", mtf_shape(in, hidden), NULL);
    mtf_tensor *w2 = mtf_variable(g, "w2", mtf_shape(hidden, classes), NULL);
    mtf_tensor *h = mtf_tanh(mtf_einsum(mtf_shape(batch, hidden), x, w1));
    mtf_tensor *logits = mtf_einsum(mtf_shape(batch, classes), h, w2);
    mtf_tensor *loss = mtf_reduce_mean(mtf_softmax_cross_entropy(logits, labels, classes), MTF_ALL);
    mtf_sgd(g, loss, &(mtf_sgd_opts){.rate = 0.5f});
    mtf_program *step = mtf_compile(g, loss);

    float   data[BATCH * IN];
    int32_t answers[BATCH];
    for (int i = 0; i < BATCH * IN; i++) data[i] = (float)sin(i * 0.7);
    for (int i = 0; i < BATCH; i++) answers[i] = i % CLASSES;
    mtf_feed(step, x, data);
    mtf_feed(step, labels, answers);
    for (int i = 0; i < STEPS; i++) mtf_step(step);
    double result = mtf_fetch_scalar(step, loss);
    if (!mtf_ok(s)) printf("%s\n", mtf_error(s));
    mtf_close(s);
    return result;
}

int main(void)
{
    static const struct {
        const char *mesh, *layout, *says;
    } ways[] = {
        {"", "", "one processor"},
        {"p:4", "batch:p", "the batch over 4 processors"},
        {"p:4", "hidden:p", "7 hidden units over 4 processors"},
        {"rows:2,cols:3", "batch:rows,hidden:cols", "both, on a 2 x 3 grid"},
        {"rows:2,cols:2", "batch:rows+cols", "the batch along both axes"},
    };
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        double loss = train(ways[i].mesh, ways[i].layout);
        printf("%-34s loss %.4f\n", ways[i].says, loss);
    }
    return 0;
}
