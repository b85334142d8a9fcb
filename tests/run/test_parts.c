/* Feeding and fetching by parts, and meshes and layouts as values. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#include "mtf.h"

#include <cmocka.h>

enum { ROWS = 7, COLS = 5 };

/* The element at global position (i, j) is 10 i + j. */
static void fill(void *context, const mtf_part *part)
{
    int   *calls = context;
    float *to = part->data;
    for (int64_t i = 0; i < part->shape.dims[0].size; i++)
        for (int64_t j = 0; j < part->shape.dims[1].size; j++)
            *to++ = (float)(10 * (part->begin[0] + i) + part->begin[1] + j);
    ++*calls;
}

static void count_elements(void *context, const mtf_part *part)
{
    int64_t *elements = context;
    assert_null(part->data);
    *elements += mtf_shape_size(part->shape);
}

typedef struct seen {
    int parts;
    int times[ROWS][COLS];
} seen;

static void check_part(void *context, const mtf_part *part)
{
    seen        *s = context;
    const float *from = part->data;
    s->parts++;
    for (int64_t i = 0; i < part->shape.dims[0].size; i++)
        for (int64_t j = 0; j < part->shape.dims[1].size; j++) {
            int64_t row = part->begin[0] + i, col = part->begin[1] + j;
            assert_true(*from++ == (float)(2 * (10 * row + col)));
            s->times[row][col]++;
        }
}

static void run_with(const mtf_session_opts *opts, int processors, int copies)
{
    mtf_session *s = mtf_open_with(opts);
    mtf_graph   *g = mtf_graph_new(s);
    mtf_dim      rows = {"rows", ROWS}, cols = {"cols", COLS};
    mtf_tensor  *x = mtf_input(g, "x", MTF_F32, mtf_shape(rows, cols));
    mtf_tensor  *y =
        mtf_scale(mtf_transpose(mtf_transpose(x, mtf_shape(cols, rows)), mtf_shape(rows, cols)), 2);
    mtf_program *p = mtf_compile(g, y);
    int          calls = 0;
    seen         found = {0};
    mtf_tensor  *input = NULL;
    int64_t      elements = 0;
    assert_true(mtf_program_inputs(p, &input, 1) == 1 && input == x);
    assert_true(mtf_input_parts(p, x, count_elements, &elements));
    assert_int_equal(elements, copies * ROWS * COLS);
    assert_true(mtf_feed_parts(p, x, fill, &calls));
    assert_true(mtf_step(p) && mtf_fetch_parts(p, y, check_part, &found));
    assert_int_equal(calls, processors);
    assert_int_equal(found.parts, processors);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLS; j++) assert_int_equal(found.times[i][j], copies);
    float whole[ROWS][COLS];
    assert_true(mtf_fetch(p, y, whole) && whole[3][4] == 68);
    assert_string_equal(mtf_error(s), "");
    assert_int_equal(mtf_close(s), 0);
}

static void test_parts(void **state)
{
    (void)state;
    run_with(&(mtf_session_opts){0}, 1, 1);
    run_with(&(mtf_session_opts){.mesh = "a:2,b:3", .layout = "rows:a,cols:b"}, 6, 1);
    run_with(&(mtf_session_opts){.mesh = "a:2,b:3", .layout = "rows:b"}, 6, 2);
}

static void test_values(void **state)
{
    (void)state;
    mtf_dim a = {"a", 2}, b = {"b", 2};
    run_with(
        &(mtf_session_opts){.mesh_shape = mtf_shape(a, b),
                            .rules = (mtf_rule[]){{.dim = "rows", .axes = {"a", "b"}},
                                                  {.dim = "depth", .axes = {"c"}, .optional = true},
                                                  {0}}},
        4, 1);
}

/* Each part of x [rows] in memory of its own: the element at row i is i. */
typedef struct lent {
    _Alignas(64) float part[2][16];
} lent;

static const void *find_lent(void *context, const mtf_part *part)
{
    lent *l = context;
    for (int64_t i = 0; i < part->shape.dims[0].size; i++)
        l->part[part->processor][i] = (float)(part->begin[0] + i);
    return l->part[part->processor];
}

static void test_lending(void **state)
{
    (void)state;
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.mesh = "a:2", .layout = "rows:a"});
    mtf_graph   *g = mtf_graph_new(s);
    mtf_dim      rows = {"rows", ROWS};
    mtf_tensor  *x = mtf_input(g, "x", MTF_F32, mtf_shape(rows)), *y = mtf_scale(x, 3);
    mtf_program *p = mtf_compile(g, y);
    lent         memory;
    float        got[ROWS], fed[ROWS] = {9};
    assert_true(mtf_lend_parts(p, x, find_lent, &memory) && mtf_step(p) && mtf_fetch(p, y, got));
    for (int i = 0; i < ROWS; i++) assert_true(got[i] == (float)(3 * i));
    memory.part[1][0] = 100; /* nothing was copied */
    assert_true(mtf_step(p) && mtf_fetch(p, y, got) && got[ROWS / 2] == 300);
    assert_true(mtf_feed(p, x, fed) && mtf_step(p) && mtf_fetch(p, y, got) && got[0] == 27);
    assert_true(memory.part[0][0] == 0);
    assert_true(mtf_lend_parts(p, x, find_lent, &memory) && mtf_lend_parts(p, x, NULL, NULL));
    assert_false(mtf_step(p));
    assert_non_null(strstr(mtf_error(s), "input \"x\" f32[rows=7] was not fed"));
    mtf_close(s);
}

static void test_bad_values(void **state)
{
    (void)state;
    mtf_dim      a = {"a", 2};
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.mesh_shape = mtf_shape(a, a)});
    mtf_graph   *g = mtf_graph_new(s);
    mtf_compile(g, mtf_zeros(g, MTF_F32, mtf_shape(a)));
    assert_non_null(strstr(mtf_error(s), "mesh: dimension \"a\" occurs twice"));
    assert_int_equal(mtf_close(s), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_parts), cmocka_unit_test(test_values),
                                       cmocka_unit_test(test_lending),
                                       cmocka_unit_test(test_bad_values)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
