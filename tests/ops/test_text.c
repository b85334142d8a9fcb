/* Tests the text language: round trips, error sentences, hostile texts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Before cmocka, whose macro fail() hides the function. */
#include "graph/node.h"
#include "graph/spell.h"

#include "ground.h"

/* ---- help ------------------------------------------------------------------------------- */

/* Counts what is alive, and fails every allocation from number `fail_at` on. */
typedef struct counter {
    int made, alive, fail_at;
} counter;

static void *counted_alloc(void *context, size_t bytes)
{
    counter *c = context;
    if (++c->made >= c->fail_at && c->fail_at) return NULL;
    void *p = malloc(bytes);
    if (p) c->alive++;
    return p;
}

static void counted_release(void *context, void *memory)
{
    counter *c = context;
    if (memory) c->alive--;
    free(memory);
}

static mtf_session *open_with_counter(counter *c)
{
    return mtf_open_with(&(mtf_session_opts){.allocator = {counted_alloc, counted_release, c}});
}

/* Same nodes, same attributes, same wiring, by position. */
static void assert_same_block(const block *a, const block *b)
{
    assert_int_equal(a->nnodes, b->nnodes);
    assert_int_equal(a->nparams, b->nparams);
    assert_int_equal(a->nresults, b->nresults);
    for (int i = 0; i < a->nnodes; i++) {
        const node *m = a->nodes[i], *n = b->nodes[i];
        assert_ptr_equal(m->op, n->op);
        assert_int_equal(m->nin, n->nin);
        assert_int_equal(m->nout, n->nout);
        for (int j = 0; j < m->nin; j++) assert_int_equal(m->in[j]->id, n->in[j]->id);
        for (int j = 0; j < m->nout; j++) {
            assert_int_equal(m->out[j]->type, n->out[j]->type);
            assert_true(mtf_shape_equal(m->out[j]->shape, n->out[j]->shape));
        }
        for (int j = 0; j < op_attr_count(m->op); j++)
            if (m->op->attrs[j].kind != ATTR_SHAPE)
                assert_true(attr_equal(m->op->attrs[j].kind, &m->attrs[j], &n->attrs[j]));
        for (int j = 0; m->op->blocks && m->op->blocks[j]; j++)
            assert_same_block(m->blocks[j], n->blocks[j]);
    }
    for (int i = 0; i < a->nresults; i++) assert_int_equal(a->results[i]->id, b->results[i]->id);
}

/* Reads, prints, reads and prints again; the printed text goes to the caller, to be freed. */
static char *round_trip(const char *text)
{
    counter      c = {0};
    mtf_session *s = open_with_counter(&c);
    mtf_graph   *g = mtf_parse(s, text, "first");
    if (!g) fail_msg("%s", mtf_error(s));
    char      *once = mtf_print(g);
    mtf_graph *h = mtf_parse(s, once, "second");
    if (!h) fail_msg("%s\n%s", mtf_error(s), once);
    assert_string_equal(once, mtf_print(h));
    mtf_graph *third = mtf_parse(s, once, "third"); /* two graphs from one text are the same */
    assert_same_block(&h->root, &third->root);
    char *copy = strdup(once);
    assert_int_equal(mtf_close(s), 0);
    assert_int_equal(c.alive, 0);
    return copy;
}

static void assert_prints(const char *text, const char *expected)
{
    char *got = round_trip(text);
    assert_string_equal(got, expected);
    free(got);
}

static void assert_fails(const char *text, const char *sentence)
{
    counter      c = {0};
    mtf_session *s = open_with_counter(&c);
    assert_null(mtf_parse(s, text, "t"));
    assert_string_equal(mtf_error(s), sentence);
    mtf_close(s);
    assert_int_equal(c.alive, 0);
}

/* ---- round trips ------------------------------------------------------------------------ */

static const char network[] =
    "# The two-layer network for handwritten digits.\n"
    "dim batch = 100\n"
    "dim classes = 10\n"
    "images: f32[batch, rows=28, cols=28]     = input\n"
    "labels: i32[batch]                       = input\n"
    "w1:     f32[rows=28, cols=28, hidden=64] = variable(init=\"normal(0, 0.05)\")\n"
    "w2:     f32[hidden=64, classes]          = variable(init=\"zeros\")\n"
    "h:      [batch, hidden]                  = einsum(images, w1)\n"
    "logits: [batch, classes]                 = einsum(relu(h), w2)\n"
    "loss = reduce_mean(0 - reduce_sum(log_softmax(logits, dim=classes) *\n"
    "                                  one_hot(labels, dim=[classes=10]), over=(classes)))\n"
    "dw1, dw2 = gradients(loss; w1, w2)\n"
    "new_w1 = assign(w1, w1 - 0.5 * dw1)\n"
    "new_w2 = assign(w2, w2 - 0.5 * dw2)\n";

static void test_network(void **state)
{
    (void)state;
    free(round_trip(network));
}

static const char blocks[] = "x0: f32[a=3] = input\n"
                             "n0: i32[] = input\n"
                             "s0: f32[a=3] = input\n"
                             "w: f32[a=3, b=2] = variable\n"
                             "x1, n1 = while(x0, n0) {\n"
                             "    cond(x, n) { yield less(n, 10) }\n"
                             "    body(x, n) {\n"
                             "        yield x * 2.0, n + 1\n"
                             "    }\n"
                             "}\n"
                             "s, total = loop(s0, trips=5) {\n"
                             "    body(s; i) {\n"
                             "        t = tanh(s) + cast(i, type=f32)\n"
                             "        yield t; t * t\n"
                             "    }\n"
                             "}\n"
                             "h = history(s)\n"
                             "y = recompute(x0) {\n"
                             "    body(p) {\n"
                             "        yield relu(einsum(p, w))\n"
                             "    }\n"
                             "}\n"
                             "z = custom_gradient(x0) {\n"
                             "    forward(p) { yield sign(p) }\n"
                             "    backward(p, q, dq) { yield dq }\n"
                             "}\n";

static void test_blocks(void **state)
{
    (void)state;
    char *text = round_trip(blocks);
    assert_non_null(strstr(text, "x1: f32[a=3], n1: i32[] = while(x0, n0) {\n    cond(x, n) {\n"));
    assert_non_null(strstr(text, "    body(x_1, n_1) {\n"));  /* unique in the graph */
    assert_non_null(strstr(text, "= loop(s0, trips=5) {\n")); /* sums are not written */
    assert_non_null(strstr(text, "; i) {\n"));                /* somebody uses the iteration */
    assert_non_null(strstr(text, "}\nh: f32[_iterations=5, a=3] = history(s)\n"));
    assert_non_null(strstr(text, "        yield dq\n"));
    free(text);
}

static void test_blocks_inside_blocks(void **state)
{
    (void)state;
    char *text = round_trip("x: f32[a=3] = input\n"
                            "y, sum = loop(x, trips=2) {\n"
                            "    body(p) {\n"
                            "        q = loop(p, trips=3) { body(r; i) { yield r + x } }\n"
                            "        old = history(q)\n"
                            "        yield q; reduce_sum(old)\n"
                            "    }\n"
                            "}\n"
                            "p: f32[] = input\n");
    assert_null(strstr(text, "; i)"));                     /* nobody uses this iteration */
    assert_non_null(strstr(text, "\np: f32[] = input\n")); /* outermost names stay */
    assert_non_null(strstr(text, "        old: f32[_iterations=3, a=3] = history(q)\n"));
    free(text);
}

/* Dimensions of the library's own, in gradients too, beside sixteen others. */
static void test_internal_names(void **state)
{
    (void)state;
    char *text = round_trip(
        "x: f32[a=1, b=1, c=1, d=1, e=1, f=1, g=1, h=1, i=1, j=1, k=1, l=1, m=1, u=4, v=4, w=2] = "
        "input\n"
        "y = max_pool(x, window=(2, 2))\n"
        "z = reduce_prod(y, over=(w))\n"
        "s = nth_largest_element(x, n=1, dim=u)\n"
        "t = loop(x, trips=3) { body(p) { yield p * p } }\n"
        "dx = gradients(z, s, t; x)\n"
        "ddx = gradients(dx; x)\n");
    static const char *const names[] = {"\".tap\"=2", "\".factors\"=2", "\".rank\"=2",
                                        "\".iterations\"=3"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_non_null(strstr(text, names[i]));
    free(text);
}

static void test_attributes(void **state)
{
    (void)state;
    assert_prints("x: f32[a=3, b=2] = input\n"
                  "y: f32[] = constant(value=-1e-7)\n"
                  "z = slice(x, step=2, size=2, begin=0, dim=a)\n"
                  "p = print(x, message=\"x is\\n\")\n"
                  "s, _ = sort(x, dim=a, descending=true)\n"
                  "r, _ = sort(x, dim=a, descending=false)\n"
                  "v, _ = top_k(x, dim=a, k=[k=2])\n"
                  "i, j: i32 = top_k(x, dim=b, k=[\"odd-name\"=1])\n"
                  "w: bf16 = cast(x)\n",
                  "x: f32[a=3, b=2] = input\n"
                  "y: f32[] = constant(value=-1e-07)\n"
                  "z: f32[a=2, b=2] = slice(x, dim=a, begin=0, size=2, step=2)\n"
                  "p: f32[a=3, b=2] = print(x, message=\"x is\\n\")\n"
                  "s: f32[a=3, b=2], sort_out1: i32[a=3, b=2] = sort(x, dim=a, descending=true)\n"
                  "r: f32[a=3, b=2], sort_out1_1: i32[a=3, b=2] = sort(x, dim=a)\n"
                  "v: f32[b=2, k=2], top_k_out1: i32[b=2, k=2] = top_k(x, dim=a, k=[k=2])\n"
                  "i: f32[a=3, \"odd-name\"=1], j: i32[a=3, \"odd-name\"=1] = "
                  "top_k(x, dim=b, k=[\"odd-name\"=1])\n"
                  "w: bf16[a=3, b=2] = cast(x)\n");
}

static void assert_writes(attr_kind kind, attr a, const char *expected)
{
    mtf_session *s = mtf_open_with(NULL);
    textbuf      t = {.arena = &s->arena};
    attr_write(kind, &a, &t);
    assert_string_equal(text_done(&t), expected);
    attr kept = a;
    assert_true(attr_keep(kind, &kept, &s->arena));
    assert_true(attr_equal(kind, &a, &kept));
    assert_int_equal(attr_hash(kind, &a, 7), attr_hash(kind, &kept, 7));
    attr other = {.ints = {0}};
    assert_false(attr_equal(kind, &a, &other));
    assert_int_not_equal(attr_hash(kind, &a, 7), attr_hash(kind, &other, 7));
    mtf_close(s);
}

static void test_attribute_values(void **state)
{
    (void)state;
    assert_writes(ATTR_INT, (attr){.i = INT64_MIN}, "-9223372036854775808");
    assert_writes(ATTR_REAL, (attr){.r = 0.1}, "0.1");
    assert_writes(ATTR_REAL, (attr){.r = 1.0 / 3}, "0.3333333333333333");
    assert_writes(ATTR_REAL, (attr){.r = -0.0}, "-0");
    assert_writes(ATTR_REAL, (attr){.r = 5e-324}, "5e-324");
    assert_writes(ATTR_REAL, (attr){.r = 1e300}, "1e+300");
    assert_writes(ATTR_NUMBER, (attr){.number = {.r = 0.1}}, "0.1");
    assert_writes(ATTR_NUMBER, (attr){.number = number_of_whole(3)}, "3");
    assert_writes(ATTR_NUMBER, (attr){.number = number_of_whole(INT64_MAX)}, "9223372036854775807");
    assert_writes(ATTR_BOOL, (attr){.b = true}, "true");
    assert_writes(ATTR_WORD, (attr){.text = "rows"}, "rows");
    assert_writes(ATTR_WORD, (attr){.text = "row-major"}, "\"row-major\"");
    assert_writes(ATTR_TEXT, (attr){.text = "a\"b\\c\n"}, "\"a\\\"b\\\\c\\n\"");
    assert_writes(ATTR_INTS, (attr){.ints = {2, (int64_t[]){1, -2}}}, "(1, -2)");
    assert_writes(ATTR_INTS, (attr){.ints = {1, (int64_t[]){1}}}, "(1)");
    assert_writes(ATTR_NAMES, (attr){.names = {2, (const char *[]){"rows", "c d"}}},
                  "(rows, \"c d\")");
    assert_writes(ATTR_DIM, (attr){.dim = {"classes", 10}}, "[classes=10]");
    assert_writes(ATTR_TYPE, (attr){.type = MTF_BF16}, "bf16");
    assert_writes(ATTR_SHAPE, (attr){.shape = &(mtf_shape){1, {{"a", 2}}}}, "");
    assert_writes(ATTR_DATA, (attr){.data = {3, "abc"}}, "");
}

static void test_elements(void **state)
{
    (void)state;
    assert_prints("a: f32[n=4] = constant(data={0.1, 1e-45, -inf, 16777217})\n"
                  "b: f64[n=3] = constant(data={0.1, 0.30000000000000004, nan})\n"
                  "c: i64[n=2] = constant(data={9223372036854775807, # the largest, the smallest\n"
                  "                             -9223372036854775808})\n"
                  "d: bool[n=3] = constant(data={1, false, true})\n"
                  "e: bf16[n=2] = constant(data={0.1, 3.14159})\n"
                  "f: f16[n=2] = constant(data={0.1, 65504})\n"
                  "g: i32[] = constant(value=-3)\n"
                  "h: f32[n=2] = constant(value=0)\n",
                  "a: f32[n=4] = constant(data={0.1, 1e-45, -inf, 16777216})\n"
                  "b: f64[n=3] = constant(data={0.1, 0.30000000000000004, nan})\n"
                  "c: i64[n=2] = constant(data={9223372036854775807, -9223372036854775808})\n"
                  "d: bool[n=3] = constant(data={1, 0, 1})\n"
                  "e: bf16[n=2] = constant(data={0.1, 3.14})\n"
                  "f: f16[n=2] = constant(data={0.1, 65504})\n"
                  "g: i32[] = constant(value=-3)\n"
                  "h: f32[n=2] = constant\n");
}

static void test_operators(void **state)
{
    (void)state;
    assert_prints("x: f32[a=2] = input\n"
                  "y = -x * 2 - 6 / 4 + (x - -1) / x # left to right\n"
                  "n: i32[] = input\n"
                  "m = 2 * 3 + n\n"
                  "c = where(less(x, 0), x, 0)\n",
                  "x: f32[a=2] = input\n"
                  "negative: f32[a=2] = negative(x)\n"
                  "constant: f32[] = constant(value=2)\n"
                  "multiply: f32[a=2] = multiply(negative, constant)\n"
                  "constant_1: f32[] = constant(value=1.5)\n"
                  "sub: f32[a=2] = sub(multiply, constant_1)\n"
                  "constant_2: f32[] = constant(value=-1)\n"
                  "sub_1: f32[a=2] = sub(x, constant_2)\n"
                  "divide: f32[a=2] = divide(sub_1, x)\n"
                  "y: f32[a=2] = add(sub, divide)\n"
                  "n: i32[] = input\n"
                  "constant_3: i32[] = constant(value=6)\n"
                  "m: i32[] = add(constant_3, n)\n"
                  "constant_4: f32[] = constant\n"
                  "less: bool[a=2] = less(x, constant_4)\n"
                  "constant_5: f32[] = constant\n"
                  "c: f32[a=2] = where(less, x, constant_5)\n");
}

/* What a line gives is read, written, read again and computed. */
static void assert_gives(const char *line, int64_t want)
{
    char        *text = NULL;
    mtf_session *s = mtf_open_with(NULL);
    for (int twice = 0; twice < 2; twice++) {
        mtf_graph *g = mtf_parse(s, text ? text : line, "test");
        int64_t    got = 0;
        assert_string_equal(mtf_error(s), "");
        evaluate(g, mtf_find(g, "y"), &got);
        if (got != want) fail_msg("%s: %lld", text ? text : line, (long long)got);
        text = mtf_print(g);
    }
    close_well(s);
}

/* A double would round these. */
static void test_large_numbers(void **state)
{
    (void)state;
    assert_gives("y: i64[] = constant(value=9007199254740993)", 9007199254740993);
    assert_gives("y: i64[] = constant(value=-9007199254740993)", -9007199254740993);
    assert_gives("y: i64[] = constant(value=9223372036854775807)", INT64_MAX);
    assert_gives("y: i64[] = constant(value=-9223372036854775808)", INT64_MIN);
    assert_gives("y: i64[] = constant(data={9007199254740993})", 9007199254740993);
    assert_gives("x: i64[] = constant(value=2)\ny = x + 9007199254740993", 9007199254740995);
    assert_gives("x: i64[] = constant(value=2)\ny = x * -9007199254740993", -18014398509481986);
    assert_gives("x: i64[] = constant(value=0)\ny = x + (9007199254740992 + 1)", 9007199254740993);
    assert_gives("x: i64[] = constant(value=0)\ny = x - (94906267 * 94906267)", -9007199515875289);
    assert_gives("x: i64[] = constant(value=0)\ny = maximum(x, 4611686018427387905)",
                 4611686018427387905);
    assert_gives("x: i64[] = constant(value=7)\ny = clip(x, low=9007199254740993, high=1e18)",
                 9007199254740993);
    assert_gives("x: i64[a=1] = constant(value=7)\n"
                 "z = pad(x, dim=a, before=1, value=9007199254740993)\n"
                 "y = reduce_first(z, dim=a)",
                 9007199254740993);
    assert_gives("x: i64[] = constant(value=0)\n"
                 "y: i64[a=1] = one_hot(x, dim=[a=1], on=9007199254740993)",
                 9007199254740993);
}

/* Where a constant of 64 bits becomes a float, it is rounded once. */
static void test_large_numbers_as_floats(void **state)
{
    (void)state;
    float        got = 0;
    mtf_session *s = mtf_open_with(NULL);
    mtf_graph   *g = mtf_parse(s, "y: f32[] = constant(value=9007199791611905)", "test");
    evaluate(g, mtf_find(g, "y"), &got);
    assert_true(got == 0x1.000002p53f); /* in double it would be a tie, and go to even */
    close_well(s);
}

static void test_names(void **state)
{
    (void)state;
    assert_prints("\"my x\": f32[\"a-b\"=2] = input\r\n"
                  "scope/x = relu(\"my x\")\n"
                  "\"yield\" = scope/x / scope/x\n"
                  "\"_\" = exp(\"yield\")\n"
                  "\"q\\\"\\\\\\n\" = exp(\"_\")\n"
                  "\"\\x1B[1m\\x7f\x01\" = exp(\"_\")\n"
                  "input: f32[] = input\n"
                  "other: f32[] = input\n"
                  "same = identity(input)\n"
                  "twice = same + input\n"
                  "Twice = exp(twice)\n",
                  "\"my x\": f32[\"a-b\"=2] = input\n"
                  "scope/x: f32[\"a-b\"=2] = relu(\"my x\")\n"
                  "\"yield\": f32[\"a-b\"=2] = divide(scope/x, scope/x)\n"
                  "\"_\": f32[\"a-b\"=2] = exp(\"yield\")\n"
                  "\"q\\\"\\\\\\n\": f32[\"a-b\"=2] = exp(\"_\")\n"
                  "\"\\x1b[1m\\x7f\\x01\": f32[\"a-b\"=2] = exp(\"_\")\n"
                  "input: f32[] = input\n"
                  "same: f32[] = identity(input)\n"
                  "other: f32[] = input\n"
                  "twice: f32[] = add(input, input)\n"
                  "Twice: f32[] = exp(twice)\n");
    assert_prints("", "");
    assert_prints("\n  # nothing\n\n", "");
}

/* An outermost name is found by programs, even where a block used it before; so is an alias. */
static void test_finding(void **state)
{
    (void)state;
    mtf_session *s = mtf_open_with(NULL);
    mtf_graph   *g = mtf_parse(s,
                               "x0: f32[] = input\n"
                                 "y = recompute(x0) { body(x) { yield exp(x) } }\n"
                                 "x = relu(y)\n"
                                 "z = identity(x)\n",
                               "t");
    assert_non_null(g);
    mtf_tensor *x = mtf_find(g, "x");
    assert_non_null(x);
    assert_string_equal(x->node->op->name, "relu");
    assert_ptr_equal(mtf_find(g, "z"), x);
    assert_string_equal(mtf_name_of_tensor(x), "x");
    assert_int_equal(mtf_close(s), 0);
}

/* Graphs made by calls print and read back, too. */
static void test_built_by_calls(void **state)
{
    (void)state;
    mtf_session *s = mtf_open_with(NULL);
    mtf_graph   *g = mtf_graph_new(s);
    mtf_dim      batch = {"batch", 5}, odd = {"it's", 3};
    mtf_tensor  *x = mtf_input(g, "an input", MTF_F32, mtf_shape(batch, odd));
    float        data[] = {1, 2, 3};
    mtf_tensor  *c = mtf_constant_data(g, data, MTF_F32, mtf_shape(odd));
    mtf_scope_push(g, "layer");
    mtf_tensor *y = mtf_reduce_mean(mtf_relu(mtf_multiply(x, c)), MTF_ALL);
    mtf_scope_pop(g);
    assert_non_null(y);
    char *once = mtf_print(g);
    assert_non_null(once);
    assert_non_null(strstr(once, "\"an input\": f32[batch=5, \"it's\"=3] = input\n"));
    assert_non_null(strstr(once, "layer/relu: "));
    mtf_graph *h = mtf_parse(s, once, "again");
    if (!h) fail_msg("%s\n%s", mtf_error(s), once);
    assert_string_equal(mtf_print(h), once);
    assert_int_equal(mtf_close(s), 0);
}

/* ---- errors ----------------------------------------------------------------------------- */

static void test_sentences(void **state)
{
    (void)state;
    static const struct {
        const char *line, *sentence;
    } cases[] = {
        {"y = rleu(x)", "1:5: no operation is called \"rleu\"; did you mean \"relu\"?"},
        {"y = relu(weigth)",
         "1:10: no line above gives the name \"weigth\"; did you mean \"weight\"?"},
        {"y = relu(relu)",
         "1:10: \"relu\" is an operation; its inputs stand in parentheses after it"},
        {"y = relu(x, x)", "1:5: relu takes 1 input, not 2"},
        {"y = relu", "1:5: relu takes 1 input, not 0"},
        {"y = clip(x, 0, 1)", "1:5: clip takes 1 input, not 3; attributes are written name=value"},
        {"y = clip(x, low=0)", "1:5: clip needs the attribute \"high\": high=..."},
        {"y = clip(x, low=0, low=1)", "1:20: the attribute \"low\" is given twice"},
        {"y = clip(x, low=0, hihg=1)",
         "1:20: clip has no attribute \"hihg\"; did you mean \"high\"?"},
        {"y = clip(x, low=0, x)", "1:20: inputs stand before the attributes"},
        {"y = clip(x, low=true)", "1:17: expected a number, found \"true\""},
        {"y = reduce_mean(x, dim=a)",
         "1:20: reduce_mean has no attribute \"dim\"; did you mean \"over\"?"},
        {"y = softmax(x, axis=a)",
         "1:16: softmax has no attribute \"axis\"; did you mean \"dim\"?"},
        {"y = relu(x, foo=1)", "1:13: relu has no attributes"},
        {"x = relu(x)", "1:1: the name \"x\" is given twice"},
        {"y, z = relu(x)", "1:8: relu gives 1 result but the line names 2"},
        {"y, z = x + x", "1:8: the right side gives 1 result but the line names 2"},
        {"y = top_k(x, dim=a, k=[k=2])", "1:5: top_k gives 2 results but the line names 1"},
        {"y = relu(top_k(x, dim=a, k=[k=2]))",
         "1:10: top_k gives 2 results; it must stand alone on a line that names them"},
        {"y = relu(x", "1:11: the text ends before the \"(\" of line 5, column 9 is closed"},
        {"y = \"abc", "1:5: this quoted string does not end on its line"},
        {"y = \"a\\q\"", "1:5: a backslash must be followed by \", another backslash, n, or x and "
                         "two hexadecimal digits"},
        {"y = \"a\\x1\"",
         "1:5: a backslash must be followed by \", another backslash, n, or x and two "
         "hexadecimal digits"},
        {"y = \"a\\x00\"",
         "1:5: a backslash must be followed by \", another backslash, n, or x and two "
         "hexadecimal digits"},
        {"y = relu(x) relu", "1:13: expected the end of the line, found \"relu\""},
        {"y = relu(x))", "1:12: expected the end of the line, found \")\""},
        {"y = x +", "1:8: expected a name, a number or a call, found the end of the text"},
        {"y = x @ x", "1:7: \"@\" does not belong here"},
        {"y = \xc3\xa9", "1:5: the byte 0xc3 does not belong here"},
        {"y = 1.2.3", "1:5: this is not a number, and a name does not begin with a digit"},
        {"y = 1e999", "1:5: the number 1e999 is out of range; write inf for infinity"},
        {"y = n / 2", "1:7: \"/\" divides floating numbers; floordiv(x, y) divides integers"},
        {"y = n + 0.5", "1:9: i32 takes whole numbers in its range, not 0.5"},
        {"y = n + 99999999999", "1:9: i32 takes whole numbers in its range, not 99999999999"},
        {"nan = relu(x)", "1:1: \"nan\" is a number; to use it as a name, quote it"},
        {"3 = relu(x)", "1:1: expected the name of a result, found the number 3"},
        {"y", "1:2: expected \"=\", found the end of the text"},
        {"y: float32[a=2] = input",
         "1:4: no element type is called \"float32\"; did you mean \"f32\"?"},
        {"y: double[a=2] = input",
         "1:4: no element type is called \"double\"; did you mean \"f64\"?"},
        {"y: f23[a=2] = input", "1:4: no element type is called \"f23\"; did you mean \"f32\"?"},
        {"y: f32[dept] = input",
         "1:8: dimension \"dept\" has no size: no input of the line has it, and no line says "
         "dim dept = SIZE; did you mean \"depth\"?"},
        {"y: f32[a=0] = input", "1:10: the size of dimension \"a\" is 0; it must be 1 or more"},
        {"y: f32[a=99999999999999999999] = input",
         "1:10: the number 99999999999999999999 is out of range: whole numbers have 64 bits"},
        {"y: f32[a=2, a=3] = input",
         "1:13: dimension \"a\" occurs twice in one shape; name one of them a_out, and "
         "rename(y, from=a_out, to=a) what is made with it"},
        {"dim depth = 4", "1:5: the size of dimension \"depth\" is given twice"},
        {"y = input", "1:5: input needs an element type: name: f32 = input(...)"},
        {"y: i32 = relu(x)", "1:1: \"y\" is declared as i32 but is f32"},
        {"y: [b=2, a=3] = relu(x)", "1:1: \"y\" is declared as [b=2, a=3] but is [a=3, b=2]"},
        {"y: f32[a=2] = constant(data={1, 2, 3})", "1:29: \"y\" has 2 elements but 3 are given"},
        {"y: i32[a=2] = constant(data={1, 2.5})",
         "1:33: i32 takes whole numbers in its range, not 2.5"},
        {"y: bool[a=1] = constant(data={2})", "1:31: a bool is 0 or 1, not 2"},
        {"y: f32[a=2] = constant(data={1 2})", "1:32: expected \",\" or \"}\", found the number 2"},
        {"y = constant(shape=3)",
         "1:14: the shape stands in front, as in name: [dim=size] = constant(...)"},
        {"y = gradients(x)",
         "1:16: expected \";\" and the tensors to differentiate by, found \")\""},
        {"y, z = gradients(x; x)", "1:8: gradients gives 1 result but the line names 2"},
        {"y = gradients(weight; x)", "1:23: no gradient reaches \"x\"; drop its result with \"_\""},
        {"y = history(x)", "1:13: history takes a value that a loop carries"},
        {"}", "1:1: this \"}\" closes no block"},
        {"y = recompute(x)", "1:17: recompute needs its block in { } after the parentheses"},
        {"y = recompute(x) { body(p) { } }",
         "1:30: the block body has no line yield, which says what it gives"},
        {"y = recompute(x) { body(p, q) { yield p } }",
         "1:24: the block body of recompute takes 1 parameter"},
        {"y = recompute(x) { body(p; i) { yield p } }",
         "1:26: only the blocks of a loop have an iteration number"},
        {"y = recompute(x) { bdy(p) { yield p } }",
         "1:20: expected the block body(...) { } of recompute, found \"bdy\""},
        {"y = recompute(x) { body(p) { q = relu(p)",
         "1:41: the text ends before the \"{\" of line 5, column 28 is closed"},
        {"y = relu(recompute(x) { body(p) { yield p } })",
         "1:10: recompute has blocks and must stand alone on its line"},
        {"y = recompute(x) { body(p) { yield p } } z",
         "1:42: expected the end of the line, found \"z\""},
    };
    static const char before[] = "dim depth = 3; x: f32[a=3, b=2] = input; n: i32[] = input; "
                                 "weight: f32[] = input;";
    char              first[sizeof before];
    strcpy(first, before);
    for (char *c = first; *c; c++)
        if (*c == ';') *c = '\n';
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[400], sentence[400];
        snprintf(text, sizeof text, "%s%s", first, cases[i].line);
        int line, used;
        assert_int_equal(sscanf(cases[i].sentence, "%d%n", &line, &used), 1);
        snprintf(sentence, sizeof sentence, "syntax: t:%d%s", line + 4, cases[i].sentence + used);
        assert_fails(text, sentence);
    }
}

/* What an operation finds wrong keeps its kind and gets its place. */
static void test_errors_from_below(void **state)
{
    (void)state;
    mtf_session *s = mtf_open_with(NULL);
    assert_null(mtf_parse(s, "x: f32[a=3] = input\n\ny = relu(x) +\\", "a.mtf"));
    assert_string_equal(mtf_error(s), "syntax: a.mtf:3:14: \"\\\" does not belong here");
    mtf_close(s);
    s = mtf_open_with(NULL);
    assert_null(mtf_parse(s, "x: f32[a=3] = input\nn: i32[a=3] = input\ny = exp(add(x, n))", NULL));
    assert_int_equal(strncmp(mtf_error(s), "type: text:3:9: ", 16), 0);
    mtf_close(s);
    s = mtf_open_with(NULL);
    assert_null(mtf_parse(s, "x: f32[\".tap\"=3] = input", NULL));
    assert_string_equal(mtf_error(s), "name: text:1:20: input: \".tap\" begins with a dot, as only "
                                      "dimensions of the library's own do; choose another name");
    mtf_close(s);
}

static char *repeated(const char *head, const char *middle, int times, const char *tail)
{
    size_t n = strlen(head) + strlen(middle) * (size_t)times + strlen(tail) + 1;
    char  *text = malloc(n), *at = text;
    at = stpcpy(at, head);
    for (int i = 0; i < times; i++) at = stpcpy(at, middle);
    strcpy(at, tail);
    return text;
}

static void test_rename(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"rename(x, from=a, to=b)", "shape: t:2:5: rename: \"x\" [a=3, b=2] has a dimension \"b\" "
                                    "already; give \"a\" another name"},
        {"rename(x, from=(a, b), to=(c, c))", "shape: t:2:5: rename: \"x\" [a=3, b=2] would have "
                                              "two dimensions \"c\"; give \"a\" another name"},
        {"rename(x, from=(a, a), to=(c, d))", "shape: t:2:5: rename: \"a\" gets two new names"},
        {"rename(x, from=(a, b), to=c)", "usage: t:2:5: rename: from has 2 names and to has 1"},
        {"rename(x, from=a, to=())", "usage: t:2:5: rename: from has 1 name and to has 0"},
        {"rename(x, from=c, to=d)",
         "shape: t:2:5: rename: \"x\" [a=3, b=2] has no dimension \"c\""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[200];
        snprintf(text, sizeof text, "x: f32[a=3, b=2] = input\ny = %s", rows[i][0]);
        assert_fails(text, rows[i][1]);
    }
}

static void test_depth(void **state)
{
    (void)state;
    static const char input[] = "x: f32[] = input\ny = ";
    char             *parentheses = repeated(input, "(", 100000, "x");
    assert_fails(parentheses, "syntax: t:2:205: this is nested deeper than 200 levels");
    char *calls = repeated(input, "exp(", 100000, "x");
    assert_fails(calls, "syntax: t:2:805: this is nested deeper than 200 levels");
    char        *loops = repeated(input, "recompute(x) { body(_) { z = ", 100000, "x");
    mtf_session *s = mtf_open_with(NULL);
    assert_null(mtf_parse(s, loops, "t"));
    assert_non_null(strstr(mtf_error(s), "this is nested deeper than 200 levels"));
    mtf_close(s);
    char *signs = repeated(input, "- ", 100000, "x\n"); /* an even number: x itself */
    assert_prints(signs, "x: f32[] = input\ny: f32[] = identity(x)\n");
    free(parentheses);
    free(calls);
    free(loops);
    free(signs);
}

/* A failing allocation is an error like any other, wherever it happens. */
static void test_no_memory(void **state)
{
    (void)state;
    static const char *const texts[] = {network, blocks};
    for (int t = 0; t < 2; t++)
        for (int n = 1;; n++) {
            counter      c = {.fail_at = n};
            mtf_session *s = open_with_counter(&c);
            mtf_graph   *g = mtf_parse(s, texts[t], "t");
            char        *text = mtf_print(g);
            bool         ok = mtf_ok(s);
            if (ok)
                assert_true(g && text);
            else
                assert_int_equal(strncmp(mtf_error(s), "memory: ", 8), 0);
            if (s) mtf_close(s);
            assert_int_equal(c.alive, 0);
            if (ok) break;
            assert_true(n < 10000);
        }
}

static void test_plain_names(void **state)
{
    (void)state;
    static const char *const plain[] = {"a", "_a", "a/b_1", "Z9/", "true"};
    static const char *const quoted[] = {"",    "_",   "9a",  "/a",    "a b",
                                         "a.b", "nan", "inf", "yield", "dim"};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) assert_true(name_is_plain(plain[i]));
    for (size_t i = 0; i < sizeof quoted / sizeof *quoted; i++)
        assert_false(name_is_plain(quoted[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_network),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_blocks_inside_blocks),
        cmocka_unit_test(test_internal_names),
        cmocka_unit_test(test_attributes),
        cmocka_unit_test(test_attribute_values),
        cmocka_unit_test(test_elements),
        cmocka_unit_test(test_operators),
        cmocka_unit_test(test_large_numbers),
        cmocka_unit_test(test_large_numbers_as_floats),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_finding),
        cmocka_unit_test(test_built_by_calls),
        cmocka_unit_test(test_sentences),
        cmocka_unit_test(test_errors_from_below),
        cmocka_unit_test(test_rename),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_plain_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
