/* Tests the exact device against the cpu on whole numbers. */
#include "verify/lockstep.h"

#include "ground.h"

enum { MOST = 4096 };

/* Small whole numbers, of both signs where the type has them; indices stay inside. */
static int64_t number_at(int64_t position, bool index)
{
    int64_t n = (position * 7 + position / 3) % 5;
    return index ? n % 3 : n - 2;
}

static double value_of(mtf_dtype type, cell c)
{
    return dtype_is_float(type) ? (double)field_signed(c) : (double)(int64_t)c;
}

/* Feeds the inputs of both. */
static void feed_both(mtf_program *p, lane *k)
{
    for (int i = 0; i < k->ninputs; i++) {
        const port   *q = &k->inputs[i];
        mtf_dtype     type = q->slice.type;
        int64_t       n = shape_size(&q->slice.shape);
        static double room[MOST];
        assert_true(n <= MOST);
        for (int64_t e = 0; e < n; e++) {
            int64_t number = number_at(e + 3 * i, type == MTF_I32);
            dtype_store(type, room, e, (double)number);
            *lane_cell(k, &q->slice, e) = exact_cast(&k->exact, type, MTF_I64, (uint64_t)number);
        }
        assert_true(mtf_feed(p, (mtf_tensor *)q->tensor, room));
    }
}

/* Everything that the text computes without being used further, on both devices. */
static void check(const char *text, const char *const *names)
{
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.threads = 1});
    mtf_graph   *g = mtf_parse(s, text, "test");
    mtf_tensor  *fetches[16];
    int          n = 0;
    assert_string_equal(mtf_error(s), "");
    for (; names[n]; n++) fetches[n] = mtf_find(g, names[n]);
    mtf_program *p = mtf_compile_n(g, n, fetches);
    lockstep     l;
    assert_true(lockstep_open(&l, &(lockstep_opts){.graph = g, .nfetches = n, .fetches = fetches}));
    assert_true(lockstep_clear(&l, 42));
    lane *k = &l.lanes[0];
    feed_both(p, k);
    assert_true(mtf_step(p) && lockstep_step(&l));
    for (int i = 0; i < n; i++) {
        static double room[MOST];
        const slice  *y = &k->fetches[i].slice;
        assert_true(mtf_fetch(p, fetches[i], room));
        for (int64_t e = 0; e < shape_size(&y->shape); e++) {
            double want = dtype_load(y->type, room, e);
            double got = value_of(y->type, *lane_cell(k, y, e));
            if (got != want)
                fail_msg("%s[%lld] is %.17g, on the cpu %.17g", names[i], (long long)e, got, want);
        }
    }
    lockstep_close(&l);
    close_well(s);
}

/* Sums of products that are reduced at their end are those that are reduced at each product. */
static void test_dot(void **state)
{
    (void)state;
    enum { TERMS = 300 };
    static residue x[2 * TERMS], y[3 * TERMS];
    for (int trial = 0; trial < 20; trial++) {
        residue sum = 0;
        for (int k = 0; k < 2 * TERMS; k++) x[k] = hash_residue((uint64_t)trial, (residue)k);
        for (int k = 0; k < 3 * TERMS; k++) y[k] = hash_residue(~(uint64_t)trial, (residue)k);
        for (int k = 0; trial % 2 && k < 2 * TERMS; k++) x[k] = FIELD_PRIME - 1; /* carries most */
        for (int k = 0; trial % 4 == 3 && k < 3 * TERMS; k++) y[k] = FIELD_PRIME - 1;
        for (int n = 0; n <= TERMS; n++) {
            if (field_dot(n, x, 2, y, 3) != sum) fail_msg("trial %d: %d products", trial, n);
            if (n < TERMS) sum = field_add(sum, field_mul(x[2 * n], y[3 * n]));
        }
    }
}

#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})

static void test_sums_and_products(void **state)
{
    (void)state;
    check("x: f64[a=3, b=5] = input\n"
          "w: f64[b=5, c=4] = input\n"
          "y: [a, c] = einsum(x, w)\n"
          "z: [c, b] = einsum(x, w)\n"
          "s = reduce_sum(x, over=(a))\n"
          "p = reduce_prod(x + 3, over=(b))\n"
          "d = square(x) - x * 3 + 7\n"
          "e = x * 6 / 3 + reciprocal(x - x + 1)\n"
          "dx, dw = gradients(reduce_sum(y * y); x, w)\n",
          NAMES("y", "z", "s", "p", "d", "e", "dx", "dw"));
    check("x: i32[a=3, b=5] = input\n"
          "w: i32[b=5, c=4] = input\n"
          "y: [a, c] = einsum(x, w)\n"
          "s = reduce_sum(x * 1000000007, over=(a))\n"
          "q = floordiv(x - 7, w)\n"
          "r = mod(x - 7, w)\n",
          NAMES("y", "s", "q", "r"));
}

static void test_windows(void **state)
{
    (void)state;
    check("x: f64[n=2, h=7, w=5, c=4] = input\n"
          "f: f64[fh=3, fw=2, ci=2, o=6] = input\n"
          "y = conv2d(x, f, stride=(2, 1), dilation=(1, 2), groups=2)\n"
          "dx, df = gradients(reduce_sum(y * y); x, f)\n",
          NAMES("y", "dx", "df"));
    check("x: i32[n=2, h=7, c=2] = input\n"
          "f: i32[fh=3, c=2, o=3] = input\n"
          "y = conv1d(x, f, padding=valid)\n",
          NAMES("y"));
}

static void test_indices_and_order(void **state)
{
    (void)state;
    check("x: f64[a=4, b=6] = input\n"
          "i: i32[n=5] = input\n"
          "g = gather(x, i, dim=a)\n"
          "h = gather(x, i - 2, dim=b)\n"
          "v, j = sort(x, dim=b, descending=true)\n"
          "t, k = top_k(x, dim=a, k=[best=2])\n"
          "m = argmax(x, dim=b)\n"
          "o = reduce_max(x, over=(a))\n"
          "u = minimum(x, reduce_min(x, over=(b)) + 1)\n"
          "dx = gradients(reduce_sum(g * g); x)\n",
          NAMES("g", "h", "v", "j", "t", "k", "m", "o", "u", "dx"));
}

static void test_moving(void **state)
{
    (void)state;
    check("x: f64[a=4, b=6] = input\n"
          "c = cumsum(x, dim=b)\n"
          "r = cumsum(x, dim=a, exclusive=true, reverse=true)\n"
          "s = shift(x, dim=b, offset=2)\n"
          "p = pad(slice(x, dim=b, begin=1, size=3, step=2), dim=b, before=1, after=2)\n"
          "k = concat(x, c, dim=a)\n"
          "f: [f=24] = reshape(x)\n"
          "w = where(greater(x, 0), x, x * 2)\n"
          "l, t = loop(x, trips=3) {\n"
          "    body(q; i) {\n"
          "        n: f64 = cast(i)\n"
          "        yield q + x; q * n\n"
          "    }\n"
          "}\n",
          NAMES("c", "r", "s", "p", "k", "f", "w", "l", "t"));
}

/* An instruction that nobody has given an exact form is an error, not a crash. */
static void test_no_exact_form(void **state)
{
    (void)state;
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.threads = 1});
    mtf_graph   *g = mtf_parse(s, "x: f32[a=3] = input\ny = x + x\n", "test");
    mtf_tensor  *y = mtf_find(g, "y");
    lockstep     l;
    assert_true(lockstep_open(&l, &(lockstep_opts){.graph = g, .nfetches = 1, .fetches = &y}));
    assert_true(lockstep_clear(&l, 42));
    instr i = *l.lanes[0].code[0];
    i.kind = INSTR_SAY;
    assert_false(exact_run(&l.lanes[0].exact, &i));
    assert_string_equal(mtf_error(s), "usage: \"y\" is computed by the instruction say, which has "
                                      "no exact form: it cannot be verified");
    lockstep_close(&l);
    mtf_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dot),     cmocka_unit_test(test_sums_and_products),
        cmocka_unit_test(test_windows), cmocka_unit_test(test_indices_and_order),
        cmocka_unit_test(test_moving),  cmocka_unit_test(test_no_exact_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
