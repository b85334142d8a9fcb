/* Attention by cuDNN against kernels of our own and against the CPU.
 *
 * Several steps, so that the library's work is captured as well.  On a GPU that is the host
 * the library computes graphs operation by operation; with MTF_TEST_GPU=real it is the real
 * one, and there are larger forms.
 */
#include "mtf_build.h"

#include "ground.h"
#include "machine/library_results.h"
#include "run/emulated_gpu.h"

#if MTF_HAVE_CUDNN

enum { OUTPUTS = 5, STEPS = 2 }; /* the second step is captured, and replayed */

typedef struct form {
    const char *type, *q, *k, *v; /* shapes */
    const char *query, *memory, *limits;
    const char *mesh, *layout;
} form;

#define BIHD "[b=3, i=96, h=2, d=64]"
static const form small[] = {
    {"bf16", BIHD, BIHD, BIHD, "i", "i", ", max_relative=0", NULL, NULL},
    {"f16", "[b=2, i=72, h=2, d=128]", "[h=2, m=80, b=2, d=128]", "[m=80, b=2, h=2, d=128]", "i",
     "m", "", NULL, NULL},
    {"bf16", "[n=3, i=130, d=64]", "[n=3, m=70, d=64]", "[n=3, m=70, d=64]", "i", "m",
     ", max_relative=0", NULL, NULL},
    {"f16", "[i=100, d=64]", "[i=100, d=64]", "[i=100, d=64]", "i", "i", ", max_relative=0", NULL,
     NULL},
    {"bf16", "[a=2, b=2, h=2, i=64, d=64]", "[a=2, b=2, h=2, i=64, d=64]",
     "[a=2, b=2, h=2, i=64, d=64]", "i", "i", "", NULL, NULL},
    {"bf16", "[b=4, i=64, h=2, d=64]", "[b=4, i=64, h=2, d=64]", "[b=4, i=64, h=2, d=64]", "i", "i",
     ", max_relative=0", "p:2", "b:p"},
};

#define LONG "[b=8, i=768, h=12, d=64]"
#define WIDE "[b=4, h=6, i=1024, d=128]"
#define MANY "[b=48, i=1024, h=12, d=64]" /* the gradient in several calls, as of the next */
#define PAIRS "[b=2, i=4096, h=20, d=64]"
static const form large[] = {
    {"bf16", LONG, LONG, LONG, "i", "i", ", max_relative=0", NULL, NULL},
    {"f16", WIDE, WIDE, WIDE, "i", "i", ", max_relative=0", NULL, NULL},
    {"bf16", "[b=8, h=8, i=500, d=64]", "[b=8, m=712, h=8, d=64]", "[m=712, b=8, h=8, d=64]", "i",
     "m", "", NULL, NULL},
    {"bf16", MANY, MANY, MANY, "i", "i", ", max_relative=0", "p:2", "b:p"},
    {"bf16", PAIRS, PAIRS, PAIRS, "i", "i", "", NULL, NULL},
};

/* Inputs are rounded to the form's type, then computed with in another. */
static results run(const form *f, const char *computed, const char *device, const char *library)
{
    static const char *const inputs[] = {"q0", "k0", "v0", "g0"};
    static const char *const names[OUTPUTS] = {"y1", "l", "dq1", "dk1", "dv1"};
    char                     text[2000];
    results                  r = {0};
    mtf_tensor              *fetches[OUTPUTS];
    setenv("MTF_CUDNN", library, 1);
    snprintf(text, sizeof text,
             "q0: f32%s = input()\nk0: f32%s = input()\nv0: f32%s = input()\ng0: f32%s = input()\n"
             "q1: %s = cast(q0)\nk1: %s = cast(k0)\nv1: %s = cast(v0)\ng1: %s = cast(g0)\n"
             "q: %s = cast(q1)\nk: %s = cast(k1)\nv: %s = cast(v1)\ng: %s = cast(g1)\n"
             "y, l = attention(q, k, v, query=%s, memory=%s, key=d, value=d, scale=0.125%s)\n"
             "dq, dk, dv = gradients(y; q, k, v; g)\ny1: f32 = cast(y)\n"
             "dq1: f32 = cast(dq)\ndk1: f32 = cast(dk)\ndv1: f32 = cast(dv)\n",
             f->q, f->k, f->v, f->q, f->type, f->type, f->type, f->type, computed, computed,
             computed, computed, f->query, f->memory, f->limits);
    mtf_session *s = mtf_open_with(
        &(mtf_session_opts){.threads = 16, .device = device, .mesh = f->mesh, .layout = f->layout});
    mtf_graph *g = mtf_parse(s, text, "test");
    assert_string_equal(mtf_error(s), "");
    for (int k = 0; k < OUTPUTS; k++) fetches[k] = mtf_find(g, names[k]);
    mtf_program *p = mtf_compile_n(g, OUTPUTS, fetches);
    if (!mtf_ok(s)) fail_msg("%s", mtf_error(s));
    seed_state = 1;
    for (int k = 0; k < 4; k++) feed_numbers(p, g, inputs[k]);
    for (int k = 0; k < STEPS; k++)
        if (!mtf_step(p)) fail_msg("%s%s: %s", f->type, f->q, mtf_error(s));
    r = results_of(p, OUTPUTS, fetches);
    if (!mtf_ok(s)) fail_msg("%s", mtf_error(s));
    close_well(s);
    return r;
}

/* Within the rounding of results; `exact`: of sums of exponentials. */
static void assert_all_near(const form *f, const results *a, const results *right, double exact)
{
    double step = strcmp(f->type, "bf16") == 0 ? 0x1p-7 : 0x1p-10;
    for (int k = 0; k < OUTPUTS; k++) {
        double apart = distance(a, right, k);
        if (!(apart < (k == 1 ? exact : step)))
            fail_msg("%s%s: result %d is %g apart", f->type, f->q, k, apart);
    }
}

static void assert_form(const form *f)
{
    results library = run(f, f->type, "cuda", "all"), again = run(f, f->type, "cuda", "all");
    results own = run(f, f->type, "cuda", "no"), right = run(f, "f32", "cpu", "");
    if (is_same(&library, &own)) fail_msg("%s%s: cuDNN was not taken", f->type, f->q);
    if (!is_same(&library, &again)) fail_msg("%s%s: other bits in another run", f->type, f->q);
    assert_all_near(f, &library, &own, 1e-3);
    assert_all_near(f, &library, &right, 1e-6);
    drop(&library), drop(&again), drop(&own), drop(&right);
}

static void test_small_forms(void **unused)
{
    (void)unused;
    for (size_t k = 0; k < sizeof small / sizeof *small; k++) assert_form(&small[k]);
}

static void test_large_forms(void **unused)
{
    (void)unused;
    if (!asked_real_gpu()) {
        printf("note: on an emulated GPU, larger forms of attention by cuDNN were left out\n");
        return;
    }
    for (size_t k = 0; k < sizeof large / sizeof *large; k++) assert_form(&large[k]);
}

/* A loop whose end depends on a value is captured on a stream of its own. */
static const char loop_text[] =
    "x0: f32[b=2, i=64, h=2, d=64] = input()\nx1: bf16 = cast(x0)\n"
    "n0: i32[] = constant(value=0)\n"
    "y, n = while(x1, n0) {\n    cond(x, n) {\n        yield less(n, 3)\n    }\n"
    "    body(x, n) {\n        a, l = attention(x, x, x, query=i, memory=i, key=d, value=d, "
    "scale=0.125, max_relative=0)\n        yield a, n + 1\n    }\n}\ny1: f32 = cast(y)\n";

static void test_in_a_loop(void **unused)
{
    static const char *const inputs[] = {"x0"};
    (void)unused;
    results library = run_text(loop_text, "all", 1, inputs);
    results own = run_text(loop_text, "no", 1, inputs);
    assert_true(!is_same(&library, &own) && distance(&library, &own, 0) < 0x1p-7);
    drop(&library), drop(&own);
}

/* Our kernels are taken, without a word, where the library does not start, or wants more working space
 * than was planned. */
static void test_our_kernels_otherwise(void **unused)
{
    static const char *const refusals[] = {"none", "greedy", "greedy,honest"};
    (void)unused;
    if (asked_real_gpu()) return;
    results own = run(&small[0], small[0].type, "cuda", "no");
    for (int k = 0; k < 3; k++) {
        setenv("MTF_HOST_CUDA_DNN", refusals[k], 1);
        results refused = run(&small[0], small[0].type, "cuda", "all");
        if (!is_same(&own, &refused)) fail_msg("\"%s\": other bits", refusals[k]);
        drop(&refused);
    }
    unsetenv("MTF_HOST_CUDA_DNN");
    drop(&own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_forms),
        cmocka_unit_test(test_large_forms),
        cmocka_unit_test(test_in_a_loop),
        cmocka_unit_test(test_our_kernels_otherwise),
    };
    return cmocka_run_group_tests(tests, use_emulated_library, NULL);
}
#else
int main(void)
{
    printf("note: without cuDNN's headers, attention by cuDNN was left out\n");
    return 0;
}
#endif
