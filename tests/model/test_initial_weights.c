/* Tests the weights and the loss of untrained models, as configured. */
#include <math.h>

#include "graph/node.h"
#include "mtf_config.h"

/* last */
#include "ground.h"

enum { BATCH = 2, LENGTH = 64, VOCAB = 997, BLOCKS = 3 };

typedef struct model {
    mtf_session *session;
    mtf_graph   *graph;
    mtf_program *program;
    double       loss; /* of tokens that are all different */
} model;

/* A small model of this preset's form, with more parameters or NULL. */
static model start(const char *preset, const char *more)
{
    static const char small[] = "num_layers = 3\nd_model = 128\nd_ff = 512\nnum_heads = 2\n"
                                "dropout_rate = 0.0\nmax_length = 64\nd_kv = 64\n"
                                "Unitransformer.input_vocab_size = 997\n"
                                "Unitransformer.output_vocab_size = 997\n";
    model             m = {.session = mtf_open_with(&(mtf_session_opts){.threads = 1})};
    mtf_config_run    run;
    mtf_config_model  made;
    int32_t           ids[BATCH * LENGTH];
    mtf_config_opts   o = {.files = (const char *const[]){preset, NULL},
                           .params = (const char *const[]){small, more, NULL}};
    mtf_config       *c = mtf_config_open(m.session, &o);
    if (!c || !mtf_config_get_run(c, &run) || !mtf_config_get_model(c, 0, 0, &made))
        fail_msg("%s", mtf_error(m.session));
    m.graph = mtf_graph_new(m.session);
    mtf_shape   shape = mtf_shape((mtf_dim){"batch", BATCH}, (mtf_dim){"length", LENGTH});
    mtf_tensor *targets = mtf_input(m.graph, "targets", MTF_I32, shape);
    mtf_tensor *loss = mtf_transformer_apply(mtf_transformer_new(m.session, &made.model),
                                             &(mtf_transformer_batch){.targets = targets},
                                             &(mtf_transformer_call){.training = true})
                           .loss;
    m.program = mtf_compile(m.graph, loss);
    for (int k = 0; k < BATCH * LENGTH; k++) ids[k] = 1 + k * 7 % (VOCAB - 1);
    if (!mtf_feed(m.program, targets, ids) || !mtf_step(m.program))
        fail_msg("%s", mtf_error(m.session));
    m.loss = mtf_fetch_scalar(m.program, loss);
    return m;
}

/* The standard deviation of a variable's elements, which have the mean 0. */
static double deviation(const model *m, const char *name)
{
    enum { MOST = 200 };
    mtf_tensor  *list[MOST];
    static float data[1 << 20];
    int          n = mtf_variables(m->graph, list, MOST);
    for (int k = 0; k < n && k < MOST; k++) {
        if (strcmp(tensor_name(list[k]), name) != 0) continue;
        int64_t size = mtf_shape_size(list[k]->shape);
        double  squares = 0;
        assert_true(size <= 1 << 20 && mtf_variable_get(list[k], data));
        for (int64_t i = 0; i < size; i++) squares += (double)data[i] * data[i];
        return sqrt(squares / (double)size);
    }
    fail_msg("there is no variable %s", name);
    return 0;
}

/* GPT-2: deviations of 0.02, and smaller ones of what is added to the residual stream. */
static void test_gpt2(void **state)
{
    (void)state;
    model  m = start("gpt2_124m", NULL);
    double last = 0.02 / sqrt(2 * BLOCKS);
    assert_near(m.loss, log(VOCAB), 0.1);
    assert_near(deviation(&m, "transformer/embedding"), 0.02, 2e-4);
    assert_near(deviation(&m, "transformer/positional_embedding"), 0.02, 1e-3);
    assert_near(deviation(&m, "transformer/block_001/layer_000/SelfAttention/q"), 0.02, 1e-3);
    assert_near(deviation(&m, "transformer/block_001/layer_000/SelfAttention/v"), 0.02, 1e-3);
    assert_near(deviation(&m, "transformer/block_002/layer_000/SelfAttention/o"), last, 5e-4);
    assert_near(deviation(&m, "transformer/block_000/layer_001/DenseReluDense/wi/kernel"), 0.02,
                1e-3);
    assert_near(deviation(&m, "transformer/block_002/layer_001/DenseReluDense/wo/kernel"), last,
                5e-4);
    close_well(m.session);
}

/* Without it, weights begin as in the original: by the number of terms that they are summed with. */
static void test_default(void **state)
{
    (void)state;
    model  m = start("gpt2_124m", "Unitransformer.initializer_range = None");
    double in = pow(128, -0.5);
    assert_near(deviation(&m, "transformer/embedding"), 1, 0.01);
    assert_near(deviation(&m, "transformer/block_001/layer_000/SelfAttention/q"), in, in / 20);
    close_well(m.session);
}

/* Logits with weights of their own begin like the other weights. */
static void test_own_logits(void **state)
{
    (void)state;
    model m = start("lm_base", "Unitransformer.initializer_range = 0.05\n"
                               "Unitransformer.shared_embedding_and_softmax_weights = False");
    assert_near(deviation(&m, "transformer/logits/kernel"), 0.05, 1e-3);
    assert_near(deviation(&m, "transformer/embedding"), 0.05, 1e-3);
    close_well(m.session);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gpt2),
        cmocka_unit_test(test_default),
        cmocka_unit_test(test_own_logits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
