/* Attention against the same written in products and a softmax, in f64.
 *
 * Sizes lie around the edges of panels and blocks; whatever the number of threads, the bits are the
 * same.  Dropout draws the same numbers both ways.
 */
#include "ground.h"

typedef struct trial {
    int       batch, groups, queries, memory, key, value;
    int       min, max; /* of write - read */
    bool      self, bias, relative, segments, places;
    double    dropout;
    mtf_dtype type;
} trial;

enum { NONE = 1 << 30, RESULTS = 5 };

/* y, dq, dk, dv, dbias, in double. */
typedef struct results {
    int     n[RESULTS];
    double *at[RESULTS];
} results;

static mtf_tensor *made(mtf_graph *g, const char *name, mtf_dtype type, mtf_shape shape)
{
    return mtf_input(g, name, type, shape);
}

static mtf_tensor *hidden(const trial *t, mtf_graph *g, mtf_dim query, mtf_dim memory,
                          mtf_tensor *read, mtf_tensor *query_segment, mtf_tensor *memory_segment)
{
    mtf_tensor *from = read ? read : mtf_range(g, query, MTF_I32);
    mtf_tensor *ahead = mtf_sub(mtf_range(g, memory, MTF_I32), from);
    mtf_tensor *low = mtf_constant(g, t->min, MTF_I32, mtf_shape()),
               *high = mtf_constant(g, t->max, MTF_I32, mtf_shape());
    mtf_tensor *late = mtf_logical_or(mtf_greater(ahead, high), mtf_less(ahead, low));
    if (query_segment) late = mtf_logical_or(late, mtf_not_equal(query_segment, memory_segment));
    return late;
}

static mtf_tensor *composed(const trial *t, mtf_graph *g, mtf_tensor *q, mtf_tensor *k,
                            mtf_tensor *v, mtf_tensor *bias, mtf_tensor *late, mtf_dim memory,
                            mtf_shape rows, mtf_dim value, mtf_dim query, mtf_dim distance)
{
    mtf_tensor *s = mtf_scale(mtf_einsum(mtf_shape_plus(rows, mtf_shape(memory)),
                                         mtf_cast(q, MTF_F64), mtf_cast(k, MTF_F64)),
                              0.25);
    if (bias && t->relative) {
        mtf_tensor *at = mtf_sub(mtf_range(g, memory, MTF_I32), mtf_range(g, query, MTF_I32));
        bias = mtf_gather(bias, mtf_add_scalar(at, (double)query.size - 1), distance);
    }
    if (bias) s = mtf_add(s, mtf_cast(bias, MTF_F64));
    s = mtf_where(late, mtf_constant(g, -1e9, MTF_F64, mtf_shape()), s);
    mtf_tensor *w = mtf_softmax(s, memory, NULL);
    w = mtf_where(late, mtf_constant(g, 0, MTF_F64, mtf_shape()), w); /* rows that see nothing */
    if (t->dropout > 0) w = mtf_dropout(w, t->dropout, mtf_shape());
    return mtf_einsum(mtf_shape_plus(rows, mtf_shape(value)), w, mtf_cast(v, MTF_F64));
}

static void feed(mtf_program *p, mtf_tensor *x, unsigned seed)
{
    size_t    n = (size_t)mtf_shape_size(mtf_shape_of_tensor(x));
    mtf_dtype type = mtf_dtype_of_tensor(x);
    double   *d = calloc(n, sizeof *d);
    for (size_t k = 0; k < n; k++) {
        seed = seed * 1664525u + 1013904223u;
        double   value = (double)(seed >> 16 & 255) / 128 - 1; /* exact in every type */
        float    single = (float)value;
        uint32_t bits;
        memcpy(&bits, &single, sizeof bits);
        if (type == MTF_F64) d[k] = value;
        if (type == MTF_F32) ((float *)(void *)d)[k] = single;
        if (type == MTF_BF16) ((uint16_t *)(void *)d)[k] = (uint16_t)(bits >> 16);
        if (type == MTF_I32) ((int32_t *)(void *)d)[k] = (int32_t)(k * 5 / n);
    }
    assert_true(mtf_feed(p, x, d));
    free(d);
}

static results run(const trial *t, bool whole, int threads)
{
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.threads = threads, .seed = 3});
    mtf_graph   *g = mtf_graph_new(s);
    mtf_dim      batch = {"batch", t->batch}, groups = {"groups", t->groups},
            query = {"query", t->queries};
    mtf_dim     memory = {t->self && whole ? "query" : "memory", t->memory}, key = {"key", t->key};
    mtf_dim     value = {"value", t->value}, distance = {"distance", t->queries + t->memory - 1};
    mtf_dim     beside = {t->self && whole ? "beside" : "memory", t->memory};
    mtf_shape   rows = mtf_shape(batch, groups, query);
    mtf_tensor *q = made(g, "q", t->type, mtf_shape_plus(rows, mtf_shape(key)));
    mtf_tensor *k = made(g, "k", t->type, mtf_shape(batch, memory, key));
    mtf_tensor *v = made(g, "v", t->type, mtf_shape(batch, memory, value));
    mtf_tensor *bias = NULL, *read = NULL, *segment = NULL, *of_memory = NULL, *y;
    mtf_dtype   wide = t->type == MTF_F64 ? MTF_F64 : MTF_F32;
    if (t->bias) bias = made(g, "bias", wide, mtf_shape(groups, query, beside));
    if (t->relative) bias = made(g, "bias", wide, mtf_shape(groups, distance));
    if (t->places) read = made(g, "read", MTF_I32, mtf_shape(batch));
    if (t->segments) segment = made(g, "segment", MTF_I32, mtf_shape(batch, query));
    if (t->segments) of_memory = made(g, "of_memory", MTF_I32, mtf_shape(batch, memory));
    if (whole) {
        const int64_t min = t->min, max = t->max;
        y = mtf_attention(q, k, v,
                          &(mtf_attention_op_opts){.query = "query",
                                                   .memory = memory.name,
                                                   .key = "key",
                                                   .value = "value",
                                                   .scale = 0.25,
                                                   .min_relative = &min,
                                                   .max_relative = &max,
                                                   .bias = bias,
                                                   .bias_memory = t->bias ? beside.name : NULL,
                                                   .bias_relative = t->relative ? "distance" : NULL,
                                                   .read = read,
                                                   .query_segment = segment,
                                                   .memory_segment = of_memory,
                                                   .dropout = t->dropout},
                          NULL);
    } else {
        mtf_tensor *late = hidden(t, g, query, memory, read, segment, of_memory);
        y = composed(t, g, q, k, v, bias, late, memory, rows, value, query, distance);
    }
    mtf_tensor *xs[4] = {q, k, v, bias}, *fetched[RESULTS] = {mtf_cast(y, MTF_F64)}, *dxs[4];
    mtf_tensor *loss = mtf_reduce_sum(mtf_square(mtf_cast(y, MTF_F64)), MTF_ALL);
    int         nx = bias ? 4 : 3;
    mtf_gradients(1, &loss, nx, xs, NULL, dxs);
    for (int i = 0; i < nx; i++) fetched[i + 1] = mtf_cast(dxs[i], MTF_F64);
    assert_string_equal(mtf_error(s), "");
    mtf_program *p = mtf_compile_n(g, nx + 1, fetched);
    for (int i = 0; i < nx; i++) feed(p, xs[i], (unsigned)i + 1);
    if (read) feed(p, read, 9);
    if (segment) feed(p, segment, 10), feed(p, of_memory, 11);
    assert_true(mtf_step(p));
    results r;
    memset(&r, 0, sizeof r);
    for (int i = 0; i <= nx; i++) {
        r.n[i] = (int)mtf_shape_size(mtf_shape_of_tensor(fetched[i]));
        r.at[i] = calloc((size_t)r.n[i], sizeof(double));
        assert_true(mtf_fetch(p, fetched[i], r.at[i]));
    }
    close_well(s);
    return r;
}

static void compare(const char *what, const trial *t, const results *a, const results *b,
                    double least)
{
    for (int i = 0; i < RESULTS; i++) {
        double most = 0;
        for (int k = 0; k < b->n[i]; k++) most = fmax(most, fabs(b->at[i][k]));
        for (int k = 0; k < a->n[i]; k++)
            if (!(fabs(a->at[i][k] - b->at[i][k]) <= least * (most + 1e-3)))
                fail_msg("%s, [%d %d %d] to %d of %d, %d: result %d, element %d: %.9g, not %.9g",
                         what, t->batch, t->groups, t->queries, t->memory, t->key, t->value, i, k,
                         a->at[i][k], b->at[i][k]);
    }
}

static void release(results *r)
{
    for (int i = 0; i < RESULTS; i++) free(r->at[i]);
}

/* Bits are those of one thread, but where BLAS has the products. */
static void check(const trial *t)
{
    double  least = t->type == MTF_F64 ? 1e-12 : t->type == MTF_F32 ? 1e-5 : 2e-2;
    results right = run(t, false, 2), one = run(t, true, 1);
    compare("one thread", t, &one, &right, least);
    for (int threads = 2; threads <= 3; threads++) {
        results more = run(t, true, threads);
        compare("threads", t, &more, &one, 0);
        release(&more);
    }
    release(&right);
    release(&one);
}

static void test_edges(void **state)
{
    static const int sizes[][2] = {{1, 1},    {7, 8},     {8, 12},   {9, 13},   {63, 65},
                                   {64, 239}, {65, 240},  {97, 241}, {96, 480}, {1, 500},
                                   {3, 493},  {130, 253}, {193, 192}};
    (void)state;
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (int limit = 0; limit < 3; limit++) {
            trial t = {.batch = 2,
                       .groups = 1 + (int)k % 2,
                       .queries = sizes[k][0],
                       .memory = sizes[k][1],
                       .key = 4 + (int)k,
                       .value = 13 - (int)k % 5,
                       .min = limit == 2 ? -20 : -NONE,
                       .max = limit ? limit - 1 : NONE,
                       .type = MTF_F32};
            check(&t);
        }
}

static void test_types(void **state)
{
    (void)state;
    for (int k = 0; k < 3; k++) {
        static const mtf_dtype types[] = {MTF_F64, MTF_BF16, MTF_F32};
        trial                  t = {.batch = 3,
                                    .groups = 2,
                                    .queries = 70,
                                    .memory = 250,
                                    .key = 16,
                                    .value = 24,
                                    .min = -NONE,
                                    .max = 0,
                                    .type = types[k]};
        check(&t);
    }
}

static void test_forms(void **state)
{
    (void)state;
    for (int form = 0; form < 6; form++)
        for (int type = 0; type < 2; type++) {
            trial t = {.batch = 2,
                       .groups = 2,
                       .queries = 259,
                       .memory = 259,
                       .key = 8,
                       .value = 12,
                       .min = -100,
                       .max = 0,
                       .type = type ? MTF_F64 : MTF_F32};
            t.self = form < 3;
            t.bias = form == 0 || form == 3;
            t.relative = form == 1 || form == 4;
            t.segments = form == 2 || form == 5;
            t.places = form == 5;
            t.dropout = form == 3 || form == 2 ? 0.25 : 0;
            if (form == 5) t.min = -NONE, t.max = 40;
            check(&t);
        }
}

/* A single key for many groups, in fewer batches than threads: memory and rows are gone through apart. */
static void test_few_batches(void **state)
{
    (void)state;
    trial t = {.batch = 1,
               .groups = 3,
               .queries = 150,
               .memory = 500,
               .key = 8,
               .value = 8,
               .min = -NONE,
               .max = 300,
               .type = MTF_F32};
    check(&t);
    t.type = MTF_F64;
    check(&t);
}

/* A row of decoding: positions after the last one that is seen are not read, whatever they hold. */
static void test_unseen_ends(void **state)
{
    (void)state;
    enum { MEMORY = 300, SIZE = 32, AT = 6 };
    static float  rows[MEMORY * SIZE], q_of[SIZE], y_of[SIZE];
    const int32_t here[1] = {AT};
    const int64_t min = -NONE, max = 0;
    mtf_session  *s = mtf_open_with(&(mtf_session_opts){.threads = 1});
    mtf_graph    *g = mtf_graph_new(s);
    mtf_dim       batch = {"batch", 1}, memory = {"memory", MEMORY};
    mtf_dim       key = {"key", SIZE}, value = {"value", SIZE}, query = {"query", 1};
    mtf_tensor   *q = made(g, "q", MTF_F32, mtf_shape(batch, query, key));
    mtf_tensor   *k = made(g, "k", MTF_F32, mtf_shape(batch, memory, key));
    mtf_tensor   *v = made(g, "v", MTF_F32, mtf_shape(batch, memory, value));
    mtf_tensor   *read = made(g, "read", MTF_I32, mtf_shape(batch));
    mtf_tensor   *y = mtf_attention(q, k, v,
                                    &(mtf_attention_op_opts){.query = "query",
                                                             .memory = "memory",
                                                             .key = "key",
                                                             .value = "value",
                                                             .min_relative = &min,
                                                             .max_relative = &max,
                                                             .read = read},
                                    NULL);
    mtf_program  *p = mtf_compile(g, y);
    for (int i = 0; i < MEMORY * SIZE; i++) rows[i] = i / SIZE <= AT ? 1 : NAN;
    assert_true(mtf_feed(p, q, q_of) && mtf_feed(p, k, rows) && mtf_feed(p, v, rows));
    assert_true(mtf_feed(p, read, here) && mtf_step(p) && mtf_fetch(p, y, y_of));
    for (int i = 0; i < SIZE; i++) assert_true(fabsf(y_of[i] - 1) < 1e-6f);
    close_well(s);
}

/* Rows of another segment than all of the memory have no gradient, whatever rows before and beside them had. */
static void segments_of(const char *seen)
{
    enum { BATCH = 2, LENGTH = 96, SIZE = 8, HIDDEN = 53, ALL = BATCH * LENGTH * SIZE };
    static const char form[] =
        "q: f32[b=2, i=96, d=8] = input\nk: f32[b=2, m=96, d=8] = input\n"
        "v: f32[b=2, m=96, d=8] = input\nr: i32[b=2, i=96] = input\ns: i32[b=2, m=96] = input\n"
        "y, l = attention(q, k, v, r, s, query=i, memory=m, key=d, value=d, %s"
        "with=(query_segment, memory_segment))\n"
        "dq = gradients(reduce_sum(y * y); q)\n";
    static const char *const names[] = {"q", "k", "v"};
    int32_t                  segment[2][BATCH * LENGTH] = {{0}};
    float                    dq[ALL];
    char                     text[sizeof form + 20];
    snprintf(text, sizeof text, form, seen);
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.threads = 1});
    mtf_graph   *g = mtf_parse(s, text, "segments");
    assert_string_equal(mtf_error(s), "");
    mtf_program *p = mtf_compile(g, mtf_find(g, "dq"));
    for (int i = LENGTH + HIDDEN; i < BATCH * LENGTH; i++) segment[0][i] = 1; /* of the second */
    for (unsigned k = 0; k < 3; k++) feed(p, mtf_find(g, names[k]), k + 1);
    assert_true(mtf_feed(p, mtf_find(g, "r"), segment[0]) &&
                mtf_feed(p, mtf_find(g, "s"), segment[1]));
    assert_true(mtf_step(p) && mtf_fetch(p, mtf_find(g, "dq"), dq));
    for (int i = 0; i < BATCH * LENGTH; i++) {
        float most = 0;
        for (int d = 0; d < SIZE; d++) most = fmaxf(most, fabsf(dq[i * SIZE + d]));
        if (i % LENGTH > 0) assert_true((most == 0) == (segment[0][i] == 1));
    }
    close_well(s);
}

static void test_other_segments(void **state)
{
    (void)state;
    segments_of("max_relative=0, ");
    segments_of("");
}

/* A scale that is a power of two has the results of scaled queries, to the last bit. */
static void test_scale(void **state)
{
    enum { MOST = 2 * 70 * 16 * 4 };
    static const char *const types[] = {"bf16", "f32"}, *const names[] = {"q", "k", "v"};
    static const char *const what[] = {"y", "dq", "dk", "dv"};
    (void)state;
    for (int t = 0; t < 2; t++) {
        char text[1000];
        snprintf(text, sizeof text,
                 "q: %s[b=2, i=70, d=16] = input\nk: %s[b=2, m=70, d=16] = input\n"
                 "v: %s[b=2, m=70, d=16] = input\n"
                 "y1, l1 = attention(q * 0.25, k, v, query=i, memory=m, key=d, value=d)\n"
                 "y2, l2 = attention(q, k, v, query=i, memory=m, key=d, value=d, scale=0.25)\n"
                 "dq1, dk1, dv1 = gradients(y1 * y1; q, k, v)\n"
                 "dq2, dk2, dv2 = gradients(y2 * y2; q, k, v)\n",
                 types[t], types[t], types[t]);
        mtf_session *s = mtf_open_with(&(mtf_session_opts){.threads = 2});
        mtf_graph   *g = mtf_parse(s, text, "scale");
        mtf_tensor  *all[8];
        for (int k = 0; k < 8; k++) {
            char name[4];
            snprintf(name, sizeof name, "%s%d", what[k / 2], k % 2 + 1);
            all[k] = mtf_find(g, name);
        }
        assert_string_equal(mtf_error(s), "");
        mtf_program *p = mtf_compile_n(g, 8, all);
        for (unsigned k = 0; k < 3; k++) feed(p, mtf_find(g, names[k]), k + 1);
        assert_true(mtf_step(p));
        for (int k = 0; k < 8; k += 2) {
            static char a[MOST], b[MOST];
            memset(a, 0, sizeof a), memset(b, 0, sizeof b);
            assert_true(mtf_fetch(p, all[k], a) && mtf_fetch(p, all[k + 1], b));
            if (memcmp(a, b, sizeof a) != 0) fail_msg("%s in %s differs", what[k / 2], types[t]);
        }
        close_well(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_edges),          cmocka_unit_test(test_types),
        cmocka_unit_test(test_forms),          cmocka_unit_test(test_few_batches),
        cmocka_unit_test(test_unseen_ends),    cmocka_unit_test(test_scale),
        cmocka_unit_test(test_other_segments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
