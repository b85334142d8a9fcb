/* Tests plans: dead code, order, memory. */
#include <math.h>

#include "ops/reach.h"
#include "ops/splits.h"

#include "ground.h"

/* ---- an allocator that remembers ---- */

enum { MOST_BLOCKS = 4096 };

typedef struct allocation_log {
    size_t bytes[MOST_BLOCKS]; /* as they were asked for */
    int    count;
} allocation_log;

static void *take(void *context, size_t bytes)
{
    allocation_log *l = context;
    if (l->count < MOST_BLOCKS) l->bytes[l->count] = bytes;
    l->count++;
    return malloc(bytes);
}

static void give(void *context, void *memory)
{
    (void)context;
    free(memory);
}

/* Large blocks are aligned by hand: this much on top of what is wanted. */
enum { BLOCK_EXTRA = 64 + sizeof(void *) + sizeof(size_t) };

static int blocks_of(const allocation_log *l, int64_t bytes)
{
    int n = 0;
    for (int i = 0; i < l->count && i < MOST_BLOCKS; i++)
        n += l->bytes[i] == (size_t)bytes + BLOCK_EXTRA;
    return n;
}

static mtf_session *open_counting(allocation_log *l, size_t memory)
{
    l->count = 0;
    return mtf_open_with(
        &(mtf_session_opts){.allocator = {take, give, l}, .threads = 2, .memory = memory});
}

/* ---- scenes ---- */

static const mtf_dim a = {"a", 7}, b = {"b", 5};

typedef struct scene {
    mtf_session *s;
    mtf_graph   *g;
    mtf_tensor  *x;
} scene;

static scene scene_open(void)
{
    scene c = {.s = open_two_threads()};
    c.g = mtf_graph_new(c.s);
    c.x = mtf_input(c.g, "x", MTF_F32, mtf_shape(a, b));
    return c;
}

static int64_t instructions(mtf_program *p)
{
    assert_non_null(p);
    return mtf_program_cost(p).instructions;
}

/* ---- less work ---- */

static void test_dead_code(void **state)
{
    (void)state;
    scene       c = scene_open();
    mtf_tensor *y = mtf_exp(c.x);
    int64_t     before = instructions(mtf_compile(c.g, y));
    mtf_tensor *dead = mtf_sin(mtf_cos(mtf_tanh(y)));
    mtf_reduce_sum(mtf_multiply(dead, dead), MTF_ALL);
    assert_int_equal(instructions(mtf_compile(c.g, y)), before);
    mtf_print_tensor(dead, "alive after all"); /* an effect is reason enough */
    assert_true(instructions(mtf_compile(c.g, y)) > before);
    close_well(c.s);
}

static void test_equal_nodes(void **state)
{
    (void)state;
    scene        c = scene_open();
    mtf_tensor  *left = mtf_tanh(mtf_sin(c.x)), *right = mtf_tanh(mtf_sin(c.x));
    mtf_program *p = mtf_compile(c.g, mtf_multiply(left, right));
    assert_int_equal(occurrences(mtf_program_print(p), "= sin r"), 1);
    assert_int_equal(occurrences(mtf_program_print(p), "= tanh r"), 1);
    p = mtf_compile(c.g, mtf_add(mtf_sin(c.x), mtf_sin(mtf_scale(c.x, 2))));
    assert_int_equal(occurrences(mtf_program_print(p), "= sin r"), 2);
    mtf_tensor *u = mtf_random_uniform(c.g, MTF_F32, mtf_shape(a), 0, 1);
    mtf_tensor *v =
        mtf_random_uniform(c.g, MTF_F32, mtf_shape(a), 0, 1); /* equal, but meant to differ */
    assert_int_equal(occurrences(mtf_program_print(mtf_compile(c.g, mtf_add(u, v))), " draw "), 2);
    close_well(c.s);
}

/* A chain of maps is one instruction, but not across the beginning or the end of a loop: what is
 * computed once would be computed in every iteration. */
static void test_maps_stay_outside_of_loops(void **state)
{
    (void)state;
    mtf_session *s = open_two_threads();
    mtf_graph   *g = mtf_parse(s,
                               "x: f32[a=7] = input\n"
                                 "before = exp(x)\n"
                                 "inside = loop(x, trips=10) {\n"
                                 "    body(s) {\n"
                                 "        yield sin(s) * before\n"
                                 "    }\n"
                                 "}\n"
                                 "after = tanh(inside)\n",
                               "loops");
    mtf_program *p = mtf_compile(g, g ? mtf_find(g, "after") : NULL);
    assert_non_null(p);
    const char *text = mtf_program_print(p), *loop = strstr(text, " loop "),
               *again = strstr(text, " again ");
    assert_true(loop && again && strstr(text, "= exp r") < loop);
    assert_true(strstr(text, "= sin r") > loop && strstr(text, "= sin r") < again);
    assert_true(strstr(text, "= tanh r") > again);
    close_well(s);
}

static void test_constants(void **state)
{
    (void)state;
    scene       c = scene_open();
    int64_t     one = instructions(mtf_compile(c.g, mtf_scale(c.x, 3)));
    mtf_tensor *two = mtf_add_scalar(mtf_ones(c.g, MTF_F32, mtf_shape(b)), 1);
    mtf_tensor *seven =
        mtf_add_scalar(mtf_multiply(two, mtf_exp(mtf_zeros(c.g, MTF_F32, mtf_shape(b)))), 5);
    mtf_program *p = mtf_compile(c.g, mtf_multiply(c.x, seven));
    assert_int_equal(instructions(p), one);
    assert_int_equal(occurrences(mtf_program_print(p), "= exp"), 0);
    assert_contains(mtf_program_print(p), "= 7;");

    /* The sum of ones over b, its size, needs no loop either. */
    mtf_tensor *five = mtf_reduce_sum(mtf_ones(c.g, MTF_F32, mtf_shape(a, b)), mtf_shape(b));
    assert_int_equal(instructions(mtf_compile(c.g, mtf_multiply(c.x, five))), one);
    close_well(c.s);
}

/* ---- the order of products ---- */

/* Products of a chain of matrices with these sizes in the least number of multiplications. */
static void chain(int matrices, const int64_t *sizes, const int *order, int64_t least)
{
    static const char *const names[] = {"d0", "d1", "d2", "d3", "d4", "d5", "d6"};
    mtf_session             *s = open_two_threads();
    mtf_graph               *g = mtf_graph_new(s);
    mtf_tensor              *xs[6];
    for (int i = 0; i < matrices; i++) {
        int     k = order ? order[i] : i;
        mtf_dim rows = {names[k], sizes[k]}, cols = {names[k + 1], sizes[k + 1]};
        xs[i] = mtf_input(g, "m", MTF_F32, mtf_shape(rows, cols));
    }
    mtf_dim      first = {names[0], sizes[0]}, last = {names[matrices], sizes[matrices]};
    mtf_program *p = mtf_compile(g, mtf_einsum_n(mtf_shape(first, last), matrices, xs));
    assert_non_null(p);
    assert_int_equal(mtf_program_cost(p).flops, 2 * least);
    assert_int_equal(instructions(p), matrices - 1); /* and no copies */
    close_well(s);
}

/* The sizes and optima of the textbook example (Cormen et al., 15.2). */
static void test_order_of_products(void **state)
{
    (void)state;
    chain(2, (int64_t[]){5, 10, 3}, NULL, 150);
    chain(3, (int64_t[]){2, 100, 3, 50}, NULL, 600 + 300);
    chain(3, (int64_t[]){50, 3, 100, 2}, NULL, 600 + 300);
    chain(4, (int64_t[]){40, 20, 30, 10, 30}, NULL, 26000);
    chain(5, (int64_t[]){5, 10, 3, 12, 5, 50}, NULL, 1655);
    chain(6, (int64_t[]){5, 10, 3, 12, 5, 50, 6}, NULL, 2010);
    chain(5, (int64_t[]){5, 10, 3, 12, 5, 50}, (int[]){3, 0, 4, 2, 1}, 1655);
}

/* A vector on one side makes every product a vector: linear, not cubic. */
static void test_vectors_first(void **state)
{
    (void)state;
    mtf_session *s = open_two_threads();
    mtf_graph   *g = mtf_graph_new(s);
    mtf_dim      i = {"i", 64}, j = {"j", 48}, k = {"k", 32};
    mtf_tensor  *m1 = mtf_input(g, "m1", MTF_F32, mtf_shape(i, j)),
               *m2 = mtf_input(g, "m2", MTF_F32, mtf_shape(j, k));
    mtf_tensor  *v = mtf_input(g, "v", MTF_F32, mtf_shape(k));
    mtf_program *p = mtf_compile(g, mtf_einsum(mtf_shape(i), m1, m2, v));
    assert_int_equal(mtf_program_cost(p).flops, 2 * (48 * 32 + 64 * 48));
    close_well(s);
}

/* ---- rows ---- */

/* What is one number a line meets lines long and short. */
static void test_lines_are_rows(void **state)
{
    (void)state;
    enum { LINES = 37, LONGEST = 4100 };
    static const int lengths[] = {5, 255, 256, 300, 1025, 4096, LONGEST};
    static float     x[LINES * LONGEST], y[LINES * LONGEST], s[LINES];
    for (int k = 0; k < LINES; k++) s[k] = 1.0f + (float)(k % 5);
    for (int k = 0; k < LINES * LONGEST; k++) x[k] = (float)(k % 23) - 11;
    for (size_t c = 0; c < sizeof lengths / sizeof *lengths; c++) {
        int          n = lengths[c];
        mtf_session *session = open_two_threads();
        mtf_graph   *g = mtf_graph_new(session);
        mtf_dim      lines = {"lines", LINES}, along = {"along", n};
        mtf_tensor  *in = mtf_input(g, "x", MTF_F32, mtf_shape(lines, along));
        mtf_tensor  *one = mtf_input(g, "s", MTF_F32, mtf_shape(lines));
        mtf_tensor  *out = mtf_add(mtf_multiply(in, mtf_reciprocal(mtf_square(one))), one);
        mtf_program *p = mtf_compile(g, out);
        assert_true(mtf_feed(p, in, x) && mtf_feed(p, one, s));
        assert_true(mtf_step(p) && mtf_fetch(p, out, y));
        for (int r = 0; r < LINES; r++)
            for (int k = 0; k < n; k++)
                assert_true(y[r * n + k] == x[r * n + k] * (1 / (s[r] * s[r])) + s[r]);
        close_well(session);
    }
}

/* x, m = its sums along rows, h = x * m: where x and m are needed as late as h, h is made again.
 * While the product runs, x, its sine and the result are all that is alive. */
static void test_made_again(void **state)
{
    (void)state;
    enum { ROWS = 32, COLS = 64, BYTES = ROWS * COLS * 4 };
    static float a_[ROWS * COLS], w_[COLS * COLS], y_[ROWS * COLS];
    for (int k = 0; k < ROWS * COLS; k++) a_[k] = (float)(k % 13) / 13;
    for (int k = 0; k < COLS * COLS; k++) w_[k] = (float)(k % 7) / 16;
    mtf_session *s = open_two_threads();
    mtf_graph   *g = mtf_graph_new(s);
    mtf_dim      rows = {"rows", ROWS}, cols = {"cols", COLS}, other = {"other", COLS};
    mtf_tensor  *in = mtf_input(g, "a", MTF_F32, mtf_shape(rows, cols));
    mtf_tensor  *w = mtf_input(g, "w", MTF_F32, mtf_shape(cols, other));
    mtf_tensor  *x = mtf_exp(in), *m = mtf_reduce_sum(x, mtf_shape(cols)), *h = mtf_multiply(x, m);
    mtf_tensor  *z = mtf_einsum(mtf_shape(rows, other), mtf_sin(x), w);
    z = mtf_rename_dimension(z, "other", "cols");
    mtf_tensor  *y = mtf_add(mtf_add(mtf_multiply(h, z), x), m);
    mtf_program *p = mtf_compile(g, y);
    assert_non_null(p);
    /* inputs; x, its sine or the result, the product; the sums */
    assert_in_range(mtf_program_cost(p).peak_bytes, 0, BYTES + COLS * COLS * 4 + 3 * BYTES + 1024);
    assert_true(mtf_feed(p, in, a_) && mtf_feed(p, w, w_));
    assert_true(mtf_step(p) && mtf_fetch(p, y, y_));
    for (int r = 0; r < ROWS; r++) {
        double sum = 0;
        for (int k = 0; k < COLS; k++) sum += exp(a_[r * COLS + k]);
        for (int k = 0; k < COLS; k++) {
            double product = 0, e = exp(a_[r * COLS + k]);
            for (int l = 0; l < COLS; l++) product += sin(exp(a_[r * COLS + l])) * w_[l * COLS + k];
            double want = e * sum * product + e + sum;
            assert_true(fabs(y_[r * COLS + k] - want) < 1e-4 * fabs(want));
        }
    }
    close_well(s);
}

/* ---- memory ---- */

static void test_update_in_place(void **state)
{
    (void)state;
    static float w_values[1000], got[1000];
    mtf_session *s = open_two_threads();
    mtf_graph   *g = mtf_graph_new(s);
    mtf_dim      d = {"d", 1000};
    mtf_tensor  *w = mtf_variable(g, "w", mtf_shape(d), NULL);
    mtf_assign(w, mtf_scale(w, 0.5));
    mtf_program *p = mtf_compile_n(g, 0, NULL);
    assert_int_equal(instructions(p), 1);
    assert_int_equal(mtf_program_cost(p).variable_bytes, 4000);
    assert_int_equal(mtf_program_cost(p).peak_bytes, 4000); /* no buffer besides */
    for (int i = 0; i < 1000; i++) w_values[i] = (float)i;
    assert_true(mtf_variable_set(w, w_values) && mtf_step(p) && mtf_step(p) &&
                mtf_variable_get(w, got));
    for (int i = 0; i < 1000; i++) assert_true(got[i] == (float)i / 4);

    mtf_program *old =
        mtf_compile(g, w); /* somebody wants the old value: it must survive the step */
    assert_true(mtf_step(old) && mtf_fetch(old, w, got));
    for (int i = 0; i < 1000; i++) assert_true(got[i] == (float)i / 4);
    assert_true(mtf_variable_get(w, got));
    for (int i = 0; i < 1000; i++) assert_true(got[i] == (float)i / 8);
    close_well(s);
}

/* w and v change places: each value is needed after the other is known. */
static void test_exchange(void **state)
{
    (void)state;
    mtf_session *s = open_two_threads();
    mtf_graph   *g = mtf_graph_new(s);
    mtf_tensor *w = mtf_variable(g, "w", mtf_shape(a), &(mtf_variable_opts){.init = "constant(1)"});
    mtf_tensor *v = mtf_variable(g, "v", mtf_shape(a), &(mtf_variable_opts){.init = "constant(2)"});
    mtf_assign(w, v);
    mtf_assign(v, w);
    float got[7];
    assert_true(mtf_step(mtf_compile_n(g, 0, NULL)));
    assert_true(mtf_variable_get(w, got) && got[0] == 2 && got[6] == 2);
    assert_true(mtf_variable_get(v, got) && got[0] == 1 && got[6] == 1);
    close_well(s);
}

static mtf_tensor *two_layers(mtf_graph *g, mtf_tensor **x)
{
    mtf_dim batch = {"batch", 37}, in = {"in", 101}, hidden = {"hidden", 203}, out = {"out", 11};
    mtf_tensor *w1 = mtf_variable(g, "w1", mtf_shape(in, hidden), NULL);
    mtf_tensor *w2 = mtf_variable(g, "w2", mtf_shape(hidden, out), NULL), *ws[] = {w1, w2}, *dws[2];
    *x = mtf_input(g, "x", MTF_F32, mtf_shape(batch, in));
    mtf_tensor *h = mtf_tanh(mtf_einsum(mtf_shape(batch, hidden), *x, w1));
    mtf_tensor *y = mtf_softmax(mtf_einsum(mtf_shape(batch, out), h, w2), out, NULL);
    mtf_tensor *loss = mtf_reduce_sum(mtf_square(y), MTF_ALL);
    mtf_gradients(1, &loss, 2, ws, NULL, dws);
    for (int i = 0; i < 2; i++) mtf_assign_sub(ws[i], mtf_scale(dws[i], 0.1));
    return loss;
}

static void test_peak_is_what_is_taken(void **state)
{
    (void)state;
    static allocation_log l;
    mtf_session          *s = open_counting(&l, 0);
    mtf_graph            *g = mtf_graph_new(s);
    mtf_tensor           *x, *loss = two_layers(g, &x);
    mtf_program          *p = mtf_compile(g, loss);
    mtf_cost              cost = mtf_program_cost(p);
    assert_int_equal(cost.variable_bytes, 4 * (101 * 203 + 203 * 11));
    assert_int_equal(cost.input_bytes, 4 * 37 * 101);
    assert_int_equal(blocks_of(&l, cost.peak_bytes - cost.variable_bytes), 1); /* the slab */
    assert_int_equal(blocks_of(&l, cost.scratch_bytes), 1);
    assert_int_equal(blocks_of(&l, 4 * 101 * 203), 1);
    assert_int_equal(blocks_of(&l, 4 * 203 * 11), 1);
    char line[80];
    snprintf(line, sizeof line, "# memory: %lld bytes", (long long)cost.peak_bytes);
    assert_contains(mtf_program_print(p), line);
    close_well(s);
}

static void test_steps_allocate_nothing(void **state)
{
    (void)state;
    static allocation_log l;
    static float          data[37 * 101];
    mtf_session          *s = open_counting(&l, 0);
    mtf_graph            *g = mtf_graph_new(s);
    mtf_tensor           *x, *loss = two_layers(g, &x);
    mtf_program          *p = mtf_compile(g, loss);
    int                   before = l.count;
    for (int step = 0; step < 3; step++) {
        assert_true(mtf_feed(p, x, data) && mtf_step(p));
        mtf_fetch_scalar(p, loss);
    }
    assert_int_equal(l.count, before);
    close_well(s);
}

static void test_refused_before_running(void **state)
{
    (void)state;
    static allocation_log l;
    mtf_session          *s = open_counting(&l, 0);
    mtf_graph            *g = mtf_graph_new(s);
    mtf_tensor           *x, *loss = two_layers(g, &x);
    mtf_cost              cost = mtf_program_cost(mtf_compile(g, loss));
    int64_t               need = cost.peak_bytes + cost.scratch_bytes;
    close_well(s);

    s = open_counting(&l, (size_t)need); /* exactly enough */
    g = mtf_graph_new(s);
    loss = two_layers(g, &x);
    assert_non_null(mtf_compile(g, loss));
    close_well(s);

    s = open_counting(&l, (size_t)need - 1);
    g = mtf_graph_new(s);
    loss = two_layers(g, &x);
    mtf_program *p = mtf_compile(g, loss);
    assert_null(p);
    assert_false(mtf_step(p));
    assert_int_equal(blocks_of(&l, cost.peak_bytes - cost.variable_bytes), 0); /* not even tried */
    char sentence[200];
    snprintf(sentence, sizeof sentence,
             "memory: the program needs %lld bytes, but only %lld are allowed (--memory); use a "
             "smaller batch or recompute",
             (long long)need, (long long)need - 1);
    close_with(s, sentence);
}

/* ---- an op that forgets something ---- */

static bool infer_same(node *n)
{
    return node_output(n, n->in[0]->type, &n->in[0]->shape);
}

static bool lower_without_divisor(emitter *e, const node *n, const slice *in, slice *out)
{
    span got;
    out[0] = *in;
    return reach(e, n->in[0], "a", a.size, &(span_map){.mult = 1}, &out[0], &got);
}

static dim_split split_own(const node *n, const char *dim)
{
    (void)n, (void)dim;
    return SPLIT_OWN;
}

static void test_span_map_without_divisor(void **state)
{
    (void)state;
    static const op forgetful = {.name = "forgetful",
                                 .args = "x",
                                 .infer = infer_same,
                                 .lower = lower_without_divisor,
                                 .split = split_own};
    mtf_session    *s =
        mtf_open_with(&(mtf_session_opts){.threads = 1, .mesh = "x:2", .layout = "a:x"});
    mtf_graph  *g = mtf_graph_new(s);
    mtf_tensor *x = mtf_input(g, "x", MTF_F32, mtf_shape(a));
    assert_null(mtf_compile(g, node_unary(&forgetful, x, NULL)));
    close_with(s,
               "internal: reaching along \"a\" of \"x\": the span map has no divisor, which is 1 "
               "or more");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dead_code),
        cmocka_unit_test(test_equal_nodes),
        cmocka_unit_test(test_maps_stay_outside_of_loops),
        cmocka_unit_test(test_constants),
        cmocka_unit_test(test_order_of_products),
        cmocka_unit_test(test_vectors_first),
        cmocka_unit_test(test_lines_are_rows),
        cmocka_unit_test(test_made_again),
        cmocka_unit_test(test_update_in_place),
        cmocka_unit_test(test_exchange),
        cmocka_unit_test(test_peak_is_what_is_taken),
        cmocka_unit_test(test_steps_allocate_nothing),
        cmocka_unit_test(test_refused_before_running),
        cmocka_unit_test(test_span_map_without_divisor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
