/* Volumes labelled element by element, by a U-Net; a mesh may cut their height and width. */
#include "base/dtype.h"
#include "base/numbers.h"
#include "base/textbuf.h"
#include "graph/node.h"
#include "model/ready.h"
#include "mtf_nn.h"

enum { MOST_CLASSES = 8 };

typedef struct unet_settings {
    mtf_dim       batch, height, width, depth; /* depth 1: images */
    mtf_dim       classes;
    double        weights[MOST_CLASSES];
    double        dice; /* its share of the loss */
    mtf_dtype     activation;
    mtf_unet_opts net;
} unet_settings;

/* ---- settings ---- */

/* "1,8,16": the weight of each class, from the background on. */
static bool unet_weights(const settings *v, unet_settings *u)
{
    const char *text = setting_text(v, "class-weights"), *at = text;
    for (char *end; u->classes.size < MOST_CLASSES; at = end + 1) {
        double weight = number_read(at, &end);
        if (end == at || !(weight >= 0) || weight > 1e9) break;
        u->weights[u->classes.size++] = weight;
        if (*end == 0 && u->classes.size > 1) return true;
        if (*end != ',') break;
    }
    return fail(&v->session->fault, ERR_USAGE,
                "--class-weights takes a number from 0 on for each class, 2 to %d of them, "
                "separated by commas, not \"%s\"",
                MOST_CLASSES, text);
}

static bool unet_type(const settings *v, mtf_dtype *to)
{
    const char *text = setting_text(v, "activation-type");
    if (dtype_parse(text, to) && dtype_is_float(*to) && !dtype_is_f8(*to)) return true;
    return fail(&v->session->fault, ERR_USAGE,
                "--activation-type takes f32, bf16, f16 or f64, not \"%s\"", text);
}

static bool unet_read(const settings *v, unet_settings *u)
{
    *u = (unet_settings){.batch = {"batch", 0},
                         .height = {"height", 0},
                         .width = {"width", 0},
                         .depth = {"depth", 0},
                         .classes = {"classes", 0}};
    TRY(setting_count(v, "batch", 1, &u->batch.size) &&
        setting_count(v, "size", 1, &u->height.size) &&
        setting_count(v, "depth", 1, &u->depth.size) &&
        setting_count(v, "filters", 1, &u->net.filters) &&
        setting_count(v, "levels", 1, &u->net.levels) &&
        setting_count(v, "convs", 1, &u->net.convs) &&
        setting_number(v, "dropout", &u->net.dropout) && setting_number(v, "dice", &u->dice));
    u->width.size = u->height.size;
    if (!(u->dice >= 0 && u->dice <= 1))
        return fail(&v->session->fault, ERR_USAGE, "--dice takes a share from 0 to 1, not %g",
                    u->dice);
    return unet_weights(v, u) && unet_type(v, &u->activation);
}

static mtf_shape unet_space(const unet_settings *u)
{
    return u->depth.size == 1 ? mtf_shape(u->height, u->width)
                              : mtf_shape(u->height, u->width, u->depth);
}

/* ---- the loss ---- */

/* [.., classes less the background] */
static mtf_tensor *foreground(const unet_settings *u, mtf_tensor *x)
{
    return mtf_slice(x, u->classes.name, 1, u->classes.size - 1, 1);
}

/* Less the overlap, half of it that of each example, half that of the whole batch. */
static mtf_tensor *unet_dice_loss(const unet_settings *u, mtf_tensor *logits, mtf_tensor *truth)
{
    const double below = 0.1;
    mtf_tensor  *p = foreground(u, mtf_softmax(logits, u->classes, NULL));
    mtf_shape    space = unet_space(u), all = mtf_shape_plus(mtf_shape(u->batch), space);
    mtf_tensor  *each = mtf_reduce_mean(mtf_dice(p, truth, space, 0, below), MTF_ALL);
    mtf_tensor  *whole = mtf_reduce_mean(mtf_dice(p, truth, all, 0, below), MTF_ALL);
    return mtf_scale(mtf_add(each, whole), -0.5);
}

static mtf_tensor *unet_entropy(const unet_settings *u, mtf_tensor *logits, mtf_tensor *labels)
{
    float weights[MOST_CLASSES];
    for (int64_t k = 0; k < u->classes.size; k++) weights[k] = (float)u->weights[k];
    mtf_tensor *each = mtf_softmax_cross_entropy(logits, labels, u->classes);
    mtf_tensor *of = graph_of(logits) ? mtf_constant_data(graph_of(logits), weights, MTF_F32,
                                                          mtf_shape(u->classes))
                                      : NULL;
    return mtf_reduce_mean(mtf_multiply(each, mtf_gather(of, labels, u->classes)), MTF_ALL);
}

/* ---- what evaluation tells ---- */

static bool add_score(network *n, const char *name, mtf_tensor *value)
{
    TRY(value != NULL);
    n->scores[n->nscores++] = (network_score){name, mtf_name(value, name)};
    return true;
}

/* The overlap of what is predicted, by class; 1 where an example has none of it and none was predicted. */
static bool unet_scores(const unet_settings *u, mtf_tensor *best, mtf_tensor *truth, network *n)
{
    const double little = 1e-3;
    mtf_tensor  *predicted = foreground(u, mtf_one_hot(best, u->classes));
    mtf_tensor  *dice = mtf_dice(predicted, truth, unet_space(u), little, little);
    for (int64_t k = 1; k < u->classes.size; k++) {
        textbuf t = {.arena = &n->graph->arena};
        text_add(&t, "dice_%lld", (long long)k);
        mtf_tensor *one = mtf_slice(dice, u->classes.name, k - 1, 1, 1);
        const char *name = text_done(&t);
        TRY(name && add_score(n, name, mtf_reduce_sum_to(one, mtf_shape(u->batch))));
    }
    return true;
}

/* [batch, height, width]: what lies in the middle of the depth. */
static mtf_tensor *middle(const unet_settings *u, mtf_tensor *x)
{
    if (u->depth.size > 1) x = mtf_slice(x, u->depth.name, u->depth.size / 2, 1, 1);
    return mtf_cast(mtf_reduce_sum_to(x, mtf_shape(u->batch, u->height, u->width)), MTF_F32);
}

static bool unet_pictures(const unet_settings *u, mtf_tensor *volumes, mtf_tensor *labels,
                          mtf_tensor *best, network *n)
{
    n->pictures[0] = (network_picture){"volume", middle(u, volumes), 0};
    n->pictures[1] = (network_picture){"truth", middle(u, labels), u->classes.size};
    n->pictures[2] = (network_picture){"prediction", middle(u, best), u->classes.size};
    return mtf_ok(n->graph->session);
}

/* ---- the model ---- */

static bool unet_build(const settings *v, bool training, network *n)
{
    unet_settings     u;
    mtf_layer_context context = {.inference = !training};
    TRY(unet_read(v, &u));
    u.net.context = &context;
    mtf_shape   place = mtf_shape_plus(mtf_shape(u.batch), unet_space(&u));
    mtf_graph  *g = n->graph = mtf_graph_new(v->session);
    mtf_tensor *volumes = mtf_input(g, "volumes", MTF_F32,
                                    mtf_shape_plus(place, mtf_shape(((mtf_dim){"channels", 1}))));
    mtf_tensor *labels = mtf_input(g, "labels", MTF_I32, place);
    mtf_tensor *x = mtf_cast(volumes, u.activation);
    mtf_tensor *logits =
        u.depth.size == 1 ? mtf_unet2d(x, u.classes, &u.net) : mtf_unet3d(x, u.classes, &u.net);
    logits = mtf_cast(logits, MTF_F32);
    mtf_tensor *truth = foreground(&u, mtf_one_hot(labels, u.classes));
    mtf_tensor *loss = mtf_add(mtf_scale(unet_dice_loss(&u, logits, truth), u.dice),
                               mtf_scale(unet_entropy(&u, logits, labels), 1 - u.dice));
    n->loss = mtf_name(loss, "loss");
    if (training || !n->loss) return n->loss != NULL;
    mtf_tensor *best = mtf_argmax(logits, u.classes);
    mtf_tensor *right = mtf_cast(mtf_equal(best, labels), MTF_F32);
    n->right = mtf_name(mtf_reduce_mean_to(right, mtf_shape(u.batch)), "right");
    return n->right && unet_scores(&u, best, truth, n) &&
           unet_pictures(&u, volumes, labels, best, n);
}

/* ---- the data ---- */

static const char *unet_files(const settings *v, bool training, const char *what)
{
    textbuf t = {.arena = &v->session->arena};
    text_add(&t, "%s/%s-%s*", setting_text(v, "data-dir"), training ? "train" : "test", what);
    return text_done(&t);
}

static bool unet_fields(const settings *v, bool training, mtf_field fields[MOST_FIELDS])
{
    unet_settings u;
    TRY(unet_read(v, &u));
    fields[0] = (mtf_field){
        .name = "volumes", .files = unet_files(v, training, "volumes"), .format = "npy"};
    fields[1] = (mtf_field){.name = "labels",
                            .files = unet_files(v, training, "labels"),
                            .format = "npy",
                            .most = (double)u.classes.size - 1};
    fields[2] = (mtf_field){.name = NULL};
    return fields[0].files && fields[1].files;
}

static const model_option options[] = {{"batch", "8"},
                                       {"size", "32"},
                                       {"depth", "16"},
                                       {"filters", "16"},
                                       {"levels", "3"},
                                       {"convs", "2"},
                                       {"dropout", "0"},
                                       {"dice", "0.2"},
                                       {"class-weights", "1,8,16"},
                                       {"optimizer", "adam"},
                                       {"rate", "0.01 * linear_warmup(20) * cosine"},
                                       {"epochs", "10"},
                                       {"data-dir", "data/volumes"},
                                       {"activation-type", "f32"},
                                       {0}};

const model model_unet = {.name = "unet",
                          .says = "labels for every element of volumes, whose space a mesh may cut",
                          .options = options,
                          .build = unet_build,
                          .fields = unet_fields};
