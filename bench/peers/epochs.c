/* mtf_epochs: MNIST epochs as a contestant of the benchmark, from the images' bytes to the loss.
 *
 *     mtf_epochs --batch N --data FOLDER [--threads N] [--mesh .. --layout ..]
 */
#include <stdio.h>
#include <stdlib.h>

#include "mtf_data.h"
#include "networks.h"
#include "serve.h"

typedef struct training {
    mtf_program *program;
    mtf_batches *batches;
    mtf_tensor  *loss;
} training;

static void step(void *context)
{
    training *t = context;
    mtf_batches_next(t->batches);
    mtf_step(t->program);
    mtf_fetch_scalar(t->program, t->loss);
}

int main(int argc, char **argv)
{
    mtf_session *s = mtf_open(argc, argv);
    mtf_graph   *g = mtf_graph_new(s);
    const char  *folder = mtf_option(s, "data", "data/mnist");
    char         images[4096], labels[4096];
    snprintf(images, sizeof images, "%s/train-images-idx3-ubyte.gz", folder);
    snprintf(labels, sizeof labels, "%s/train-labels-idx1-ubyte.gz", folder);
    mtf_dataset *data =
        mtf_dataset_open(s, (mtf_field[]){{.name = "images", .files = images, .scale = 1.0 / 255},
                                          {.name = "labels", .files = labels},
                                          {.name = NULL}});
    training t = {.loss = network_digits(g, atoll(mtf_option(s, "batch", "100")), 0)};
    t.program = mtf_compile(g, t.loss);
    t.batches = mtf_batches_new(data, t.program, &(mtf_batches_opts){.shuffle = true});
    serve_steps(s, step, &t);
    return mtf_close(s);
}
