/* Products with few columns, and what follows them, in one kernel.
 *
 * Such a kernel must give the bits that its instructions give one by one, unless it folds a row.
 */
#include "cuda/write/slim_groups.h"
#include "run/compiled.h"

#include "ground.h"

#include "run/emulated_gpu.h"

enum { WIDE = 192, TERMS = 448 };

/* Three products of one vector with a bias each, one of them scaled, as attention has; then another one
 * that needs the first.  There are terms enough for blocks to share them. */
static const char text[] = "x: bf16[batch=2, d=448] = input\n"
                           "q: bf16[d=448, h=3, k=64] = input\n"
                           "u: bf16[d=448, h=3, k=64] = input\n"
                           "r: bf16[d=448, h=3, k=64] = input\n"
                           "v: bf16[h=3, k=64, d=448] = input\n"
                           "b: bf16[h=3, k=64] = input\n"
                           "m: bf16[batch=2, length=5, h=3, k=64] = variable(init=\"zeros\")\n"
                           "i: i32[batch=2] = input\n"
                           "c: [batch, h, k] = einsum(x, q)\n"
                           "p = c + b\n"
                           "y = p * 0.125\n"
                           "e: [batch, h, k] = einsum(x, u)\n"
                           "z = gelu(e + b)\n"
                           "f: [batch, h, k] = einsum(x, r)\n"
                           "n = assign(m, update(m, f * 2.0, i, dim=length))\n"
                           "w: [batch, d] = einsum(y, v)\n";

typedef struct outcome {
    uint16_t y[2 * WIDE], z[2 * WIDE], w[2 * TERMS], n[2 * 5 * WIDE];
} outcome;

static void feed(mtf_program *p, mtf_graph *g, const char *name, int n)
{
    static uint16_t values[TERMS * WIDE];
    for (int k = 0; k < n; k++) {
        float v = (float)((k * 37 + n) % 101 - 50) / 64;
        memcpy(&values[k], (char *)&v + 2, 2); /* these are exact */
    }
    mtf_feed(p, mtf_find(g, name), values);
}

static mtf_program *run(mtf_session *s, outcome *o)
{
    mtf_graph   *g = mtf_parse(s, text, "slim.mtf");
    mtf_tensor  *fetched[] = {mtf_find(g, "y"), mtf_find(g, "z"), mtf_find(g, "w")};
    mtf_program *p = mtf_compile_n(g, 3, fetched);
    feed(p, g, "x", 2 * TERMS);
    feed(p, g, "q", TERMS * WIDE);
    feed(p, g, "u", TERMS * WIDE);
    feed(p, g, "v", TERMS * WIDE);
    feed(p, g, "r", TERMS * WIDE);
    feed(p, g, "b", WIDE);
    mtf_feed(p, mtf_find(g, "i"), (int32_t[]){3, 7}); /* the second is out of range */
    for (int k = 0; k < 3; k++) mtf_step(p);          /* queued, captured, replayed */
    mtf_fetch(p, fetched[0], o->y);
    mtf_fetch(p, fetched[1], o->z);
    mtf_fetch(p, fetched[2], o->w);
    mtf_variable_get(mtf_find(g, "m"), o->n);
    assert_string_equal(mtf_error(s), "");
    return p;
}

static void test_groups_have_the_same_bits(void **state)
{
    static outcome together, apart, host;
    (void)state;
    mtf_session   *s = mtf_open_with(&(mtf_session_opts){.device = "cuda"});
    mtf_program   *p = run(s, &together);
    const program *q = first_program(p);
    int            kernels = 0, products = 0, scatters = 0;
    for (int k = 0; k < q->ninstrs; kernels++) {
        slim_group g = slim_group_at(q, k);
        if (g.n > products) products = g.n;
        for (int j = 0; j < g.n; j++) scatters += g.members[j].scatter != NULL;
        k = g.n ? g.end : k + 1;
    }
    if (products < 3 || kernels > 3 || scatters != 1)
        fail_msg("%d kernels, of %d products at most, and %d scatters\n%s", kernels, products,
                 scatters, mtf_program_print(p));
    close_well(s);
    s = mtf_open_with(&(mtf_session_opts){.device = "cuda", .measure = true});
    run(s, &apart);
    close_well(s);
    assert_memory_equal(&together, &apart, sizeof together);
    s = mtf_open_with(&(mtf_session_opts){.device = "cpu"});
    run(s, &host);
    close_well(s);
    for (int k = 0; k < 2 * 5 * WIDE; k++)
        assert_true(fabs(dtype_load(MTF_BF16, host.n, k) - dtype_load(MTF_BF16, together.n, k)) <=
                    0x1p-6 * (1 + fabs(dtype_load(MTF_BF16, host.n, k))));
    for (int k = 0; k < 2 * TERMS; k++)
        assert_true(fabs(dtype_load(MTF_BF16, host.w, k) - dtype_load(MTF_BF16, together.w, k)) <=
                    0x1p-5 * (1 + fabs(dtype_load(MTF_BF16, host.w, k))));
    for (int k = 0; k < 2 * WIDE; k++) {
        assert_true(fabs(dtype_load(MTF_BF16, host.z, k) - dtype_load(MTF_BF16, together.z, k)) <=
                    0x1p-6 * (1 + fabs(dtype_load(MTF_BF16, host.z, k))));
    }
}

/* A result that somebody else reads is stored. */
static void test_what_is_read_again_is_stored(void **state)
{
    static const char more[] = "x: f32[d=256] = input\n"
                               "q: f32[d=256, e=128] = input\n"
                               "a: [e] = einsum(x, q)\n"
                               "c = exp(a)\n"
                               "s = reduce_sum(cumsum(a, dim=e) * c)\n";
    double            got[2];
    (void)state;
    for (int gpu = 0; gpu < 2; gpu++) {
        static float x[256], q[256 * 128];
        mtf_session *s = mtf_open_with(&(mtf_session_opts){.device = gpu ? "cuda" : "cpu"});
        mtf_graph   *g = mtf_parse(s, more, "more.mtf");
        mtf_tensor  *sum = mtf_find(g, "s");
        mtf_program *p = mtf_compile(g, sum);
        for (int k = 0; k < 256; k++) x[k] = (float)(k % 7 - 3) / 16;
        for (int k = 0; k < 256 * 128; k++) q[k] = (float)(k % 11 - 5) / 16;
        mtf_feed(p, mtf_find(g, "x"), x);
        mtf_feed(p, mtf_find(g, "q"), q);
        mtf_step(p);
        got[gpu] = mtf_fetch_scalar(p, sum);
        close_well(s);
    }
    assert_true(fabs(got[0] - got[1]) <= 1e-4 * (1 + fabs(got[0])));
}

/* What a product reads stays where it is until the maps after it are done. */
static void test_maps_do_not_take_the_place_of_factors(void **state)
{
    static const char wider[] = "x: bf16[d=1024] = input\n"
                                "q: bf16[d=1024, e=64] = input\n"
                                "h = exp(x)\n"
                                "a: [e] = einsum(h, q)\n"
                                "c = cumsum(cast(a, type=f32), dim=e)\n";
    (void)state;
    mtf_session   *s = mtf_open_with(&(mtf_session_opts){.device = "cuda"});
    mtf_graph     *g = mtf_parse(s, wider, "wider.mtf");
    mtf_program   *p = mtf_compile(g, mtf_find(g, "c"));
    const program *q = p ? first_program(p) : NULL;
    int            maps = 0;
    assert_string_equal(mtf_error(s), "");
    for (int k = 0; k < q->ninstrs; k++) {
        slim_group all = slim_group_at(q, k);
        if (all.n) maps += all.members[0].nmaps;
    }
    if (maps != 1) fail_msg("%d maps belong to the product\n%s", maps, mtf_program_print(p));
    close_well(s);
}

/* ---- the map that gives the vector ---- */

enum { NARROW = 520, ROWS = 300, ROOM = 2 * NARROW };

static void fill(mtf_program *p, mtf_graph *g, const char *name, int n)
{
    static float values[NARROW * ROWS];
    for (int k = 0; k < n; k++) values[k] = (float)((k * 37 + n) % 101 - 50) / 64;
    mtf_feed(p, mtf_find(g, name), values);
}

/* Runs "y", "z" and, if it is there, "u"; gives the groups with a map before their products. */
static int run_norm(const char *on, bool measure, const char *source, float *all)
{
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.device = on, .measure = measure});
    mtf_graph   *g = mtf_parse(s, source, "norm.mtf");
    mtf_tensor  *fetched[] = {mtf_find(g, "y"), mtf_find(g, "z"),
                             strstr(source, "\nu") ? mtf_find(g, "u") : NULL};
    mtf_program *p = mtf_compile_n(g, fetched[2] ? 3 : 2, fetched);
    int          groups = 0;
    assert_string_equal(mtf_error(s), "");
    fill(p, g, "x", ROOM);
    fill(p, g, "c", NARROW);
    fill(p, g, "q", NARROW * ROWS);
    fill(p, g, "r", NARROW * ROWS);
    for (int k = 0; k < 3; k++) mtf_step(p);
    for (int k = 0; k < 3 && fetched[k]; k++) mtf_fetch(p, fetched[k], all + k * ROOM);
    const program *q = first_program(p);
    for (int k = 0; k < q->ninstrs && strcmp(on, "cuda") == 0;) {
        slim_group found = slim_group_at(q, k);
        groups += found.n > 0 && found.row != NULL;
        k = found.n ? found.end : k + 1;
    }
    close_well(s);
    return groups;
}

/* One product reads rows, the other columns of its matrix; where something else reads the vector, or where
 * there are two, a kernel of its own computes it. */
static void test_a_norm_is_part_of_its_products(void **state)
{
    static const char norm[] = "x: f32[%sd=520] = input\n"
                               "c: f32[d=520] = input\n"
                               "q: f32[d=520, e=300] = input\n"
                               "r: f32[f=300, d=520] = input\n"
                               "a: [%s] = reduce_mean(square(x))\n"
                               "h = x * rsqrt(a + 0.001) * c\n"
                               "y: [%se] = einsum(h, q)\n"
                               "z: [%sf] = einsum(h, r)\n%s";
    static const struct {
        const char *batch, *more;
        int         groups;
    } cases[] = {{"", "", 1}, {"", "u = cumsum(h, dim=d)\n", 0}, {"b=2, ", "", 0}};
    (void)state;
    for (int k = 0; k < 3; k++) {
        static float gpu[3 * ROOM], apart[3 * ROOM], host[3 * ROOM];
        const char  *b = cases[k].batch[0] ? "b, " : "";
        char         source[1000];
        snprintf(source, sizeof source, norm, cases[k].batch, cases[k].batch[0] ? "b" : "", b, b,
                 cases[k].more);
        memset(gpu, 0, sizeof gpu), memset(apart, 0, sizeof apart), memset(host, 0, sizeof host);
        assert_int_equal(run_norm("cuda", false, source, gpu), cases[k].groups);
        run_norm("cuda", true, source, apart);
        run_norm("cpu", false, source, host);
        for (int n = 0; n < 3 * ROOM; n++) {
            float near = 1e-4f * (1 + fabsf(host[n]));
            assert_true(fabsf(gpu[n] - host[n]) <= near && fabsf(gpu[n] - apart[n]) <= near);
        }
    }
}

/* ---- maps that follow one another ---- */

enum { TALL = 64, LONG = 256, FEW = 4 };

/* All numbers are whole, and "q" is exact.  Gives the maps that belong to the product. */
static int run_maps(const char *on, const char *source, void *q)
{
    static float   w[TALL * LONG], x[LONG * FEW];
    static int32_t y[TALL * FEW], v[TALL * FEW];
    static float   real_y[TALL * FEW], real_v[TALL * FEW];
    bool           whole = strstr(source, "y: i32") != NULL;
    mtf_session   *s = mtf_open_with(&(mtf_session_opts){.device = on});
    mtf_graph     *g = mtf_parse(s, source, "maps.mtf");
    mtf_program   *p = mtf_compile(g, mtf_find(g, "q"));
    int            maps = 0;
    assert_string_equal(mtf_error(s), "");
    for (int k = 0; k < TALL * LONG; k++) w[k] = (float)(k * 37 % 11 - 5);
    for (int k = 0; k < LONG * FEW; k++) x[k] = (float)(k * 23 % 7 - 3);
    for (int k = 0; k < TALL * FEW; k++) {
        y[k] = 1000000000 + k, v[k] = k * 13 % 31;
        real_y[k] = (float)k, real_v[k] = (float)v[k];
    }
    mtf_feed(p, mtf_find(g, "w"), w);
    mtf_feed(p, mtf_find(g, "x"), x);
    mtf_feed(p, mtf_find(g, "y"), whole ? (void *)y : real_y);
    mtf_feed(p, mtf_find(g, "v"), whole ? (void *)v : real_v);
    mtf_step(p);
    mtf_fetch(p, mtf_find(g, "q"), q);
    const program *planned = first_program(p);
    for (int k = 0; k < planned->ninstrs && strcmp(on, "cuda") == 0; k++) {
        slim_group all = slim_group_at(planned, k);
        if (all.n) maps += all.members[0].nmaps;
    }
    close_well(s);
    return maps;
}

/* The first map stores its results in another order than the product does, or as integers. */
static void test_a_map_goes_on_with_what_the_map_before_gives(void **state)
{
    static const char               start[] = "w: f32[m=64, k=256] = input\n"
                                              "x: f32[k=256, n=4] = input\n"
                                              "y: %s[n=4, m=64] = input\n"
                                              "v: %s[m=64, n=4] = input\n"
                                              "p: [m, n] = einsum(w, x)\n";
    static const char *const        types[] = {"f32", "i32"},
                             *const rest[] = {"z = y + p\nq = v * z\n",
                                              "c: i32[m, n] = cast(p)\nz = y + c\nq = v + z\n"};
    (void)state;
    for (int k = 0; k < 2; k++) {
        int32_t gpu[TALL * FEW], host[TALL * FEW];
        char    source[1000];
        int     used = snprintf(source, sizeof source, start, types[k], types[k]);
        snprintf(source + used, sizeof source - (size_t)used, "%s", rest[k]);
        assert_int_equal(run_maps("cuda", source, gpu), 2);
        run_maps("cpu", source, host);
        assert_memory_equal(gpu, host, sizeof gpu);
    }
}

/* As if the cache had 2^32 elements: the text says how offsets are computed. */
static void test_a_scatter_reaches_far(void **state)
{
    static const char far[] = "x: bf16[batch=4, d=256] = input\n"
                              "q: bf16[d=256, k=64] = input\n"
                              "i: i32[batch=4] = input\n"
                              "m: bf16[batch=4, length=8, k=64] = variable(init=\"zeros\")\n"
                              "c: [batch, k] = einsum(x, q)\n"
                              "n = assign(m, update(m, c, i, dim=length))\n"
                              "y = reduce_sum(x)\n";
    (void)state;
    mtf_session   *s = mtf_open_with(&(mtf_session_opts){.device = "cuda"});
    mtf_graph     *g = mtf_parse(s, far, "far.mtf");
    mtf_program   *p = mtf_compile(g, mtf_find(g, "y"));
    const program *q = p ? first_program(p) : NULL;
    int            scatters = 0;
    assert_string_equal(mtf_error(s), "");
    for (int k = 0; k < q->ninstrs; k++) {
        slim_group    all = slim_group_at(q, k);
        kernel_source texts = kernel_source_for(&g->arena, g->session);
        kernel_plan   plan = {0};
        if (all.n == 0 || !all.members[0].scatter) continue;
        instr  scatter = *all.members[0].scatter;
        access to = scatter.out[0];
        for (int l = 0; l < scatter.nloops; l++)
            if (scatter.size[l] == 4) to.stride[l] = (int64_t)1 << 30;
        scatter.out = &to;
        all.members[0].scatter = &scatter;
        instr whole = slim_operands(&g->arena, &all);
        assert_true(write_slim(&texts, &whole, &all, &plan));
        const char *written = kernel_source_text(&texts);
        if (!strstr(written, "i64 l0 =")) fail_msg("%s", written);
        scatters++;
    }
    assert_int_equal(scatters, 1);
    close_well(s);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_norm_is_part_of_its_products),
        cmocka_unit_test(test_groups_have_the_same_bits),
        cmocka_unit_test(test_what_is_read_again_is_stored),
        cmocka_unit_test(test_maps_do_not_take_the_place_of_factors),
        cmocka_unit_test(test_a_scatter_reaches_far),
        cmocka_unit_test(test_a_map_goes_on_with_what_the_map_before_gives),
    };
    (void)argc;
    use_emulated_gpu(argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
