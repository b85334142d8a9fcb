/* The same program on threads and on MPI.
 *
 *     build/examples/05_threads_and_mpi                     four processors, a thread each
 *     mpirun -n 4 build/examples/05_threads_and_mpi         four ranks, a processor each
 *     mpirun -n 2 build/examples/05_threads_and_mpi         two ranks, two threads each
 *
 * All print the same digits.  The program does not depend on how it was started, except for one line: only
 * the first process prints, and a single process is the first.  Every rank makes the same calls with the
 * same values; a fetch gives each of them the whole tensor.
 */
#include <mtf.h>
#include <mtf_nn.h>

#include <math.h>
#include <stdio.h>

enum { BATCH = 24, IN = 6, HIDDEN = 10, CLASSES = 3, STEPS = 40 };

static void say(void *context, const char *text)
{
    (void)context;
    fputs(text, stderr);
}

int main(void)
{
    mtf_session *s = mtf_open_with(&(mtf_session_opts){
        .mesh = "rows:2,cols:2", .layout = "batch:rows,hidden:cols", .threads = 1, .say = say});
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

    /* The class of a row is the largest of its first three numbers. */
    float   data[BATCH * IN];
    int32_t answers[BATCH];
    for (int i = 0; i < BATCH * IN; i++) data[i] = (float)sin(i * i * 0.37);
    for (int i = 0; i < BATCH; i++) {
        answers[i] = 0;
        for (int c = 1; c < CLASSES; c++)
            if (data[i * IN + c] > data[i * IN + answers[i]]) answers[i] = c;
    }
    mtf_feed(step, x, data);
    mtf_feed(step, labels, answers);
    for (int i = 1; i <= STEPS; i++) {
        mtf_step(step);
        double now = mtf_fetch_scalar(step, loss); /* all ranks fetch it, one prints it */
        if (i % 10 == 0 && mtf_is_first(s)) printf("step %2d  loss %.4f\n", i, now);
    }

    float weights[HIDDEN * CLASSES]; /* cut along "hidden": fetching gathers the parts */
    mtf_variable_get(w2, weights);
    if (mtf_is_first(s)) printf("w2[0]  %7.4f %7.4f %7.4f\n", weights[0], weights[1], weights[2]);
    return mtf_close(s);
}
