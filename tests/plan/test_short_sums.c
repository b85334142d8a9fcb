/* Tests that layouts do not change sums of bf16 and f16.
 *
 * Inputs are whole numbers of which f32 holds every sum exactly and the short
 * floats do not.  So a result has the same bits under every layout, unless some
 * part of a sum was rounded on the way, or rounding was left out.
 */
#include "base/dtype.h"
#include "run/audit.h"
#include "verify/verify.h"

#include "scene.h"

#include "ground.h"

enum { MOST_BYTES = 4096, MOST_TEXT = 1000 };

/* $ stands for the type.  The result is y. */
typedef struct row {
    const char *name, *text;
} row;

#define X "x: $[a=4, k=23] = input\n"
#define W "w: $[k=23, b=5] = input\n"
#define T "t: $[a=4, b=5] = input\n"
#define V "v: $[a=4] = input\n"
#define SUM X "s: [a] = reduce_sum(x, over=(k))\n"

/* clang-format off */
static const row rows[] = {
    /* whatever sums */
    {"reduce_sum",        X "y: [a] = reduce_sum(x, over=(k))\n"},
    {"sum of all",        X "y = reduce_sum(x)\n"},
    {"mean",              X "y: [a] = reduce_mean(x, over=(k))\n"},
    {"einsum",            X W "y: [a, b] = einsum(x, w)\n"},
    {"einsum of one",     X "y: [a] = einsum(x)\n"},
    {"einsum of three",   X W T "y: [k] = einsum(x, w, t)\n"},
    {"three, summed",     X W T "y: [b] = einsum(x, w, t)\n"},
    {"constant",          "x: $[a=4, k=23] = constant(value=37)\ny: [a] = reduce_sum(x, over=(k))\n"},
    {"cumsum",            X "y = cumsum(x, dim=k)\n"},
    {"cumsum from the end", X "y = cumsum(x, dim=k, exclusive=true, reverse=true)\n"},
    {"scatter_add",       X "i: i32[k=23] = range\ny = scatter_add(x, mod(i, 5), dim=[c=5])\n"},
    {"softmax",           X "y = softmax(x / 64, dim=k)\n"},
    {"logsumexp",         X "y = reduce_logsumexp(x / 16, dim=k)\n"},
    {"conv over channels", "x: $[a=4, h=6, k=23] = input\nw: $[t=3, k=23, b=5] = input\ny = conv1d(x, w)\n"},
    {"gradient of a filter", "x: $[k=23, h=6, a=4] = input\nw: $[t=3, a=4, b=5] = input\nt: $[k=23, h=6, b=5] = input\n"
                             "z = conv1d(x, w)\ny = gradients(z; w; t)\n"},
    {"gradients",         X W "z: [a, b] = einsum(x, w)\nd, y = gradients(z * z; x, w)\n"},
    {"gradient of gather", "v: $[c=5, a=4] = input\nx: $[k=23, a=4] = input\ni: i32[k=23] = range\n"
                           "z = gather(v, mod(i, 5), dim=c)\ny = gradients(z; v; x)\n"},
    /* each of these rounds: the sum is rounded before it */
    {"times 3",           SUM "y = s * 3\n"},
    {"divided by 3",      SUM "y = s / 3\n"},
    {"plus",              SUM V "y = s + v\n"},
    {"minus itself",      SUM V "y = s - cast(cast(s, type=f32) - 1, type=$)\n"},
    {"plus another sum",  SUM "z: [a] = reduce_sum(x * 3, over=(k))\ny = s - z\n"},
    {"negative",          SUM "y = negative(s) * 3\n"},
    {"widened",           SUM "y: f32 = cast(s)\n"},
    {"summed again",      SUM "y = reduce_sum(s)\n"},
    {"in a product",      SUM T "y: [b] = einsum(s, t)\n"},
    {"in a product of each", SUM T "y: [a, b] = einsum(s, t)\n"},
    {"running",           SUM "y = cumsum(s, dim=a)\n"},
    {"read twice",        SUM "y = s * 3 + s\n"},
    {"square",            SUM "y = square(s) / 1024\n"},
    {"scattered",         SUM "i: i32[a=4] = constant(data={1, 0, 1, 1})\ny = scatter_add(s, i, dim=[c=2])\n"},
    /* these only move what they are given */
    {"moved",             X W "z: [a, b] = einsum(x, w)\nr: [d=2, e=10] = reshape(z)\nq: [e, d] = transpose(r)\n"
                          "u = pad(slice(q, dim=e, begin=2, size=7), dim=e, before=1)\ny = shift(reverse(u, dim=d), dim=e, offset=2)\n"},
    {"moved, then added", X W "z: [a, b] = einsum(x, w)\nr: [b, a] = transpose(z)\ny = r * 3 + 1\n"},
    {"joined",            SUM "z: [a] = reduce_sum(x * 3, over=(k))\ny = concat(s, z, s * 0, dim=a)\n"},
    {"joined sums alone", SUM "z: [a] = reduce_sum(x * 3, over=(k))\ny = concat(s, z, dim=a)\n"},
    {"picked",            SUM "i: i32[c=3] = constant(data={3, 0, 7})\ny = gather(s, i, dim=a)\n"},
    {"windows",           SUM "y = window(s, dim=a, taps=[c=2])\n"},
    {"repeated",          SUM "y: [d=2, a] = broadcast(s)\n"},
    {"without gradient",  SUM "y = stop_gradient(s) * 3\n"},
    {"a picked part",     X "i: i32[c=3] = constant(data={3, 22, 7})\ny = gather(x, i, dim=k)\n"},
    {"picked, then summed", X "i: i32[c=6] = constant(data={3, 22, 7, 11, 15, 0})\nz = gather(x, i, dim=k)\ny: [a] = reduce_sum(z, over=(c))\n"},
    {"joined with picked", X "i: i32[d=3] = constant(data={3, 22, 7})\nw: $[k=23, d=2] = input\nz = gather(x, i, dim=k)\n"
                           "u: [a, d] = einsum(x, w)\ny = concat(z, u, dim=d)\n"},
    /* on its way into a variable, whose state some places cut further */
    {"assigned",          X W "m: $[a=4, b=5] = variable(init=\"ones\")\ng: [a, b] = einsum(x, w)\ny = assign(m, m + g * 3)\n"},
    {"assigned as f32",   X W "m: f32[a=4, b=5] = variable(init=\"ones\")\ng: [a, b] = einsum(x, w)\nh: f32 = cast(g)\n"
                          "y = assign(m, m - h / maximum(sqrt(reduce_sum(square(h))), 1))\n"},
    /* blocks */
    {"sums of a loop",    X V "l, y = loop(v, trips=3) {\n    body(p; i) {\n        f: $ = cast(i)\n        m: [a] = reduce_sum(x * (f + 1), over=(k))\n"
                          "        yield p + 1; m\n    }\n}\n"},
    {"sums of a loop, rounded", X V "l, y = loop(v, trips=3) {\n    body(p; i) {\n        m: [a] = reduce_sum(x, over=(k))\n        yield p + 1; m * 3\n    }\n}\n"},
    {"sums of a loop, moved", X W V "l, y = loop(v, trips=3) {\n    body(p; i) {\n        m: [a, b] = einsum(x, w)\n        n: [b, a] = transpose(m)\n"
                          "        yield p + 1; n\n    }\n}\n"},
    {"loops in loops",    X V "l, y = loop(v, trips=3) {\n    body(p; i) {\n        q, m = loop(p, trips=2) {\n            body(p2; j) {\n"
                          "                yield p2 + 1; reduce_sum(x, over=(k))\n            }\n        }\n        yield q; m\n    }\n}\n"},
    {"carried by a loop", X V "y = loop(v, trips=3) {\n    body(p; i) {\n        yield p + reduce_sum(x, over=(k))\n    }\n}\n"},
    {"while",             X "n0: i32[] = constant(value=0)\nl, y = while(n0) {\n    cond(n) {\n        yield less(n, 3)\n    }\n    body(n) {\n"
                          "        yield n + 1; reduce_sum(x, over=(k))\n    }\n}\n"},
    {"region",            X "y = recompute(x) {\n    body(p) {\n        yield reduce_sum(p, over=(k))\n    }\n}\n"},
    {"region, then times", X "z = recompute(x) {\n    body(p) {\n        yield reduce_sum(p, over=(k))\n    }\n}\ny = z * 3\n"},
};
/* clang-format on */

typedef struct place {
    const char *mesh, *layout, *state_layout;
} place;

static const place places[] = {
    {"p:2", "k:p", ""},          {"p:3", "k:p", ""},          {"p:4", "k:p", "a:p? b:p?"},
    {"p:2,q:2", "k:p,a:q?", ""}, {"p:2,q:2", "k:p+q", ""},    {"p:3,q:2", "k:q,b:p?", "a:q? e:p?"},
    {"p:2,q:2", "k:q,a:p?", ""}, {"p:2", "k:p,c:p?", "a:p?"},
};

typedef struct result {
    size_t  bytes;
    uint8_t data[MOST_BYTES];
} result;

static void write_text(const char *from, const char *type, char *text)
{
    size_t used = 0;
    for (const char *p = from; *p; p++)
        used += (size_t)snprintf(text + used, MOST_TEXT - used, "%.*s", *p == '$' ? 9 : 1,
                                 *p == '$' ? type : p);
    assert_true(used < MOST_TEXT);
}

/* Whole numbers: from -60 to 200 in x, from -3 to 5 elsewhere. */
static void feed(mtf_program *p, mtf_tensor *x)
{
    uint8_t   data[MOST_BYTES];
    mtf_dtype type = mtf_dtype_of_tensor(x);
    int64_t   n = mtf_shape_size(mtf_shape_of_tensor(x));
    uint32_t  state = (uint32_t)mtf_name_of_tensor(x)[0];
    bool      large = state == 'x';
    assert_true((size_t)n * mtf_dtype_bytes(type) <= MOST_BYTES);
    for (int64_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        dtype_store(type, data, i, (double)((state >> 8) % (large ? 261 : 9)) - (large ? 60 : 3));
    }
    assert_true(mtf_feed(p, x, data));
}

/* The mesh's programs compute what the graph says, but for rounding. */
static void compare_exactly(mtf_graph *g, mtf_tensor *y, const place *where)
{
    mesh          m;
    layout        l;
    verify_answer a;
    assert_true(mesh_parse(g->session, where->mesh, &m));
    assert_true(layout_parse(g->session, where->layout, &m, &l));
    assert_true(layout_parse_state(g->session, where->state_layout, &l));
    assert_true(verify_graph(g, 1, &y, &(verify_opts){.layout = &l}, &a));
    assert_true(a.equal);
}

/* Two steps; what was counted is what was planned. */
static void run(const char *text, const place *where, const char *device, result *r)
{
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.threads = 1,
                                                       .mesh = where->mesh,
                                                       .layout = where->layout,
                                                       .state_layout = where->state_layout,
                                                       .device = device,
                                                       .measure = true});
    mtf_graph   *g = mtf_parse(s, text, "sums");
    if (!g) fail_msg("%s\n%s", mtf_error(s), text);
    mtf_tensor  *y = mtf_find(g, "y");
    mtf_program *p = mtf_compile(g, y);
    audit        a;
    for (int i = 0; i < g->ntensors; i++)
        if (strcmp(g->all[i]->node->op->name, "input") == 0) feed(p, g->all[i]);
    if (!mtf_step(p) || !mtf_step(p)) fail_msg("%s\n%s", mtf_error(s), text);
    if (!audit_program(p, &a) || !audit_agrees(s, &a)) fail_msg("%s\n%s", mtf_error(s), text);
    r->bytes = (size_t)mtf_shape_size(mtf_shape_of_tensor(y)) * mtf_dtype_bytes(y->type);
    assert_true(r->bytes <= MOST_BYTES && mtf_fetch(p, y, r->data));
    if (where->mesh) compare_exactly(g, y, where);
    close_well(s);
}

static void test_layouts_give_the_same_bits(void **state)
{
    (void)state;
    static const char *const types[] = {"bf16", "f16"};
    int                      differ = 0;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        for (int t = 0; t < 2; t++) {
            char   text[MOST_TEXT];
            result one, many;
            write_text(rows[k].text, types[t], text);
            run(text, &(place){0}, "cpu", &one);
            for (size_t l = 0; l < sizeof places / sizeof *places; l++) {
                run(text, &places[l], l % 2 ? "check" : "cpu", &many);
                assert_int_equal(one.bytes, many.bytes);
                if (memcmp(one.data, many.data, one.bytes) == 0) continue;
                differ++;
                print_message("%s of %s: --mesh %s --layout %s differs from one processor\n",
                              rows[k].name, types[t], places[l].mesh, places[l].layout);
            }
        }
    assert_int_equal(differ, 0);
}

/* ---- values that are known ---- */

/* y, which is a number. */
static double value_of(const char *text, const char *type, const char *axes)
{
    char written[MOST_TEXT];
    write_text(text, type, written);
    mtf_session *s = mtf_open_with(
        &(mtf_session_opts){.threads = 1, .mesh = axes, .layout = axes ? "k:p" : NULL});
    mtf_graph *g = mtf_parse(s, written, "number");
    if (!g) fail_msg("%s\n%s", mtf_error(s), written);
    mtf_tensor  *y = mtf_find(g, "y");
    mtf_program *p = mtf_compile(g, y);
    assert_true(mtf_step(p));
    double value = mtf_fetch_scalar(p, y);
    close_well(s);
    return value;
}

static void test_known_sums(void **state)
{
    (void)state;
    static const struct {
        const char *text, *type;
        double      value;
    } known[] = {
        /* 259 lies between 258 and 260, of which the second ends in a zero bit */
        {"x: $[k=4] = constant(data={256, 1, 1, 1})\ny = reduce_sum(x)\n", "bf16", 260},
        /* the sum is finite, those of its halves and quarters are not */
        {"x: $[k=8] = constant(data={60000, 60000, 60000, 60000, -60000, -60000, -60000, -58976})\n"
         "y = reduce_sum(x)\n",
         "f16", 1024},
        {"x: $[k=8] = constant(data={60000, 60000, 60000, 60000, -60000, -60000, -60000, -58976})\n"
         "w: $[k=8] = constant(data={1, 1, 1, 1, 1, 1, 1, 1})\ny: [] = einsum(x, w)\n",
         "f16", 1024},
        /* one of 128 ones after another would stay at 256 */
        {"x: $[k=4] = constant(data={1, 1, 1, 1})\nv: $[] = constant(value=0)\n"
         "l, y = loop(v, trips=128) {\n    body(p; i) {\n        yield p; reduce_sum(x)\n    "
         "}\n}\n",
         "bf16", 512},
        {"x: $[k=4] = constant(data={1, 1, 1, 1})\nv: $[] = constant(value=0)\n"
         "l, y = loop(v, trips=512) {\n    body(p; i) {\n        yield p; exp(p)\n    }\n}\n",
         "bf16", 512},
    };
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        for (int m = 0; m < 4; m++) {
            static const char *const meshes[] = {NULL, "p:2", "p:3", "p:4"};
            double                   found = value_of(known[k].text, known[k].type, meshes[m]);
            if (found != known[k].value)
                fail_msg("%g instead of %g on %s:\n%s", found, known[k].value,
                         meshes[m] ? meshes[m] : "one processor", known[k].text);
        }
}

/* ---- what they cost ---- */

static int64_t sent(const char *text, const char *type)
{
    char  written[MOST_TEXT];
    scene c;
    write_text(text, type, written);
    scene_open(&c, written, "p:2", "k:p");
    price_rates rates = PRICE_RATES;
    estimate   *e = scene_priced(&c, &rates);
    int64_t     bytes = e->sent_bytes;
    estimate_free(e);
    close_well(c.s);
    return bytes;
}

/* What is owed of a short float has the bytes of an f32; what is picked from parts has its own. */
static void test_bytes(void **state)
{
    (void)state;
    static const char sum[] = "x: $[a=64, k=8] = input\ny: [a] = reduce_sum(x, over=(k))\n";
    static const char picked[] = "x: $[a=64, k=8] = input\n"
                                 "i: i32[c=3] = input\ny = gather(x, i, dim=k)\n";
    assert_int_equal(sent(sum, "bf16"), sent(sum, "f32"));
    assert_int_equal(sent(sum, "f16"), sent(sum, "f32"));
    assert_int_equal(2 * sent(picked, "bf16"), sent(picked, "f32"));
    /* Through what only moves it the sum is paid once, where it is smallest. */
    static const char cut[] = "x: $[a=64, k=8] = input\ns: [a] = reduce_sum(x, over=(k))\n"
                              "y = slice(s, dim=a, begin=3, size=16)\n";
    assert_int_equal(sent(cut, "bf16"), sent(cut, "f32"));
    assert_int_equal(4 * sent(cut, "f32"), sent(sum, "f32"));
    /* A loop's sum is paid after its iterations. */
    static const char loop[] = "x: $[a=64, k=8] = input\nv: $[a=64] = input\n"
                               "l, y = loop(v, trips=9) {\n    body(p; i) {\n"
                               "        yield p; reduce_sum(x * p, over=(k))\n    }\n}\n";
    assert_int_equal(sent(loop, "bf16"), sent(sum, "f32"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layouts_give_the_same_bits),
        cmocka_unit_test(test_known_sums),
        cmocka_unit_test(test_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
