/* Decoding on a card: the tokens of the CPU, in few kernels. */
#include "mtf_build.h"

#if MTF_HAVE_CUDA
#include "machine/cuda/slim_groups.h"
#include "model/transformer/decode_graph.h"
#include "run/compiled.h"
#endif

#include "ground.h"

#if MTF_HAVE_CUDA
#include "run/emulated_card.h"

enum { WIDE = 128, VOCAB = 96, LENGTH = 32, NEW = 12 };

static mtf_transformer *make_model(mtf_session *s, int layers, mtf_dtype type)
{
    static const char *const    none[] = {NULL};
    static const char *const    around[] = {"layer_norm", "call_layer", "residual", NULL};
    static const char *const    last[] = {"layer_norm", NULL};
    const mtf_transformer_layer layer[] = {
        {.kind = MTF_SELF_ATTENTION,
         .attention = {.heads = 2, .kv = 64, .bias = true, .scale_queries = true}},
        {.kind = MTF_FEED_FORWARD,
         .feed_forward = {.hidden = 4 * WIDE, .activation = {"gelu"}, .bias = true}},
        {0}};
    return mtf_transformer_new(
        s, &(mtf_transformer_opts){.d_model = WIDE,
                                   .input_vocab = VOCAB,
                                   .vocab_divisor = 1,
                                   .stack = {.layers = layer,
                                             .blocks = layers,
                                             .initial = none,
                                             .per_layer = around,
                                             .final = last,
                                             .max_length = LENGTH},
                                   .shared_softmax = true,
                                   .unscaled_softmax = true,
                                   .no_shift = true,
                                   .activation = type,
                                   .context = {.short_weights = type == MTF_BF16}});
}

static void decode(const char *name, mtf_dtype type, int batch, int32_t ids[][NEW])
{
    static const int32_t prompt[] = {5, 17, 80, 3, 9};
    mtf_session         *s = mtf_open_with(&(mtf_session_opts){.device = name, .seed = 3});
    mtf_decoder    *d = mtf_decoder_new(make_model(s, 2, type), &(mtf_decoder_opts){.batch = batch});
    mtf_decode_job  job[4] = {{0}}, *all[4];
    assert_true(batch <= 4);
    for (int k = 0; k < batch; k++) {
        job[k] = (mtf_decode_job){.prompt = prompt + k, .length = 2 + k % 2, .how = {.max_tokens = NEW}};
        job[k].how.never_end = true;
        all[k] = &job[k];
    }
    bool ok = mtf_decode(d, batch, all);
    assert_string_equal(mtf_error(s), "");
    assert_true(ok);
    for (int k = 0; k < batch; k++) {
        assert_int_equal(job[k].lengths[0], NEW);
        memcpy(ids[k], job[k].ids[0], sizeof ids[k]);
        mtf_decode_free(d, &job[k]);
    }
    close_well(s);
}

static void test_tokens_are_those_of_the_cpu(void **state)
{
    static const mtf_dtype types[] = {MTF_F32, MTF_BF16};
    (void)state;
    for (int k = 0; k < 2; k++)
        for (int batch = 1; batch <= 3; batch += 2) {
            int32_t card[3][NEW], host[3][NEW];
            decode("cuda", types[k], batch, card);
            decode("cpu", types[k], batch, host);
            for (int row = 0; row < batch; row++) assert_memory_equal(card[row], host[row], sizeof card[row]);
        }
}

static int kernels_of(int layers)
{
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.device = "cuda"});
    decode_sizes size = {.model = make_model(s, layers, MTF_BF16), .scope = "cache", .rows = 1, .length = LENGTH};
    decode_graph g;
    int          n = 0;
    if (!decode_graph_make(&size, DECODE_STEP_BEST, 1, &g)) fail_msg("%s", mtf_error(s));
    const program *p = first_program(g.program);
    for (int k = 0; k < p->ninstrs; n++) {
        slim_group all = slim_group_at(p, k);
        k = all.n ? all.end : k + 1;
    }
    close_well(s);
    return n;
}

/* Queries, keys and values with their caches; attention; its output; a norm; the two products of the
 * feed-forward layer; a norm. */
static void test_a_layer_has_few_kernels(void **state)
{
    (void)state;
    assert_int_equal(kernels_of(3) - kernels_of(2), 7);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tokens_are_those_of_the_cpu),
        cmocka_unit_test(test_a_layer_has_few_kernels),
    };
    (void)argc;
    use_emulated_card(argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void)
{
    printf("without CUDA's headers there is no card that is the host\n");
    return 0;
}
#endif
