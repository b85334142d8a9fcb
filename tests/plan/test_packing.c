/* Tests which operands and results of products are copied. */
#include "run/compiled.h"

#include "ground.h"

static int moves(mtf_shape x_shape, mtf_shape y_shape, mtf_shape out)
{
    mtf_session *s = open_two_threads();
    mtf_graph   *g = mtf_graph_new(s);
    mtf_tensor  *x = mtf_input(g, "x", MTF_F32, x_shape), *y = mtf_input(g, "y", MTF_F32, y_shape);
    mtf_program *p = mtf_compile(g, mtf_einsum(out, x, y));
    const char  *text = mtf_program_print(p);
    int          found = occurrences(text, " move ");
    assert_int_equal(occurrences(text, " contract "), 1);
    close_well(s);
    return found;
}

static void test_packing(void **state)
{
    (void)state;
    mtf_dim m = {"m", 11}, n = {"n", 13}, k = {"k", 17}, k1 = {"k1", 3}, k2 = {"k2", 5},
            z = {"z", 4};
    assert_int_equal(moves(mtf_shape(m, k), mtf_shape(k, n), mtf_shape(m, n)), 0);
    assert_int_equal(moves(mtf_shape(k, m), mtf_shape(k, n), mtf_shape(m, n)), 0); /* transposed: */
    assert_int_equal(moves(mtf_shape(m, k), mtf_shape(n, k), mtf_shape(m, n)),
                     0); /* a flag of the */
    assert_int_equal(moves(mtf_shape(k, m), mtf_shape(n, k), mtf_shape(n, m)), 0); /* product */
    assert_int_equal(moves(mtf_shape(z, m, k), mtf_shape(z, k, n), mtf_shape(z, m, n)), 0);
    assert_int_equal(moves(mtf_shape(m, z, k), mtf_shape(n, z, k), mtf_shape(z, m, n)), 0);
    assert_int_equal(moves(mtf_shape(m, k1, k2), mtf_shape(k1, k2, n), mtf_shape(m, n)), 0);
    assert_int_equal(moves(mtf_shape(m, k), mtf_shape(k), mtf_shape(m)), 0);
    /* k1 and k2 lie apart in x and together in y. */
    assert_int_equal(moves(mtf_shape(k1, m, k2), mtf_shape(k1, k2, n), mtf_shape(m, n)), 1);
    /* The batch lies innermost, so no other stride of x is 1. */
    assert_int_equal(moves(mtf_shape(m, k, z), mtf_shape(z, k, n), mtf_shape(z, m, n)), 1);
}

/* c[z, l, m] = sum a[m, k] b[l, z, k]: the result lies in another order than b, along m as a does.
 * Whichever comes first, the product writes it along m, and it is moved in whole rows. */
static void check_packed_along_rows(bool a_first)
{
    enum { Z = 3, L = 5, M = 7, K = 4 };
    static float a_[M * K], b_[L * Z * K], c_[Z * L * M];
    for (int i = 0; i < M * K; i++) a_[i] = (float)(i % 5) - 2;
    for (int i = 0; i < L * Z * K; i++) b_[i] = (float)(i % 7) - 3;
    mtf_session *s = open_two_threads();
    mtf_graph   *g = mtf_graph_new(s);
    mtf_dim      z = {"z", Z}, l = {"l", L}, m = {"m", M}, k = {"k", K};
    mtf_tensor  *a = mtf_input(g, "a", MTF_F32, mtf_shape(m, k));
    mtf_tensor  *b = mtf_input(g, "b", MTF_F32, mtf_shape(l, z, k));
    mtf_tensor  *c = mtf_einsum(mtf_shape(z, l, m), a_first ? a : b, a_first ? b : a);
    mtf_program *p = mtf_compile(g, c);
    assert_true(mtf_feed(p, a, a_) && mtf_feed(p, b, b_) && mtf_step(p) && mtf_fetch(p, c, c_));
    for (int i = 0; i < Z * L * M; i++) {
        float want = 0;
        for (int t = 0; t < K; t++)
            want += a_[i % M * K + t] * b_[(i / M % L * Z + i / M / L) * K + t];
        assert_true(c_[i] == want);
    }
    const program *lowered = first_program(p);
    for (int i = 0; i < lowered->ninstrs; i++) {
        const instr *move = &lowered->instrs[i];
        if (move->kind != INSTR_MOVE) continue;
        int last = move->nloops - 1;
        assert_true(move->out[0].stride[last] == 1 && move->in[0].stride[last] == 1);
    }
    assert_int_equal(occurrences(mtf_program_print(p), " move "), 1);
    close_well(s);
}

static void test_packed_along_rows(void **state)
{
    (void)state;
    check_packed_along_rows(true);
    check_packed_along_rows(false);
}

/* What is cut down to one element each is summed by the wire alone. */
static void test_one_element_is_no_sum(void **state)
{
    (void)state;
    enum { PARTS = 2, N = 5 };
    mtf_session *s =
        mtf_open_with(&(mtf_session_opts){.threads = 1, .mesh = "p:2", .layout = "parts:p"});
    mtf_graph  *g = mtf_graph_new(s);
    mtf_dim     parts = {"parts", PARTS}, n = {"n", N};
    mtf_tensor *x = mtf_input(g, "x", MTF_F32, mtf_shape(parts, n));
    mtf_tensor *sum = mtf_reduce_sum(x, mtf_shape(parts)),
               *top = mtf_reduce_max(x, mtf_shape(parts));
    mtf_tensor  *y = mtf_add(sum, mtf_square(top));
    mtf_program *p = mtf_compile(g, y);
    assert_int_equal(occurrences(mtf_program_print(p), " fold "), 0);
    assert_int_equal(occurrences(mtf_program_print(p), " all_reduce "), 2);
    float values[PARTS * N] = {1, -2, 3, -4, 5, 6, 7, -8, -9, 10}, out[N];
    assert_true(mtf_feed(p, x, values) && mtf_step(p) && mtf_fetch(p, y, out));
    for (int k = 0; k < N; k++) {
        float a0 = values[k], a1 = values[N + k], most = a0 > a1 ? a0 : a1;
        assert_true(out[k] == a0 + a1 + most * most);
    }
    close_well(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_packing),
        cmocka_unit_test(test_packed_along_rows),
        cmocka_unit_test(test_one_element_is_no_sum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
