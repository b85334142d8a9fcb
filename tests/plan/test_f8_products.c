/* Tests in which type products of f8 tensors are planned. */
#include "plan/plan.h"
#include "price/rates.h"

#include "ground.h"

/* The only product of y. */
typedef struct planned_product {
    mtf_dtype a, b, c;
    bool      rows_of_k; /* both factors are contiguous along k */
    int       moves;     /* in the whole program */
} planned_product;

/* `without`: types that the device does not multiply, as bits. */
static planned_product planned(const char *device, unsigned without, const char *lines)
{
    char            text[600];
    planned_product p = {0};
    int             products = 0;
    mtf_session    *s = mtf_open_with(&(mtf_session_opts){.threads = 1, .device = device});
    snprintf(text, sizeof text,
             "u: f32[a=32, b=48] = input\nv: f32[c=64, b=48] = input\nw: f32[b=48, c=64] = input\n"
             "s: f32[a=32, b=40] = input\nt: f32[c=64, b=40] = input\n%s\n",
             lines);
    mtf_graph  *g = mtf_parse(s, text, "t");
    mtf_tensor *y = g ? mtf_find(g, "y") : NULL;
    s->can.products &= ~without;
    program *q = y ? plan_program(g, 1, &y, NULL) : NULL;
    if (!q) fail_msg("%s", mtf_error(s));
    for (int k = 0; k < q->ninstrs; k++) {
        const instr *i = &q->instrs[k];
        int          terms = i->nloops - 1;
        p.moves += i->kind == INSTR_MOVE;
        if (i->kind != INSTR_CONTRACT) continue;
        p.a = i->in[0].type, p.b = i->in[1].type, p.c = i->out[0].type;
        p.rows_of_k = i->in[0].stride[terms] == 1 && i->in[1].stride[terms] == 1;
        products++;
    }
    assert_int_equal(products, 1);
    program_free(q);
    mtf_close(s);
    return p;
}

#define CAST(name, from, type) #name ": " #type " = cast(" #from ")\n"
enum { F8 = 1 << MTF_F8E4M3 | 1 << MTF_F8E5M2 };

static void test_gpus_multiply_f8(void **state)
{
    (void)state;
    planned_product p =
        planned("cuda", 0, CAST(x, u, f8e4m3) CAST(z, v, f8e5m2) "y: [a, c] = einsum(x, z)");
    assert_true(dtype_is_f8(p.a) && dtype_is_f8(p.b) && p.a != p.b && p.c == MTF_F32);
    assert_true(p.rows_of_k);
    assert_int_equal(p.moves, 0);
    p = planned("cuda", 0, CAST(x, u, f8e4m3) CAST(z, v, f8e5m2) "y: bf16[a, c] = einsum(x, z)");
    assert_true(dtype_is_f8(p.a) && dtype_is_f8(p.b) && p.c == MTF_BF16);
}

/* A factor whose rows are along another dimension is transposed. */
static void test_factors_get_rows_of_k(void **state)
{
    (void)state;
    planned_product p =
        planned("cuda", 0, CAST(x, u, f8e4m3) CAST(z, w, f8e4m3) "y: [a, c] = einsum(x, z)");
    assert_true(p.a == MTF_F8E4M3 && p.b == MTF_F8E4M3 && p.rows_of_k);
    assert_int_equal(p.moves, 1);
}

static void test_other_products_are_bf16(void **state)
{
    static const char aligned[] = CAST(x, u, f8e4m3) CAST(z, v, f8e4m3) "y: [a, c] = einsum(x, z)";
    static const char odd[] = CAST(x, s, f8e4m3) CAST(z, t, f8e4m3) "y: [a, c] = einsum(x, z)";
    static const char both[] = CAST(x, u, f8e5m2) CAST(z, v, f8e5m2) "y: [a, c] = einsum(x, z)";
    (void)state;
    const planned_product p[] = {planned("cuda", 0, odd), planned("cuda", 0, both),
                                 planned("cuda", F8, aligned)};
    for (int k = 0; k < 3; k++)
        assert_true(p[k].a == MTF_BF16 && p[k].b == MTF_BF16 && p[k].c == MTF_F32);
    planned_product on_chip = planned("cpu", 0, aligned);
    assert_true(on_chip.a == MTF_F32 && on_chip.b == MTF_F32 && on_chip.c == MTF_F32);
}

/* A machine file of GPUs does not make a CPU multiply f8. */
static void test_machine_files(void **state)
{
    (void)state;
    for (int gpu = 0; gpu < 2; gpu++) {
        mtf_session *s = mtf_open_with(&(mtf_session_opts){.device = gpu ? "cuda" : "cpu"});
        price_rates  r;
        assert_true(rates_read(s, "flops 1e9\nmultiplies f8e4m3\nmultiplies f8e5m2\n", "m", &r));
        rates_plan_for(&r, s);
        assert_int_equal(s->can.products, gpu ? F8 : 0);
        mtf_close(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gpus_multiply_f8),
        cmocka_unit_test(test_factors_get_rows_of_k),
        cmocka_unit_test(test_other_products_are_bf16),
        cmocka_unit_test(test_machine_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
