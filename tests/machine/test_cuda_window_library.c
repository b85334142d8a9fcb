/* Convolutions by cuDNN, and their gradients, against the CPU.
 *
 * Several steps, so that the library's work is captured as well.  On a GPU that is the host
 * the library computes graphs by plain loops; with MTF_TEST_GPU=real it is the real one, and
 * there are larger forms.
 */
#include "mtf_build.h"

#include "ground.h"
#include "machine/library_results.h"

#if MTF_HAVE_CUDNN

enum {
    INPUTS = 3,
    OUTPUTS = 3,
    STEPS = 2,
    SPACE = 3
}; /* the second step is captured, and replayed */
static const char *const inputs[INPUTS] = {"x0", "f0", "g0"};
static const char *const names[OUTPUTS] = {"y1", "dx1", "df1"};

typedef struct form {
    const char *type;
    int         nbatch, nspatial;
    int         batch[2], size[SPACE], taps[SPACE], channels, outputs;
    int         step[SPACE], dilation[SPACE], before[SPACE], after[SPACE];
    const char *mesh, *layout;
} form;

static const form large[] = {
    {"bf16", 1, 2, {64}, {56, 56}, {3, 3}, 128, 128, {1, 1}, {1, 1}, {1, 1}, {1, 1}, NULL, NULL},
    {"f16", 1, 2, {32}, {29, 31}, {3, 5}, 64, 72, {2, 1}, {1, 2}, {0, 3}, {1, 4}, NULL, NULL},
    {"bf16", 1, 2, {32}, {56, 56}, {1, 1}, 64, 256, {2, 2}, {1, 1}, {0, 0}, {0, 0}, NULL, NULL},
    {"bf16", 2, 1, {8, 4}, {500}, {7}, 64, 96, {1}, {1}, {6}, {0}, NULL, NULL},
    {"bf16",
     1,
     3,
     {4},
     {16, 20, 24},
     {3, 3, 3},
     32,
     64,
     {1, 2, 1},
     {1, 1, 1},
     {1, 1, 1},
     {1, 0, 1},
     NULL,
     NULL},
    {"f16", 1, 2, {32}, {28, 28}, {3, 3}, 64, 64, {1, 1}, {1, 1}, {1, 1}, {1, 1}, "p:2", "n0:p"},
};

/* ---- texts ---- */

static int positions(const form *f, int d)
{
    int room = f->size[d] + f->before[d] + f->after[d] - (f->taps[d] - 1) * f->dilation[d] - 1;
    return room / f->step[d] + 1;
}

typedef struct line {
    char text[200];
} line;

static void say(line *to, const char *format, ...)
{
    size_t  used = strlen(to->text);
    va_list list;
    va_start(list, format);
    vsnprintf(to->text + used, sizeof to->text - used, format, list);
    va_end(list);
}

/* [n0=2, s0=5, s1=5, c=8] */
static line images(const form *f, bool after)
{
    line to = {"["};
    for (int d = 0; d < f->nbatch; d++) say(&to, "n%d=%d, ", d, f->batch[d]);
    for (int d = 0; d < f->nspatial; d++)
        say(&to, "s%d=%d, ", d, after ? positions(f, d) : f->size[d]);
    say(&to, after ? "o=%d]" : "c=%d]", after ? f->outputs : f->channels);
    return to;
}

static line filter(const form *f)
{
    line to = {"["};
    for (int d = 0; d < f->nspatial; d++) say(&to, "t%d=%d, ", d, f->taps[d]);
    say(&to, "c=%d, o=%d]", f->channels, f->outputs);
    return to;
}

static line numbers(const form *f, const int *of)
{
    line to = {"("};
    for (int d = 0; d < f->nspatial; d++) say(&to, "%s%d", d ? ", " : "", of[d]);
    say(&to, ")");
    return to;
}

/* Inputs are rounded to the form's type, then computed with in another. */
static void write_program(const form *f, const char *computed, char *to, size_t room)
{
    line x = images(f, false), w = filter(f), y = images(f, true);
    line step = numbers(f, f->step), dilation = numbers(f, f->dilation),
         before = numbers(f, f->before), after = numbers(f, f->after);
    snprintf(to, room,
             "x0: f32%s = input()\nf0: f32%s = input()\ng0: f32%s = input()\n"
             "x1: %s = cast(x0)\nf1: %s = cast(f0)\ng1: %s = cast(g0)\n"
             "x: %s = cast(x1)\nf: %s = cast(f1)\ng: %s = cast(g1)\n"
             "y = conv(x, f, stride=%s, dilation=%s, before=%s, after=%s)\n"
             "dx, df = gradients(y; x, f; g)\n"
             "y1: f32 = cast(y)\ndx1: f32 = cast(dx)\ndf1: f32 = cast(df)\n",
             x.text, w.text, y.text, f->type, f->type, f->type, computed, computed, computed,
             step.text, dilation.text, before.text, after.text);
}

/* ---- runs ---- */

static results run(const form *f, const char *computed, const char *device, const char *library,
                   bool tf32)
{
    char        text[3000];
    results     r = {0};
    mtf_tensor *fetches[OUTPUTS];
    setenv("MTF_CUDNN", library, 1);
    write_program(f, computed, text, sizeof text);
    mtf_session *s = mtf_open_with(&(mtf_session_opts){
        .threads = 16, .device = device, .mesh = f->mesh, .layout = f->layout, .tf32 = tf32});
    mtf_graph   *g = mtf_parse(s, text, "test");
    if (!mtf_ok(s)) fail_msg("%s\n%s", mtf_error(s), text);
    for (int k = 0; k < OUTPUTS; k++) fetches[k] = mtf_find(g, names[k]);
    mtf_program *p = mtf_compile_n(g, OUTPUTS, fetches);
    if (!mtf_ok(s)) fail_msg("%s\n%s", mtf_error(s), text);
    uint64_t kept = seed_state;
    seed_state = 1;
    for (int k = 0; k < INPUTS; k++) feed_numbers(p, g, inputs[k]);
    seed_state = kept;
    for (int k = 0; k < STEPS; k++)
        if (!mtf_step(p)) fail_msg("%s\n%s", mtf_error(s), text);
    r = results_of(p, OUTPUTS, fetches);
    if (!mtf_ok(s)) fail_msg("%s", mtf_error(s));
    close_well(s);
    return r;
}

/* Half a unit of the last place, and as much again for sums. */
static double rounding(const form *f)
{
    return strcmp(f->type, "bf16") == 0 ? 0x1p-8 : strcmp(f->type, "f16") == 0 ? 0x1p-11 : 1e-6;
}

static void assert_all_near(const form *f, const results *a, const results *right, double allowed)
{
    char text[3000];
    write_program(f, f->type, text, sizeof text);
    for (int k = 0; k < OUTPUTS; k++) {
        double apart = distance(a, right, k);
        if (!(apart < allowed)) fail_msg("%s is %g apart:\n%s", names[k], apart, text);
    }
}

/* ---- tests ---- */

static form some_form(int nspatial, const char *type)
{
    form f = {.type = type, .nspatial = nspatial, .nbatch = (int)pick(0, 2)};
    for (int d = 0; d < f.nbatch; d++) f.batch[d] = (int)pick(1, 3);
    for (int d = 0; d < nspatial; d++) {
        f.taps[d] = (int)pick(1, 3);
        f.step[d] = (int)pick(1, 3);
        f.dilation[d] = (int)pick(1, 2);
        int reach = (f.taps[d] - 1) * f.dilation[d] + 1;
        f.before[d] = (int)pick(0, reach - 1);
        f.after[d] = (int)pick(0, reach - 1);
        f.size[d] = (int)pick(reach, reach + (nspatial == 3 ? 3 : 6));
    }
    f.channels = (int)pick(1, 9);
    f.outputs = (int)pick(1, 9);
    return f;
}

/* Is each of the three convolutions the library's?  Then each result is wrong. */
static void assert_taken_by(const char *library, const form *f, const results *right)
{
    char text[3000];
    write_program(f, f->type, text, sizeof text);
    setenv("MTF_HOST_CUDA_DNN", library, 1);
    results wrong = run(f, f->type, "cuda", "all", false);
    unsetenv("MTF_HOST_CUDA_DNN");
    for (int k = 0; k < OUTPUTS; k++)
        if (!(distance(&wrong, right, k) > 0.01))
            fail_msg("cuDNN was not taken for %s:\n%s", names[k], text);
    drop(&wrong);
}

static void assert_taken(const form *f, const results *right)
{
    assert_taken_by("wrong", f, right);
}

static void test_any_form(void **unused)
{
    static const char *const types[] = {"bf16", "f16"};
    (void)unused;
    seed_state = 7;
    for (int nspatial = 1; nspatial <= SPACE; nspatial++)
        for (int k = 0; k < 4; k++) {
            form    f = some_form(nspatial, types[k % 2]);
            results right = run(&f, "f32", "cpu", "", false);
            results library = run(&f, f.type, "cuda", "all", false);
            assert_all_near(&f, &library, &right, rounding(&f));
            if (!asked_real_gpu() && k < 2) assert_taken(&f, &right);
            drop(&library), drop(&right);
        }
}

static void test_large_forms(void **unused)
{
    (void)unused;
    if (!asked_real_gpu()) {
        printf("note: on an emulated GPU, larger convolutions by cuDNN were left out\n");
        return;
    }
    for (size_t k = 0; k < sizeof large / sizeof *large; k++) {
        const form *f = &large[k];
        results     library = run(f, f->type, "cuda", "all", false);
        results     again = run(f, f->type, "cuda", "all", false);
        results     own = run(f, f->type, "cuda", "no", false);
        if (!is_same(&library, &again)) fail_msg("form %zu: other bits in another run", k);
        if (is_same(&library, &own)) fail_msg("form %zu: cuDNN was not taken", k);
        for (int o = 0; o < OUTPUTS; o++)
            if (is_same_result(&library, &own, o))
                printf("note: form %zu: cuDNN was not taken for %s\n", k, names[o]);
        assert_all_near(f, &library, &own, 2 * rounding(f));
        drop(&library), drop(&again), drop(&own);
    }
}

static const form small = {"f32", 1,      2,      {2},    {6, 5}, {3, 3}, 8,
                           8,     {1, 2}, {1, 1}, {1, 1}, {1, 1}, NULL,   NULL};

/* Sums that processors share are in f32, of short factors; our kernels compute them as well. */
static void test_on_meshes(void **unused)
{
    static const char *const layouts[] = {"n0:p", "c:p", "o:p", "s0:p"};
    static const char *const types[] = {"bf16", "f16"};
    (void)unused;
    for (int k = 0; k < 4; k++) {
        form    f = {types[k % 2], 1,      2,      {4},    {8, 6}, {3, 3}, 16,
                     16,           {1, 1}, {1, 1}, {1, 1}, {1, 1}, "p:2",  layouts[k]};
        results right = run(&f, "f32", "cpu", "", false);
        results library = run(&f, f.type, "cuda", "all", false);
        results own = run(&f, f.type, "cuda", "no", false);
        assert_all_near(&f, &library, &right, rounding(&f));
        assert_all_near(&f, &own, &right, rounding(&f));
        if (!asked_real_gpu()) assert_taken(&f, &right);
        drop(&library), drop(&right), drop(&own);
    }
}

/* Factors of f32 are rounded only if that is asked for; else our kernels are taken. */
static void test_rounded_factors(void **unused)
{
    (void)unused;
    results right = run(&small, "f32", "cpu", "", false);
    results exact = run(&small, "f32", "cuda", "all", false);
    results own = run(&small, "f32", "cuda", "no", false);
    results rounded = run(&small, "f32", "cuda", "all", true);
    assert_all_near(&small, &exact, &right, 1e-6);
    assert_true(is_same(&exact, &own));
    assert_all_near(&small, &rounded, &right, 0x1p-10);
    for (int k = 0; k < OUTPUTS && !asked_real_gpu(); k++)
        assert_true(distance(&rounded, &right, k) > 1e-5);
    drop(&right), drop(&exact), drop(&own), drop(&rounded);
}

/* A loop whose end depends on a value is captured on a stream of its own. */
static const char loop_text[] =
    "x0: f32[n=2, h=8, w=8, c=16] = input()\nf0: f32[fh=3, fw=3, c=16, o=16] = input()\n"
    "x1: bf16 = cast(x0)\nf1: bf16 = cast(f0)\nn0: i32[] = constant(value=0)\n"
    "y, n = while(x1, n0) {\n    cond(x, n) {\n        yield less(n, 3)\n    }\n"
    "    body(x, n) {\n        a: bf16[n=2, h=8, w=8, c=16] = conv(x, f1, stride=(1, 1), "
    "dilation=(1, 1), before=(1, 1), after=(1, 1))\n        b = a / 16\n"
    "        yield b, n + 1\n    }\n}\ny1: f32 = cast(y)\n";

static void test_in_a_loop(void **unused)
{
    (void)unused;
    results library = run_text(loop_text, "all", 2, inputs);
    results own = run_text(loop_text, "no", 2, inputs);
    assert_true(distance(&library, &own, 0) < 0x1p-8);
    if (!asked_real_gpu()) {
        setenv("MTF_HOST_CUDA_DNN", "wrong", 1);
        results wrong = run_text(loop_text, "all", 2, inputs);
        unsetenv("MTF_HOST_CUDA_DNN");
        assert_true(distance(&wrong, &own, 0) > 0.01); /* it was taken */
        drop(&wrong);
    }
    drop(&library), drop(&own);
}

/* Our kernels are taken, without a word, where the library does not start, makes no plan, or wants more
 * working space than was planned. */
static void test_our_kernels_otherwise(void **unused)
{
    static const char *const refusals[] = {"none", "greedy", "greedy,honest", "unable"};
    form                     f = small;
    (void)unused;
    if (asked_real_gpu()) return;
    f.type = "bf16", f.channels = 24; /* no other test keeps its plan */
    results own = run(&f, f.type, "cuda", "no", false);
    for (int k = 0; k < 4; k++) {
        setenv("MTF_HOST_CUDA_DNN", refusals[k], 1);
        results refused = run(&f, f.type, "cuda", "all", false);
        assert_all_near(&f, &refused, &own, rounding(&f));
        drop(&refused);
    }
    unsetenv("MTF_HOST_CUDA_DNN");
    f.channels = 32;
    results right = run(&f, "f32", "cpu", "", false);
    assert_taken_by("wrong unadvised", &f, &right); /* its second way to advise is tried */
    drop(&own), drop(&right);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_form),        cmocka_unit_test(test_large_forms),
        cmocka_unit_test(test_rounded_factors), cmocka_unit_test(test_on_meshes),
        cmocka_unit_test(test_in_a_loop),       cmocka_unit_test(test_our_kernels_otherwise),
    };
    return cmocka_run_group_tests(tests, use_emulated_library, NULL);
}
#else
int main(void)
{
    printf("note: without cuDNN's headers, convolutions by cuDNN were left out\n");
    return 0;
}
#endif
