/* Tests gradients of gradients of attention with dropout. */
#include "mtf.h"

/* last */
#include "ground.h"

enum { BATCH = 2, HEADS = 2, LENGTH = 4, MEMORY = 5, KEY = 3, MOST = 64 };

/* How a sum over a memory is computed, and where. */
typedef struct form {
    bool        composed, self;
    bool        shared; /* one decision for all queries */
    const char *mesh, *layout;
} form;

static mtf_dim memory_of(const form *f)
{
    return (mtf_dim){f->self ? "length" : "memory", f->self ? LENGTH : MEMORY};
}

static mtf_tensor *attended(const form *f, mtf_tensor *q, mtf_tensor *k, mtf_tensor *v)
{
    mtf_dim   batch = {"batch", BATCH}, heads = {"heads", HEADS}, length = {"length", LENGTH};
    mtf_dim   memory = memory_of(f), key = {"key", KEY};
    mtf_shape over = f->shared ? mtf_shape(length) : mtf_shape();
    if (!f->composed)
        return mtf_attention(q, k, v,
                             &(mtf_attention_op_opts){.query = "length",
                                                      .memory = memory.name,
                                                      .key = "key",
                                                      .value = "key",
                                                      .dropout = 0.4,
                                                      .dropout_over = over},
                             NULL);
    if (f->self) {
        memory.name = "memory";
        k = mtf_rename_dimension(k, "length", "memory");
        v = mtf_rename_dimension(v, "length", "memory");
    }
    mtf_shape   pairs = mtf_shape(batch, heads, length, memory);
    mtf_tensor *w = mtf_softmax(mtf_einsum(pairs, q, k), memory, NULL);
    w = mtf_dropout(w, 0.4, mtf_shape_minus(pairs, over));
    return mtf_einsum(mtf_shape(batch, heads, length, key), w, v);
}

/* The gradients, for q, k and v, of the size of the gradients for q, k and v. */
static void twice(const form *f, float result[3][MOST])
{
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.mesh = f->mesh, .layout = f->layout});
    mtf_graph   *g = mtf_graph_new(s);
    mtf_dim      batch = {"batch", BATCH}, heads = {"heads", HEADS}, key = {"key", KEY};
    mtf_shape    of_q = mtf_shape(batch, heads, (mtf_dim){"length", LENGTH}, key);
    mtf_shape    of_k = mtf_shape(batch, heads, memory_of(f), key);
    float        x[3][MOST];
    mtf_tensor  *in[3], *first[3], *second[3], *sum = NULL;
    for (int i = 0; i < 3; i++) {
        for (int e = 0; e < MOST; e++) x[i][e] = (float)sin(e * 1.3 + i);
        in[i] = mtf_constant_data(g, x[i], MTF_F32, i ? of_k : of_q);
        in[i] = mtf_identity(in[i]);
    }
    mtf_tensor *y = mtf_reduce_sum(mtf_square(attended(f, in[0], in[1], in[2])), MTF_ALL);
    mtf_gradients(1, &y, 3, in, NULL, first);
    for (int i = 0; i < 3; i++) {
        mtf_tensor *size = mtf_reduce_sum(mtf_square(first[i]), MTF_ALL);
        sum = sum ? mtf_add(sum, size) : size;
    }
    mtf_gradients(1, &sum, 3, in, NULL, second);
    mtf_program *p = mtf_compile_n(g, 3, second);
    mtf_step(p);
    mtf_step(p); /* other random numbers than in the first step */
    if (!mtf_ok(s)) fail_msg("%s", mtf_error(s));
    for (int i = 0; i < 3; i++) assert_true(mtf_fetch(p, second[i], result[i]));
    close_well(s);
}

static void test_same_as_composed(void **state)
{
    static const char *const layouts[] = {NULL, "batch:a", "heads:a", "length:a", "memory:a?"};
    (void)state;
    for (int k = 0; k < 20; k++) {
        form  f = {.composed = true, .self = k & 1, .shared = k & 2};
        float want[3][MOST] = {{0}}, have[3][MOST] = {{0}};
        twice(&f, want);
        f.composed = false;
        f.layout = layouts[k / 4];
        f.mesh = f.layout ? "a:2" : NULL;
        twice(&f, have);
        for (int i = 0; i < 3; i++)
            for (int e = 0; e < BATCH * HEADS * LENGTH * KEY; e++)
                if (fabsf(have[i][e] - want[i][e]) > 1e-4f * (1 + fabsf(want[i][e])))
                    fail_msg("form %d: input %d, element %d is %g instead of %g", k, i, e,
                             (double)have[i][e], (double)want[i][e]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_as_composed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
