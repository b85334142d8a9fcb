/* Tests that concurrent requests get the same answers as single ones. */
#include <pthread.h>

#include "base/thread.h"
#include "mtf_build.h"
#include "serve/http_echo.h"
#include "serve_model.h"

#include "ground.h"

enum { REQUESTS = 7, ROOM = 4096 };

static const char *const prompts[REQUESTS] = {
    "once", "a", "upon a time there was", "", "xyz", "q\xc3\xbc", "the end."};

static request_spec ask_for(int k, double temperature)
{
    return (request_spec){
        .text = prompts[k],
        .bytes = strlen(prompts[k]),
        .how = {.temperature = temperature, .max_tokens = 5 + 2 * k, .seed = (uint64_t)(10 * k)},
        .results = 1 + (k == 2)};
}

typedef struct heard {
    char          text[2][ROOM];
    int           tokens[2];
    double        sum[2];
    int32_t       ids[2][64];
    finish_reason end[2];
} heard;

static void hear(heard *h, const request_piece *p)
{
    assert_in_range(p->result, 0, 1);
    strcat(h->text[p->result], p->text);
    if (p->tokens) h->ids[p->result][h->tokens[p->result]] = p->id;
    h->tokens[p->result] += p->tokens;
    h->sum[p->result] += p->log_probability;
    if (p->end) h->end[p->result] = p->end;
}

/* Reads what there is; true where all was said. */
static bool listen(request *x, heard *h)
{
    request_piece p;
    while (request_next(x, 0, &p)) hear(h, &p);
    return request_over(x);
}

static heard alone(engine *a, const request_spec *q)
{
    refusal  why = {0};
    heard    h = {0};
    request *x = engine_submit(a, q, &why);
    if (!x) fail_msg("%s", why.text);
    while (!listen(x, &h)) assert_true(engine_step(a, 0));
    request_free(x);
    return h;
}

static void same(const heard *a, const heard *b)
{
    for (int r = 0; r < 2; r++) {
        assert_string_equal(a->text[r], b->text[r]);
        assert_int_equal(a->tokens[r], b->tokens[r]);
        assert_int_equal(a->end[r], b->end[r]);
    }
}

static void close_model(engine *a, opened_model *m)
{
    if (a) engine_close(a);
    close_well(m->session);
}

static void test_together_as_alone(void **state)
{
    (void)state;
    for (int kind = 0; kind < SERVE_KINDS; kind++)
        for (int sampled = 0; sampled < 2; sampled++) {
            opened_model m = serve_model(kind, NULL, NULL);
            engine      *a = engine_open(&m, &(engine_opts){.batch = 3});
            heard        one[REQUESTS], many[REQUESTS];
            request     *x[REQUESTS];
            refusal      why;
            int          left = REQUESTS;
            memset(many, 0, sizeof many);
            for (int k = 0; k < REQUESTS; k++) {
                request_spec q = ask_for(k, sampled);
                one[k] = alone(a, &q);
                assert_int_equal(one[k].tokens[0] <= q.how.max_tokens, true);
                assert_int_not_equal(one[k].end[0], FINISH_NOT_YET);
            }
            for (int k = 0; k < REQUESTS; k++) {
                request_spec q = ask_for(k, sampled);
                x[k] = engine_submit(a, &q, &why);
                assert_non_null(x[k]);
                assert_true(engine_step(a, 0)); /* they come between tokens */
            }
            while (left) {
                assert_true(engine_step(a, 0));
                left = 0;
                for (int k = 0; k < REQUESTS; k++) left += !listen(x[k], &many[k]);
            }
            for (int k = 0; k < REQUESTS; k++) {
                same(&one[k], &many[k]);
                request_free(x[k]);
            }
            assert_true(engine_step(a, 0));
            assert_true(engine_idle(a));
            if (sampled) assert_string_not_equal(one[2].text[0], one[2].text[1]); /* seeds */
            close_model(a, &m);
        }
}

static void test_on_a_mesh_as_on_one(void **state)
{
    (void)state;
    heard one[2];
    for (int k = 0; k < 2; k++) {
        opened_model m = serve_model(SERVE_LM, k ? "a:2" : NULL, k ? "heads:a,vocab:a" : NULL);
        engine      *a = engine_open(&m, NULL);
        request_spec q = ask_for(2, 1);
        one[k] = alone(a, &q);
        close_model(a, &m);
    }
    same(&one[0], &one[1]);
}

/* Equal prompts with one seed: rows of a request have random numbers of their own. */
static void test_rows_differ(void **state)
{
    opened_model m = serve_model(SERVE_LM, NULL, NULL);
    engine      *a = engine_open(&m, NULL);
    request_spec q = ask_for(6, 1), other = q;
    (void)state;
    other.how.row = 1;
    heard first = alone(a, &q), second = alone(a, &other), again = alone(a, &other);
    assert_string_not_equal(first.text[0], second.text[0]);
    same(&second, &again);
    close_model(a, &m);
}

/* A prompt as ids is what the same text is, with the end token that the kind of model needs or without. */
static void test_ids_as_text(void **state)
{
    static const char text[] = "abc";
    (void)state;
    for (int kind = 0; kind < SERVE_KINDS; kind++) {
        opened_model m = serve_model(kind, NULL, NULL);
        engine      *a = engine_open(&m, NULL);
        fault        own = {0};
        id_list      plain = model_ids(&own), whole = plain;
        assert_true(model_encode_target(&m, text, 3, &plain) &&
                    model_encode_prompt(&m, text, 3, &whole));
        request_spec of_text = {.text = text, .bytes = 3, .how = {.max_tokens = 8}},
                     of_ids = of_text;
        heard wanted = alone(a, &of_text);
        of_ids.ids = plain.ids, of_ids.nids = plain.count;
        heard got = alone(a, &of_ids);
        same(&wanted, &got);
        of_ids.ids = whole.ids, of_ids.nids = whole.count;
        got = alone(a, &of_ids);
        same(&wanted, &got);
        ids_free(&plain);
        ids_free(&whole);
        close_model(a, &m);
    }
}

/* Inputs that were cut are as long as they may be, and have no end: complete ids get none. */
static void test_complete_ids(void **state)
{
    enum { MOST = 1024 };
    opened_model m = serve_model(SERVE_ENCODER, NULL, NULL);
    engine      *a = engine_open(&m, NULL);
    int32_t      ids[MOST];
    request_spec q = {.ids = ids, .nids = model_max_prompt(&m), .how = {.max_tokens = 3}};
    refusal      why;
    (void)state;
    assert_in_range(q.nids, 2, MOST);
    for (int k = 0; k < MOST; k++) ids[k] = 70;
    assert_null(engine_submit(a, &q, &why));
    q.complete = true;
    alone(a, &q);
    q.nids--, q.complete = false;
    alone(a, &q);
    close_model(a, &m);
}

/* ---- threads ---- */

typedef struct asker {
    engine      *engine;
    int          k;
    heard        heard;
    pthread_t    thread;
    _Atomic int *left;
} asker;

static void *ask_and_wait(void *context)
{
    asker        *t = context;
    request_spec  q = ask_for(t->k, 1);
    refusal       why;
    request_piece p;
    request      *x = engine_submit(t->engine, &q, &why);
    while (x && !request_over(x))
        if (request_next(x, 30, &p)) hear(&t->heard, &p);
    if (x) request_free(x);
    --*t->left;
    return NULL;
}

static void test_any_thread_may_ask(void **state)
{
    opened_model m = serve_model(SERVE_LM, NULL, NULL);
    engine      *a = engine_open(&m, &(engine_opts){.batch = 2});
    asker        t[REQUESTS];
    heard        one[REQUESTS];
    _Atomic int  left = REQUESTS;
    (void)state;
    for (int k = 0; k < REQUESTS; k++) {
        request_spec q = ask_for(k, 1);
        one[k] = alone(a, &q);
    }
    for (int k = 0; k < REQUESTS; k++) {
        t[k] = (asker){.engine = a, .k = k, .left = &left};
        assert_true(thread_start(&t[k].thread, ask_and_wait, &t[k]));
    }
    while (left > 0) assert_true(engine_step(a, 0.01));
    for (int k = 0; k < REQUESTS; k++) {
        pthread_join(t[k].thread, NULL);
        same(&one[k], &t[k].heard);
    }
    close_model(a, &m);
}

/* ---- ends ---- */

static void test_stop_strings(void **state)
{
    (void)state;
    for (int beams = 1; beams <= 2; beams++) {
        opened_model m = serve_model(SERVE_LM, NULL, NULL);
        engine      *a = engine_open(&m, &(engine_opts){.beams = beams});
        request_spec q = {.text = "once", .bytes = 4, .how = {.max_tokens = 30}};
        if (beams == 1) q.how.temperature = 1, q.how.seed = 3;
        heard       whole = alone(a, &q);
        size_t      n = strlen(whole.text[0]);
        char        stop[8] = {0};
        const char *stops[] = {"never said", stop, NULL};
        assert_true(n > 8);
        memcpy(stop, whole.text[0] + n / 2, 3);
        q.stops = stops;
        heard  part = alone(a, &q);
        size_t want = (size_t)(strstr(whole.text[0], stop) - whole.text[0]);
        assert_int_equal(strlen(part.text[0]), want);
        assert_memory_equal(part.text[0], whole.text[0], want);
        assert_int_equal(part.end[0], FINISH_STOP);
        assert_true(part.tokens[0] < whole.tokens[0]);
        close_model(a, &m);
    }
}

static void test_given_up(void **state)
{
    opened_model  m = serve_model(SERVE_LM, NULL, NULL);
    engine       *a = engine_open(&m, &(engine_opts){.batch = 2});
    request_spec  q = ask_for(2, 1), other = ask_for(6, 1);
    refusal       why;
    request_piece p;
    heard         one = alone(a, &other), h = {0};
    (void)state;
    request *x = engine_submit(a, &q, &why), *y = engine_submit(a, &other, &why);
    for (int k = 0; k < 3; k++) assert_true(engine_step(a, 0));
    assert_true(request_next(x, 0, &p));
    request_free(x);                          /* one that is being decoded, */
    request_free(engine_submit(a, &q, &why)); /* and one that waits */
    while (!listen(y, &h)) assert_true(engine_step(a, 0));
    same(&one, &h);
    request_free(y);
    assert_true(engine_step(a, 0));
    assert_true(engine_idle(a));
    close_model(a, &m);
}

static void test_time_is_limited(void **state)
{
    opened_model m = serve_model(SERVE_LM, NULL, NULL);
    engine      *a = engine_open(&m, &(engine_opts){.max_seconds = 1e-9});
    request_spec q = ask_for(2, 0);
    heard        h = alone(a, &q);
    (void)state;
    assert_int_equal(h.end[0], FINISH_LATE);
    assert_int_equal(h.end[1], FINISH_LATE);
    assert_int_equal(h.tokens[0], 0);
    assert_true(engine_idle(a) || engine_step(a, 0));
    close_model(a, &m);
}

static void test_the_end_reaches_all(void **state)
{
    opened_model m = serve_model(SERVE_LM, NULL, NULL);
    engine      *a = engine_open(&m, &(engine_opts){.batch = 1});
    request_spec q = ask_for(2, 1);
    refusal      why;
    heard        h = {0}, g = {0};
    (void)state;
    request *x = engine_submit(a, &q, &why), *y = engine_submit(a, &q, &why);
    assert_true(engine_step(a, 0));
    engine_end(a, "shutting down");
    assert_true(listen(x, &h));
    assert_true(listen(y, &g));
    assert_int_equal(g.end[0], FINISH_FAILED);
    assert_contains(g.text[0], "shutting down");
    assert_null(engine_submit(a, &q, &why));
    assert_int_equal(why.kind, REFUSED_STOPPING);
    assert_false(engine_score(a, 1, &(score_item){0}, &why));
    request_free(x);
    request_free(y);
    close_model(a, &m);
}

/* ---- limits ---- */

static void refused(engine *a, request_spec q, refusal_kind kind, const char *sentence)
{
    refusal why = {0};
    assert_null(engine_submit(a, &q, &why));
    assert_int_equal(why.kind, kind);
    assert_contains(why.text, sentence);
}

/* The questions of one request are taken all or none. */
static void test_all_or_none(void **state)
{
    opened_model m = serve_model(SERVE_LM, NULL, NULL);
    engine      *a = engine_open(&m, &(engine_opts){.batch = 2, .max_waiting = 4});
    request_spec q[5];
    request     *x[5], *y[5];
    refusal      why;
    (void)state;
    for (int k = 0; k < 5; k++) q[k] = (request_spec){.text = "x", .bytes = 1, .how.max_tokens = 3};
    assert_false(engine_submit_all(a, 5, q, x, &why));
    assert_int_equal(why.kind, REFUSED_WRONG);
    assert_non_null(strstr(why.text, "5 sequences in one request; there can be 4"));
    assert_true(engine_idle(a));
    assert_true(engine_submit_all(a, 3, q, x, &why));
    assert_false(engine_submit_all(a, 2, q, y, &why));
    assert_int_equal(why.kind, REFUSED_BUSY);
    assert_null(y[0]);
    q[1].ids = (const int32_t[]){999}, q[1].nids = 1;
    assert_false(engine_submit_all(a, 2, q, y, &why));
    assert_int_equal(why.kind, REFUSED_WRONG);
    assert_null(y[0]);
    while (!engine_idle(a)) assert_true(engine_step(a, 0));
    for (int k = 0; k < 3; k++) {
        heard h = {0};
        assert_true(listen(x[k], &h));
        assert_int_equal(h.tokens[0], 3);
        request_free(x[k]);
    }
    close_model(a, &m);
}

#if MTF_HAVE_MICROHTTPD
typedef struct echoing {
    engine            *engine;
    completion_request request;
    choice             choices[6];
    bool               ok;
    _Atomic bool       over;
} echoing;

static void *echo(void *context)
{
    echoing *e = context;
    int64_t  tokens;
    refusal  why;
    e->ok = http_echo(e->engine, &e->request, 3, e->choices, &tokens, &why) && tokens == 7;
    e->over = true;
    return NULL;
}

/* Two prompts with three choices each fit into one step. */
static void test_an_echo_is_scored_once(void **state)
{
    static const char body[] =
        "{\"prompt\": [\"once\", \"abc\"], \"n\": 3, \"echo\": true, \"logprobs\": 0}";
    opened_model m = serve_model(SERVE_LM, NULL, NULL);
    echoing      e = {.engine = engine_open(&m, NULL)};
    pthread_t    thread;
    char         why[300];
    int          steps = 0;
    (void)state;
    assert_true(completion_parse(body, sizeof body - 1, &e.request, why, sizeof why));
    assert_true(thread_start(&thread, echo, &e));
    while (!e.over) {
        if (engine_idle(e.engine)) continue;
        assert_true(engine_step(e.engine, 0));
        steps++;
    }
    pthread_join(thread, NULL);
    assert_true(e.ok);
    assert_int_equal(steps, 1);
    for (int k = 0; k < 6; k++) {
        assert_string_equal(e.choices[k].text.bytes, k < 3 ? "once" : "abc");
        assert_int_equal(e.choices[k].ntokens, k < 3 ? 4 : 3);
        choice_free(&e.choices[k]);
    }
    completion_free(&e.request);
    close_model(e.engine, &m);
}
#endif

static void test_limits(void **state)
{
    static const char    long_text[] = "123456789 123456789 123456789 123456789 123456789 ";
    static const int32_t strange[] = {5, 259};
    opened_model         m = serve_model(SERVE_LM, NULL, NULL);
    engine              *a =
        engine_open(&m, &(engine_opts){.max_tokens = 9, .max_results = 3, .max_waiting = 4});
    request_spec q = {.text = "x", .bytes = 1}, w = q;
    refusal      why;
    (void)state;
    w.text = long_text, w.bytes = 48;
    refused(a, w, REFUSED_WRONG, "the prompt has 48 tokens; this model takes 47");
    w = q, w.how.max_tokens = 10;
    refused(a, w, REFUSED_WRONG, "10 new tokens are wanted; there can be 9");
    w = q, w.results = 4;
    refused(a, w, REFUSED_WRONG, "4 results are wanted; there can be 3");
    w = q, w.how.temperature = -1;
    refused(a, w, REFUSED_WRONG, "temperature and top_k must not be negative");
    w = q, w.how.temperature = NAN;
    refused(a, w, REFUSED_WRONG, "temperature and top_k must not be negative");
    w = q, w.how.top_p = 1.5;
    refused(a, w, REFUSED_WRONG, "top_p is from 0 to 1");
    w = q, w.ids = strange, w.nids = 2;
    refused(a, w, REFUSED_WRONG, "token 1 of the prompt is 259; the model's vocabulary has 259");
    w = q, w.results = 3;
    request *x = engine_submit(a, &w, &why);
    w.results = 2;
    refused(a, w, REFUSED_BUSY, "3 sequences wait already; there is room for 4");
    request_free(x);
    assert_true(engine_step(a, 0));
    assert_true(engine_idle(a));
    close_model(a, &m);
    m = serve_model(SERVE_LM, NULL, NULL);
    a = engine_open(&m, &(engine_opts){.beams = 2});
    w = q, w.how.temperature = 1;
    refused(a, w, REFUSED_WRONG, "temperature must be 0");
    w = q, w.results = 3;
    refused(a, w, REFUSED_WRONG, "there can be 2");
    close_model(a, &m);
}

/* ---- scores ---- */

/* Eight combinations of lengths, with alternatives and without, take turns. */
static void test_few_programs_of_scores(void **state)
{
    enum { KINDS = 8 };
    opened_model m = serve_model(SERVE_ENCODER, NULL, NULL);
    scorer      *s = scorer_new(&m, 3);
    int32_t      ids[32];
    double       each[32], before[KINDS];
    (void)state;
    for (int k = 0; k < 32; k++) ids[k] = 40 + k;
    for (int round = 0; round < 2 * KINDS; round++) {
        int             k = round % KINDS;
        mtf_alternative others[64];
        score_item      x = {.prompt = ids,
                             .nprompt = k & 1 ? 32 : 4,
                             .ids = ids,
                             .nids = k & 2 ? 32 : 4,
                             .log_probability = each,
                             .nalternatives = k & 4 ? 2 : 0,
                             .alternatives = others};
        assert_true(scorer_run(s, 1, &x));
        assert_int_equal(scorer_programs(s), round < SCORER_PROGRAMS ? round + 1 : SCORER_PROGRAMS);
        if (round < KINDS)
            before[k] = x.sum;
        else
            assert_true(x.sum == before[k]);
    }
    close_model(NULL, &m);
}

static void test_scores_are_what_decoding_says(void **state)
{
    (void)state;
    for (int kind = 0; kind < SERVE_KINDS; kind++) {
        opened_model m = serve_model(kind, NULL, NULL);
        engine      *a = engine_open(&m, NULL);
        scorer      *s = scorer_new(&m, 3);
        heard        h[REQUESTS];
        score_item   items[REQUESTS];
        fault        own = {0};
        id_list      ids[REQUESTS];
        double       each[REQUESTS][64];
        for (int k = 0; k < REQUESTS; k++) {
            request_spec q = ask_for(k, 1);
            q.results = 1;
            h[k] = alone(a, &q);
            ids[k] = model_ids(&own);
            assert_true(model_encode_prompt(&m, prompts[k], strlen(prompts[k]), &ids[k]));
            items[k] = (score_item){.prompt = ids[k].ids,
                                    .nprompt = ids[k].count,
                                    .ids = h[k].ids[0],
                                    .nids = h[k].tokens[0],
                                    .log_probability = each[k]};
        }
        assert_true(scorer_run(s, REQUESTS, items));
        for (int k = 0; k < REQUESTS; k++) {
            double sum = 0;
            assert_near(items[k].sum, h[k].sum[0], 1e-4);
            for (int i = 0; i < h[k].tokens[0]; i++) {
                assert_true(each[k][i] < 0);
                sum += each[k][i];
            }
            assert_near(sum, items[k].sum, 1e-9);
            ids_free(&ids[k]);
        }
        close_model(a, &m);
    }
}

static void test_what_cannot_be_scored(void **state)
{
    opened_model m = serve_model(SERVE_ENCODER, NULL, NULL);
    char         why[200];
    (void)state;
    assert_true(scorer_takes(&m, &(score_item){.nprompt = 40, .nids = 48}, why, sizeof why));
    assert_false(scorer_takes(&m, &(score_item){.nprompt = 40, .nids = 49}, why, sizeof why));
    assert_contains(why, "49 tokens, its prompt included; this model takes 48");
    assert_false(scorer_takes(&m, &(score_item){.nprompt = 41, .nids = 1}, why, sizeof why));
    assert_contains(why, "the prompt has 41 tokens; this model takes 40");
    close_model(NULL, &m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_together_as_alone),
        cmocka_unit_test(test_rows_differ),
        cmocka_unit_test(test_ids_as_text),
        cmocka_unit_test(test_complete_ids),
        cmocka_unit_test(test_on_a_mesh_as_on_one),
        cmocka_unit_test(test_any_thread_may_ask),
        cmocka_unit_test(test_stop_strings),
        cmocka_unit_test(test_given_up),
        cmocka_unit_test(test_time_is_limited),
        cmocka_unit_test(test_the_end_reaches_all),
        cmocka_unit_test(test_all_or_none),
#if MTF_HAVE_MICROHTTPD
        cmocka_unit_test(test_an_echo_is_scored_once),
#endif
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_few_programs_of_scores),
        cmocka_unit_test(test_scores_are_what_decoding_says),
        cmocka_unit_test(test_what_cannot_be_scored)
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
