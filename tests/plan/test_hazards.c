/* Tests which instructions wait for collectives that run beside them. */
#include "program/hazards.h"

#include "ground.h"

enum { A, B, C, D, E, W, BUFFERS };
enum { NONE = -1 };

/* One operand each; more are not needed to tell. */
typedef struct line {
    instr_kind kind;
    int        out, in; /* buffers */
} line;

typedef struct lines {
    mtf_session *session;
    program      program;
    buffer       buffers[BUFFERS];
    instr        instrs[16];
    access       out[16], in[16];
    hazards      found;
} lines;

static void touch(lines *l, int b, int k)
{
    if (b == NONE) return;
    if (l->buffers[b].first < 0) l->buffers[b].first = k;
    l->buffers[b].last = k;
}

/* Buffers lie one after the other, 100 bytes each; W is a variable. */
static void begin(lines *l, int n, const line *list)
{
    *l = (lines){.session = mtf_open_with(&(mtf_session_opts){.threads = 1})};
    for (int b = 0; b < BUFFERS; b++)
        l->buffers[b] = (buffer){.bytes = 100, .offset = 100 * b, .first = -1, .last = -1};
    l->buffers[W].kind = BUFFER_VARIABLE;
    for (int k = 0; k < n; k++) {
        l->out[k].buffer = list[k].out;
        l->in[k].buffer = list[k].in;
        l->instrs[k] = (instr){.kind = list[k].kind,
                               .nout = list[k].out != NONE,
                               .nin = list[k].in != NONE,
                               .out = &l->out[k],
                               .in = &l->in[k],
                               .nloops = 1,
                               .size = {25}};
        touch(l, list[k].out, k);
        touch(l, list[k].in, k);
    }
    l->program = (program){.session = l->session,
                           .instrs = l->instrs,
                           .ninstrs = n,
                           .buffers = l->buffers,
                           .nbuffers = BUFFERS};
}

static void find(lines *l)
{
    assert_true(hazards_find(&l->program, &l->session->arena, &l->found));
}

static void expect(lines *l, const char *beside, const int *awaits)
{
    find(l);
    for (int k = 0; k <= l->program.ninstrs; k++) {
        if (k < l->program.ninstrs && l->found.beside[k] != (beside[k] == 'x'))
            fail_msg("instruction %d runs %s", k,
                     l->found.beside[k] ? "beside others" : "in order");
        if (l->found.awaits[k] != awaits[k])
            fail_msg("instruction %d waits for %d, not %d", k, l->found.awaits[k], awaits[k]);
    }
    close_well(l->session);
}

#define BEGIN(...)                                                                                 \
    static const line list[] = {__VA_ARGS__};                                                      \
    lines             l;                                                                           \
    (void)state;                                                                                   \
    begin(&l, (int)(sizeof list / sizeof *list), list)
#define WORK(out, in)                                                                              \
    {                                                                                              \
        INSTR_MAP, out, in                                                                         \
    }
#define SUM(out, in)                                                                               \
    {                                                                                              \
        INSTR_REDUCE, out, in                                                                      \
    }

static void test_a_reader_waits(void **state)
{
    BEGIN(WORK(A, W), SUM(B, A), WORK(C, W), WORK(D, C), WORK(E, B), WORK(D, B));
    expect(&l, ".x....", (int[]){-1, -1, -1, -1, 1, -1, -1});
}

/* What a collective reads may be read, and not written. */
static void test_a_writer_waits(void **state)
{
    BEGIN(WORK(A, W), SUM(B, A), WORK(C, A), WORK(A, C), WORK(D, B));
    expect(&l, ".x...", (int[]){-1, -1, -1, 1, -1, -1});
}

static void test_a_variable_is_written(void **state)
{
    BEGIN(SUM(A, W), WORK(B, W), WORK(W, B));
    expect(&l, "x..", (int[]){-1, -1, 0, -1});
}

/* Where nothing can be done meanwhile, it stays in the first queue, after those in the second. */
static void test_without_company(void **state)
{
    BEGIN(WORK(A, W), SUM(B, A), WORK(C, W), SUM(D, C), WORK(E, D), WORK(W, B));
    expect(&l, ".x....", (int[]){-1, -1, -1, 1, -1, -1, -1});
}

/* Waiting for one is waiting for those before it. */
static void test_the_last_one_counts(void **state)
{
    BEGIN(SUM(A, W), SUM(B, W), WORK(C, W), WORK(D, B), WORK(E, A));
    expect(&l, "xx...", (int[]){-1, -1, -1, 1, -1, -1});
}

/* C lies where A was: A's last reader is the collective. */
static void test_places_that_are_used_again(void **state)
{
    BEGIN(WORK(A, W), SUM(B, A), WORK(D, W), WORK(C, D), WORK(E, B));
    l.buffers[C].offset = l.buffers[A].offset + 64;
    expect(&l, ".x...", (int[]){-1, -1, -1, 1, -1, -1});
}

static void test_places_side_by_side(void **state)
{
    BEGIN(WORK(A, W), SUM(B, A), WORK(D, W), WORK(C, D), WORK(E, B));
    l.buffers[C].offset = l.buffers[A].offset + 100;
    l.buffers[B].offset = 1000;
    expect(&l, ".x...", (int[]){-1, -1, -1, -1, 1, -1});
}

/* Its end is the step's end; a loop is entered and repeated with nothing under way. */
static void test_the_end_of_a_step(void **state)
{
    BEGIN(SUM(A, W), WORK(B, W), WORK(C, B));
    expect(&l, "x..", (int[]){-1, -1, -1, 0});
}

static void test_loops(void **state)
{
    BEGIN(SUM(A, W), WORK(B, W), {INSTR_LOOP, NONE, NONE}, SUM(C, W), WORK(D, W),
          {INSTR_TEST, NONE, B}, SUM(E, W), WORK(D, W), {INSTR_AGAIN, NONE, NONE}, WORK(B, A));
    expect(&l, "x..x..x...", (int[]){-1, -1, 0, -1, -1, 3, -1, -1, 6, -1, -1});
}

/* More than are kept under way at once. */
static void test_many(void **state)
{
    (void)state;
    enum { MANY = 600 };
    static instr  instrs[2 * MANY];
    static access out[2 * MANY], in[2 * MANY];
    static buffer buffers[2 * MANY + 1];
    mtf_session  *s = mtf_open_with(&(mtf_session_opts){.threads = 1});
    for (int k = 0; k < 2 * MANY; k++) {
        buffers[k] = (buffer){.bytes = 4, .offset = 4 * k, .first = k, .last = k};
        out[k].buffer = k;
        in[k].buffer = 2 * MANY;
        instrs[k] = (instr){.kind = k % 2 ? INSTR_MAP : INSTR_REDUCE,
                            .nout = 1,
                            .nin = 1,
                            .out = &out[k],
                            .in = &in[k]};
    }
    buffers[2 * MANY] = (buffer){.kind = BUFFER_VARIABLE, .bytes = 4};
    program p = {.session = s,
                 .instrs = instrs,
                 .ninstrs = 2 * MANY,
                 .buffers = buffers,
                 .nbuffers = 2 * MANY + 1};
    hazards h;
    int     ended = -1;
    assert_true(hazards_find(&p, &s->arena, &h));
    for (int k = 0; k <= p.ninstrs; k++) {
        assert_true(h.awaits[k] < k);
        if (h.awaits[k] >= 0) assert_true(h.awaits[k] > ended && h.beside[h.awaits[k]]);
        if (h.awaits[k] >= 0) ended = h.awaits[k];
    }
    assert_int_equal(ended, 2 * MANY - 2);
    close_well(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_reader_waits),
        cmocka_unit_test(test_a_writer_waits),
        cmocka_unit_test(test_a_variable_is_written),
        cmocka_unit_test(test_without_company),
        cmocka_unit_test(test_the_last_one_counts),
        cmocka_unit_test(test_places_that_are_used_again),
        cmocka_unit_test(test_places_side_by_side),
        cmocka_unit_test(test_the_end_of_a_step),
        cmocka_unit_test(test_loops),
        cmocka_unit_test(test_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
