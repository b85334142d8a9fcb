/* MNIST by convolutions on blocks, as in the original's example.
 *
 * An image of 28 x 28 is 4 x 4 blocks of 7 x 7, which a layout may cut by
 * row_blocks and col_blocks.
 */
#include "model/mnist_data.h"
#include "mtf_nn.h"

static mtf_tensor *convolve(mtf_tensor *x, mtf_dim filters, mtf_dim row_blocks, mtf_dim col_blocks,
                            const char *name)
{
    return mtf_relu(mtf_conv2d_with_blocks(
        x, filters,
        &(mtf_conv_layer_opts){
            .name = name, .filter = {9, 9}, .blocks = {row_blocks, col_blocks}}));
}

static mtf_tensor *dense(mtf_tensor *x, mtf_dim to, mtf_shape from, const char *activation,
                         const char *name)
{
    return mtf_dense(x, mtf_shape(to),
                     &(mtf_dense_opts){.name = name, .reduced = from, .activation = activation});
}

static bool build(const settings *v, bool training, network *n)
{
    (void)training;
    mtf_dim batch = {"batch", 0}, row_blocks = {"row_blocks", 4}, col_blocks = {"col_blocks", 4};
    mtf_dim rows = {"rows_size", 7}, cols = {"cols_size", 7}, one = {"one_channel", 1};
    mtf_dim filters1 = {"filters1", 16}, filters2 = {"filters2", 16}, classes = {"classes", 10};
    mtf_dim hidden1 = {"hidden1", 0}, hidden2 = {"hidden2", 0};
    TRY(setting_count(v, "batch", 1, &batch.size) && setting_count(v, "hidden", 1, &hidden1.size));
    hidden2.size = hidden1.size;

    mtf_graph  *g = n->graph = mtf_graph_new(v->session);
    mtf_tensor *images =
        mtf_input(g, "images", MTF_F32, mtf_shape(batch, row_blocks, rows, col_blocks, cols, one));
    mtf_tensor *labels = mtf_input(g, "labels", MTF_I32, mtf_shape(batch));

    mtf_tensor *x =
        mtf_transpose(images, mtf_shape(batch, row_blocks, col_blocks, rows, cols, one));
    mtf_tensor *f1 = convolve(x, filters1, row_blocks, col_blocks, "conv0");
    mtf_tensor *f2 = convolve(f1, filters2, row_blocks, col_blocks, "conv1");
    mtf_tensor *mean = mtf_reduce_mean(f2, mtf_shape(filters2));
    mtf_tensor *h1 =
        dense(mean, hidden1, mtf_shape(row_blocks, col_blocks, rows, cols), "relu", "hidden1");
    mtf_tensor *h2 = dense(h1, hidden2, mtf_shape(hidden1), "relu", "hidden2");
    mtf_tensor *logits = dense(h2, classes, mtf_shape(hidden2), NULL, "logits");
    return mnist_judge(logits, labels, classes, n);
}

static const model_option options[] = {{"batch", "200"},
                                       {"hidden", "512"},
                                       {"optimizer", "adafactor"},
                                       {"rate", "0.06 * linear_warmup(200) * cosine"},
                                       {"epochs", "5"},
                                       {"data-dir", MNIST_FOLDER},
                                       {0}};

const model model_mnist_conv = {.name = "mnist-conv",
                                .says = "digits by convolutions, in blocks that a mesh may divide",
                                .options = options,
                                .build = build,
                                .reads = MNIST_FILES,
                                .fields = mnist_fields};
