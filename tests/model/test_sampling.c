/* Tests that tokens are drawn with their probabilities, and by seed and position alone. */
#include <math.h>

#include "mtf_transformer.h"

#include "ground.h"

enum { VOCAB = 13, BATCH = 6, DRAWS = 3000, TOKENS = 14 };

static const mtf_transformer_layer layers[] = {
    {MTF_SELF_ATTENTION, .attention = {.heads = 2, .kv = 4}},
    {MTF_FEED_FORWARD, .feed_forward = {.hidden = 8}},
    {0}};
static const int32_t never[] = {-1}, prompt[] = {3, 7, 2, 9};

static mtf_decoder *decoder_on(mtf_session *s, int64_t batch)
{
    mtf_transformer_opts o = {.d_model = 8, .input_vocab = VOCAB, .no_shift = true};
    o.stack = (mtf_stack_opts){.layers = layers, .blocks = 1, .max_length = 40};
    return mtf_decoder_new(mtf_transformer_new(s, &o), &(mtf_decoder_opts){.batch = batch});
}

/* ---- one token, many times ---- */

typedef struct asked {
    mtf_decode_job job;
    double         probability[VOCAB];
} asked;

/* The probabilities of all tokens. */
static bool keep_probabilities(void *context, int32_t id, double log_probability)
{
    asked *a = context;
    assert_int_equal(a->job.nalternatives, VOCAB);
    for (int k = 0; k < VOCAB; k++) {
        const mtf_alternative *t = &a->job.alternatives[k];
        a->probability[t->id] = exp(t->log_probability);
        if (t->id == id) assert_true(fabs(t->log_probability - log_probability) < 1e-12);
    }
    return true;
}

static void decode_all(mtf_decoder *d, mtf_session *s, int n, mtf_decode_job *job)
{
    mtf_decode_job **all = malloc(sizeof *all * (size_t)n);
    for (int k = 0; k < n; k++) all[k] = &job[k];
    if (!mtf_decode(d, n, all)) fail_msg("%s", mtf_error(s));
    free(all);
}

/* What remains of the probabilities: with their temperature, the k largest, of them the fewest that
 * have a share of p. */
static void expect(const double *of, const mtf_sampling *how, double *p)
{
    int    order[VOCAB], n = VOCAB;
    double all = 0, sum = 0;
    for (int k = 0; k < VOCAB; k++) {
        int at = k;
        p[k] = 0;
        for (; at > 0 && of[order[at - 1]] < of[k]; at--) order[at] = order[at - 1];
        order[at] = k;
    }
    if (how->top_k) n = (int)how->top_k;
    for (int k = 0; k < n; k++) all += pow(of[order[k]], 1 / how->temperature);
    for (int k = 0; k < n; k++) {
        p[order[k]] = pow(of[order[k]], 1 / how->temperature);
        sum += p[order[k]];
        if (how->top_p > 0 && sum > how->top_p * all) break;
    }
    for (int k = 0; k < VOCAB; k++) p[k] /= sum;
}

static void check_draws(mtf_session *s, mtf_decoder *d, const double *of, const mtf_sampling *how)
{
    mtf_decode_job *job = calloc(DRAWS, sizeof *job);
    double          p[VOCAB], found[VOCAB] = {0}, square = 0;
    int             freedom = -1;
    for (int k = 0; k < DRAWS; k++) {
        job[k] = (mtf_decode_job){.prompt = prompt, .length = 3, .how = *how};
        job[k].how.max_tokens = 1;
        job[k].how.stop = never;
        *(k % 2 ? (int64_t *)&job[k].how.seed : &job[k].how.row) = k;
    }
    decode_all(d, s, DRAWS, job);
    for (int k = 0; k < DRAWS; k++) {
        found[job[k].ids[0][0]]++;
        mtf_decode_free(d, &job[k]);
    }
    expect(of, how, p);
    for (int k = 0; k < VOCAB; k++) {
        if (p[k] == 0) assert_true(found[k] == 0);
        if (p[k] == 0) continue;
        square += (found[k] - DRAWS * p[k]) * (found[k] - DRAWS * p[k]) / (DRAWS * p[k]);
        freedom++;
    }
    if (square > freedom + 4 * sqrt(2.0 * freedom))
        fail_msg("temperature %g, top-k %d, top-p %g: chi-square is %g of %d degrees of freedom",
                 how->temperature, (int)how->top_k, how->top_p, square, freedom);
    free(job);
}

static void test_tokens_have_their_probabilities(void **state)
{
    static const mtf_sampling ways[] = {{.temperature = 1},
                                        {.temperature = 0.4},
                                        {.temperature = 2.5, .top_k = 1000},
                                        {.temperature = 1, .top_k = 4},
                                        {.temperature = 1, .top_p = 0.7},
                                        {.temperature = 0.7, .top_k = 7, .top_p = 0.8}};
    (void)state;
    mtf_session *s = open_as_asked(&(mtf_session_opts){.seed = 11});
    mtf_decoder *d = decoder_on(s, BATCH);
    asked a = {.job = {.prompt = prompt, .length = 3, .token = keep_probabilities, .context = &a}};
    a.job.how =
        (mtf_sampling){.temperature = 1, .max_tokens = 1, .stop = never, .alternatives = VOCAB};
    decode_all(d, s, 1, &a.job);
    mtf_decode_free(d, &a.job);
    for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
        mtf_sampling how = ways[k];
        if (how.top_k > VOCAB) how.top_k = VOCAB;
        check_draws(s, d, a.probability, &how);
    }
    assert_int_equal(mtf_close(s), 0);
}

/* ---- texts ---- */

/* One text for each of `n` ways, decoded together where the batch has room. */
static void texts(int64_t batch, int n, const mtf_sampling *ways, int32_t ids[][TOKENS])
{
    mtf_session   *s = open_as_asked(&(mtf_session_opts){.seed = 11});
    mtf_decoder   *d = decoder_on(s, batch);
    mtf_decode_job job[BATCH];
    for (int k = 0; k < n; k++) {
        job[k] = (mtf_decode_job){.prompt = prompt, .length = 1 + k % 4, .how = ways[k]};
        job[k].how.max_tokens = TOKENS;
        if (!job[k].how.stop) job[k].how.stop = never;
    }
    decode_all(d, s, n, job);
    for (int k = 0; k < n; k++) {
        assert_int_equal(job[k].lengths[0], TOKENS);
        memcpy(ids[k], job[k].ids[0], sizeof ids[k]);
        mtf_decode_free(d, &job[k]);
    }
    assert_int_equal(mtf_close(s), 0);
}

/* Neighbours, and what they ask for, change nothing; nor does what is shown. */
static void test_a_seed_gives_a_text(void **state)
{
    static const mtf_sampling plain[BATCH] = {{.temperature = 1, .seed = 5},
                                              {.temperature = 0.6, .seed = 5},
                                              {.temperature = 1, .seed = 6},
                                              {.temperature = 3, .seed = 5, .row = 1},
                                              {.seed = 1},
                                              {.temperature = 1, .seed = 9}};
    mtf_sampling              other[BATCH];
    int32_t                   alone[BATCH][TOKENS], together[BATCH][TOKENS], shown[BATCH][TOKENS];
    (void)state;
    memcpy(other, plain, sizeof other);
    other[5].top_p = 0.999999; /* of a row: all have another program */
    texts(1, BATCH, plain, alone);
    texts(BATCH, BATCH, plain, together);
    assert_memory_equal(alone, together, sizeof alone);
    texts(4, BATCH, other, together);
    assert_memory_equal(alone, together, sizeof alone);
    other[0].alternatives = 3;
    texts(3, BATCH, other, shown);
    assert_memory_equal(alone, shown, sizeof alone);
    assert_memory_not_equal(alone[0], alone[2], sizeof alone[0]);
}

/* A narrow choice is the most probable token, a wide one leaves nothing out. */
static void test_ends_of_the_choices(void **state)
{
    static const mtf_sampling narrow[] =
        {{.temperature = 2, .top_k = 1, .seed = 4},
         {.temperature = 2, .top_p = 1e-9, .seed = 4},
         {.temperature = 1e-6, .seed = 4},
         {.temperature = 1e-30, .top_k = 9, .top_p = 0.9, .seed = 4}},
                              wide[] = {{.temperature = 2, .top_k = VOCAB, .seed = 4},
                                        {.temperature = 2, .top_k = (int64_t)1 << 40, .seed = 4},
                                        {.temperature = 2, .top_p = 1, .seed = 4},
                                        {.temperature = 2, .top_k = 100, .top_p = 1, .seed = 4}},
                              best[4] = {{0}},
                              all[] = {{.temperature = 2, .seed = 4},
                                       {.temperature = 2, .seed = 4},
                                       {.temperature = 2, .seed = 4},
                                       {.temperature = 2, .seed = 4}};
    int32_t a[4][TOKENS], b[4][TOKENS];
    (void)state;
    texts(4, 4, narrow, a);
    texts(4, 4, best, b);
    assert_memory_equal(a, b, sizeof a);
    texts(4, 4, wide, a);
    texts(4, 4, all, b);
    assert_memory_equal(a, b, sizeof a);
    assert_memory_not_equal(a[0], b[1], sizeof a[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_tokens_have_their_probabilities),
                                       cmocka_unit_test(test_a_seed_gives_a_text),
                                       cmocka_unit_test(test_ends_of_the_choices)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
