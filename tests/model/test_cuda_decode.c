/* Decoding on a GPU: the tokens of the CPU, in few kernels. */
#include "cuda/driver/cuda_device.h"
#include "cuda/write/slim_groups.h"
#include "model/transformer/decode_graph.h"
#include "run/compiled.h"
#include "run/store.h"

#include "ground.h"

#include "run/emulated_gpu.h"

enum { WIDE = 128, VOCAB = 96, LENGTH = 32, NEW = 12 };

typedef struct model_sizes {
    int64_t layers, wide, hidden, heads, vocab, length;
    bool shared; /* embeddings are those of logits, so that the same token comes again and again */
} model_sizes;

static mtf_transformer *make_sized(mtf_session *s, model_sizes n, mtf_dtype type)
{
    static const char *const    none[] = {NULL};
    static const char *const    around[] = {"layer_norm", "call_layer", "residual", NULL};
    static const char *const    last[] = {"layer_norm", NULL};
    const mtf_transformer_layer layer[] = {
        {.kind = MTF_SELF_ATTENTION,
         .attention = {.heads = n.heads, .kv = 64, .bias = true, .scale_queries = true}},
        {.kind = MTF_FEED_FORWARD,
         .feed_forward = {.hidden = n.hidden, .activation = {"gelu"}, .bias = true}},
        {0}};
    return mtf_transformer_new(
        s, &(mtf_transformer_opts){.d_model = n.wide,
                                   .input_vocab = n.vocab,
                                   .vocab_divisor = 1,
                                   .stack = {.layers = layer,
                                             .blocks = n.layers,
                                             .initial = none,
                                             .per_layer = around,
                                             .final = last,
                                             .max_length = n.length},
                                   .shared_softmax = n.shared,
                                   .unscaled_softmax = true,
                                   .no_shift = true,
                                   .activation = type,
                                   .context = {.short_weights = type == MTF_BF16}});
}

static mtf_transformer *make_model(mtf_session *s, int layers, mtf_dtype type)
{
    return make_sized(s, (model_sizes){layers, WIDE, 4 * WIDE, 2, VOCAB, LENGTH, true}, type);
}

static void decode(const char *name, mtf_dtype type, int batch, int32_t ids[][NEW])
{
    static const int32_t prompt[] = {5, 17, 80, 3, 9};
    mtf_session         *s = mtf_open_with(&(mtf_session_opts){.device = name, .seed = 3});
    bool         shared = type == MTF_BF16; /* in bf16 logits would often be equal otherwise */
    model_sizes  size = {2, WIDE, 4 * WIDE, 2, VOCAB, LENGTH, shared};
    mtf_decoder *d =
        mtf_decoder_new(make_sized(s, size, type), &(mtf_decoder_opts){.batch = batch});
    mtf_decode_job job[4] = {{0}}, *all[4];
    assert_true(batch <= 4);
    for (int k = 0; k < batch; k++) {
        job[k] =
            (mtf_decode_job){.prompt = prompt + k, .length = 2 + k % 2, .how = {.max_tokens = NEW}};
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
            int32_t gpu[3][NEW], host[3][NEW];
            decode("cuda", types[k], batch, gpu);
            decode("cpu", types[k], batch, host);
            for (int row = 0; row < batch; row++)
                assert_memory_equal(gpu[row], host[row], sizeof gpu[row]);
        }
}

/* ---- sampled tokens ---- */

enum { MOST_SAMPLED = 40, MOST_PROMPT = 80, PROMPTS = 6 };

typedef struct sampled_tokens {
    int     n;
    int32_t id[MOST_SAMPLED];
    double  log_probability[MOST_SAMPLED];
} sampled_tokens;

static bool keep_token(void *context, int32_t id, double log_probability)
{
    sampled_tokens *t = context;
    assert_true(t->n < MOST_SAMPLED);
    t->id[t->n] = id;
    t->log_probability[t->n++] = log_probability;
    return true;
}

/* Goes on with some prompts, in a model large enough for blocks of a cluster to share its products, and
 * the positions of attention. */
static void sample(const mtf_session_opts *on, mtf_dtype type, int prompts, int length, int tokens,
                   sampled_tokens *to)
{
    const model_sizes size = {1, 192, 772, 3, 97, 128, false};
    mtf_session      *s = mtf_open_with(on);
    mtf_decoder      *d = mtf_decoder_new(make_sized(s, size, type), NULL);
    int32_t           prompt[MOST_PROMPT];
    mtf_decode_job    job[PROMPTS], *all[PROMPTS];
    for (int k = 0; k < MOST_PROMPT; k++) prompt[k] = (int32_t)((k * k + 3) % size.vocab);
    for (int k = 0; k < prompts; k++) {
        to[k] = (sampled_tokens){0};
        job[k] = (mtf_decode_job){.prompt = prompt + k,
                                  .length = length + k,
                                  .how = {.temperature = 1, .max_tokens = tokens, .seed = 5 + k},
                                  .token = keep_token,
                                  .context = &to[k]};
        job[k].how.never_end = true;
        all[k] = &job[k];
    }
    bool ok = mtf_decode(d, prompts, all);
    assert_string_equal(mtf_error(s), "");
    assert_true(ok);
    for (int k = 0; k < prompts; k++) {
        assert_int_equal(to[k].n, tokens);
        mtf_decode_free(d, &job[k]);
    }
    close_well(s);
}

/* How many tokens are the same, one after another; their probabilities agree. */
static int count_same(const sampled_tokens *a, const sampled_tokens *b, double within)
{
    int k = 0;
    for (; k < a->n && a->id[k] == b->id[k]; k++)
        if (!(fabs(a->log_probability[k] - b->log_probability[k]) <= within))
            fail_msg("token %d, %d, has log probability %.8f on the GPU, not %.8f", k, a->id[k],
                     a->log_probability[k], b->log_probability[k]);
    return k;
}

/* Where a random number falls between two tokens, to within rounding, either of them is right: here it is
 * further away than f32 rounds. */
static void test_sampled_tokens_are_those_of_the_cpu(void **state)
{
    static const char *const on[][2] = {
        {NULL, NULL}, {"x:3", "d_ff:x"}, {"x:2,y:2", "d_ff:x,heads:y,vocab:x"}};
    static const int tokens[] = {MOST_SAMPLED, 20, 20};
    sampled_tokens   host, gpu;
    (void)state;
    sample(&(mtf_session_opts){.seed = 3}, MTF_F32, 1, 62, MOST_SAMPLED, &host);
    for (int k = 0; k < 3; k++) {
        sample(
            &(mtf_session_opts){.device = "cuda", .seed = 3, .mesh = on[k][0], .layout = on[k][1]},
            MTF_F32, 1, 62, tokens[k], &gpu);
        assert_int_equal(count_same(&gpu, &host, 2e-5), tokens[k]);
    }
}

/* In bf16 it may happen: most tokens of several prompts are the same. */
static void test_sampled_probabilities_are_those_of_the_cpu(void **state)
{
    enum { TOKENS = 6 };
    sampled_tokens host[PROMPTS], gpu[PROMPTS];
    int            same = 0;
    (void)state;
    sample(&(mtf_session_opts){.seed = 3}, MTF_BF16, PROMPTS, 65, TOKENS, host);
    sample(&(mtf_session_opts){.device = "cuda", .seed = 3}, MTF_BF16, PROMPTS, 65, TOKENS, gpu);
    for (int k = 0; k < PROMPTS; k++) same += count_same(&gpu[k], &host[k], 0x1p-5);
    assert_true(same >= PROMPTS * TOKENS / 2);
}

static int kernels_of(int layers)
{
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.device = "cuda"});
    decode_sizes size = {.model = make_model(s, layers, MTF_BF16),
                         .scope = "cache",
                         .rows = 1,
                         .parts = 1,
                         .beams = 1,
                         .length = LENGTH};
    decode_graph g;
    int          n = 0;
    if (!decode_graph_make(&size, DECODE_STEP_BEST, size.rows, 1, &g)) fail_msg("%s", mtf_error(s));
    const program *p = first_program(g.program);
    for (int k = 0; k < p->ninstrs; n++) {
        slim_group all = slim_group_at(p, k);
        k = all.n ? all.end : k + 1;
    }
    close_well(s);
    return n;
}

/* Queries, keys and values with their norm and caches; attention; its output; the two products of the
 * feed-forward layer, the first with its norm. */
static void test_a_layer_has_few_kernels(void **state)
{
    (void)state;
    assert_int_equal(kernels_of(3) - kernels_of(2), 5);
}

/* ---- calls of the driver ---- */

static struct {
    int         graphs, kernels, copies_in, copies_out, waits;
    cuda_driver real;
} calls;

static CUresult count_graph(CUgraphExec graph, CUstream stream)
{
    calls.graphs++;
    return calls.real.cuGraphLaunch(graph, stream);
}

static CUresult count_kernel(const CUlaunchConfig *how, CUfunction f, void **parameters,
                             void **extra)
{
    calls.kernels++;
    return calls.real.cuLaunchKernelEx(how, f, parameters, extra);
}

static CUresult count_in(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
    calls.copies_in++;
    return calls.real.cuMemcpyHtoDAsync(to, from, bytes, stream);
}

static CUresult count_out(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    calls.copies_out++;
    return calls.real.cuMemcpyDtoHAsync(to, from, bytes, stream);
}

static CUresult count_wait(CUstream stream)
{
    calls.waits++;
    return calls.real.cuStreamSynchronize(stream);
}

/* A token is one graph: the host copies its inputs, and waits for its results. */
static void test_a_token_is_one_graph(void **state)
{
    static const int32_t prompt[] = {5};
    (void)state;
    mtf_session   *s = mtf_open_with(&(mtf_session_opts){.device = "cuda", .seed = 3});
    mtf_decoder   *d = mtf_decoder_new(make_model(s, 2, MTF_BF16), NULL);
    mtf_decode_job job = {.prompt = prompt, .length = 1, .how = {.never_end = true}};
    assert_true(mtf_decode_start(d, &job));
    for (int k = 0; k < 2; k++) assert_int_equal(mtf_decode_step(d), 1); /* queued, recorded */
    cuda_driver *driver = &((cuda_device *)store_of(s)->device)->api.driver;
    calls.real = *driver;
    driver->cuGraphLaunch = count_graph;
    driver->cuLaunchKernelEx = count_kernel;
    driver->cuMemcpyHtoDAsync = count_in;
    driver->cuMemcpyDtoHAsync = count_out;
    driver->cuStreamSynchronize = count_wait;
    assert_int_equal(mtf_decode_step(d), 1);
    *driver = calls.real;
    assert_int_equal(calls.graphs, 1);
    assert_int_equal(calls.kernels, 0);
    assert_int_equal(calls.copies_in, 2); /* the token and its position */
    assert_int_equal(calls.copies_out, 0);
    assert_int_equal(calls.waits, 2); /* for the token, and for its probability */
    close_well(s);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tokens_are_those_of_the_cpu),
        cmocka_unit_test(test_sampled_tokens_are_those_of_the_cpu),
        cmocka_unit_test(test_sampled_probabilities_are_those_of_the_cpu),
        cmocka_unit_test(test_a_layer_has_few_kernels),
        cmocka_unit_test(test_a_token_is_one_graph),
    };
    (void)argc;
    use_emulated_gpu(argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
