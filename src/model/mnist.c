/* The README's network: two layers that read digits. */
#include "model/mnist_data.h"

static bool build(const settings *v, bool training, network *n)
{
    mtf_dim batch = {"batch", 0}, rows = {"rows", 28}, cols = {"cols", 28};
    mtf_dim hidden = {"hidden", 0}, classes = {"classes", 10};
    double  dropout;
    TRY(setting_count(v, "batch", 1, &batch.size) && setting_count(v, "hidden", 1, &hidden.size) &&
        setting_number(v, "dropout", &dropout));
    if (!(dropout >= 0 && dropout < 1))
        return fail(&v->session->fault, ERR_USAGE,
                    "--dropout takes a share from 0 up to, not including, 1, not %g", dropout);

    mtf_graph  *g = n->graph = mtf_graph_new(v->session);
    mtf_tensor *images = mtf_input(g, "images", MTF_F32, mtf_shape(batch, rows, cols));
    mtf_tensor *labels = mtf_input(g, "labels", MTF_I32, mtf_shape(batch));
    mtf_tensor *w1 = mtf_variable(g, "w1", mtf_shape(rows, cols, hidden), NULL);
    mtf_tensor *w2 = mtf_variable(g, "w2", mtf_shape(hidden, classes), NULL);

    mtf_tensor *h = mtf_relu(mtf_einsum(mtf_shape(batch, hidden), images, w1));
    mtf_name(h, "h");
    if (training && dropout > 0) h = mtf_dropout(h, dropout, mtf_shape());
    mtf_tensor *logits = mtf_einsum(mtf_shape(batch, classes), h, w2);
    return mnist_judge(mtf_name(logits, "logits"), labels, classes, n);
}

static const model_option options[] = {{"batch", "100"},           {"hidden", "1024"},
                                       {"dropout", "0"},           {"optimizer", "adam"},
                                       {"rate", "0.002 * cosine"}, {"epochs", "5"},
                                       {"data-dir", MNIST_FOLDER}, {0}};

const model model_mnist = {.name = "mnist",
                           .says = "digits by two layers",
                           .options = options,
                           .build = build,
                           .reads = MNIST_FILES,
                           .fields = mnist_fields};
