/* Attention by cuDNN against kernels of our own and against the CPU.
 *
 * Only a real card has that library: MTF_TEST_CARD=real.  Programs are large enough that it
 * is taken for them; several steps, so that it is recorded as well.
 */
#include "mtf_build.h"

#include "ground.h"

#if MTF_HAVE_CUDNN

enum { OUTPUTS = 5, STEPS = 3 };

typedef struct form {
    const char *type, *q, *k, *v; /* shapes */
    const char *query, *memory, *limits;
    const char *mesh, *layout;
} form;

#define BIHD "[b=8, i=768, h=12, d=64]"
#define BHID "[b=4, h=6, i=1024, d=128]"
static const form forms[] = {
    {"bf16", BIHD, BIHD, BIHD, "i", "i", ", max_relative=0", NULL, NULL},
    {"f16", BIHD, BIHD, BIHD, "i", "i", ", max_relative=0", NULL, NULL},
    {"bf16", BHID, BHID, BHID, "i", "i", ", max_relative=0", NULL, NULL},
    {"bf16", "[b=8, h=8, i=500, d=64]", "[b=8, m=712, h=8, d=64]", "[m=712, b=8, h=8, d=64]", "i", "m", "",
     NULL, NULL},
    {"f16", "[n=60, i=1000, d=128]", "[n=60, m=200, d=128]", "[n=60, m=200, d=128]", "i", "m",
     ", max_relative=0", NULL, NULL},
    {"bf16", "[b=16, i=1024, h=12, d=64]", "[b=16, i=1024, h=12, d=64]", "[b=16, i=1024, h=12, d=64]", "i",
     "i", ", max_relative=0", "p:2", "b:p"},
    {"bf16", "[b=2, i=4096, h=10, d=64]", "[b=2, i=4096, h=10, d=64]", "[b=2, i=4096, h=10, d=64]", "i", "i",
     "", NULL, NULL}, /* the gradient in several calls */
};
enum { FORMS = sizeof forms / sizeof *forms };

typedef struct results {
    int64_t  n[OUTPUTS];
    float   *values[OUTPUTS]; /* widened: exact */
} results;

static uint64_t state;

static float random_number(void)
{
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (float)(int)((z ^ z >> 31) % 4001) / 1000 - 2;
}

static void feed(mtf_program *p, mtf_graph *g, const char *name)
{
    mtf_tensor *x = mtf_find(g, name);
    int64_t     n = mtf_shape_size(mtf_shape_of_tensor(x));
    float      *values = malloc((size_t)n * sizeof *values);
    for (int64_t k = 0; k < n; k++) values[k] = random_number();
    assert_true(mtf_feed(p, x, values));
    free(values);
}

/* Inputs are f32 and are cast, so that all devices get the same. */
static results run(const form *f, const char *device, const char *refused)
{
    static const char *const inputs[] = {"q0", "k0", "v0", "g0"};
    static const char *const names[OUTPUTS] = {"y1", "l", "dq1", "dk1", "dv1"};
    char                     text[2000];
    results                  r = {0};
    mtf_tensor              *fetches[OUTPUTS];
    setenv("MTF_NO_CUDNN", refused, 1);
    snprintf(text, sizeof text,
             "q0: f32%s = input()\nk0: f32%s = input()\nv0: f32%s = input()\ng0: f32%s = input()\n"
             "q: %s = cast(q0)\nk: %s = cast(k0)\nv: %s = cast(v0)\ng: %s = cast(g0)\n"
             "y, l = attention(q, k, v, query=%s, memory=%s, key=d, value=d, scale=0.125%s)\n"
             "dq, dk, dv = gradients(y; q, k, v; g)\ny1: f32 = cast(y)\n"
             "dq1: f32 = cast(dq)\ndk1: f32 = cast(dk)\ndv1: f32 = cast(dv)\n",
             f->q, f->k, f->v, f->q, f->type, f->type, f->type, f->type, f->query, f->memory, f->limits);
    mtf_session *s = mtf_open_with(&(mtf_session_opts){
        .threads = 16, .device = device, .mesh = f->mesh, .layout = f->layout});
    mtf_graph   *g = mtf_parse(s, text, "test");
    assert_string_equal(mtf_error(s), "");
    for (int k = 0; k < OUTPUTS; k++) fetches[k] = mtf_find(g, names[k]);
    mtf_program *p = mtf_compile_n(g, OUTPUTS, fetches);
    if (!mtf_ok(s)) fail_msg("%s", mtf_error(s));
    state = 1;
    for (int k = 0; k < 4; k++) feed(p, g, inputs[k]);
    for (int k = 0; k < STEPS; k++) mtf_step(p);
    for (int k = 0; k < OUTPUTS; k++) {
        r.n[k] = mtf_shape_size(mtf_shape_of_tensor(fetches[k]));
        r.values[k] = malloc((size_t)r.n[k] * sizeof *r.values[k]);
        assert_true(mtf_fetch(p, fetches[k], r.values[k]));
    }
    if (!mtf_ok(s)) fail_msg("%s", mtf_error(s));
    close_well(s);
    return r;
}

static void drop(results *r)
{
    for (int k = 0; k < OUTPUTS; k++) free(r->values[k]);
}

static bool is_same(const results *a, const results *b)
{
    for (int k = 0; k < OUTPUTS; k++)
        if (memcmp(a->values[k], b->values[k], (size_t)a->n[k] * sizeof(float)) != 0) return false;
    return true;
}

/* The length of the difference, relative to that of what is right. */
static double distance(const results *a, const results *right, int k)
{
    double apart = 0, whole = 0;
    for (int64_t e = 0; e < right->n[k]; e++) {
        double x = (double)a->values[k][e], y = (double)right->values[k][e];
        apart += (x - y) * (x - y), whole += y * y;
    }
    return sqrt(apart / whole);
}

static void assert_all_near(int form_number, const char *what, const results *a, const results *right,
                            const char *type)
{
    double step = strcmp(type, "bf16") == 0 ? 0x1p-7 : 0x1p-10;
    for (int k = 0; k < OUTPUTS; k++) {
        double apart = distance(a, right, k);
        if (!(apart < (k == 1 ? 1e-5 : step)))
            fail_msg("form %d, result %d: %s is %g apart", form_number, k, what, apart);
    }
}

static void test_the_library_gives_what_our_kernels_give(void **unused)
{
    (void)unused;
    for (int k = 0; k < FORMS; k++) {
        const form *f = &forms[k];
        results     library = run(f, "cuda", ""), again = run(f, "cuda", ""), own = run(f, "cuda", "1");
        if (is_same(&library, &own)) fail_msg("form %d: cuDNN was not taken", k);
        if (!is_same(&library, &again)) fail_msg("form %d: other bits in another run", k);
        assert_all_near(k, "cuDNN", &library, &own, f->type);
        if (k < 2) {
            form    plain = *f;
            results right;
            plain.type = "f32";
            right = run(&plain, "cpu", "");
            assert_all_near(k, "cuDNN", &library, &right, f->type);
            drop(&right);
        }
        drop(&library), drop(&again), drop(&own);
    }
}

int main(void)
{
    const char             *card = getenv("MTF_TEST_CARD");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_library_gives_what_our_kernels_give),
    };
    if (!card || strcmp(card, "real") != 0) {
        printf("note: there is no cuDNN on an emulated card: attention by cuDNN was left out\n");
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void)
{
    printf("note: without cuDNN's headers, attention by cuDNN was left out\n");
    return 0;
}
#endif
