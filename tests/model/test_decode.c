/* Tests that decoding equals the whole model, on any mesh. */
#include "small_models.h"

#include "ground.h"

static share mine; /* of the models */

enum { JOBS = 3, NEW = 9, LONGEST = 17 };

static const int64_t lengths[JOBS] = {5, 2, LONGEST};
static const int32_t never[] = {-1};

static void fill(int32_t prompts[JOBS][LONGEST], bool prefix)
{
    for (int j = 0; j < JOBS; j++) {
        for (int i = 0; i < LONGEST; i++) prompts[j][i] = 2 + (i * 7 + j * 11) % (SMALL_VOCAB - 3);
        if (prefix) prompts[j][lengths[j] - 1] = 1;
    }
}

typedef struct run {
    mtf_session     *session;
    mtf_transformer *model;
    const char      *what;
    mtf_decoder     *decoder;
    int32_t          prompts[JOBS][LONGEST];
    mtf_decode_job   job[JOBS];
} run;

/* Three sequences in two slots. */
static void decode(run *r, int k, const char *mesh, const char *layout, int64_t beams,
                   double temperature)
{
    *r = (run){.session = open_as_asked(&(mtf_session_opts){.mesh = mesh, .layout = layout})};
    mtf_decode_job *jobs[JOBS];
    r->model = small_model(r->session, k, false, &r->what);
    fill(r->prompts, strncmp(r->what, "prefix", 6) == 0);
    r->decoder = mtf_decoder_new(
        r->model,
        &(mtf_decoder_opts){.batch = 2, .max_length = 40, .max_inputs = 20, .beams = beams});
    for (int j = 0; j < JOBS; j++) {
        r->job[j] = (mtf_decode_job){.prompt = r->prompts[j],
                                     .length = lengths[j],
                                     .how = {.max_tokens = NEW,
                                             .stop = never,
                                             .seed = (uint64_t)(7 + j),
                                             .temperature = temperature,
                                             .top_p = temperature > 0 ? 0.9 : 0,
                                             .results = beams}};
        jobs[j] = &r->job[j];
    }
    if (!mtf_decode(r->decoder, JOBS, jobs)) fail_msg("%s: %s", r->what, mtf_error(r->session));
}

static void end(run *r)
{
    for (int j = 0; j < JOBS; j++) mtf_decode_free(r->decoder, &r->job[j]);
    assert_int_equal(mtf_close(r->session), 0);
}

/* The logits of the model applied to a whole sequence, [NEW, vocab] of the new tokens; to be freed. */
static float *logits_of_whole(run *r, int k, int j, const int32_t *added, int64_t *vocab)
{
    bool       encodes = small_model_has_encoder(k), late = strstr(r->what, "no shift") != NULL;
    int64_t    before = encodes ? 0 : lengths[j];
    mtf_graph *g = mtf_graph_new(r->session);
    mtf_dim batch = {"batch", 1}, length = {"length", before + NEW}, given = {"length", lengths[j]};
    mtf_tensor *in = encodes ? mtf_input(g, "inputs", MTF_I32, mtf_shape(batch, given)) : NULL;
    mtf_tensor *targets = mtf_input(g, "targets", MTF_I32, mtf_shape(batch, length));
    /* A model that was never trained may say 0, which is not padding here. */
    mtf_tensor            *whole = encodes ? mtf_ones(g, MTF_I32, mtf_shape(batch, length)) : NULL;
    mtf_transformer_result y = mtf_transformer_apply(
        r->model,
        &(mtf_transformer_batch){.inputs = in, .targets = targets, .targets_segment = whole}, NULL);
    mtf_program *p = mtf_compile(g, y.logits);
    int32_t      ids[LONGEST + NEW];
    *vocab = mtf_shape_dim(mtf_shape_of_tensor(y.logits), "vocab").size;
    float *logits = malloc(sizeof *logits * (size_t)(length.size * *vocab));
    memcpy(ids, r->prompts[j], sizeof *ids * (size_t)before);
    memcpy(ids + before, added, sizeof *ids * NEW);
    mtf_feed(p, targets, ids);
    if (in) mtf_feed(p, in, r->prompts[j]);
    mtf_step(p);
    assert_true(mtf_fetch(p, y.logits, logits));
    memmove(logits, logits + (before - late) * *vocab, sizeof *logits * (size_t)(NEW * *vocab));
    return logits;
}

/* The most probable token after each. */
static void check_job(run *r, int k, int j)
{
    int64_t vocab;
    float  *logits = logits_of_whole(r, k, j, r->job[j].ids[0], &vocab);
    for (int64_t i = 0; i < NEW; i++) {
        const float *l = logits + i * vocab;
        int          best = 0;
        for (int v = 1; v < SMALL_VOCAB; v++)
            if (l[v] > l[best]) best = v;
        if (best != r->job[j].ids[0][i] && l[best] - l[r->job[j].ids[0][i]] > 1e-4f)
            fail_msg("%s: token %d of sequence %d is %d, but %d is more probable", r->what, (int)i,
                     j, r->job[j].ids[0][i], best);
    }
    free(logits);
}

static void test_decoding_is_the_whole_model(void **state)
{
    (void)state;
    for (int k = 0; k < small_models(); k++) {
        run r;
        if (!share_has(mine, k)) continue;
        decode(&r, k, NULL, NULL, 1, 0);
        for (int j = 0; j < JOBS; j++) {
            assert_int_equal(r.job[j].nresults, 1);
            assert_int_equal(r.job[j].lengths[0], NEW);
            check_job(&r, k, j);
        }
        end(&r);
    }
}

/* The score of each result of a beam search is that of its tokens by the whole model: so each beam goes on
 * with what was kept of the one that it continues. */
static void check_beams(run *r, int k, int j)
{
    for (int n = 0; n < r->job[j].nresults; n++) {
        int64_t vocab;
        double  sum = 0;
        float  *logits = logits_of_whole(r, k, j, r->job[j].ids[n], &vocab);
        for (int64_t i = 0; i < NEW; i++) {
            const float *l = logits + i * vocab;
            double       all = 0;
            for (int v = 0; v < SMALL_VOCAB; v++) all += exp(l[v]);
            sum += l[r->job[j].ids[n][i]] - log(all);
        }
        double expected = sum / pow((5.0 + NEW) / 6, 0.6);
        if (fabs(r->job[j].scores[n] - expected) > 1e-3)
            fail_msg("%s: result %d of sequence %d has the score %g, and its tokens %g", r->what, n,
                     j, r->job[j].scores[n], expected);
        free(logits);
    }
}

static void test_beams_score_as_the_whole_model(void **state)
{
    (void)state;
    for (int k = 0; k < small_models(); k++) {
        run r;
        if (!share_has(mine, k)) continue;
        decode(&r, k, NULL, NULL, 3, 0);
        for (int j = 0; j < JOBS; j++) {
            assert_int_equal(r.job[j].nresults, 3);
            check_beams(&r, k, j);
        }
        end(&r);
    }
}

static void check_same(run *a, run *b)
{
    for (int j = 0; j < JOBS; j++) {
        assert_int_equal(a->job[j].nresults, b->job[j].nresults);
        for (int n = 0; n < a->job[j].nresults; n++) {
            assert_int_equal(a->job[j].lengths[n], b->job[j].lengths[n]);
            if (memcmp(a->job[j].ids[n], b->job[j].ids[n],
                       sizeof(int32_t) * (size_t)a->job[j].lengths[n]) != 0)
                fail_msg("%s: sequence %d, result %d differs on the mesh", a->what, j, n);
            assert_true(fabs(a->job[j].scores[n] - b->job[j].scores[n]) < 1e-3);
        }
    }
}

static void test_any_mesh_says_the_same(void **state)
{
    static const struct {
        const char *mesh, *layout;
    } places[] = {{"a:2,b:2", "batch:a,heads:b?,d_ff:b,vocab:b"},
                  {"a:3", "vocab:a"},
                  {"a:2,b:2", "memory_length:a?,d_model:b"}};
    (void)state;
    for (int k = 0; k < small_models(); k++)
        for (int how = 0; how < 3; how++) {
            if (!share_has(mine, k) || !asked_takes(k, how, 3)) continue;
            if (small_model_elsewhere(k) && how != k % 3) continue;
            int64_t beams = how == 1 ? 3 : 1;
            double  temperature = how == 2 ? 0.8 : 0;
            run     one, many;
            decode(&one, k, NULL, NULL, beams, temperature);
            int place = (k + how) % 3;
            decode(&many, k, places[place].mesh, places[place].layout, beams, temperature);
            check_same(&one, &many);
            end(&one);
            end(&many);
        }
}

/* ---- where a sequence begins and ends ---- */

static const mtf_transformer_layer two_layers[] = {
    {MTF_SELF_ATTENTION, .attention = {.heads = 2, .kv = 4}},
    {MTF_FEED_FORWARD, .feed_forward = {.hidden = 8}},
    {0}};

/* What a small model adds to a prompt; the number of tokens. */
static int64_t added(mtf_transformer_opts o, int64_t beams, int64_t length, const int32_t *prompt,
                     mtf_sampling how, int32_t *ids)
{
    mtf_session *s = mtf_open_with(&(mtf_session_opts){0});
    o.d_model = 8;
    o.input_vocab = SMALL_VOCAB;
    o.stack = (mtf_stack_opts){.layers = two_layers, .blocks = 1, .max_length = 40};
    mtf_decoder *d =
        mtf_decoder_new(mtf_transformer_new(s, &o), &(mtf_decoder_opts){.beams = beams});
    mtf_decode_job job = {.prompt = prompt, .length = length, .how = how}, *jobs[] = {&job};
    how.max_tokens = NEW;
    job.how = how;
    if (!mtf_decode(d, 1, jobs)) fail_msg("%s", mtf_error(s));
    int64_t n = job.lengths[0];
    memcpy(ids, job.ids[0], sizeof *ids * (size_t)n);
    mtf_decode_free(d, &job);
    assert_int_equal(mtf_close(s), 0);
    return n;
}

static void test_own_end(void **state)
{
    static const int32_t prompt[] = {3, 4, 5};
    mtf_transformer_opts plain = {0};
    int32_t              ids[NEW], again[NEW];
    (void)state;
    assert_int_equal(added(plain, 1, 3, prompt, (mtf_sampling){.stop = never}, ids), NEW);
    int64_t at = 1; /* a token that was not there before */
    while (at + 1 < NEW && ids[at] == ids[0]) at++;
    assert_true(ids[at] != ids[0] && ids[at] > 0);
    mtf_transformer_opts ends = {.end = ids[at]};
    assert_int_equal(added(ends, 1, 3, prompt, (mtf_sampling){0}, again), at + 1);
    assert_memory_equal(again, ids, sizeof *ids * (size_t)(at + 1));
    for (int64_t beams = 1; beams <= 2; beams++) {
        mtf_sampling how = {.never_end = true};
        assert_int_equal(added(ends, beams, 3, prompt, how, again), NEW);
        assert_memory_equal(again, ids, beams == 1 ? sizeof *ids * (size_t)at : 0);
        for (int i = 0; i < NEW; i++) assert_true(again[i] != ends.end);
    }
    /* For many such tokens programs are made anew. */
    for (int n = 2; n <= 6; n += 4) {
        int32_t      stop[7] = {ids[at], ids[0], 1, 2, 6, 8};
        mtf_sampling how = {.never_end = true, .stop = stop};
        stop[n] = -1;
        assert_int_equal(added(plain, 1, 3, prompt, how, again), NEW);
        for (int i = 0; i < NEW; i++)
            for (int k = 0; k < n; k++) assert_true(again[i] != stop[k]);
    }
}

/* A model that does not shift reads the same tokens as its prompt. */
static void test_start(void **state)
{
    static const int32_t prompt[] = {7, 4, 5};
    mtf_transformer_opts shifts = {0}, plain = {.no_shift = true};
    int32_t              ids[NEW], same[NEW], other[NEW];
    (void)state;
    for (int64_t beams = 1; beams <= 2; beams++) {
        mtf_sampling how = {.stop = never, .start = 7};
        assert_int_equal(added(shifts, beams, 2, prompt + 1, how, ids), NEW);
        how.start = 0;
        assert_int_equal(added(plain, beams, 3, prompt, how, same), NEW);
        assert_memory_equal(ids, same, sizeof ids);
        assert_int_equal(added(shifts, beams, 2, prompt + 1, how, other), NEW);
        assert_memory_not_equal(ids, other, sizeof ids);
    }
}

static void test_refusals(void **state)
{
    static const int32_t prompt[] = {3, 4, 99};
    const char          *what;
    (void)state;
    mtf_session     *s = mtf_open_with(&(mtf_session_opts){0});
    mtf_transformer *m = small_model(s, 0, false, &what);
    mtf_decoder     *d = mtf_decoder_new(m, NULL);
    mtf_decode_job   job = {.prompt = prompt, .length = 3};
    assert_non_null(d);
    assert_false(mtf_decode_start(d, &job));
    assert_non_null(strstr(mtf_error(s), "token 2 of the prompt is 99; the vocabulary has 50"));
    mtf_close(s);
    s = mtf_open_with(&(mtf_session_opts){0});
    d = mtf_decoder_new(small_model(s, 0, false, &what), NULL);
    job = (mtf_decode_job){.prompt = prompt, .length = 2, .how = {.start = 50}};
    assert_false(mtf_decode_start(d, &job));
    assert_non_null(strstr(mtf_error(s), "starts from token 50; the vocabulary has 50"));
    mtf_close(s);
}

int main(int argc, char **argv)
{
    share_read(argc > 1 ? argv[1] : NULL, &mine);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_decoding_is_the_whole_model),
                                       cmocka_unit_test(test_beams_score_as_the_whole_model),
                                       cmocka_unit_test(test_any_mesh_says_the_same),
                                       cmocka_unit_test(test_own_end),
                                       cmocka_unit_test(test_start),
                                       cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
