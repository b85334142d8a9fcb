/* Maps as kernels: each map of all cases against the one of the CPU.
 *
 * Every map of the programs of all cases and of the ready models is written, compiled for
 * the host and run there on random numbers, in memory that lies as the program's does; so
 * what is computed in place is computed in place here.
 */
#include "mtf_build.h"

#if MTF_HAVE_CUDA
#include "machine/cuda/kernel_compile.h"
#include "machine/cuda/kernel_source.h"
#include "machine/kernels/kernels.h"
#include "model/ready.h"
#include "mtf_nn.h"
#include "plan/plan.h"
#endif

#include "ground.h"

#if MTF_HAVE_CUDA
#include <glob.h>

#include "machine/host_card.h"

enum { MOST_MAPS = 6000, MOST_BUFFERS = 4000, MOST_NAMES = 60, LARGE = 1 << 22 };

typedef struct subject {
    const program *program;
    const instr   *instr;
    const char    *from;
    kernel_plan    plan;
} subject;

static host_card     card;
static kernel_source source;
static int           nsubjects;
static subject       subjects[MOST_MAPS];
static uint64_t      state;

static uint64_t random_bits(void)
{
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* ---- collecting ---- */

static void add_program(const program *p, const char *from)
{
    for (int k = 0; k < p->ninstrs && nsubjects < MOST_MAPS; k++) {
        if (p->instrs[k].kind != INSTR_MAP) continue;
        subject *s = &subjects[nsubjects++];
        *s = (subject){.program = p, .instr = &p->instrs[k], .from = from};
        assert_true(write_map(&source, s->instr, &s->plan));
    }
}

/* The names after "#>" are fetched. */
static int fetches_of(mtf_graph *g, const char *text, mtf_tensor **fetches)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, "#> ")) && n < MOST_NAMES;) {
        char name[200];
        at += 3;
        int length = (int)strcspn(at, " :=\n");
        snprintf(name, sizeof name, "%.*s", length, at);
        if ((fetches[n] = mtf_find(g, name))) n++;
    }
    return n;
}

static void add_cases(const char *pattern)
{
    glob_t found;
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    for (size_t k = 0; k < found.gl_pathc; k++) {
        mtf_tensor  *fetches[MOST_NAMES];
        char        *text = read_text(found.gl_pathv[k]);
        mtf_session *s = mtf_open_with(&(mtf_session_opts){.threads = 1}); /* kept to the end */
        mtf_graph   *g = mtf_parse(s, text, "case");
        assert_non_null(g);
        int      n = fetches_of(g, text, fetches);
        program *p = plan_program(g, n, fetches, &(plan_opts){0});
        if (!p) fail_msg("%s: %s", found.gl_pathv[k], mtf_error(s));
        add_program(p, strdup(found.gl_pathv[k]));
        free(text);
    }
    globfree(&found);
}

static void add_models(void)
{
    for (int k = 0; model_nth(k); k++) {
        mtf_session *s = mtf_open_with(&(mtf_session_opts){.threads = 1});
        settings     v = settings_of(s, model_nth(k));
        network      n = {0};
        if (settings_has(&v, "batch")) settings_set(&v, "batch", "10");
        if (!model_nth(k)->build(&v, true, &n)) {
            mtf_close(s); /* one that needs files */
            continue;
        }
        mtf_adam(n.graph, n.loss, NULL);
        program *p = plan_program(n.graph, 1, &n.loss, &(plan_opts){0});
        assert_non_null(p);
        add_program(p, model_nth(k)->name);
    }
}

/* ---- running ---- */

typedef struct ground_of {
    char *slab;
    void *base[MOST_BUFFERS];
} ground_of;

static void fill(mtf_dtype type, void *to, int64_t at)
{
    uint64_t bits = random_bits();
    switch (type) {
    case MTF_I32: ((int32_t *)to)[at] = (int32_t)(bits % 41) - 20; break;
    case MTF_I64: ((int64_t *)to)[at] = (int64_t)(bits % 41) - 20; break;
    case MTF_BOOL: ((uint8_t *)to)[at] = bits % 2; break;
    default: dtype_store(type, to, at, (double)(bits % 4001) / 1000 - 2);
    }
}

/* Every element that an access reaches. */
static void each_element(const instr *i, const access *a, void *base,
                         void (*what)(const access *a, void *base, int64_t at, void *with), void *with)
{
    for (int64_t k = 0, n = instr_elements(i); k < n; k++) {
        int64_t at = a->offset, rest = k;
        for (int l = i->nloops - 1; l >= 0; l--) {
            at += rest % i->size[l] * a->stride[l];
            rest /= i->size[l];
        }
        what(a, base, at, with);
    }
}

static void fill_element(const access *a, void *base, int64_t at, void *with)
{
    (void)with;
    fill(a->type, base, at);
}

typedef struct comparison {
    const char *other;
    double      largest, worst;
    int64_t     wrong;
} comparison;

static void find_largest(const access *a, void *base, int64_t at, void *with)
{
    comparison *c = with;
    double      v = fabs(dtype_load(a->type, base, at));
    if (v > c->largest && v < HUGE_VAL) c->largest = v;
}

static void compare_element(const access *a, void *base, int64_t at, void *with)
{
    comparison *c = with;
    size_t      bytes = mtf_dtype_bytes(a->type);
    char       *mine = (char *)base + at * (int64_t)bytes;
    const char *other = c->other + at * (int64_t)bytes;
    if (memcmp(mine, other, bytes) == 0) return;
    double x = dtype_load(a->type, mine, 0), y = dtype_load(a->type, other, 0);
    double step = a->type == MTF_F64    ? 1e-13
                  : a->type == MTF_BF16 ? 0x1p-7
                  : a->type == MTF_F16  ? 0x1p-10
                                        : 1e-5;
    bool   same = (x != x && y != y) || (dtype_is_float(a->type) && fabs(x - y) <= step * c->largest);
    if (!same) c->wrong++, c->worst = fabs(x - y);
    memcpy(mine, other, bytes);
}

/* Where each buffer lies: in the slab, or, variables, after it. */
static int64_t places(const program *p, int64_t at[MOST_BUFFERS])
{
    int64_t end = (p->slab_bytes + 255) / 256 * 256;
    assert_true(p->nbuffers <= MOST_BUFFERS);
    for (int b = 0; b < p->nbuffers; b++) {
        at[b] = p->buffers[b].offset;
        if (p->buffers[b].kind != BUFFER_VARIABLE) continue;
        at[b] = end;
        end += (p->buffers[b].bytes + 255) / 256 * 256;
    }
    return end;
}

static void run_subject(const subject *s)
{
    static void   *cpu_base[MOST_BUFFERS], *card_base[MOST_BUFFERS];
    static int64_t at[MOST_BUFFERS];
    const instr   *i = s->instr;
    int64_t        bytes = places(s->program, at);
    CUdeviceptr    memory;
    if (bytes > LARGE * 4 || instr_elements(i) > LARGE) return;
    char *cpu = aligned_alloc(256, (size_t)bytes + 256);
    assert_int_equal(card.api.driver.cuMemAlloc(&memory, (size_t)bytes + 256), 0);
    memset(cpu, 0x55, (size_t)bytes + 256);
    for (int b = 0; b < s->program->nbuffers; b++)
        cpu_base[b] = cpu + at[b], card_base[b] = (char *)memory + at[b];
    for (int k = 0; k < i->nin; k++)
        each_element(i, &i->in[k], cpu_base[i->in[k].buffer], fill_element, NULL);
    memcpy((void *)memory, cpu, (size_t)bytes + 256);

    run_state run = {.base = cpu_base, .threads = 1};
    run.scratch = malloc(map_scratch_bytes(i) + 64);
    kernel_map(i, &run);
    host_card_run(&card, i, &s->plan, card_base, (step_words){0});
    for (int o = 0; o < i->nout; o++) {
        comparison c = {.other = cpu_base[i->out[o].buffer]};
        each_element(i, &i->out[o], cpu_base[i->out[o].buffer], find_largest, &c);
        each_element(i, &i->out[o], card_base[i->out[o].buffer], compare_element, &c);
        if (c.wrong)
            fail_msg("%s: output %d of %s: %lld elements differ, by %g of %g", s->from, o,
                     s->plan.launch[0].name, (long long)c.wrong, c.worst, c.largest);
    }
    if (memcmp((void *)memory, cpu, (size_t)bytes + 256) != 0)
        fail_msg("%s: %s wrote something else", s->from, s->plan.launch[0].name);
    free(run.scratch);
    free(cpu);
    card.api.driver.cuMemFree(memory);
}

static int set_up(void **unused)
{
    (void)unused;
    card = host_card_open();
    static arena kept;
    kept = arena_make(&card.session->allocator, &card.session->fault);
    source = kernel_source_make(&kept);
    add_cases(MTF_SOURCE_DIR "/tests/cases/*/*.mtf");
    add_cases(MTF_SOURCE_DIR "/tests/harness/models/*.mtf");
    add_models();
    printf("%d maps, %d kernels\n", nsubjects, source.names.count);
    return 0;
}

static void test_maps_give_what_the_cpu_gives(void **unused)
{
    (void)unused;
    host_card_load(&card, text_done(&source.text));
    for (int k = 0; k < nsubjects; k++) run_subject(&subjects[k]);
}

static void test_maps_compile_for_a_card(void **unused)
{
    (void)unused;
    host_card_compile_for_real(&card, text_done(&source.text));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_maps_give_what_the_cpu_gives),
        cmocka_unit_test(test_maps_compile_for_a_card),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
#else
int main(void)
{
    printf("without CUDA's headers there is no card that is the host\n");
    return 0;
}
#endif
