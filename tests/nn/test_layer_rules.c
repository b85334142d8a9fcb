/* Tests layers: communication, names, initial values, errors. */
#include "mtf_nn.h"

#include "ground.h"

static const mtf_dim b = {"b", 8}, a = {"a", 16}, h = {"h", 12}, vocab = {"vocab", 1001};

/* ---- a cut vocabulary ---- */

/* The elements of collectives, and of those that are not sums. */
typedef struct travel {
    int64_t reduced, others;
} travel;

static travel travel_of(const mtf_program *p)
{
    const mtf_counter *list;
    int                n = mtf_program_counters(p, &list);
    travel             t = {0};
    for (int i = 0; i < n; i++) {
        if (strncmp(list[i].name, "allreduce/", 10) == 0) t.reduced += list[i].elements;
        if (strncmp(list[i].name, "allgather/", 10) == 0 ||
            strncmp(list[i].name, "alltoall/", 9) == 0 ||
            strncmp(list[i].name, "exchange/", 9) == 0)
            t.others += list[i].elements;
    }
    return t;
}

/* Logits are never gathered: the loss moves a largest, a sum and a picked logit for each position of
 * each processor, its gradient nothing but the sum for the hidden layer. */
static void test_cut_vocabulary(void **state)
{
    (void)state;
    for (int soft = 0; soft < 2; soft++)
        for (int gradient = 0; gradient < 2; gradient++) {
            mtf_session *s = open_as_asked(&(mtf_session_opts){.mesh = "p:4", .layout = "vocab:p"});
            mtf_graph   *g = mtf_graph_new(s);
            mtf_tensor  *x = mtf_input(g, "x", MTF_F32, mtf_shape(b, a));
            mtf_tensor  *w = mtf_variable(g, "w", mtf_shape(a, vocab), NULL);
            mtf_tensor  *logits = mtf_einsum(mtf_shape(b, vocab), x, w);
            mtf_tensor  *targets = soft ? mtf_input(g, "t", MTF_F32, mtf_shape(b, vocab))
                                        : mtf_input(g, "t", MTF_I32, mtf_shape(b));
            mtf_tensor  *loss = mtf_reduce_mean(
                 mtf_softmax_cross_entropy_with_logits(logits, targets, vocab, 1e-4), MTF_ALL);
            mtf_tensor *xs[2] = {x, w}, *dxs[2] = {loss, loss};
            if (gradient) mtf_gradients(1, &loss, 2, xs, NULL, dxs);
            travel t = travel_of(mtf_compile(g, loss, dxs[0], dxs[1]));
            assert_int_equal(t.others, 0);
            assert_true(t.reduced <= 4 * (4 * b.size + gradient * b.size * a.size));
            close_well(s);
        }
}

/* ---- a cut length ---- */

/* Windows and blocks move margins alone: 15 positions of keys and of values, one row of an image. */
static void test_margins(void **state)
{
    (void)state;
    mtf_dim            length = {"length", 512}, kv = {"kv", 8}, heads = {"heads", 2};
    mtf_dim            rows = {"rows", 4}, r = {"r", 8}, w = {"w", 32}, c = {"c", 3};
    mtf_session       *s = open_as_asked(&(mtf_session_opts){.mesh = "p:4", .layout = "length:p"});
    mtf_graph         *g = mtf_graph_new(s);
    mtf_attention_opts o = {.window = 16, .split = 128};
    mtf_tensor        *x = mtf_input(g, "x", MTF_F32, mtf_shape(b, length, a));
    travel             t =
        travel_of(mtf_compile(g, mtf_masked_local_attention_1d(x, kv, heads, &o, NULL, NULL)));
    assert_int_equal(t.reduced, 0);
    assert_int_equal(t.others, 2 * 3 * 15 * b.size * heads.size * kv.size);
    close_well(s);

    s = open_as_asked(&(mtf_session_opts){.mesh = "p:4", .layout = "rows:p"});
    g = mtf_graph_new(s);
    mtf_conv_layer_opts how = {.blocks = {rows}};
    x = mtf_input(g, "x", MTF_F32, mtf_shape(b, rows, r, w, c));
    t = travel_of(mtf_compile(g, mtf_conv2d_with_blocks(x, a, &how)));
    assert_int_equal(t.reduced, 0);
    assert_int_equal(t.others, 2 * 3 * b.size * w.size * c.size);
    close_well(s);
}

/* ---- names and starts ---- */

static void test_names(void **state)
{
    (void)state;
    static const char *const names[] = {"dense/kernel",
                                        "dense/bias",
                                        "dense_1/kernel",
                                        "dense_1/bias",
                                        "stack/dense/kernel",
                                        "stack/dense/bias",
                                        "stack/ff/wi/kernel",
                                        "stack/ff/wo/kernel",
                                        "stack/layer_norm/layer_norm_scale",
                                        "stack/layer_norm/layer_norm_bias",
                                        "shared/embedding",
                                        "dense_product_0/kernel",
                                        "dense_product_1/kernel"};
    static const char *const gated[] = {"gelu", "linear", NULL};
    mtf_session             *s = open_two_threads();
    mtf_graph               *g = mtf_graph_new(s);
    mtf_tensor              *x = mtf_input(g, "x", MTF_F32, mtf_shape(b, a)), *list[20];
    mtf_dense(x, mtf_shape(h), NULL);
    mtf_dense(x, mtf_shape(h), NULL);
    mtf_scope_push(g, "stack");
    mtf_dense(x, mtf_shape(h), NULL);
    mtf_dense_relu_dense(x, h, &(mtf_dense_relu_dense_opts){.name = "ff"});
    mtf_layer_norm(x, a, NULL);
    mtf_scope_pop(g);
    mtf_tensor *ids = mtf_input(g, "ids", MTF_I32, mtf_shape(b));
    for (int i = 0; i < 2; i++) /* shared by name */
        mtf_embedding(ids, vocab, a, &(mtf_embedding_opts){.name = "shared"});
    mtf_dense_product(x, mtf_shape(h), gated, &(mtf_dense_opts){.no_bias = true});
    assert_int_equal(mtf_variables(g, list, 20), 13);
    for (int i = 0; i < 13; i++) assert_string_equal(mtf_name_of_tensor(list[i]), names[i]);
    close_well(s);
}

static double deviation_of(mtf_tensor *w)
{
    int64_t n = mtf_shape_size(mtf_shape_of_tensor(w));
    float  *values = malloc((size_t)n * sizeof *values);
    double  squares = 0;
    assert_true(mtf_variable_get(w, values));
    for (int64_t i = 0; i < n; i++) squares += (double)values[i] * (double)values[i];
    free(values);
    return sqrt(squares / (double)n);
}

/* Kernels go by their own fans, or start at 1 and are scaled where they are used. */
static void test_starts(void **state)
{
    (void)state;
    mtf_dim           c = {"c", 50}, d = {"d", 4}, e = {"e", 60}, kv = {"kv", 16}, heads = {"n", 4};
    mtf_session      *s = open_two_threads();
    mtf_graph        *g = mtf_graph_new(s);
    mtf_layer_context unit = {.unit_scaling = true};
    mtf_tensor       *x = mtf_input(g, "x", MTF_F32, mtf_shape(b, c, d));
    mtf_dense_opts    o = {.reduced = mtf_shape(c, d)};
    mtf_dense(x, mtf_shape(e), &o);
    o.kernel_init = "he_normal";
    mtf_dense(x, mtf_shape(e), &o);
    o.kernel_init = NULL, o.context = &unit;
    mtf_dense(x, mtf_shape(e), &o);
    mtf_multihead_attention_params(g, heads, e, kv, MTF_F32,
                                   &(mtf_attention_opts){.combine = true});
    mtf_multihead_attention_params(g, heads, e, kv, MTF_F32, NULL);
    static const struct {
        const char *name;
        double      deviation;
    } starts[] = {
        {"dense/kernel", 0.87962566 / 14.1421356},
        {"dense_1/kernel", 0.1},
        {"dense_2/kernel", 0.87962566},
        {"q", 0.12909944 / 2},
        {"k", 0.12909944 / 2},
        {"v", 0.12909944},
        {"o", 0.12909944 / 2},
        {"qkvo", 0.0853912},
    };
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        double found = deviation_of(mtf_find(g, starts[i].name));
        if (fabs(found / starts[i].deviation - 1) > 0.03)
            fail_msg("%s has a deviation of %g, not %g", starts[i].name, found,
                     starts[i].deviation);
    }
    close_well(s);
}

/* Short layers keep their weights in f32 unless they are told otherwise. */
static void test_types(void **state)
{
    (void)state;
    mtf_session      *s = open_two_threads();
    mtf_graph        *g = mtf_graph_new(s);
    mtf_layer_context brief = {.short_weights = true};
    mtf_tensor       *x = mtf_input(g, "x", MTF_BF16, mtf_shape(b, a));
    mtf_tensor       *y = mtf_dense(x, mtf_shape(h), NULL);
    mtf_dense(y, mtf_shape(a), &(mtf_dense_opts){.context = &brief});
    y = mtf_layer_norm(mtf_batch_norm(y, NULL), h, NULL);
    assert_int_equal(mtf_dtype_of_tensor(y), MTF_BF16);
    assert_int_equal(mtf_dtype_of_tensor(mtf_find(g, "dense/kernel")), MTF_F32);
    assert_int_equal(mtf_dtype_of_tensor(mtf_find(g, "dense_1/kernel")), MTF_BF16);
    assert_int_equal(mtf_dtype_of_tensor(mtf_find(g, "batch_norm/bn_moving_mean")), MTF_F32);
    close_well(s);
}

/* ---- noise ---- */

typedef struct kept {
    int    zeros;
    double largest;
} kept;

static kept drop(double step, bool inference)
{
    mtf_dim                   n = {"n", 4000};
    mtf_layer_context         context = {.inference = inference};
    mtf_annealed_dropout_opts o = {.start = 100, .end = 300, .rate = 0.5, .context = &context};
    mtf_session              *s = open_two_threads();
    mtf_graph                *g = mtf_graph_new(s);
    float                     y[4000];
    kept                      k = {0};
    evaluate(g,
             mtf_annealed_dropout(mtf_ones(g, MTF_F32, mtf_shape(n)),
                                  mtf_constant(g, step, MTF_I32, mtf_shape()), &o),
             y);
    for (int i = 0; i < 4000; i++)
        if (y[i] == 0)
            k.zeros++;
        else if ((double)y[i] > k.largest)
            k.largest = (double)y[i];
    close_well(s);
    return k;
}

static void test_annealed(void **state)
{
    (void)state;
    static const struct {
        double step, rate;
    } at[] = {{0, 0.5}, {100, 0.5}, {200, 0.25}, {300, 0}, {1000, 0}};
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        kept k = drop(at[i].step, false);
        assert_true(fabs(k.zeros / 4000.0 - at[i].rate) < 0.03);
        assert_near(k.largest, 1 / (1 - at[i].rate), 1e-6);
    }
    assert_int_equal(drop(0, true).zeros, 0);
}

/* ---- what is refused ---- */

typedef void attempt(mtf_graph *g, mtf_tensor *x);

static void refuse(attempt *try, const char *sentence)
{
    mtf_session *s = open_two_threads();
    mtf_graph   *g = mtf_graph_new(s);
    try(g, mtf_input(g, "x", MTF_F32, mtf_shape(b, a, h)));
    close_with(s, sentence);
}

#define TRY_TO(name, call)                                                                         \
    static void name(mtf_graph *g, mtf_tensor *x)                                                  \
    {                                                                                              \
        (void)g, (void)x;                                                                          \
        call;                                                                                      \
    }

static const mtf_layer_context unit_scaling = {.unit_scaling = true};

TRY_TO(reduce_stranger,
       mtf_dense(x, mtf_shape(vocab), &(mtf_dense_opts){.reduced = mtf_shape(vocab)}))
TRY_TO(make_known, mtf_dense(x, mtf_shape(a), NULL))
TRY_TO(activate_oddly, mtf_dense(x, mtf_shape(vocab), &(mtf_dense_opts){.activation = "sum"}))
TRY_TO(scale_oddly,
       mtf_dense(x, mtf_shape(vocab),
                 &(mtf_dense_opts){.kernel_init = "glorot_uniform", .context = &unit_scaling}))
TRY_TO(norm_stranger, mtf_layer_norm(x, vocab, NULL))
TRY_TO(target_oddly,
       mtf_sigmoid_cross_entropy_with_logits(x, mtf_input(g, "t", MTF_F32, mtf_shape(b, a))))
TRY_TO(few_dimensions, mtf_conv3d_layer(x, vocab, NULL))
TRY_TO(pad_oddly, mtf_conv1d_layer(x, vocab, &(mtf_conv_layer_opts){.padding = MTF_EXPLICIT}))
TRY_TO(stride_blocks, mtf_conv2d_with_blocks(
                          mtf_reshape(x, mtf_shape(b, {"hb", 4}, {"r", 16}, {"w", 1}, {"c", 3})),
                          vocab, &(mtf_conv_layer_opts){.stride = {3, 1}, .blocks = {{"hb", 4}}}))
TRY_TO(other_memory, mtf_multihead_attention(x,
                                             mtf_input(g, "m", MTF_F32,
                                                       mtf_shape(b, {"memory_length", 3}, vocab)),
                                             NULL, (mtf_dim){"kv", 2}, (mtf_dim){"heads", 2}, NULL))
TRY_TO(no_limit, mtf_clip_activation_gradient(x, 0))

static void test_refused(void **state)
{
    (void)state;
    refuse(reduce_stranger,
           "shape: dense: \"x\" is [b=8, a=16, h=12]; it has no dimension \"vocab\" to reduce");
    refuse(make_known, "shape: dense: \"x\" is [b=8, a=16, h=12] and has the new dimension \"a\" "
                       "already; reduce it (now [h=12]), or give it another name");
    refuse(activate_oddly,
           "name: no activation is called \"sum\"; there are linear, relu, gelu, silu, sigmoid, "
           "tanh and the other operations of one tensor alone");
    refuse(scale_oddly, "value: dense: with unit scaling the initialiser goes by fan_in, unlike "
                        "\"glorot_uniform\"");
    refuse(norm_stranger,
           "shape: layer_norm: \"x\" is [b=8, a=16, h=12]; it has no dimension \"vocab\"");
    refuse(target_oddly, "shape: sigmoid_cross_entropy: the targets \"t\" are [b=8, a=16]; with "
                         "the logits \"x\" they must be [b=8, a=16, h=12]");
    refuse(few_dimensions,
           "shape: conv3d: \"x\" is [b=8, a=16, h=12]; it needs 4 dimensions or more");
    refuse(pad_oddly, "value: conv1d: a layer's padding is MTF_SAME or MTF_VALID");
    refuse(
        stride_blocks,
        "shape: conv2d_with_blocks: blocks of 16 along \"r\" are not a multiple of the stride 3");
    refuse(other_memory, "shape: multihead_attention: the query \"x\" is [b=8, a=16, h=12], the "
                         "memory \"m\" [b=8, memory_length=3, vocab=1001]; but for their lengths "
                         "they must be alike");
    refuse(no_limit, "value: clip_activation_gradient: a limit of 0; it must be above 0");
}

/* What is reduced and new gets another name, one that nothing else has. */
static void test_other_names(void **state)
{
    (void)state;
    mtf_session  *s = open_two_threads();
    mtf_graph    *g = mtf_graph_new(s);
    const mtf_dim like = {"_a", a.size};
    mtf_tensor   *x = mtf_input(g, "x", MTF_F32, mtf_shape(b, a));
    mtf_tensor   *y = mtf_dense(x, mtf_shape(a, like), NULL);
    assert_true(mtf_shape_equal(mtf_shape_of_tensor(y), mtf_shape(b, a, like)));
    const mtf_dim reduced = {"__a", a.size};
    assert_true(mtf_shape_equal(mtf_shape_of_tensor(mtf_find(g, "dense/kernel")),
                                mtf_shape(reduced, a, like)));
    close_well(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cut_vocabulary), cmocka_unit_test(test_margins),
        cmocka_unit_test(test_names),          cmocka_unit_test(test_starts),
        cmocka_unit_test(test_types),          cmocka_unit_test(test_annealed),
        cmocka_unit_test(test_refused),        cmocka_unit_test(test_other_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
