/* Tests that constants fold to what running gives, bit for bit.
 *
 * Every op of the catalogue computes the same twice in one program: some of its
 * inputs are constants, which the planner may fold, or inputs that are fed the same
 * numbers.  Types, values, which inputs are constants, and layouts with uneven parts
 * are gone through one by one.  An op without a row here fails.
 */
#include "base/dtype.h"
#include "graph/op.h"
#include "ops/catalogue.h"

#include "asked.h"
#include "ground.h"

enum {
    MOST_INPUTS = 4,
    MOST_VALUES = 10,
    FEW_VALUES = 5, /* under layouts */
    MOST_FETCHES = 4 * MOST_VALUES,
    MOST_BYTES = 32768,
    NAME = 32
};

/* ---- what is tried ---- */

/* An input is `x[a=5]`, of the type under test, or `x:i32[a=5]`.  In the call, @ stands for what tells
 * copies apart and $ for the type.  `types`: r floating, i integers, b bool. */
typedef struct row {
    const char *op, *types, *in[MOST_INPUTS], *left, *call, *before;
} row;

#define ALL "rib"
#define UNARY(name, types) {#name, types, {"x[a=5, b=3]"}, "r@", #name "(x@)", NULL},
#define BINARY(name, types) {#name, types, {"x[a=5, b=3]", "y[b=3]"}, "r@", #name "(x@, y@)", NULL},
#define SAME(name, types, args) {#name, types, {"x[a=5, b=3]"}, "r@", #name "(x@" args ")", NULL},
#define GIVES(name, types, left, args)                                                             \
    {#name, types, {"x[a=5, b=3]"}, left, #name "(x@" args ")", NULL},

/* clang-format off */
static const row rows[] = {
#define REAL1(name, ...) UNARY(name, "r")
#define ANY1(name, ...) UNARY(name, "ri")
#define TEST1(name, ...) UNARY(name, "r")
#define LOGIC1(name, ...) UNARY(name, "b")
#define REAL2(name, ...) BINARY(name, "r")
#define ANY2(name, ...) BINARY(name, "ri")
#define BITS2(name, ...) BINARY(name, "i")
#define COMPARE(name, ...) BINARY(name, ALL)
#define LOGIC2(name, ...) BINARY(name, "b")
#include "program/scalars.h"
    UNARY(swish, "r")
    UNARY(identity, ALL)
    UNARY(stop_gradient, ALL)
    SAME(leaky_relu, "r", "")
    SAME(clip, "ri", ", low=-3, high=5")
    GIVES(cast, ALL, "r@: f32", "")
    GIVES(cast, ALL, "r@: bf16", "")
    GIVES(cast, ALL, "r@: f16", "")
    GIVES(cast, ALL, "r@: f64", "")
    GIVES(cast, ALL, "r@: i32", "")
    GIVES(cast, ALL, "r@: i64", "")
    GIVES(cast, ALL, "r@: bool", "")
    {"where", ALL, {"c:bool[b=3]", "x[a=5, b=3]", "y[a=5]"}, "r@", "where(c@, x@, y@)", NULL},
    {"einsum", ALL, {"x[a=5, b=3]", "y[b=3, c=4]", "z[c=4, d=2]"}, "r@: [a=5, d=2]", "einsum(x@, y@, z@)", NULL},
    {"einsum", ALL, {"x[a=5, b=3]"}, "r@: [b=3, e=2]", "einsum(x@)", NULL},
    {"einsum", ALL, {"x[a=5, b=3]", "y[b=3]"}, "r@: [a=5, b=3]", "einsum(x@, y@)", NULL},
    {"einsum", ALL, {"x[a=5, b=3]", "y[]"}, "r@: [a=5]", "einsum(x@, y@)", NULL},
    {"matmul", ALL, {"x[a=5, b=3]", "y[b=3, c=4]"}, "r@", "matmul(x@, y@)", NULL},
    {"einsum_f8", "r", {"x[a=5, b=3]", "y[b=3, c=4]"}, "r@", "einsum_f8(x@, y@)", NULL},
    {"grouped_einsum", "r", {"x[a=5, b=3]", "y[g=2, b=3, c=4]", "e:i32[g=2]"}, "r@: [a=5, c=4]", "grouped_einsum(x@, y@, e@, rows=a)", NULL},
    {"grouped_einsum", "r", {"x[a=5, b=3]", "y[a=5, c=4]", "e:i32[g=2]"}, "r@: [g=2, b=3, c=4]", "grouped_einsum(x@, y@, e@, rows=a)", NULL},
    SAME(reduce_sum, "ri", ", over=(a)")
    SAME(reduce_sum, "ri", ", over=(b)")
    SAME(reduce_sum, "ri", "")
    SAME(reduce_mean, "r", ", over=(a)")
    SAME(reduce_max, "ri", ", over=(a)")
    SAME(reduce_min, "ri", ", over=(b)")
    SAME(reduce_prod, "ri", ", over=(a)")
    SAME(reduce_prod, "ri", "")
    SAME(reduce_all, "b", ", over=(a)")
    SAME(reduce_any, "b", ", over=(a)")
    SAME(reduce_first, ALL, ", dim=a")
    SAME(argmax, "ri", ", dim=a")
    SAME(argmin, "ri", ", dim=b")
    SAME(argmax_over, "ri", ", over=(a, b)")
    SAME(argmin_over, "ri", ", over=(a)")
    SAME(reduce_logsumexp, "r", ", dim=a")
    {"reduce_logsumexp", "r", {"x[a=5, b=3]", "y[b=3]"}, "r@", "reduce_logsumexp(x@, y@, dim=a)", NULL},
    SAME(log_softmax, "r", ", dim=a")
    SAME(softmax, "r", ", dim=a")
    {"softmax", "r", {"x[a=5, b=3]", "y[a=5]"}, "r@", "softmax(x@, y@, dim=b)", NULL},
    {"softmax_cross_entropy", "r", {"x[a=5, b=3]", "y[a=5, b=3]"}, "r@", "softmax_cross_entropy(x@, y@, dim=b)", NULL},
    {"attention", "r", {"x[a=5, b=3]", "y[c=4, b=3]", "z[c=4, b=3]"}, "r@, s@", "attention(x@, y@, z@, query=a, memory=c, key=b, value=b, max_relative=0)", NULL},
    {"attention_grad", "r", {"x[a=5, b=3]", "y[c=4, b=3]", "z[c=4, b=3]"}, "r@, s@, t@", "attention_grad(x@, y@, z@, l@, x@, l@, query=a, memory=c, key=b, value=b)", "u@, l@ = attention(x@, y@, z@, query=a, memory=c, key=b, value=b)"},
    SAME(cumsum, "ri", ", dim=a")
    SAME(cumsum, "ri", ", dim=a, exclusive=true, reverse=true")
    GIVES(broadcast, ALL, "r@: [a=5, b=3, c=2]", "")
    GIVES(transpose, ALL, "r@: [b=3, a=5]", "")
    GIVES(reshape, ALL, "r@: [c=15]", "")
    SAME(rename_dimension, ALL, ", from=a, to=c")
    SAME(rename, ALL, ", from=(a, b), to=(b, a)")
    {"concat", ALL, {"x[a=5, b=3]", "y[a=2, b=3]"}, "r@", "concat(x@, y@, dim=a)", NULL},
    GIVES(split, ALL, "r@, s@", ", dim=a, sizes=(2, 3)")
    {"stack", ALL, {"x[a=5, b=3]", "y[a=5, b=3]"}, "r@", "stack(x@, y@, dim=c)", NULL},
    GIVES(unstack, ALL, "r@, s@, t@", ", dim=b")
    SAME(slice, ALL, ", dim=a, begin=1, size=2, step=2")
    SAME(pad, ALL, ", dim=a, before=1, after=2, value=1")
    SAME(pad, ALL, ", dim=a, between=1")
    SAME(pad_reflect, ALL, ", dim=a, before=1, after=2")
    SAME(pad_edge, ALL, ", dim=a, before=1, after=2")
    SAME(reverse, ALL, ", dim=a")
    SAME(shift, ALL, ", dim=a, offset=2")
    SAME(shift, ALL, ", dim=a, offset=-1, wrap=true")
    {"dynamic_shift", ALL, {"x[a=5, b=3]", "i:i32[b=3]"}, "r@", "dynamic_shift(x@, i@, dim=a)", NULL},
    SAME(halo_exchange, ALL, ", blocks=a, size=b, halo=1")
    SAME(left_halo_exchange, ALL, ", blocks=a, size=b, halo=2")
    {"pool_tensor_1d", "r", {"x[a=6, b=3]"}, "r@", "pool_tensor_1d(x@, dim=a)", NULL},
    {"stride_tensor_1d", ALL, {"x[a=6, b=3]"}, "r@", "stride_tensor_1d(x@, dim=a)", NULL},
    {"one_hot", "i", {"i[a=5]"}, "r@: f32", "one_hot(i@, dim=[c=4], on=0.1)", NULL},
    {"gather", ALL, {"x[a=5, b=3]", "i:i32[c=4]"}, "r@", "gather(x@, i@, dim=a)", NULL},
    {"gather", ALL, {"x[a=5, b=3]", "i:i64[b=3]"}, "r@", "gather(x@, i@, dim=a)", NULL},
    {"scatter_add", ALL, {"x[a=5, b=3]", "i:i32[a=5]"}, "r@", "scatter_add(x@, i@, dim=[c=4])", NULL},
    {"update", ALL, {"x[a=5, b=3]", "y[b=3]", "i:i32[b=3]"}, "r@", "update(x@, y@, i@, dim=a)", NULL},
    GIVES(sort, ALL, "r@, s@", ", dim=a")
    SAME(argsort, ALL, ", dim=a, descending=true")
    GIVES(top_k, ALL, "r@, s@", ", dim=a, k=[c=2]")
    {"nucleus_argmax", "r", {"x:f32[a=5, b=3]", "y:f32[a=5, b=3]", "k:i32[b=3]", "p:f32[b=3]"}, "r@", "nucleus_argmax(x@, y@, k@, p@, dim=a)", NULL},
    GIVES(top_1, "ri", "r@, s@", ", dim=a")
    SAME(nth_largest_element, "ri", ", dim=a, n=2")
    SAME(nth_smallest_element, "ri", ", dim=a, n=1")
    {"conv1d", "ri", {"x[b=3, w=5, c=2]", "f[t=3, c=2, o=4]"}, "r@", "conv1d(x@, f@)", NULL},
    {"conv2d", "ri", {"x[b=2, h=4, w=5, c=2]", "f[s=2, t=3, c=2, o=2]"}, "r@", "conv2d(x@, f@, stride=(2, 1))", NULL},
    {"conv3d", "ri", {"x[b=2, d=2, h=3, w=5, c=2]", "f[u=2, s=2, t=3, c=2, o=2]"}, "r@", "conv3d(x@, f@)", NULL},
    {"conv1d_transpose", "ri", {"x[b=3, w=5, c=2]", "f[t=3, o=4, c=2]"}, "r@", "conv1d_transpose(x@, f@, stride=(2))", NULL},
    {"conv2d_transpose", "ri", {"x[b=2, h=3, w=5, c=2]", "f[s=2, t=3, o=4, c=2]"}, "r@", "conv2d_transpose(x@, f@)", NULL},
    {"conv3d_transpose", "ri", {"x[b=1, d=2, h=3, w=5, c=2]", "f[u=2, s=2, t=3, o=2, c=2]"}, "r@", "conv3d_transpose(x@, f@)", NULL},
    {"conv", "ri", {"x[b=3, w=5, c=2]", "f[t=3, c=2, o=4]"}, "r@: [b=3, w=5, o=4]", "conv(x@, f@, stride=(1), dilation=(1), before=(1), after=(1))", NULL},
    {"conv_input", "ri", {"y[b=3, w=5, o=4]", "f[t=3, c=2, o=4]"}, "r@: [b=3, w=5, c=2]", "conv_input(y@, f@, stride=(1), dilation=(1), before=(1), after=(1))", NULL},
    {"conv_filter", "ri", {"x[b=3, w=5, c=2]", "y[b=3, w=5, o=4]"}, "r@: [t=3, c=2, o=4]", "conv_filter(x@, y@, stride=(1), dilation=(1), before=(1), after=(1))", NULL},
    {"max_pool", "ri", {"x[b=2, h=4, w=5, c=2]"}, "r@", "max_pool(x@)", NULL},
    {"avg_pool", "r", {"x[b=2, h=4, w=5, c=2]"}, "r@", "avg_pool(x@)", NULL},
    SAME(window, ALL, ", dim=a, taps=[t=2]")
    {"overlap_add", "ri", {"y[a=4, t=2, b=3]"}, "r@", "overlap_add(y@, dim=a, taps=t, size=5)", NULL},
    {"random_uniform", "rib", {"i:i32[]"}, "r@: $[a=5]", "random_uniform(i@, low=0, high=1, key=7)", NULL},
    {"random_normal", "r", {"i:i32[]", "j:i32[]"}, "r@: $[a=5]", "random_normal(i@, j@, key=7)", NULL},
    {"truncated_normal", "r", {"i:i32[]"}, "r@: $[a=5]", "truncated_normal(i@, key=7)", NULL},
    {"depend", ALL, {"x[a=5, b=3]", "y[a=5]"}, "r@", "depend(x@, y@)", NULL},
    SAME(print, ALL, "")
    {"scalar_summary", "r", {"x[]"}, "r@", "scalar_summary(x@, name=\"x\")", NULL},
    {"assign", ALL, {"x[a=5, b=3]"}, "r@", "assign(v@, x@)", "v@: $[a=5, b=3] = variable(init=\"zeros\")"},
    {"read", ALL, {"x[a=5, b=3]"}, "r@", "read(v@)", "v@: $[a=5, b=3] = variable(init=\"zeros\")\ns@ = assign(v@, x@)"},
    {"loop", "ri", {"x[a=5, b=3]", "y[b=3]"}, "r@, s@", "loop(x@, trips=3) {\nbody(p) {\nyield p + y@; p * y@\n}\n}", NULL},
    {"while", "ri", {"x[a=5, b=3]", "y[b=3]", "i:i32[]"}, "r@, s@", "while(x@, i@) {\ncond(p, k) {\nyield less(k, 3)\n}\nbody(p, k) {\nyield p * y@, k + 1\n}\n}", NULL},
    {"recompute", "ri", {"x[a=5, b=3]", "y[b=3]"}, "r@", "recompute(x@) {\nbody(p) {\nyield p + y@\n}\n}", NULL},
    {"custom_gradient", "ri", {"x[a=5, b=3]"}, "r@", "custom_gradient(x@) {\nforward(p) {\nyield p + p\n}\nbackward(p, q, d) {\nyield d\n}\n}", NULL},
    /* Large enough that sums go by how elements lie. */
    {"reduce_sum", "ri", {"x[m=67, n=40]"}, "r@", "reduce_sum(x@, over=(m))", NULL},
    {"reduce_sum", "ri", {"x[m=67, n=40]"}, "r@", "reduce_sum(x@, over=(n))", NULL},
    {"reduce_prod", "ri", {"x[m=67, n=40]"}, "r@", "reduce_prod(x@, over=(m))", NULL},
    {"einsum", "ri", {"x[m=67, n=40]"}, "r@: [n=40]", "einsum(x@)", NULL},
    {"einsum", "ri", {"x[m=37, k=67]", "y[k=67, n=29]"}, "r@: [n=29, m=37]", "einsum(x@, y@)", NULL},
    {"einsum", "ri", {"x[k=67, m=37]", "y[n=29, k=67]"}, "r@: [m=37, n=29]", "einsum(x@, y@)", NULL},
    {"einsum", "ri", {"x[m=37, k=67]", "y[k=67]"}, "r@: [m=37]", "einsum(x@, y@)", NULL},
    {"conv", "ri", {"x[b=2, w=40, c=17]", "f[t=3, c=17, o=29]"}, "r@: [b=2, w=40, o=29]", "conv(x@, f@, stride=(1), dilation=(1), before=(1), after=(1))", NULL},
    {"conv_input", "ri", {"y[b=2, w=40, o=29]", "f[t=3, c=17, o=29]"}, "r@: [b=2, w=40, c=17]", "conv_input(y@, f@, stride=(1), dilation=(1), before=(1), after=(1))", NULL},
    {"conv_filter", "ri", {"x[b=2, w=40, c=17]", "y[b=2, w=40, o=29]"}, "r@: [t=3, c=17, o=29]", "conv_filter(x@, y@, stride=(1), dilation=(1), before=(1), after=(1))", NULL},
    {"softmax", "r", {"x[m=30, n=70]"}, "r@", "softmax(x@, dim=n)", NULL},
    /* These take nothing that could be a constant, or draw other numbers in each copy. */
    {"input", "", {NULL}, NULL, NULL, NULL},
    {"training", "", {NULL}, NULL, NULL, NULL},
    {"constant", "", {NULL}, NULL, NULL, NULL},
    {"range", "", {NULL}, NULL, NULL, NULL},
    {"variable", "", {NULL}, NULL, NULL, NULL},
    {"sample_with_temperature", "", {NULL}, NULL, NULL, NULL},
    {"categorical", "", {NULL}, NULL, NULL, NULL},
    {"dropout", "", {NULL}, NULL, NULL, NULL},
};
enum { ROWS = sizeof rows / sizeof *rows };

static const char *const values[DTYPES][MOST_VALUES] = {
    [MTF_F32] = {"0.1", "3", "-2.5", "1e30", "1e-40", "nan", "-0.0", "inf", "0", "1"},
    [MTF_BF16] = {"0.1", "3", "-2.5", "1e30", "1e-40", "nan", "-0.0", "inf", "0", "1"},
    [MTF_F16] = {"0.1", "3", "-2.5", "60000", "0.00001", "nan", "-0.0", "inf", "0", "1"},
    [MTF_F64] = {"0.1", "3", "-2.5", "1e300", "1e-310", "nan", "-0.0", "9007199254740993", "0", "1"},
    [MTF_I32] = {"1073741824", "7", "-2147483648", "2147483647", "-3", "0", "65537", "-1", "2", "1"},
    [MTF_I64] = {"9007199254740993", "7", "-9223372036854775808", "9223372036854775807", "-3", "0", "4611686018427387905", "-1", "4294967297", "1"},
    [MTF_BOOL] = {"1", "0"},
};
/* For inputs of a type of their own: indices. */
static const char *const few[MOST_VALUES] = {"1", "0", "2", "-1", "99", "3", "1", "0", "2", "1"};

static const struct { const char *mesh, *layout; } layouts[] = {
    {"p:3", "a:p?"},
    {"p:2,q:2", "a:p?,b:q?,m:p?"},
    {"p:3", "c:p?,k:p?"},
    {"p:2,q:2", "w:p?,o:q?"},
    {"p:3", "d:p?,t:p?"}, /* some processors have nothing */
};
/* clang-format on */

/* ---- text ---- */

typedef struct copy {
    const row *row;
    mtf_dtype  type;
    int        value;    /* which of them */
    bool       constant; /* this copy has the constants */
    unsigned   fixed;    /* bit i: input i is one number everywhere */
} copy;

static const char *suffix(const copy *c, char text[16])
{
    snprintf(text, 16, "%d%c", c->value, c->constant ? 'c' : 'f');
    return text;
}

/* Adds a piece of a row, with @ and $ replaced. */
static void add_piece(char *text, size_t room, const copy *c, const char *piece)
{
    char tells[16], one[2] = {0};
    for (; *piece; piece++) {
        one[0] = *piece;
        const char *more = *piece == '@'   ? suffix(c, tells)
                           : *piece == '$' ? mtf_dtype_name(c->type)
                                           : one;
        assert_true(strlen(text) + strlen(more) + 1 < room);
        strcat(text, more);
    }
}

static mtf_dtype input_type(const copy *c, int i)
{
    const char *colon = strchr(c->row->in[i], ':');
    mtf_dtype   type = c->type;
    char        name[8];
    if (!colon) return type;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(colon + 1, "["), colon + 1);
    assert_true(dtype_parse(name, &type));
    return type;
}

static int value_count(mtf_dtype type)
{
    int n = 0;
    while (n < MOST_VALUES && values[type][n]) n++;
    return n;
}

/* Inputs go through the values at different paces, so that pairs differ. */
static const char *value_of(const copy *c, int i)
{
    mtf_dtype type = input_type(c, i);
    int       k = c->value * (i + 1) + i;
    bool      own = strchr(c->row->in[i], ':') != NULL;
    return own && type != MTF_BOOL ? few[k % MOST_VALUES] : values[type][k % value_count(type)];
}

static void input_name(const copy *c, int i, char name[NAME])
{
    char tells[16];
    snprintf(name, NAME, "%c%s", c->row->in[i][0], suffix(c, tells));
}

static void add_copy(char *text, size_t room, const copy *c)
{
    const row *r = c->row;
    char       name[NAME], line[200];
    for (int i = 0; i < MOST_INPUTS && r->in[i]; i++) {
        input_name(c, i, name);
        bool constant = c->constant && c->fixed >> i & 1;
        snprintf(line, sizeof line,
                 constant ? "%s: %s%s = constant(value=%s)\n" : "%s: %s%s = input\n", name,
                 mtf_dtype_name(input_type(c, i)), strchr(r->in[i], '['), value_of(c, i));
        add_piece(text, room, c, line);
    }
    if (r->before) add_piece(text, room, c, r->before);
    if (r->before) add_piece(text, room, c, "\n");
    add_piece(text, room, c, r->left);
    add_piece(text, room, c, " = ");
    add_piece(text, room, c, r->call);
    add_piece(text, room, c, "\n");
}

/* ---- running ---- */

static void set_element(mtf_dtype type, void *to, int64_t at, const char *number)
{
    if (type == MTF_I64)
        ((int64_t *)to)[at] = strtoll(number, NULL, 10);
    else
        dtype_store(type, to, at, strtod(number, NULL));
}

/* One number everywhere, or others that are small: sums of them do not wander far. */
static void feed(mtf_program *p, mtf_graph *g, const copy *c, int i)
{
    char name[NAME], data[MOST_BYTES], number[16];
    input_name(c, i, name);
    if (c->constant && c->fixed >> i & 1) return;
    mtf_tensor *x = mtf_find(g, name);
    int64_t     n = mtf_shape_size(mtf_shape_of_tensor(x));
    mtf_dtype   type = mtf_dtype_of_tensor(x);
    assert_true((size_t)n * mtf_dtype_bytes(type) <= sizeof data);
    for (int64_t k = 0; k < n; k++) {
        snprintf(number, sizeof number,
                 type == MTF_BOOL || strchr(c->row->in[i], ':') ? "%d" : "%d.3",
                 (int)((k * 7 + i * 3 + c->value) % (type == MTF_BOOL ? 2 : 5)));
        set_element(type, data, k, c->fixed >> i & 1 ? value_of(c, i) : number);
    }
    assert_true(mtf_feed(p, x, data));
}

/* Bit for bit; but one NaN is as good as another. */
static bool same_element(mtf_dtype type, const void *a, const void *b, int64_t i)
{
    size_t bytes = mtf_dtype_bytes(type), at = (size_t)i * bytes;
    if (memcmp((const char *)a + at, (const char *)b + at, bytes) == 0) return true;
    return dtype_is_float(type) && isnan(dtype_load(type, a, i)) && isnan(dtype_load(type, b, i));
}

static int compare(mtf_program *p, mtf_graph *g, const copy *c, char result, const char *layout)
{
    char folded[MOST_BYTES], ran[MOST_BYTES], name[2][NAME], tells[16];
    copy other = *c;
    other.constant = true;
    snprintf(name[0], sizeof name[0], "%c%s", result, suffix(&other, tells));
    snprintf(name[1], sizeof name[1], "%c%s", result, suffix(c, tells));
    mtf_tensor *x = mtf_find(g, name[0]), *y = mtf_find(g, name[1]);
    mtf_dtype   type = mtf_dtype_of_tensor(x);
    int64_t     n = mtf_shape_size(mtf_shape_of_tensor(x));
    assert_true((size_t)n * mtf_dtype_bytes(type) <= MOST_BYTES);
    assert_true(mtf_fetch(p, x, folded) && mtf_fetch(p, y, ran));
    for (int64_t i = 0; i < n; i++)
        if (!same_element(type, folded, ran, i)) {
            print_error("%s of %s (%s; x = %s), constants %u, layout %s, %c[%lld]: folded %.17g, "
                        "ran %.17g\n",
                        c->row->op, mtf_dtype_name(c->type), c->row->call, value_of(c, 0), c->fixed,
                        layout ? layout : "none", result, (long long)i, dtype_load(type, folded, i),
                        dtype_load(type, ran, i));
            return 1;
        }
    return 0;
}

static int results_of(const row *r, char letters[4])
{
    int n = 0;
    for (const char *p = r->left; *p; p++)
        if (p[1] == '@') letters[n++] = *p;
    return n;
}

/* Is a dimension of the row's inputs or results cut?  Rules are of one letter each. */
static bool is_cut(const row *r, const char *layout)
{
    const char *texts[] = {r->in[0], r->in[1], r->in[2], r->left, r->call};
    for (const char *rule = layout; rule; rule = strchr(rule, ',') ? strchr(rule, ',') + 1 : NULL)
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
            for (const char *p = texts[i]; p && (p = strchr(p, '=')); p++)
                if (p > texts[i] && p[-1] == rule[0]) return true;
    return false;
}

/* All values, with the inputs of `fixed` as constants and fed; returns how many results differ. */
static int try_row(mtf_session *s, const row *r, mtf_dtype type, unsigned fixed, const char *layout)
{
    static const bool sides[] = {true, false};
    char              text[32768] = "", letters[4], name[NAME], tells[16];
    mtf_tensor       *fetches[2 * MOST_FETCHES];
    int               n = 0, wrong = 0, results = results_of(r, letters);
    int               most = layout ? FEW_VALUES : MOST_VALUES;
    for (int side = 0; side < 2; side++)
        for (int v = 0; v < most; v++)
            add_copy(text, sizeof text, &(copy){r, type, v, sides[side], fixed});
    mtf_graph *g = mtf_parse(s, text, r->op);
    if (!g) fail_msg("%s\n%s", mtf_error(s), text);
    for (int side = 0; side < 2; side++)
        for (int v = 0; v < most; v++)
            for (int k = 0; k < results; k++) {
                snprintf(name, sizeof name, "%c%s", letters[k],
                         suffix(&(copy){r, type, v, sides[side], fixed}, tells));
                fetches[n++] = mtf_find(g, name);
            }
    mtf_program *p = mtf_compile_n(g, n, fetches);
    if (!p) fail_msg("%s\n%s", mtf_error(s), text);
    for (int side = 0; side < 2; side++)
        for (int v = 0; v < most; v++)
            for (int i = 0; i < MOST_INPUTS && r->in[i]; i++)
                feed(p, g, &(copy){r, type, v, sides[side], fixed}, i);
    if (!mtf_step(p)) fail_msg("%s\n%s", mtf_error(s), text);
    for (int v = 0; v < most; v++)
        for (int k = 0; k < results; k++)
            wrong += compare(p, g, &(copy){r, type, v, false, fixed}, letters[k], layout);
    mtf_program_free(p);
    return wrong;
}

static bool takes(const row *r, mtf_dtype type)
{
    return strchr(r->types, dtype_is_float(type) ? 'r' : dtype_is_int(type) ? 'i' : 'b') != NULL;
}

static int try_layout(const char *mesh, const char *layout)
{
    int wrong = 0;
    for (const row *r = rows; r < rows + ROWS; r++) {
        int nin = 0, seen = 0;
        while (nin < MOST_INPUTS && r->in[nin]) nin++;
        if (layout && !is_cut(r, layout)) continue;
        for (int t = 0; t < DTYPES; t++) {
            if (dtype_is_f8((mtf_dtype)t) || !takes(r, (mtf_dtype)t)) continue;
            if (seen++ % asked_much(1, 5)) continue;
            mtf_session *s =
                mtf_open_with(&(mtf_session_opts){.threads = 1, .mesh = mesh, .layout = layout});
            for (unsigned fixed = 1; fixed < 1u << nin; fixed++)
                wrong += try_row(s, r, (mtf_dtype)t, fixed, layout);
            close_well(s);
        }
    }
    return wrong;
}

static void test_alone(void **state)
{
    (void)state;
    assert_int_equal(try_layout(NULL, NULL), 0);
}

static void test_layouts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        assert_int_equal(try_layout(layouts[i].mesh, layouts[i].layout), 0);
}

static void test_every_op_has_a_row(void **state)
{
    (void)state;
    for (const op *const *o = op_catalogue; *o; o++) {
        bool found = false;
        for (int i = 0; i < ROWS; i++) found = found || strcmp(rows[i].op, (*o)->name) == 0;
        if (!found)
            fail_msg("%s has no row: do its constants fold to what running gives?", (*o)->name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_op_has_a_row),
        cmocka_unit_test(test_alone),
        cmocka_unit_test(test_layouts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
