/* Small networks and their training step: digits, perceptrons. */
#include "networks.h"

#include <stdio.h>
#include <stdlib.h>

#include "mtf_nn.h"

mtf_tensor *network_digits(mtf_graph *g, int64_t size, float rate)
{
    mtf_dim     batch = {"batch", size}, rows = {"rows", 28}, cols = {"cols", 28};
    mtf_dim     hidden = {"hidden", 1024}, classes = {"classes", 10};
    mtf_tensor *images = mtf_input(g, "images", MTF_F32, mtf_shape(batch, rows, cols));
    mtf_tensor *labels = mtf_input(g, "labels", MTF_I32, mtf_shape(batch));
    mtf_tensor *w1 = mtf_variable(g, "w1", mtf_shape(rows, cols, hidden), NULL);
    mtf_tensor *w2 = mtf_variable(g, "w2", mtf_shape(hidden, classes), NULL);
    mtf_tensor *h = mtf_relu(mtf_einsum(mtf_shape(batch, hidden), images, w1));
    mtf_tensor *logits = mtf_einsum(mtf_shape(batch, classes), h, w2);
    mtf_tensor *loss = mtf_reduce_mean(mtf_softmax_cross_entropy(logits, labels, classes), MTF_ALL);
    if (rate > 0)
        mtf_sgd(g, loss, &(mtf_sgd_opts){.rate = rate});
    else
        mtf_adam(g, loss, NULL);
    return loss;
}

/* x: [batch, height, width, channels]; the result has `to` channels. */
static mtf_tensor *convolution(mtf_graph *g, mtf_tensor *x, const char *name, int64_t to)
{
    char outputs[20];
    snprintf(outputs, sizeof outputs, "%s_channels", name);
    mtf_dim     down = {"down", 3}, across = {"across", 3}, from = mtf_shape_of_tensor(x).dims[3];
    mtf_tensor *w =
        mtf_variable(g, name, mtf_shape(down, across, from, (mtf_dim){outputs, to}), NULL);
    return mtf_relu(mtf_conv2d(x, w, NULL));
}

mtf_tensor *network_convolutions(mtf_graph *g, int64_t size)
{
    mtf_dim     batch = {"batch", size}, height = {"height", 28}, width = {"width", 28};
    mtf_dim     channels = {"channels", 1}, classes = {"classes", 10};
    mtf_tensor *images = mtf_input(g, "images", MTF_F32, mtf_shape(batch, height, width, channels));
    mtf_tensor *labels = mtf_input(g, "labels", MTF_I32, mtf_shape(batch));
    mtf_tensor *x = convolution(g, images, "first", 32);
    x = convolution(g, convolution(g, x, "second", 64), "third", 128);
    mtf_dim     last = mtf_shape_of_tensor(x).dims[3];
    mtf_tensor *pooled = mtf_reduce_mean(x, mtf_shape(height, width));
    mtf_tensor *logits = mtf_einsum(mtf_shape(batch, classes), pooled,
                                    mtf_variable(g, "last", mtf_shape(last, classes), NULL));
    mtf_tensor *loss = mtf_reduce_mean(mtf_softmax_cross_entropy(logits, labels, classes), MTF_ALL);
    mtf_sgd(g, loss, &(mtf_sgd_opts){.rate = 0.001f});
    return loss;
}

mtf_tensor *network_layers(mtf_graph *g, int64_t size)
{
    enum { LAYERS = 4, WIDTH = 1024 };
    mtf_dim     batch = {"batch", size}, from = {"units0", WIDTH};
    mtf_tensor *x = mtf_input(g, "x", MTF_F32, mtf_shape(batch, from));
    mtf_tensor *labels = mtf_input(g, "labels", MTF_I32, mtf_shape(batch));
    for (int i = 1; i <= LAYERS; i++) {
        char name[20], units[20];
        snprintf(name, sizeof name, "w%d", i);
        snprintf(units, sizeof units, "units%d", i);
        mtf_dim to = {units, WIDTH};
        x = mtf_einsum(mtf_shape(batch, to), x, mtf_variable(g, name, mtf_shape(from, to), NULL));
        from = mtf_shape_of_tensor(x).dims[1]; /* whose name lives in the graph */
        if (i < LAYERS) x = mtf_relu(x);
    }
    mtf_tensor *loss = mtf_reduce_mean(mtf_softmax_cross_entropy(x, labels, from), MTF_ALL);
    mtf_adam(g, loss, NULL);
    return loss;
}

void network_feed(mtf_program *p, mtf_tensor *input)
{
    int64_t  size = mtf_shape_size(mtf_shape_of_tensor(input));
    float   *numbers = malloc(sizeof *numbers * (size_t)size);
    int32_t *classes = malloc(sizeof *classes * (size_t)size);
    bool     floats = mtf_dtype_of_tensor(input) == MTF_F32;
    for (int64_t i = 0; numbers && classes && i < size; i++) {
        numbers[i] = (float)(i % 17) / 17;
        classes[i] = (int32_t)(i * 7 % 10);
    }
    if (numbers && classes) mtf_feed(p, input, floats ? (void *)numbers : (void *)classes);
    free(numbers);
    free(classes);
}
