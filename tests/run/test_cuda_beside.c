/* Tests collectives that run beside other work, on emulated GPUs.
 *
 * The emulated GPU does the work of its streams as late, or as early, as their waits allow: results
 * are those of a run in which one instruction follows the other, bit for bit.
 */

#include "program/hazards.h"
#include "run/compiled.h"

#include "asked.h"
#include "ground.h"
#include "run/emulated_gpu.h"

enum {
    STEPS = 4,
    MOST_VALUES = 5000
}; /* the first is queued, the second captured, others replayed */

/* Four layers: their gradients are summed while those before them are computed, in memory that is used
 * again and again. */
static const char layers[] =
    "x: f32[batch=12, in=65] = random_uniform\n"
    "w0: f32[in=65, a=70] = variable(init=\"uniform(-0.4, 0.4)\")\n"
    "w1: f32[a=70, b=66] = variable(init=\"uniform(-0.4, 0.4)\")\n"
    "w2: f32[b=66, c=68] = variable(init=\"uniform(-0.4, 0.4)\")\n"
    "w3: f32[c=68, out=64] = variable(init=\"uniform(-0.4, 0.4)\")\n"
    "h0: [batch, a] = tanh(einsum(x, w0))\n"
    "h1: [batch, b] = tanh(einsum(h0, w1))\n"
    "h2: [batch, c] = tanh(einsum(h1, w2))\n"
    "y: [batch, out] = einsum(h2, w3)\n"
    "loss = reduce_sum(square(y))\n"
    "d0, d1, d2, d3 = gradients(loss; w0, w1, w2, w3)\n"
    "n0 = assign(w0, w0 - 0.01 * d0)\n"
    "n1 = assign(w1, w1 - 0.01 * d1)\n"
    "n2 = assign(w2, w2 - 0.01 * d2)\n"
    "n3 = assign(w3, w3 - 0.01 * d3)\n"
    "all = reduce_sum(n0) + reduce_sum(n1) + reduce_sum(n2) + reduce_sum(n3) + loss\n"
    "result: f32[in=65, a=70] = n0 + 0.001 * all\n";

/* Collectives in a loop, whose results the next iteration needs, and exchanges after it. */
static const char loops[] = "x: f32[batch=12, in=10] = random_uniform\n"
                            "w: f32[in=10] = variable(init=\"uniform(-0.4, 0.4)\")\n"
                            "zero: f32[in=10] = constant(value=0)\n"
                            "turned = loop(zero, trips=3) {\n"
                            "    body(p; i) {\n"
                            "        z = sin(x * 3.0 + p)\n"
                            "        s: [in] = reduce_sum(z)\n"
                            "        other = exp(0.1 * x) * tanh(z)\n"
                            "        t: [in] = reduce_sum(other)\n"
                            "        yield p * 0.5 + s + 0.1 * t\n"
                            "    }\n"
                            "}\n"
                            "moved = shift(x * turned, offset=2, dim=batch)\n"
                            "far: [in] = reduce_sum(moved)\n"
                            "n = assign(w, w + 0.01 * far)\n"
                            "result = x * n + moved\n";

typedef struct situation {
    const char *text, *mesh, *layout;
    int         beside; /* so many collectives at least have something to run beside */
} situation;

static const situation situations[] = {
    {layers, "x:2", "batch:x", 3},         {layers, "x:4", "batch:x", 3},
    {layers, "x:2,y:2", "batch:x,b:y", 3}, {layers, "x:3", "b:x", 0},
    {loops, "x:3", "batch:x", 1},          {loops, "x:2,y:2", "batch:x,in:y", 1},
};

static int count_beside(const mtf_program *p)
{
    const program *q = first_program(p);
    arena          a = arena_make(&p->session->allocator, &p->session->fault);
    hazards        h;
    int            n = 0;
    assert_true(hazards_find(q, &a, &h));
    for (int k = 0; k < q->ninstrs; k++) n += h.beside[k];
    arena_free(&a);
    return n;
}

/* The result after some steps; `late` as tests/host_cuda/README.md says. */
static int64_t run_steps(const situation *at, const char *late, bool measured, float *values)
{
    if (late)
        setenv("MTF_HOST_CUDA_LATE", late, 1);
    else
        unsetenv("MTF_HOST_CUDA_LATE");
    mtf_session *s = mtf_open_with(&(mtf_session_opts){
        .device = "cuda", .mesh = at->mesh, .layout = at->layout, .measure = measured});
    mtf_graph   *g = mtf_parse(s, at->text, "beside");
    mtf_tensor  *result = mtf_find(g, "result");
    mtf_program *p = mtf_compile(g, result);
    assert_string_equal(mtf_error(s), "");
    assert_true(count_beside(p) >= at->beside);
    for (int k = 0; k < STEPS; k++) assert_true(mtf_step(p));
    int64_t n = mtf_shape_size(mtf_shape_of_tensor(result));
    assert_true(n <= MOST_VALUES && mtf_fetch(p, result, values));
    close_well(s);
    unsetenv("MTF_HOST_CUDA_LATE");
    return n;
}

static void test_results_are_the_same(void **state)
{
    (void)state;
    static const char *const late[] = {NULL, "all", "first"};
    static float             want[MOST_VALUES], got[MOST_VALUES];
    for (size_t k = 0; k < sizeof situations / sizeof *situations; k += (size_t)asked_much(1, 2)) {
        int64_t n = run_steps(&situations[k], NULL, true, want);
        for (size_t i = 0; i < sizeof late / sizeof *late; i++) {
            memset(got, 0, sizeof got);
            assert_int_equal(run_steps(&situations[k], late[i], false, got), n);
            if (memcmp(got, want, sizeof *got * (size_t)n) != 0)
                fail_msg("\"%s\" on %s: another result where streams are %s", situations[k].layout,
                         situations[k].mesh, late[i] ? late[i] : "at once");
        }
    }
}

int main(int argc, char **argv)
{
    (void)argc;
    use_emulated_gpu(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_results_are_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
