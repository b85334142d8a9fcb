/* Tests that decoding computes the rows in use, with the same results. */
#include "model/transformer/decoder.h"
#include "small_models.h"

#include "ground.h"

static share mine; /* of the models */

enum { JOBS = 7, LENGTH = 4 };

static const int32_t never[] = {-1};

typedef struct run {
    mtf_session   *session;
    const char    *what;
    mtf_decoder   *decoder;
    int32_t        prompts[JOBS][LENGTH];
    mtf_decode_job job[JOBS];
} run;

static void open_run(run *r, int k, const mtf_session_opts *where, int64_t batch, int64_t beams)
{
    *r = (run){.session = open_as_asked(where)};
    mtf_transformer *m = small_model(r->session, k, false, &r->what);
    r->decoder = mtf_decoder_new(
        m, &(mtf_decoder_opts){.batch = batch, .max_length = 40, .max_inputs = 20, .beams = beams});
    bool prefix = strncmp(r->what, "prefix", 6) == 0;
    for (int j = 0; j < JOBS; j++) {
        for (int i = 0; i < LENGTH; i++)
            r->prompts[j][i] = 2 + (i * 7 + j * 11) % (SMALL_VOCAB - 3);
        if (prefix) r->prompts[j][LENGTH - 1] = 1;
        /* Early and late ones end first alternately. */
        r->job[j] =
            (mtf_decode_job){.prompt = r->prompts[j],
                             .length = LENGTH - (prefix ? 0 : j % 3),
                             .how = {.max_tokens = 3 + 5 * j % 9, .stop = never, .results = beams}};
    }
}

static void decode_all(run *r)
{
    int begun = 0, left = 1;
    while (begun < JOBS || left > 0) {
        while (begun < JOBS && mtf_decode_start(r->decoder, &r->job[begun])) begun++;
        left = mtf_decode_step(r->decoder);
        if (left < 0) fail_msg("%s: %s", r->what, mtf_error(r->session));
    }
}

static void close_run(run *r)
{
    for (int j = 0; j < JOBS; j++) mtf_decode_free(r->decoder, &r->job[j]);
    assert_int_equal(mtf_close(r->session), 0);
}

static void check_same(const run *a, const run *b)
{
    for (int j = 0; j < JOBS; j++) {
        assert_int_equal(a->job[j].nresults, b->job[j].nresults);
        for (int n = 0; n < a->job[j].nresults; n++) {
            assert_int_equal(a->job[j].lengths[n], b->job[j].lengths[n]);
            if (memcmp(a->job[j].ids[n], b->job[j].ids[n],
                       sizeof(int32_t) * (size_t)a->job[j].lengths[n]) != 0)
                fail_msg("%s: sequence %d, result %d depends on the batch", a->what, j, n);
            assert_true(fabs(a->job[j].scores[n] - b->job[j].scores[n]) < 1e-3);
        }
    }
}

/* Sequences end at different times, so that others are moved to smaller programs. */
static void test_results_do_not_depend_on_the_batch(void **state)
{
    static const struct {
        const char *mesh, *layout, *state;
        int64_t     batch;
    } places[] = {{NULL, NULL, NULL, 5},
                  {"a:2", "batch:a", NULL, 6},
                  {"a:2,b:2", "batch:a,vocab:b", NULL, 5},
                  {"a:2,b:2", "batch:a,vocab:b", NULL, 6},
                  {"a:2", "length:a", "d_model:a", 5},
                  {"a:3", "batch:a", NULL, 6},
                  {"a:2,b:2", "batch:a+b", NULL, 4},
                  {"a:2", "auto", NULL, 4}};
    enum { PLACES = sizeof places / sizeof *places };
    (void)state;
    for (int k = 0; k < small_models(); k++)
        for (int how = 0; how < 2; how++) {
            if (!share_has(mine, k) || !asked_takes(k, how, 2)) continue;
            int place = (k + how * 3) % PLACES;
            run one, many;
            open_run(&one, k, &(mtf_session_opts){0}, 1, how ? 2 : 1);
            mtf_session_opts where = {.mesh = places[place].mesh,
                                      .layout = places[place].layout,
                                      .state_layout = places[place].state};
            open_run(&many, k, &where, places[place].batch, how ? 2 : 1);
            decode_all(&one);
            decode_all(&many);
            check_same(&one, &many);
            close_run(&one);
            close_run(&many);
        }
}

static void test_steps_compute_the_rows_in_use(void **state)
{
    (void)state;
    run r;
    open_run(&r, 0, &(mtf_session_opts){0}, 8, 1);
    static const int64_t tokens[] = {9, 2, 4, 4, 6};
    /* Five sequences: 2 tokens of all, 2 of four, 2 of two, 3 of the last. */
    static const int64_t rows[] = {6, 6, 4, 4, 2, 2, 1, 1, 1};
    for (int j = 0; j < 5; j++) {
        r.job[4 - j].how.max_tokens = tokens[j];
        assert_true(mtf_decode_start(r.decoder, &r.job[4 - j]));
    }
    for (int k = 0; k < 9; k++) {
        assert_true(mtf_decode_step(r.decoder) >= 0);
        assert_int_equal(r.decoder->last->rows, rows[k]);
    }
    assert_int_equal(mtf_decode_step(r.decoder), 0);
    close_run(&r);
}

/* The plan of a step for one sequence does not grow with the batch, but for what is written to it. */
static void test_one_row_costs_as_in_a_batch_of_one(void **state)
{
    (void)state;
    mtf_cost cost[2];
    for (int k = 0; k < 2; k++) {
        run r;
        open_run(&r, 0, &(mtf_session_opts){0}, k ? 16 : 1, 1);
        assert_true(mtf_decode_start(r.decoder, &r.job[0]) && mtf_decode_step(r.decoder) == 1);
        cost[k] = mtf_program_cost(r.decoder->last->program);
        close_run(&r);
    }
    assert_true((double)cost[1].flops < 1.1 * (double)cost[0].flops);
    assert_true((double)cost[1].bytes < 1.5 * (double)cost[0].bytes);
}

/* Rows stay with their processors, and a move copies the row alone. */
static void test_nothing_else_moves(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        run r;
        open_run(&r, 0,
                 &(mtf_session_opts){.mesh = k ? "a:2" : NULL, .layout = k ? "batch:a" : NULL}, 16,
                 1);
        for (int j = 0; j < 5; j++) {
            r.job[j].how.max_tokens = j < 4 ? 1 : 5;
            assert_true(mtf_decode_start(r.decoder, &r.job[j]));
        }
        assert_true(mtf_decode_step(r.decoder) == 1 && mtf_decode_step(r.decoder) == 1);
        assert_int_equal(r.decoder->last->rows, k ? 2 : 1);
        mtf_cost step = mtf_program_cost(r.decoder->last->program);
        mtf_cost move = mtf_program_cost(r.decoder->move.program);
        assert_int_equal(step.collectives + move.collectives, 0);
        /* Keys and values are read and written twice, on the way to the row and into it. */
        assert_true(move.bytes * r.decoder->slots < 5 * move.variable_bytes * (k ? 2 : 1));
        close_run(&r);
    }
}

int main(int argc, char **argv)
{
    share_read(argc > 1 ? argv[1] : NULL, &mine);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_results_do_not_depend_on_the_batch),
        cmocka_unit_test(test_steps_compute_the_rows_in_use),
        cmocka_unit_test(test_one_row_costs_as_in_a_batch_of_one),
        cmocka_unit_test(test_nothing_else_moves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
