/* Maps that one launch carries out together, on emulated GPUs.
 *
 * A group must give the bits that its maps give one by one.
 */
#include "mtf_nn.h"

#include "cuda/write/map_groups.h"
#include "run/compiled.h"

#include "ground.h"

#include "run/emulated_gpu.h"

enum {
    STEPS = 4,
    MOST_VALUES = 100000
}; /* the first is queued, the second captured, others replayed */

/* What groups a program has. */
typedef struct counts {
    int groups, largest, members;
} counts;

static counts groups_in(const program *q)
{
    arena       a = arena_make(&q->session->allocator, &q->session->fault);
    map_group **groups = arena_array(&a, map_group *, q->ninstrs + 1);
    bool       *free = arena_array(&a, bool, q->ninstrs + 1);
    counts      c = {0};
    for (int k = 0; k < q->ninstrs; k++) free[k] = true;
    assert_true(map_groups_find(q, &a, free, groups));
    for (int k = 0; k < q->ninstrs; k++) {
        if (!groups[k]) continue;
        c.groups++;
        c.members += groups[k]->n;
        if (groups[k]->n > c.largest) c.largest = groups[k]->n;
    }
    arena_free(&a);
    return c;
}

/* ---- optimizers ---- */

/* Sizes of variables: with and without a rest beside whole pieces, small and larger than a block. */
static const int64_t sizes[][2] = {{1, 1},   {3, 1},    {5, 7},   {8, 96},
                                   {16, 16}, {1, 2049}, {40, 64}, {33, 65}};
enum { VARIABLES = sizeof sizes / sizeof *sizes };

/* The variables after some steps, one after another; the number of values. */
static int64_t train(const mtf_minimize_opts *how, const mtf_session_opts *on, mtf_dtype type,
                     float *values, counts *c)
{
    mtf_session *s = mtf_open_with(on);
    mtf_graph   *g = mtf_graph_new(s);
    mtf_tensor  *loss = NULL, *w[VARIABLES];
    int64_t      n = 0;
    mtf_dim      batch = {"batch", 6};
    mtf_tensor  *x = mtf_range(g, batch, MTF_F32);
    for (int k = 0; k < VARIABLES; k++) {
        char    name[20];
        mtf_dim a = {"a", sizes[k][0]}, b = {"b", sizes[k][1]};
        snprintf(name, sizeof name, "w%d", k);
        w[k] = mtf_variable(g, name, mtf_shape(a, b),
                            &(mtf_variable_opts){.init = "uniform(-0.4, 0.4)"});
        mtf_tensor *y = mtf_multiply(mtf_cast(w[k], type), mtf_cast(mtf_add_scalar(x, k), type));
        mtf_tensor *one = mtf_reduce_mean(mtf_square(mtf_cast(y, MTF_F32)), MTF_ALL);
        loss = loss ? mtf_add(loss, one) : one;
    }
    mtf_minimize(g, loss, how);
    mtf_program *p = mtf_compile(g, loss);
    assert_string_equal(mtf_error(s), "");
    for (int k = 0; k < STEPS; k++) mtf_step(p);
    for (int k = 0; k < VARIABLES; k++) {
        assert_true(mtf_variable_get(w[k], values + n));
        n += sizes[k][0] * sizes[k][1];
    }
    assert_string_equal(mtf_error(s), "");
    if (c) *c = groups_in(first_program(p));
    close_well(s);
    return n;
}

static void test_updates_have_the_same_bits(void **state)
{
    static const mtf_minimize_opts ways[] = {
        {.optimizer = "adam", .rate = 0.01},
        {.optimizer = "adamw", .rate = 0.01, .clip_norm = 0.5},
        {.optimizer = "momentum", .rate = 0.01, .clip_value = 0.1},
        {.optimizer = "adam", .rate = 0.01, .loss_scale = 1024, .dynamic_loss_scale = true},
    };
    static float together[MOST_VALUES], apart[MOST_VALUES];
    (void)state;
    for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
        mtf_dtype type = ways[k].loss_scale > 0 ? MTF_F16 : MTF_BF16;
        counts    c;
        int64_t   n =
            train(&ways[k], &(mtf_session_opts){.device = "cuda", .seed = 4}, type, together, &c);
        train(&ways[k], &(mtf_session_opts){.device = "cuda", .seed = 4, .measure = true}, type,
              apart, NULL);
        assert_memory_equal(together, apart, (size_t)n * sizeof *together);
        assert_true(c.largest >= 3); /* with a rest, or without: those are different kernels */
    }
}

/* ---- collectives ---- */

/* A sum over processors runs beside the first of two maps with the same kernel; the second reads it. */
static const char awaited[] = "x: f32[batch=12, in=65536] = random_uniform\n"
                              "w: f32[a=65536] = variable(init=\"uniform(-0.4, 0.4)\")\n"
                              "s: [in] = reduce_sum(x)\n"
                              "n = assign(w, sin(w))\n"
                              "t = sin(s)\n";

static void run_awaited(bool measure, const char *late, float *values)
{
    if (late) setenv("MTF_HOST_CUDA_LATE", late, 1);
    mtf_session *s = mtf_open_with(&(mtf_session_opts){
        .device = "cuda", .seed = 4, .mesh = "x:2", .layout = "batch:x", .measure = measure});
    mtf_graph   *g = mtf_parse(s, awaited, "awaited");
    mtf_tensor  *t = mtf_find(g, "t");
    mtf_program *p = mtf_compile(g, t);
    for (int k = 0; k < STEPS; k++) mtf_step(p);
    mtf_fetch(p, t, values);
    assert_string_equal(mtf_error(s), "");
    close_well(s);
    unsetenv("MTF_HOST_CUDA_LATE");
}

static void test_members_wait_for_collectives(void **state)
{
    static const char *const late[] = {NULL, "all", "first"};
    static float             together[MOST_VALUES], apart[MOST_VALUES];
    (void)state;
    run_awaited(true, NULL, apart);
    for (size_t k = 0; k < sizeof late / sizeof *late; k++) {
        run_awaited(false, late[k], together);
        assert_memory_equal(together, apart, sizeof together);
    }
}

/* ---- which maps are grouped ---- */

enum { ROWS = 64, BYTES = ROWS * 4, MOST_MAPS = 6 };

/* A program of maps, each from one buffer to another: buffer b lies at place[b], or is a variable. */
typedef struct maps {
    int       nbuffers, nmaps;
    int64_t   place[8]; /* -1: a variable */
    int       from[MOST_MAPS], to[MOST_MAPS];
    scalar_fn fn[MOST_MAPS]; /* FN_IMMEDIATE: a fold along the row instead */
} maps;

static counts groups_of(const maps *m)
{
    mtf_session       *s = mtf_open_with(&(mtf_session_opts){.threads = 1});
    program           *p = program_new(s, NULL);
    static instr       instrs[MOST_MAPS];
    static buffer      buffers[8];
    static access      in[MOST_MAPS], out[MOST_MAPS];
    static scalar_step steps[MOST_MAPS];
    static const int   result = 1;
    for (int b = 0; b < m->nbuffers; b++)
        buffers[b] = (buffer){.kind = m->place[b] < 0 ? BUFFER_VARIABLE : BUFFER_TEMPORARY,
                              .bytes = BYTES,
                              .offset = m->place[b],
                              .shares = b};
    for (int k = 0; k < m->nmaps; k++) {
        bool fold = m->fn[k] == FN_IMMEDIATE;
        in[k] = (access){.buffer = m->from[k], .type = MTF_F32, .stride = {1}};
        out[k] = (access){.buffer = m->to[k], .type = MTF_F32, .stride = {fold ? 0 : 1}};
        steps[k] =
            (scalar_step){.fn = fold ? FN_ROW_SUM : m->fn[k], .type = MTF_F32, .from = MTF_F32};
        instrs[k] =
            (instr){.kind = INSTR_MAP,
                    .nin = 1,
                    .nout = 1,
                    .in = &in[k],
                    .out = &out[k],
                    .nloops = 1,
                    .size = {ROWS},
                    .map = {.nsteps = 1, .steps = &steps[k], .results = &result, .nrow = fold}};
    }
    p->instrs = instrs, p->ninstrs = m->nmaps;
    p->buffers = buffers, p->nbuffers = m->nbuffers;
    counts c = groups_in(p);
    program_free(p);
    close_well(s);
    return c;
}

static void expect(maps m, int groups, int members)
{
    counts c = groups_of(&m);
    assert_int_equal(c.groups, groups);
    assert_int_equal(c.members, members);
}

static void test_what_is_grouped(void **state)
{
    (void)state;
    /* Maps of variables, in place and elsewhere. */
    expect((maps){4, 3, {-1, -1, -1, 0}, {0, 1, 2}, {0, 1, 3}, {FN_exp, FN_exp, FN_exp}}, 1, 3);
    /* Two kernels in turn; and a map whose kernel others have, by itself. */
    expect(
        (maps){
            4, 4, {-1, -1, -1, -1}, {0, 1, 2, 3}, {0, 1, 2, 3}, {FN_exp, FN_sin, FN_exp, FN_sin}},
        2, 4);
    expect((maps){4, 4, {-1, -1, -1, -1}, {0, 1, 2, 3}, {0, 1, 2, 3}, {FN_exp, FN_exp, 0, FN_exp}},
           2, 3);
    expect((maps){3, 3, {-1, -1, -1}, {0, 1, 2}, {0, 1, 2}, {FN_exp, FN_sin, FN_tanh}}, 0, 0);
    /* Both read what neither writes. */
    expect((maps){3, 2, {-1, 0, BYTES}, {0, 0}, {1, 2}, {FN_exp, FN_exp}}, 1, 2);
}

static void test_what_stays_apart(void **state)
{
    (void)state;
    /* The second reads what the first writes, writes what it reads, or writes the same. */
    expect((maps){3, 2, {-1, 0, BYTES}, {0, 1}, {1, 2}, {FN_exp, FN_exp}}, 0, 0);
    expect((maps){3, 2, {-1, -1, 0}, {0, 1}, {2, 0}, {FN_exp, FN_exp}}, 0, 0);
    expect((maps){3, 2, {-1, -1, -1}, {0, 1}, {2, 2}, {FN_exp, FN_exp}}, 0, 0);
    /* The same for buffers that have bytes in common. */
    expect((maps){4, 2, {-1, 0, BYTES / 2, 2 * BYTES}, {0, 2}, {1, 3}, {FN_exp, FN_exp}}, 0, 0);
    expect((maps){4, 2, {0, -1, BYTES, BYTES / 2}, {0, 1}, {2, 3}, {FN_exp, FN_exp}}, 0, 0);
    expect((maps){4, 2, {-1, -1, 0, BYTES / 2}, {0, 1}, {2, 3}, {FN_exp, FN_exp}}, 0, 0);
    /* From the one that depends on another a new group begins. */
    expect((maps){6,
                  4,
                  {-1, 0, BYTES, -1, -1, -1},
                  {0, 3, 1, 4},
                  {1, 3, 2, 5},
                  {FN_exp, FN_exp, FN_exp, FN_exp}},
           2, 4);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_grouped),
        cmocka_unit_test(test_what_stays_apart),
        cmocka_unit_test(test_updates_have_the_same_bits),
        cmocka_unit_test(test_members_wait_for_collectives),
    };
    (void)argc;
    use_emulated_gpu(argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
