/* Maps as kernels: each map of all cases against the one of the CPU.
 *
 * Every map of the programs of all cases and of the ready models, as planned for the CPU and
 * for GPUs, is written, compiled for the host and run there on random numbers, in memory that
 * lies as the program's does; so what is computed in place is computed in place here.
 */
#include "cuda/driver/kernel_compile.h"
#include "cuda/write/kernel_source.h"
#include "cuda/write/map_groups.h"
#include "cpu/kernels.h"
#include "model/ready.h"
#include "mtf_nn.h"
#include "plan/plan.h"
#include "program/map_form.h"
#include "run/devices.h"

#include "ground.h"

#include <glob.h>

#include "machine/host_gpu.h"
#include "machine/random_numbers.h"

enum { MOST_MAPS = 6000, MOST_BUFFERS = 4000, MOST_NAMES = 60, MOST_BYTES = 64 << 20 };

typedef struct subject {
    const program *program;
    const instr   *instr;
    const char    *from;
    kernel_plan    plan;
} subject;

static host_gpu      gpu;
static kernel_source source, grouped;
static int           nsubjects;
static subject       subjects[MOST_MAPS];
static arena         kept, forms_arena;

/* Programs whose maps are subjects. */
enum { MOST_PROGRAMS = 2000 };
static int          nprograms;
static program     *programs[MOST_PROGRAMS];
static mtf_session *sessions[MOST_PROGRAMS];

/* ---- collecting ---- */

/* Texts that differ in their numbers only: one of each form will do, unless MTF_ALL_MAPS is set;
 * a fast run takes one form of four. */
static bool is_another(const instr *i)
{
    static name_table forms;
    arena             scratch = arena_make(&gpu.session->allocator, &gpu.session->fault);
    kernel_source     alone = kernel_source_for(&scratch, gpu.session);
    kernel_plan       plan = {0};
    forms.arena = &forms_arena;
    assert_true(write_map(&alone, i, &plan));
    char *form = arena_text(&forms_arena, kernel_source_text(&alone)), *to = form;
    bool  wide = strstr(form, "i64 l0") != NULL; /* rare enough */
    for (const char *from = form; *from; from++)
        if (strchr("0123456789", *from) == NULL) *to++ = *from;
    *to = 0;
    char *name = strstr(form, "map_"); /* which follows from the numbers */
    if (name) form = name + strcspn(name, "(");
    arena_free(&scratch);
    bool seen = names_get(&forms, form) != NULL;
    if (!seen) names_put(&forms, form, &forms);
    return !seen || wide || getenv("MTF_ALL_MAPS");
}

/* The kernel of a group is another text, which NVRTC compiles otherwise. */
static void add_to_groups(subject *s)
{
    kernel_plan ignored = {0};
    map_group   one = {.n = 1, .maps = &s->instr, .alone = &s->plan};
    if (map_may_join(&s->plan)) assert_true(write_map_group(&grouped, &one, &ignored));
}

static void add_program(const program *p, const char *from)
{
    for (int k = 0; k < p->ninstrs; k++) {
        if (p->instrs[k].kind != INSTR_MAP || !is_another(&p->instrs[k])) continue;
        assert_true(nsubjects < MOST_MAPS);
        subject *s = &subjects[nsubjects++];
        *s = (subject){.program = p, .instr = &p->instrs[k], .from = from};
        assert_true(write_map(&source, s->instr, &s->plan));
        add_to_groups(s);
    }
}

/* One that plans for a device, and need not open it. */
static mtf_session *open_for(const char *name)
{
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.threads = 1});
    s->can = devices_abilities(name);
    return s;
}

static void add_planned(mtf_session *s, program *p, const char *from)
{
    if (!p) fail_msg("%s: %s", from, mtf_error(s));
    assert_true(nprograms < MOST_PROGRAMS);
    sessions[nprograms] = s;
    programs[nprograms++] = p;
    add_program(p, arena_text(&kept, from));
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

static void add_cases(const char *pattern, const char *name)
{
    glob_t found;
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    for (size_t k = 0; k < found.gl_pathc; k++) {
        mtf_tensor  *fetches[MOST_NAMES];
        char        *text = read_text(found.gl_pathv[k]);
        mtf_session *s = open_for(name);
        mtf_graph   *g = mtf_parse(s, text, "case");
        assert_non_null(g);
        int n = fetches_of(g, text, fetches);
        add_planned(s, plan_program(g, n, fetches, &(plan_opts){0}), found.gl_pathv[k]);
        free(text);
    }
    globfree(&found);
}

static void add_models(const char *name)
{
    for (int k = 0; model_nth(k); k++) {
        mtf_session *s = open_for(name);
        settings     v = settings_of(s, model_nth(k));
        network      n = {0};
        if (settings_has(&v, "batch")) settings_set(&v, "batch", "10");
        if (!model_nth(k)->build(&v, true, &n)) {
            mtf_close(s); /* one that needs files */
            continue;
        }
        mtf_adam(n.graph, n.loss, NULL);
        add_planned(s, plan_program(n.graph, 1, &n.loss, &(plan_opts){0}), model_nth(k)->name);
    }
}

/* ---- maps by hand ---- */

enum { MOST_OPERANDS = 8, MOST_STEPS = 40 };

/* A program of one map, whose buffers lie one after the other. */
typedef struct sketch {
    program     program;
    buffer      buffers[MOST_OPERANDS];
    instr       instr;
    access      out[MOST_OPERANDS], in[MOST_OPERANDS];
    int         results[MOST_OPERANDS];
    scalar_step steps[MOST_STEPS];
} sketch;

static sketch *sketch_of(int nloops, const int64_t *size, int nrow)
{
    sketch *s = arena_new(&kept, sketch);
    s->instr = (instr){.kind = INSTR_MAP, .nloops = nloops, .out = s->out, .in = s->in};
    s->instr.map = (map_args){.steps = s->steps, .results = s->results, .nrow = nrow};
    for (int k = 0; k < nloops; k++) s->instr.size[k] = size[k];
    s->program = (program){.instrs = &s->instr, .ninstrs = 1, .buffers = s->buffers};
    return s;
}

/* A buffer for an access; it begins `offset` elements in. */
static void lay(sketch *s, access *a, mtf_dtype type, const int64_t *stride, int64_t offset)
{
    int64_t reach = offset + 1;
    *a = (access){.buffer = s->program.nbuffers++, .type = type, .offset = offset};
    for (int k = 0; k < s->instr.nloops; k++) {
        a->stride[k] = stride[k];
        reach += stride[k] * (s->instr.size[k] - 1);
    }
    buffer *b = &s->buffers[a->buffer];
    *b = (buffer){.bytes = reach * (int64_t)mtf_dtype_bytes(type), .offset = s->program.slab_bytes};
    s->program.slab_bytes += (b->bytes + 255) / 256 * 256;
}

/* Strides for the loops in a random order; those of `without` have stride 0. */
static void strides_of(const sketch *s, bool shuffled, unsigned without, int64_t gap,
                       int64_t stride[MAX_LOOPS])
{
    int order[MAX_LOOPS], n = s->instr.nloops;
    for (int k = 0; k < n; k++) order[k] = k;
    for (int k = n - 1; k > 0 && shuffled; k--) {
        int o = (int)pick(0, k), was = order[k];
        order[k] = order[o];
        order[o] = was;
    }
    int64_t step = 1;
    for (int k = n - 1; k >= 0; k--) {
        stride[order[k]] = without >> order[k] & 1 ? 0 : step;
        if (stride[order[k]]) step = step * s->instr.size[order[k]] + (k == n - 1 ? gap : 0);
    }
}

static int add_input(sketch *s, mtf_dtype type, bool shuffled, unsigned without)
{
    int64_t stride[MAX_LOOPS];
    strides_of(s, shuffled, without, pick(0, 3) ? 0 : 1, stride);
    lay(s, &s->in[s->instr.nin], type, stride, pick(0, 2) ? 0 : pick(1, 9));
    return s->instr.nin++;
}

/* After the inputs: registers are numbered so. */
static int add_step(sketch *s, scalar_fn fn, mtf_dtype type, int a, int b)
{
    s->steps[s->instr.map.nsteps] =
        (scalar_step){.fn = fn, .type = type, .from = type, .a = a, .b = b};
    return s->instr.nin + s->instr.map.nsteps++;
}

static int add_number(sketch *s, mtf_dtype type, double value)
{
    int reg = add_step(s, FN_IMMEDIATE, type, 0, 0);
    s->steps[reg - s->instr.nin].value = dtype_scalar(type, value);
    return reg;
}

static int add_cast(sketch *s, mtf_dtype to, mtf_dtype from, int a)
{
    int reg = add_step(s, FN_CAST, to, a, 0);
    s->steps[reg - s->instr.nin].from = from;
    return reg;
}

static void add_output(sketch *s, mtf_dtype type, bool shuffled, unsigned without, int reg)
{
    int64_t stride[MAX_LOOPS];
    strides_of(s, shuffled, without, 0, stride);
    s->results[s->instr.nout] = reg;
    lay(s, &s->out[s->instr.nout++], type, stride, pick(0, 1) ? 0 : pick(1, 9));
}

/* The last output takes the place of an input of its type. */
static void put_in_place(sketch *s, int input)
{
    access *o = &s->out[s->instr.nout - 1];
    if (o->type == s->in[input].type) *o = s->in[input];
}

static void add_sketch(sketch *s, const char *from)
{
    add_program(&s->program, from);
}

static const mtf_dtype every_type[] = {MTF_F32, MTF_BF16, MTF_F16,    MTF_F64,   MTF_I32,
                                       MTF_I64, MTF_BOOL, MTF_F8E4M3, MTF_F8E5M2};
enum { ROW_TYPES = 7, EVERY_TYPE = sizeof every_type / sizeof *every_type };

/* x and y of any types and strides, a position, a constant, and casts to any type. */
static void add_random_map(void)
{
    static const int64_t sizes[] = {1, 2, 3, 7, 8, 16, 31, 33, 64, 100};
    int64_t              size[4];
    int                  n = (int)pick(1, 4);
    for (int k = 0; k < n; k++) size[k] = sizes[pick(0, 9)];
    if (n == 4) size[0] = 2, size[2] = 3;
    sketch   *s = sketch_of(n, size, 0);
    mtf_dtype x_type = every_type[pick(0, EVERY_TYPE - 1)];
    mtf_dtype y_type = every_type[pick(0, EVERY_TYPE - 1)];
    mtf_dtype type = dtype_compute(x_type), to = every_type[pick(0, EVERY_TYPE - 1)];
    unsigned  without = pick(0, 1) ? 0 : (unsigned)pick(0, (1 << n) - 1);
    int       x = add_input(s, x_type, pick(0, 3) == 0, 0);
    int       y = add_input(s, y_type, pick(0, 3) == 0, without);
    int       z = add_cast(s, type, dtype_compute(y_type), y);
    if (type == MTF_BOOL) {
        z = add_step(s, FN_logical_or, type, x, z);
    } else {
        scalar_fn any[] = {FN_add, FN_sub, FN_multiply, FN_maximum, FN_minimum, FN_mod};
        int       at = add_step(s, FN_INDEX, type, (int)pick(0, n - 1), 0);
        z = add_step(s, any[pick(0, 5)], type, x, z);
        z = add_step(s, FN_add, type, z,
                     add_step(s, FN_multiply, type, at, add_number(s, type, 3)));
    }
    int turned = add_cast(s, to, type, z);
    add_output(s, to, pick(0, 3) == 0, 0, turned);
    if (pick(0, 2) == 0) {
        add_output(s, x_type, false, 0, z);
        put_in_place(s, x);
    }
    add_sketch(s, "a random map");
}

static unsigned loops_of_row(const sketch *s)
{
    int outer = s->instr.nloops - s->instr.map.nrow;
    return ((1u << s->instr.nloops) - 1) & ~((1u << outer) - 1);
}

/* e^(x - max) over its sum, in place; the maximum and the sum as well. */
static void add_softmax(sketch *s, mtf_dtype type, bool shuffled, bool in_place)
{
    mtf_dtype c = dtype_compute(type);
    unsigned  row = loops_of_row(s);
    int       x = add_input(s, type, shuffled, 0);
    int       m = add_step(s, FN_ROW_MAX, c, x, 0), d = add_step(s, FN_sub, c, x, m);
    int       e = add_step(s, FN_exp, c, d, 0), sum = add_step(s, FN_ROW_SUM, c, e, 0);
    int       y = add_step(s, FN_divide, c, e, sum);
    add_output(s, MTF_F32, false, row, c == MTF_F64 ? add_cast(s, MTF_F32, c, sum) : sum);
    add_output(s, type, false, row, m);
    add_output(s, type, shuffled, 0, y);
    if (in_place) put_in_place(s, x);
    add_sketch(s, "a softmax");
}

/* (x - mean) / sqrt(variance) * scale, scale along the row, mean an old mean in place */
static void add_norm(sketch *s, mtf_dtype type, double n)
{
    mtf_dtype c = dtype_compute(type);
    unsigned  row = loops_of_row(s), all = (1u << s->instr.nloops) - 1;
    int       x = add_input(s, type, false, 0), scale = add_input(s, MTF_F32, false, all & ~row);
    int       before = add_input(s, type, false, row);
    int wide = c == MTF_F32 ? scale : add_cast(s, c, MTF_F32, scale), count = add_number(s, c, n);
    int mean = add_step(s, FN_divide, c, add_step(s, FN_ROW_SUM, c, x, 0), count);
    int d = add_step(s, FN_sub, c, x, mean), d2 = add_step(s, FN_multiply, c, d, d);
    int v = add_step(s, FN_divide, c, add_step(s, FN_ROW_SUM, c, d2, 0), count);
    int r = add_step(s, FN_rsqrt, c, add_step(s, FN_add, c, v, add_number(s, c, 0.01)), 0);
    int y = add_step(s, FN_multiply, c, add_step(s, FN_multiply, c, d, r), wide);
    add_output(s, type, false, 0, y);
    add_output(s, type, false, row, add_step(s, FN_add, c, mean, before));
    put_in_place(s, before);
    add_sketch(s, "a norm");
}

/* Folds of whole numbers and flags, positions, and a number a row that is folded. */
static void add_counts(sketch *s, mtf_dtype type)
{
    mtf_dtype c = dtype_compute(type);
    unsigned  row = loops_of_row(s);
    int       x = add_input(s, type, false, 0), one = add_input(s, type, false, row);
    int       small = add_step(s, FN_ROW_MIN, c, x, 0), large = add_step(s, FN_ROW_MAX, c, x, 0);
    int       sum = add_step(s, FN_ROW_SUM, c, x, 0), many = add_step(s, FN_ROW_SUM, c, one, 0);
    add_output(s, type, false, row, small);
    add_output(s, type, false, row, large);
    add_output(s, type, false, row, sum);
    add_output(s, type, false, row, many);
    if (c != MTF_BOOL) {
        int at = add_step(s, FN_INDEX, c, s->instr.nloops - 1, 0);
        add_output(s, type, false, 0, add_step(s, FN_sub, c, at, small));
    }
    add_sketch(s, "counts");
}

static void add_rows(void)
{
    static const int64_t lengths[] = {1,    2,    31,   33,   64,   67,    96,   1000,
                                      1001, 1024, 5000, 5003, 5120, 20000, 20001};
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
        int64_t n = lengths[k], rows = n > 4000 ? 2 : 7;
        int64_t two[] = {rows, n}, three[] = {rows, n % 8 ? 1 : 8, n % 8 ? n : n / 8};
        for (int t = 0; t < 4; t++) {
            add_softmax(sketch_of(2, two, 1), every_type[t], false, t % 2);
            add_softmax(sketch_of(3, three, 2), every_type[t], true, t % 2);
            add_softmax(sketch_of(2, two, 1), every_type[t], false, true);
            add_norm(sketch_of(2, two, 1), every_type[t], (double)n);
        }
        for (int t = 4; t < ROW_TYPES; t++) add_counts(sketch_of(3, three, 2), every_type[t]);
    }
}

/* So large that a thread takes several pieces. */
static void add_large(void)
{
    for (int t = 0; t < 2; t++) {
        int64_t size[] = {t ? 4500 : 1100, 4096 + 2 * t};
        sketch *s = sketch_of(2, size, 0);
        int     x = add_input(s, t ? MTF_BOOL : MTF_F32, false, 0);
        int     y = add_step(s, t ? FN_logical_not : FN_square, t ? MTF_BOOL : MTF_F32, x, 0);
        add_output(s, t ? MTF_BOOL : MTF_F32, false, 0, y);
        s->out[0].offset = s->in[0].offset = t; /* one that is aligned, and one that is not */
        if (t) put_in_place(s, x);
        add_sketch(s, "a large map");
    }
}

/* Offsets beyond 32 bits: these are too large to be run here, but must compile. */
static void add_huge(void)
{
    int64_t size[] = {1 << 20, 2051};
    sketch *s = sketch_of(2, size, 0);
    int     x = add_input(s, MTF_BF16, true, 0);
    int     at = add_step(s, FN_INDEX, MTF_F32, 0, 0);
    add_output(s, MTF_F32, false, 0, add_step(s, FN_add, MTF_F32, x, at));
    add_sketch(s, "a huge map");
    add_softmax(sketch_of(2, size, 1), MTF_BF16, false, true);
    add_norm(sketch_of(2, size, 1), MTF_F32, 2051);
}

/* ---- running ---- */

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
                         void (*what)(const access *a, void *base, int64_t at, void *with),
                         void *with)
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
    bool        sums; /* of f32, in another order: their rounding grows with their length */
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
    double step = a->type == MTF_F64     ? 1e-13
                  : a->type == MTF_BF16  ? 0x1p-7
                  : a->type == MTF_F16   ? 0x1p-10
                  : dtype_is_f8(a->type) ? 0x1p-2
                  : c->sums              ? 5e-5
                                         : 1e-5;
    bool same = (x != x && y != y) || (dtype_is_float(a->type) && fabs(x - y) <= step * c->largest);
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
    static void   *cpu_base[MOST_BUFFERS], *gpu_base[MOST_BUFFERS];
    static int64_t at[MOST_BUFFERS];
    const instr   *i = s->instr;
    int64_t        bytes = places(s->program, at);
    if (bytes > MOST_BYTES || i->map.sums) return; /* the CPU's kernels add up no columns */
    size_t whole = (size_t)bytes + 256;
    char  *cpu = aligned_alloc(256, whole), *got = aligned_alloc(256, whole);
    char  *memory = host_gpu_take(&gpu, whole);
    memset(cpu, 0x55, whole);
    for (int b = 0; b < s->program->nbuffers; b++)
        cpu_base[b] = cpu + at[b], gpu_base[b] = memory + at[b];
    for (int k = 0; k < i->nin; k++)
        each_element(i, &i->in[k], cpu_base[i->in[k].buffer], fill_element, NULL);
    host_gpu_put(&gpu, memory, cpu, whole);

    run_state run = {.base = cpu_base, .threads = 1};
    run.scratch = malloc(map_scratch_bytes(i) + 64);
    kernel_map(i, &run);
    host_gpu_run(&gpu, i, &s->plan, gpu_base, (step_words){0});
    host_gpu_get(&gpu, got, memory, whole);
    for (int o = 0; o < i->nout; o++) {
        comparison c = {.other = cpu_base[i->out[o].buffer], .sums = map_folds_rows(i)};
        each_element(i, &i->out[o], cpu_base[i->out[o].buffer], find_largest, &c);
        each_element(i, &i->out[o], got + at[i->out[o].buffer], compare_element, &c);
        if (c.wrong)
            fail_msg("%s: output %d of %s: %lld elements differ, by %g of %g", s->from, o,
                     s->plan.launch[0].name, (long long)c.wrong, c.worst, c.largest);
    }
    if (memcmp(got, cpu, whole) != 0)
        fail_msg("%s: %s wrote something else", s->from, s->plan.launch[0].name);
    free(run.scratch);
    free(cpu);
    free(got);
    host_gpu_give(&gpu, memory);
}

static int set_up(void **unused)
{
    (void)unused;
    gpu = host_gpu_open();
    kept = arena_make(&gpu.session->allocator, &gpu.session->fault);
    forms_arena = arena_make(&gpu.session->allocator, &gpu.session->fault);
    source = kernel_source_for(&kept, gpu.session);
    grouped = kernel_source_for(&kept, gpu.session);
    for (int k = 0; k < 2; k++) {
        static const char *const devices[] = {"cpu", "cuda"};
        add_cases(MTF_SOURCE_DIR "/tests/cases/*/*.mtf", devices[k]);
        add_cases(MTF_SOURCE_DIR "/tests/harness/models/*.mtf", devices[k]);
        add_models(devices[k]);
    }
    for (int k = 0; k < 150; k++) add_random_map();
    add_rows();
    add_large();
    add_huge();
    printf("%d maps, %d kernels\n", nsubjects, source.nkernels);
    return 0;
}

static int tear_down(void **unused)
{
    (void)unused;
    for (int k = 0; k < nprograms; k++) {
        program_free(programs[k]);
        mtf_close(sessions[k]);
    }
    arena_free(&forms_arena);
    arena_free(&kept);
    host_gpu_close(&gpu);
    return 0;
}

static void test_maps_give_what_the_cpu_gives(void **unused)
{
    (void)unused;
    host_gpu_load(&gpu, kernel_source_text(&source));
    for (int k = 0; k < nsubjects; k++) run_subject(&subjects[k]);
}

static void test_maps_compile_for_a_gpu(void **unused)
{
    (void)unused;
    host_gpu_compile_for_real(&gpu, kernel_source_text(&source));
    host_gpu_compile_for_real(&gpu, kernel_source_text(&grouped));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_maps_give_what_the_cpu_gives),
        cmocka_unit_test(test_maps_compile_for_a_gpu),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
