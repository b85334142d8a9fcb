/* Tests that plans know the memory that GPUs give.
 *
 * What the emulated GPU counts as taken is compared with the plan's figure: variables, slab, working
 * space of kernels and wires.
 */

#include "price/price.h"
#include "run/compiled.h"

#include "ground.h"
#include "mtf_build.h"
#include "run/emulated_gpu.h"

/* An allocation begins at a multiple of so many bytes, and a large one takes whole pages of the GPU. */
enum { UNIT = 256, PAGE = 2 << 20, WORDS = 1 };

/* Code of kernels and of libraries, which a driver loads into a real GPU when it is first used. */
static int64_t bytes_of_code(void)
{
    return asked_real_gpu() ? (int64_t)256 << 20 : 0;
}

static int64_t bytes_left(const store *s)
{
    memory_bank b = {0};
    assert_true(s->device->bank(s->contexts[s->first], &b));
    return b.left;
}

typedef struct figures {
    int64_t planned, taken;
    int     pieces; /* allocations that may be rounded up to UNIT, */
    int     large;  /* and to PAGE */
} figures;

static figures run_program(const char *text, const char *on, const char *rules)
{
    mtf_session *s =
        mtf_open_with(&(mtf_session_opts){.device = "cuda", .mesh = on, .layout = rules});
    mtf_graph *g = mtf_parse(s, text, "memory");
    assert_string_equal(mtf_error(s), "");
    store       *all = store_of(s);
    int64_t      wires = 0, left = bytes_left(all);
    mtf_program *p = mtf_compile(g, mtf_find(g, "y"));
    assert_string_equal(mtf_error(s), "");
    figures f = {0};
    for (int k = all->first; k < all->end; k++) {
        const program *q = p->processors[k].program;
        f.planned += price_peak(q, &all->site, &all->mesh, k);
        wires += all->wire ? all->wire->taken(all->wire, k) : 0;
        f.pieces += q->nvariables + 2 + WORDS;
        f.large += 3; /* variables, slab, working space */
    }
    for (int k = 0; k < 2; k++) assert_true(mtf_step(p)); /* queued, then captured */
    f.taken = left - bytes_left(all) + wires; /* wires have theirs since the store was opened */
    close_well(s);
    return f;
}

/* A real GPU's memory is also taken by others: mtf_gpt2 --work memory measures it, alone on the GPU. */
static void needs_emulation(void)
{
    if (asked_real_gpu()) skip();
}

static figures expect_figure(const char *text, const char *on, const char *rules)
{
    figures f = run_program(text, on, rules);
    int64_t most = f.planned + (int64_t)f.pieces * UNIT + (int64_t)f.large * PAGE + bytes_of_code();
    if (f.taken < f.planned || f.taken > most)
        fail_msg("\"%s\" on %s: %lld bytes were planned, and %lld taken", rules, on,
                 (long long)f.planned, (long long)f.taken);
    return f;
}

/* Optimizers keep two more of each weight; weights of 1.2 MB would take 2 MiB each by themselves. */
static const char network[] =
    "x: f32[batch=8, a=560] = random_uniform\n"
    "w0: f32[a=560, b=540] = variable(init=\"uniform(-0.1, 0.1)\")\n"
    "w1: f32[b=540, c=560] = variable(init=\"uniform(-0.1, 0.1)\")\n"
    "w2: f32[c=560, d=540] = variable(init=\"uniform(-0.1, 0.1)\")\n"
    "w3: f32[d=540, e=560] = variable(init=\"uniform(-0.1, 0.1)\")\n"
    "m0: f32[a=560, b=540] = variable(init=\"zeros\")\n"
    "m1: f32[b=540, c=560] = variable(init=\"zeros\")\n"
    "m2: f32[c=560, d=540] = variable(init=\"zeros\")\n"
    "m3: f32[d=540, e=560] = variable(init=\"zeros\")\n"
    "h0: [batch, b] = tanh(einsum(x, w0))\n"
    "h1: [batch, c] = tanh(einsum(h0, w1))\n"
    "h2: [batch, d] = tanh(einsum(h1, w2))\n"
    "z: [batch, e] = einsum(h2, w3)\n"
    "loss = reduce_sum(square(z))\n"
    "d0, d1, d2, d3 = gradients(loss; w0, w1, w2, w3)\n"
    "n0 = assign(m0, 0.9 * m0 + d0)\n"
    "n1 = assign(m1, 0.9 * m1 + d1)\n"
    "n2 = assign(m2, 0.9 * m2 + d2)\n"
    "n3 = assign(m3, 0.9 * m3 + d3)\n"
    "u0 = assign(w0, w0 - 0.01 * n0)\n"
    "u1 = assign(w1, w1 - 0.01 * n1)\n"
    "u2 = assign(w2, w2 - 0.01 * n2)\n"
    "u3 = assign(w3, w3 - 0.01 * n3)\n"
    "y = loss + reduce_sum(u0) + reduce_sum(u1) + reduce_sum(u2) + reduce_sum(u3)\n";

static void test_one_processor(void **state)
{
    (void)state;
    needs_emulation();
    expect_figure(network, "x:1", "");
}

/* By cuDNN, whose working space is planned. */
static void test_convolutions(void **state)
{
    static const char text[] = "x: bf16[n=4, h=16, w=16, c=32] = random_uniform\n"
                               "f: bf16[fh=3, fw=3, c=32, o=64] = random_uniform\n"
                               "z = conv2d(x, f)\ndx, df = gradients(z; x, f)\n"
                               "y = reduce_sum(z) + reduce_sum(dx) + reduce_sum(df)\n";
    (void)state;
    needs_emulation();
    setenv("MTF_CUDNN", "all", 1);
    figures by_library = expect_figure(text, "x:1", "");
    setenv("MTF_CUDNN", "no", 1);
    figures ours = expect_figure(text, "x:1", "");
    unsetenv("MTF_CUDNN");
    if (MTF_HAVE_CUDNN) assert_true(by_library.planned > 2 * ours.planned);
}

static void test_four_processors(void **state)
{
    (void)state;
    needs_emulation();
    expect_figure(network, "x:4", "batch:x");
}

int main(int argc, char **argv)
{
    (void)argc;
    use_emulated_gpu(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_processor),
        cmocka_unit_test(test_convolutions),
        cmocka_unit_test(test_four_processors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
