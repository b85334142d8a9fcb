/* Tests counters: by hand, against Mesh TensorFlow, on few and on many processors. */
#include "price/counters.h"
#include "price/estimate.h"

#include "ground.h"

enum { SIZE_F32 = 4 };

/* What a counter must say; those of work have no bytes. */
typedef struct expected {
    const char *name;
    int64_t     elements, bytes;
} expected;

static const mtf_counter *find(int n, const mtf_counter *list, const char *name)
{
    for (int i = 0; i < n; i++)
        if (strcmp(list[i].name, name) == 0) return &list[i];
    return NULL;
}

static void assert_sorted(int n, const mtf_counter *list)
{
    for (int i = 1; i < n; i++) assert_true(strcmp(list[i - 1].name, list[i].name) < 0);
}

/* Where these are fetched (each name ends in a zero, the list in one more), the counters are exactly
 * these, from the programs of all processors and from an estimate. */
static void check(const char *text, const char *names, const char *mesh_text,
                  const char *layout_text, const expected *want)
{
    mtf_session *s =
        mtf_open_with(&(mtf_session_opts){.threads = 1, .mesh = mesh_text, .layout = layout_text});
    mtf_graph  *g = mtf_parse(s, text, "test");
    mtf_tensor *fetches[4];
    int         nfetches = 0;
    for (const char *name = names; *name; name += strlen(name) + 1)
        fetches[nfetches++] = mtf_find(g, name);
    assert_string_equal(mtf_error(s), "");
    mtf_program       *p = mtf_compile_n(g, nfetches, fetches);
    const mtf_counter *list;
    int                n = mtf_program_counters(p, &list), wanted = 0;
    assert_string_equal(mtf_error(s), "");
    assert_sorted(n, list);
    for (; want[wanted].name; wanted++) {
        const mtf_counter *c = find(n, list, want[wanted].name);
        if (!c) fail_msg("no counter %s", want[wanted].name);
        if (c->elements != want[wanted].elements || c->bytes != want[wanted].bytes)
            fail_msg("%s: %lld elements, %lld bytes", c->name, (long long)c->elements,
                     (long long)c->bytes);
    }
    for (int i = 0; i < n; i++) {
        bool known = false;
        for (int k = 0; k < wanted; k++) known = known || !strcmp(want[k].name, list[i].name);
        if (!known) fail_msg("%s: %lld, unexpected", list[i].name, (long long)list[i].elements);
    }
    mesh   m;
    layout l;
    assert_true(mesh_parse(s, mesh_text, &m) && layout_parse(s, layout_text, &m, &l));
    estimate_opts o = {
        .mesh = &m, .layout = &l, .processor = -1, .rates = PRICE_RATES, .count = true};
    estimate *e = estimate_graph(g, nfetches, fetches, &o);
    assert_non_null(e);
    assert_int_equal(e->program->ncounters, n);
    for (int i = 0; i < n; i++) {
        assert_string_equal(e->program->counters[i].name, list[i].name);
        assert_int_equal(e->program->counters[i].elements, list[i].elements);
        assert_int_equal(e->program->counters[i].bytes, list[i].bytes);
    }
    estimate_free(e);
    close_well(s);
}

#define F32(name, elements)                                                                        \
    {                                                                                              \
        name, elements, SIZE_F32 *(elements)                                                       \
    }
#define WORK(name, elements)                                                                       \
    {                                                                                              \
        name, elements, 0                                                                          \
    }

/* ---- the same numbers as Mesh TensorFlow 0.1.21 ---- */

/* einsum([x, w]), einsum([relu(h), v]), reduce_sum(relu(z)) under PlacementMeshImpl("x:2;y:2",
 * "batch:x;hidden:y"), the sum exported; import_tf_tensor for the input.  Its names are
 * EinsumOperation, ImportOperation, ReduceOperation, SlicewiseOperation, Variable and [0] for [x]. */
static void test_network_as_original(void **state)
{
    (void)state;
    check("x: f32[batch=12, d=20] = input\n"
          "w: f32[d=20, hidden=30] = variable\n"
          "vs: f32[hidden=30, out=4] = variable\n"
          "h: [batch, hidden] = einsum(x, w)\n"
          "z1: [batch, out] = einsum(relu(h), vs)\n"
          "y = reduce_sum(relu(z1))\n",
          "y\0", "x:2,y:2", "batch:x,hidden:y",
          (expected[]){F32("allreduce/[x]/reduce_sum", 4),
                       F32("allreduce/[y]/einsum", 96),
                       WORK("einsum", 8640),
                       WORK("einsum_unique", 8640),
                       F32("output/einsum", 456),
                       F32("output/input", 480),
                       F32("output/reduce_sum", 4),
                       F32("output/relu", 456),
                       F32("output/variable", 1440),
                       F32("output_unique/einsum", 408),
                       F32("output_unique/input", 240),
                       F32("output_unique/reduce_sum", 1),
                       F32("output_unique/relu", 408),
                       F32("output_unique/variable", 720),
                       F32("variables/trainable", 720),
                       {0}});
}

/* Conv2dOperation(x, f, [1, 2, 2, 1], "SAME"), reduce_sum and gradients of both inputs, all three
 * exported, under "x:2;y:2", "batch:x;o:y". */
static void test_convolution_as_original(void **state)
{
    (void)state;
    check("x: f32[batch=4, h=8, w=6, i=2] = input\n"
          "f: f32[fh=3, fw=3, i=2, o=6] = variable\n"
          "c = conv2d(x, f, stride=(2, 2))\n"
          "y = reduce_sum(c)\n"
          "z, u = gradients(y; x, f)\n",
          "y\0z\0u\0", "x:2,y:2", "batch:x,o:y",
          (expected[]){F32("allreduce/[x+y]/reduce_sum", 4),
                       F32("allreduce/[x]/conv_filter", 216),
                       F32("allreduce/[y]/conv_input", 768),
                       WORK("conv2d/backprop_filter", 5184),
                       WORK("conv2d/backprop_input", 5184),
                       WORK("conv2d/forward", 5184),
                       WORK("conv2d_unique/backprop_filter", 5184),
                       WORK("conv2d_unique/backprop_input", 5184),
                       WORK("conv2d_unique/forward", 5184),
                       F32("output/broadcast", 288),
                       F32("output/constant", 4),
                       F32("output/conv", 288),
                       F32("output/conv_filter", 216),
                       F32("output/conv_input", 768),
                       F32("output/input", 768),
                       F32("output/reduce_sum", 4),
                       F32("output/variable", 216),
                       F32("output_unique/broadcast", 288),
                       F32("output_unique/constant", 1),
                       F32("output_unique/conv", 288),
                       F32("output_unique/conv_filter", 108),
                       F32("output_unique/conv_input", 384),
                       F32("output_unique/input", 384),
                       F32("output_unique/reduce_sum", 1),
                       F32("output_unique/variable", 108),
                       F32("variables/trainable", 108),
                       {0}});
}

/* reshape(x, [a2, b]) and reshape(x, [a2, c]), the sums of both exported, under "x:2", "a:x;c:x";
 * it says allconcat for allgather. */
static void test_reshapes_as_original(void **state)
{
    (void)state;
    check("x: f32[a=8, b=6] = input\n"
          "r: [a2=8, b=6] = reshape(x)\n"
          "s: [a2=8, c=6] = reshape(x)\n"
          "y = reduce_sum(r)\n"
          "z = reduce_sum(s)\n",
          "y\0z\0", "x:2", "a:x,c:x",
          (expected[]){F32("allgather/[x]/reshape", 96),
                       F32("allreduce/[x]/reduce_sum", 2),
                       F32("alltoall/[x]/reshape", 48),
                       F32("output/input", 48),
                       F32("output/reduce_sum", 4),
                       F32("output/reshape", 144),
                       F32("output_unique/input", 48),
                       F32("output_unique/reduce_sum", 2),
                       F32("output_unique/reshape", 96),
                       {0}});
}

/* ---- by hand ---- */

/* 3 executions, in each of which an inner loop has 5; sums of 6 elements in two parts. */
static void test_loops(void **state)
{
    (void)state;
    check("x: f32[a=6] = random_normal\n"
          "y = loop(x, trips=3) {\n body(v1) {\n"
          "  t = loop(v1, trips=5) {\n body(v2) {\n yield v2 * reduce_sum(v2)\n }\n }\n"
          "  yield exp(t)\n }\n}\n",
          "y\0", "x:2", "a:x",
          (expected[]){F32("allreduce/[x]/reduce_sum", 15 * 2),
                       F32("output/exp", 3 * 6),
                       F32("output/loop", 6 + 3 * 6),
                       F32("output/multiply", 15 * 6),
                       F32("output/random_normal", 6),
                       F32("output/reduce_sum", 15 * 2),
                       F32("output_unique/exp", 3 * 6),
                       F32("output_unique/loop", 6 + 3 * 6),
                       F32("output_unique/multiply", 15 * 6),
                       F32("output_unique/random_normal", 6),
                       F32("output_unique/reduce_sum", 15),
                       {0}});
}

/* A test ends it, so one execution counts; the flag is one byte on each of two processors. */
static void test_open_loop(void **state)
{
    (void)state;
    check("x: f32[a=6] = input\n"
          "y = while(x) {\n cond(v1) {\n yield less(reduce_sum(v1), 100.0)\n }\n"
          " body(v2) {\n yield exp(v2)\n }\n}\n",
          "y\0", "x:2", "a:x",
          (expected[]){F32("allreduce/[x]/reduce_sum", 2),
                       F32("output/constant", 2),
                       F32("output/exp", 6),
                       F32("output/input", 6),
                       {"output/less", 2, 2},
                       F32("output/reduce_sum", 2),
                       F32("output/while", 6),
                       F32("output_unique/constant", 1),
                       F32("output_unique/exp", 6),
                       F32("output_unique/input", 6),
                       {"output_unique/less", 1, 1},
                       F32("output_unique/reduce_sum", 1),
                       F32("output_unique/while", 6),
                       {0}});
}

/* 7 rows on 3 processors are 2, 2, 3; the second axis cuts b into 2 and 3, the third nothing. */
static void test_uneven_parts(void **state)
{
    (void)state;
    check("x: f32[a=7, b=5] = input\n"
          "w: bf16[b=5, c=3] = variable(trainable=false)\n"
          "h: [a, c] = einsum(cast(x, type=bf16), w)\n"
          "y = relu(h)\n",
          "y\0", "x:3,y:2,z:4", "a:x,b:y",
          (expected[]){F32("allreduce/[y]/einsum", 7 * 3 * 8), /* rounded when it is paid */
                       WORK("einsum", 7 * 5 * 3 * 4),
                       WORK("einsum_unique", 7 * 5 * 3),
                       {"output/cast", 35 * 4, 2 * 35 * 4},
                       {"output/einsum", 21 * 8, 2 * 21 * 8},
                       F32("output/input", 35 * 4),
                       {"output/relu", 21 * 8, 2 * 21 * 8},
                       {"output/variable", 15 * 12, 2 * 15 * 12},
                       {"output_unique/cast", 35, 2 * 35},
                       {"output_unique/einsum", 21, 2 * 21},
                       F32("output_unique/input", 35),
                       {"output_unique/relu", 21, 2 * 21},
                       {"output_unique/variable", 15, 2 * 15},
                       {"variables/untrainable", 15, 2 * 15},
                       {0}});
}

/* Parts of 2, 2 and 3 rows give their best 2 each: every processor gathers 6 values and 6 indices
 * for its half of 6 columns. */
static void test_top_k(void **state)
{
    (void)state;
    check("x: f32[a=7, b=6] = random_normal\n"
          "y, z = top_k(x, dim=a, k=[k=2])\n",
          "y\0z\0", "x:3,y:2", "a:x,b:y",
          (expected[]){F32("allgather/[x]/top_k", 2 * 6 * 3 * 6),
                       F32("output/random_normal", 42),
                       F32("output/top_k", 2 * 2 * 6 * 3),
                       F32("output_unique/random_normal", 42),
                       F32("output_unique/top_k", 2 * 2 * 6),
                       {0}});
}

/* 5 of 8 rows move on, each to another processor, in 3 copies; a whole column is 2. */
static void test_margins(void **state)
{
    (void)state;
    check("x: f32[a=8, b=2] = input\n"
          "y = shift(x, dim=a, offset=3)\n",
          "y\0", "x:4,y:3", "a:x",
          (expected[]){F32("exchange/[x]/shift", 5 * 2 * 3),
                       F32("output/input", 16 * 3),
                       F32("output/shift", 16 * 3),
                       F32("output_unique/input", 16),
                       F32("output_unique/shift", 16),
                       {0}});
}

/* Equal nodes are computed once; what nobody needs is not.  Products of bool sum nothing by parts:
 * k is made whole, and all do the same. */
static void test_what_is_lowered(void **state)
{
    (void)state;
    check("x: f32[a=4] = input\n"
          "e1 = exp(x)\n"
          "e2 = exp(x)\n"
          "e3 = sin(x)\n"
          "y = e1 + e2\n",
          "y\0", "", "",
          (expected[]){F32("output/add", 4),
                       F32("output/exp", 4),
                       F32("output/input", 4),
                       F32("output_unique/add", 4),
                       F32("output_unique/exp", 4),
                       F32("output_unique/input", 4),
                       {0}});
    check("p: bool[i=4, k=6] = input\n"
          "q: bool[k=6] = input\n"
          "y: [i] = einsum(p, q)\n",
          "y\0", "x:2", "k:x",
          (expected[]){{"allgather/[x]/einsum", 24 * 2 + 6 * 2, 60},
                       WORK("einsum", 48),
                       WORK("einsum_unique", 24),
                       {"output/einsum", 8, 8},
                       {"output/input", 30, 30},
                       {"output_unique/einsum", 4, 4},
                       {"output_unique/input", 30, 30},
                       {0}});
}

/* ---- many processors ---- */

static void test_many_processors(void **state)
{
    (void)state;
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.threads = 1});
    mtf_graph   *g = mtf_parse(s,
                               "x: f32[batch=1000, d=77] = input\n"
                                 "w: f32[d=77, hidden=303] = variable\n"
                                 "v: f32[hidden=303, out=5] = variable\n"
                                 "h: [batch, hidden] = einsum(x, w)\n"
                                 "z: [batch, out] = einsum(relu(h), v)\n"
                                 "y = gradients(reduce_sum(z * z); w)\n",
                               "test");
    mtf_tensor  *y = mtf_find(g, "y");
    mesh         m;
    layout       l;
    assert_true(mesh_parse(s, "p:200,q:100", &m) && layout_parse(s, "batch:p,hidden:q", &m, &l));
    estimate_opts o = {
        .mesh = &m, .layout = &l, .processor = -1, .rates = PRICE_RATES, .count = true};
    estimate *e = estimate_graph(g, 1, &y, &o);
    assert_non_null(e);
    assert_false(e->approximate);
    int                n = e->program->ncounters;
    const mtf_counter *list = e->program->counters;
    assert_int_equal(find(n, list, "allreduce/[q]/einsum")->elements, 1000 * 5 * 100);
    assert_int_equal(find(n, list, "allreduce/[p]/einsum")->elements, 77 * 303 * 200);
    assert_int_equal(find(n, list, "output/variable")->elements, (77 + 5) * 303 * 200);
    assert_int_equal(find(n, list, "output/input")->bytes, 4 * 1000 * 77 * 100);
    /* h, z, its gradient, w's gradient: batch and hidden are in each of them */
    assert_int_equal(find(n, list, "einsum")->elements, 2 * 1000 * 303 * (77 + 5));
    estimate_free(e);
    close_well(s);
}

/* ---- trees ---- */

static void test_tree(void **state)
{
    (void)state;
    mtf_session      *s = open_two_threads();
    const mtf_counter list[] = {{"a/b/c", 1, 10}, {"a/b/d", 2, 20}, {"a/e", 4, 40}, {"f", 8, 80}};
    const mtf_counter want[] = {{"a", 7, 70},     {"a/b", 3, 30}, {"a/b/c", 1, 10},
                                {"a/b/d", 2, 20}, {"a/e", 4, 40}, {"f", 8, 80}};
    mtf_counter      *tree;
    assert_int_equal(counters_tree(&s->arena, 4, list, &tree), 6);
    for (int i = 0; i < 6; i++) {
        assert_string_equal(tree[i].name, want[i].name);
        assert_int_equal(tree[i].elements, want[i].elements);
        assert_int_equal(tree[i].bytes, want[i].bytes);
    }
    counters most = {.arena = &s->arena};
    assert_true(counters_add(&most, "n", INT64_MAX, 1) && counters_add(&most, "n", 1, 1));
    assert_true(most.list[0].elements == INT64_MAX && most.list[0].bytes == 2);
    const mtf_counter *none = list;
    assert_int_equal(mtf_program_counters(NULL, &none), 0);
    assert_null(none);
    close_well(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_network_as_original),
        cmocka_unit_test(test_convolution_as_original),
        cmocka_unit_test(test_reshapes_as_original),
        cmocka_unit_test(test_loops),
        cmocka_unit_test(test_open_loop),
        cmocka_unit_test(test_uneven_parts),
        cmocka_unit_test(test_top_k),
        cmocka_unit_test(test_margins),
        cmocka_unit_test(test_what_is_lowered),
        cmocka_unit_test(test_many_processors),
        cmocka_unit_test(test_tree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
