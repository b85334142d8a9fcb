/* Tests which maps and folds become epilogues of products.
 *
 * Plans for GPUs need no GPU: what a program does is read from its listing.
 */
#include "plan/plan.h"

#include "ground.h"

enum { ROOM = 16000 };

/* The program for y, and for the other fetches, as text. */
static void list(const char *device, const char *text, const char *mesh_text,
                 const char *layout_text, char to[ROOM])
{
    static const char *const names[] = {"y", "z"};
    mtf_session             *s = mtf_open_with(&(mtf_session_opts){.threads = 1, .device = device});
    mtf_graph               *g = mtf_parse(s, text, "test");
    mtf_tensor              *fetches[2];
    int                      n = 0;
    mesh                     m;
    layout                   l;
    assert_string_equal(mtf_error(s), "");
    for (int k = 0; k < 2; k++)
        if (strstr(text, k ? "\nz" : "\ny")) fetches[n++] = mtf_find(g, names[k]);
    plan_opts opts = {0};
    if (mesh_text) {
        assert_true(mesh_parse(s, mesh_text, &m) && layout_parse(s, layout_text, &m, &l));
        opts.layout = &l;
    }
    program *p = plan_program(g, n, fetches, &opts);
    assert_string_equal(mtf_error(s), "");
    textbuf t = {.arena = &p->arena};
    program_write(p, NULL, &t);
    snprintf(to, ROOM, "%s", text_done(&t));
    program_free(p);
    close_well(s);
}

#define MATRICES(type)                                                                             \
    "x: " type "[r=64, c=32] = input()\nw: " type "[c=32, d=48] = input()\n"                       \
    "b: " type "[d=48] = input()\ne: " type "[r=64] = input()\nm: " type                           \
    "[r=64, d=48] = input()\n"

typedef struct pattern {
    const char *text;
    const char *epilogue; /* after "contract [m n k]"; "": none */
    int         maps;     /* that are left */
} pattern;

/* The products' lines without what names buffers: "contract [48 64 32] bias". */
static void assert_pattern(const char *device, const pattern *p)
{
    char        listing[ROOM], want[100];
    const char *at;
    list(device, p->text, NULL, NULL, listing);
    assert_non_null(at = strstr(listing, "contract ["));
    at = strchr(at, ']') + 1;
    snprintf(want, sizeof want, "%s %%", p->epilogue);
    if (strncmp(at, want, strlen(want)) != 0 || occurrences(listing, "  map [") != p->maps)
        fail_msg("\"%s\" and %d maps are wanted of\n%s%s", want, p->maps, p->text, listing);
}

static const pattern patterns[] = {
    {MATRICES("bf16") "y: [r, d] = einsum(x, w) + b\n", " bias", 0},
    {MATRICES("f32") "y: [r, d] = einsum(x, w) + b\n", " bias", 0},
    {MATRICES("f32") "p: [r, d] = einsum(w, x)\ny = b + p\n", " bias", 0},
    {MATRICES("f32") "p: [d, r] = einsum(w, x)\ny = p + e\n", " bias", 0},
    {MATRICES("f16") "y: [r, d] = einsum(x, w) + m\n", " add", 0},
    {MATRICES("f32") "y: [r, d] = m + (einsum(x, w) + b)\n", " add bias", 0},
    {MATRICES("f32") "y: [r, d] = relu(einsum(x, w) + b)\n", " bias relu", 0},
    {MATRICES("bf16") "y: [r, d] = relu(einsum(x, w))\n", " relu", 0},
    {MATRICES("bf16") "y: [r, d] = gelu(einsum(x, w) + b)\n", " bias gelu", 0},
    {MATRICES("f16") "z: [r, d] = einsum(x, w) + b\ny = gelu(z)\n", " bias kept gelu", 0},
    {MATRICES("bf16") "z: [r, d] = einsum(x, w)\ny = gelu(z)\n", "", 1}, /* z is read twice */
    {MATRICES("bf16") "y: [r, d] = einsum(x, w) * gelu_grad(m)\n", " gelu_grad", 0},
    {MATRICES("bf16") "y: [r, d] = gelu_grad(m) * einsum(x, w)\n", " gelu_grad", 0},
};

static void test_patterns(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof patterns / sizeof *patterns; k++)
        assert_pattern("cuda", &patterns[k]);
}

/* Each differs in one thing from a pattern. */
static const pattern misses[] = {
    /* a bias along the other dimension, of the product as it lies */
    {MATRICES("f32") "y: [r, d] = einsum(x, w) + e\n", "", 1},
    {MATRICES("f32") "p: [d, r] = einsum(w, x)\ny = p + b\n", "", 1},
    /* another reader of the product */
    {MATRICES("f32") "p: [r, d] = einsum(x, w)\ny = p + b\nz = reduce_max(p, over=(r, d))\n", "",
     2},
    {MATRICES("bf16") "z: [r, d] = einsum(x, w)\ny = z + b\n", "", 1},
    /* gelu of f32: the library's is less exact */
    {MATRICES("f32") "y: [r, d] = gelu(einsum(x, w) + b)\n", "", 1},
    {MATRICES("f32") "y: [r, d] = einsum(x, w) * gelu_grad(m)\n", "", 1},
    /* what no epilogue does */
    {MATRICES("bf16") "y: [r, d] = tanh(einsum(x, w) + b)\n", "", 1},
    {MATRICES("bf16") "y: [r, d] = gelu_exact(einsum(x, w) + b)\n", "", 1},
    {MATRICES("bf16") "y: [r, d] = (einsum(x, w) + b) * gelu_grad(m)\n", "", 1},
    {MATRICES("f32") "y: [r, d] = einsum(x, w) - b\n", "", 1},
    {MATRICES("f32") "y: [r, d] = einsum(x, w) + b + b\n", "", 1},
    /* another type */
    {MATRICES("bf16") "y: [r, d] = cast(einsum(x, w), type=f32) + cast(b, type=f32)\n", "", 2},
    /* a result that is rounded to another type, and back */
    {MATRICES("f32") "y: [r, d] = cast(cast(einsum(x, w), type=bf16), type=f32) + b\n", "", 1},
    {MATRICES("bf16") "y: [r, d] = cast(cast(einsum(x, w), type=f8e4m3), type=bf16) + b\n", "", 1},
    {MATRICES("f32") "y: [r, d] = cast(cast(einsum(x, w) + b, type=f16), type=f32)\n", "", 1},
    {MATRICES("f32") "y: [r, d] = relu(cast(cast(einsum(x, w) + b, type=f16), type=f32))\n", "", 1},
    {MATRICES("f32") "y: [r, d] = einsum(x, w) + cast(cast(m, type=bf16), type=f32)\n", "", 1},
    /* f64, which the library has no epilogues for */
    {MATRICES("f64") "y: [r, d] = einsum(x, w) + b\n", "", 1},
};

static void test_near_misses(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof misses / sizeof *misses; k++) assert_pattern("cuda", &misses[k]);
}

/* ---- totals ---- */

#define FACTORS "x: bf16[r=64, c=32] = input()\nw: bf16[r=64, d=48] = input()\n"

/* Sums over the rows of a factor, as gradients of biases and weights have it. */
static const struct {
    const char *text;
    const char *epilogue;
    int         folds; /* that are left */
} totals[] = {
    {FACTORS "y: [c, d] = einsum(x, w)\nz: [d] = reduce_sum(w, over=(r))\n", " total of a", 0},
    {FACTORS "z: [c] = reduce_sum(x, over=(r))\ny: [c, d] = einsum(x, w)\n", " total of b", 0},
    /* along the other dimension, a maximum, another type */
    {FACTORS "y: [c, d] = einsum(x, w)\nz: [r] = reduce_sum(w, over=(d))\n", "", 0},
    {FACTORS "y: [c, d] = einsum(x, w)\nz: [d] = reduce_max(w, over=(r))\n", "", 1},
    {FACTORS "y: [c, d] = einsum(x, w)\nv = cast(w, type=f32)\nz: [d] = reduce_sum(v, over=(r))\n",
     "", 0},
};

static void test_totals(void **state)
{
    char listing[ROOM];
    (void)state;
    for (size_t k = 0; k < sizeof totals / sizeof *totals; k++) {
        char        want[100];
        const char *at;
        list("cuda", totals[k].text, NULL, NULL, listing);
        assert_non_null(at = strstr(listing, "contract ["));
        snprintf(want, sizeof want, "]%s %%", totals[k].epilogue);
        at = strchr(at, ']');
        if (strncmp(at, want, strlen(want)) != 0 ||
            occurrences(listing, "  fold [") != totals[k].folds)
            fail_msg("\"%s\" and %d folds are wanted of\n%s%s", want, totals[k].folds,
                     totals[k].text, listing);
    }
}

/* Two layers and the gradients of all that they read. */
static void test_network(void **state)
{
    static const char text[] =
        "x: bf16[r=64, c=16] = input()\nw: bf16[c=16, d=32] = input()\nb: bf16[d=32] = input()\n"
        "v: bf16[d=32, c=16] = input()\na: bf16[c=16] = input()\n"
        "h: [r, d] = einsum(x, w) + b\np: [r, c] = einsum(gelu(h), v) + a\n"
        "loss = reduce_sum(square(p))\ndw, db, dv, da = gradients(loss; w, b, v, a)\n"
        "y = reduce_sum(square(dw)) + reduce_sum(square(db))\n"
        "z = reduce_sum(square(dv)) + reduce_sum(square(da))\n";
    char listing[ROOM];
    (void)state;
    list("cuda", text, NULL, NULL, listing);
    assert_int_equal(occurrences(listing, "] bias kept gelu %"), 1);
    assert_int_equal(occurrences(listing, "gelu_grad r"), 1); /* in a map, which adds up columns */
    assert_true(occurrences(listing, "sum %") > 0);
    assert_int_equal(occurrences(listing, "  fold ["), 0);
}

/* The gradient needs gelu of what is kept anyway: then it is computed again, not kept as well. */
static void test_gelu_again(void **state)
{
    char   text[2000], listing[ROOM];
    size_t n = 0;
    (void)state;
    n += (size_t)snprintf(text, sizeof text, "x0: bf16[r=512, c=64] = input()\n");
    for (int k = 0; k < 3; k++)
        n += (size_t)snprintf(text + n, sizeof text - n,
                              "w%d: bf16[c=64, d=256] = input()\nv%d: bf16[d=256, c=64] = input()\n"
                              "b%d: bf16[d=256] = input()\nh%d: [r, d] = einsum(x%d, w%d) + b%d\n"
                              "x%d: [r, c] = einsum(gelu(h%d), v%d)\n",
                              k, k, k, k, k, k, k, k + 1, k, k);
    snprintf(text + n, sizeof text - n,
             "loss = reduce_sum(square(x3))\ndv0, dv1, dv2, dw0 = gradients(loss; v0, v1, v2, w0)\n"
             "y = reduce_sum(dv0) + reduce_sum(dv1) + reduce_sum(dv2) + reduce_sum(dw0)\n");
    list("cuda", text, NULL, NULL, listing);
    assert_int_equal(occurrences(listing, "] bias kept gelu %"), 3);
    assert_true(occurrences(listing, "map [512 256] { r1 = gelu r0 }") > 0);
}

/* ---- sums of products ---- */

#define THREE                                                                                      \
    "a: f32[r=64, c=32] = input()\nb: f32[r=64, e=16] = input()\nf: f32[r=64, k=24] = input()\n"   \
    "u: f32[c=32, d=48] = input()\nv: f32[e=16, d=48] = input()\nw: f32[k=24, d=48] = input()\n"   \
    "p: [r, d] = einsum(a, u)\nq: [r, d] = einsum(b, v)\no: [r, d] = einsum(f, w)\n"

/* In a map that does more, each product adds the one before, in its place. */
static void test_sums(void **state)
{
    static const char text[] = THREE "s = p + q + o\ny = tanh(s)\nz = s * s\n";
    char              listing[ROOM];
    mtf_session      *s = mtf_open_with(&(mtf_session_opts){.threads = 1, .device = "cuda"});
    mtf_graph        *g = mtf_parse(s, text, "sums");
    (void)state;
    list("cuda", text, NULL, NULL, listing);
    assert_int_equal(occurrences(listing, "] add %"), 2);
    assert_contains(listing, "{ r1 = tanh r0; r2 = multiply r0 r0 }");
    program *p = plan_program(g, 2, (mtf_tensor *[]){mtf_find(g, "y"), mtf_find(g, "z")}, NULL);
    assert_non_null(p);
    for (int k = 0; k < p->ninstrs; k++)
        if (p->instrs[k].kind == INSTR_CONTRACT && p->instrs[k].contract.add)
            assert_int_equal(p->buffers[p->instrs[k].out[0].buffer].shares,
                             p->instrs[k].in[p->instrs[k].contract.add].buffer);
    program_free(p);
    close_well(s);
}

static void test_no_sums(void **state)
{
    /* a product that is read elsewhere, a difference, one that has relu already, one that is rounded */
    static const char *const texts[] = {
        THREE "s = tanh(p + q)\ny = s + reduce_max(p, over=(r, d)) + reduce_max(q, over=(r, d))\n",
        THREE "y = tanh(p - q)\n",
        THREE "y = tanh(p * 2 + q)\n",
        THREE "y = tanh(p + relu(q))\n",
        THREE "y = tanh(p + cast(cast(q, type=bf16), type=f32))\n",
        THREE "y = tanh(cast(cast(p, type=f16), type=f32) + q)\n",
    };
    char listing[ROOM];
    (void)state;
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        list("cuda", texts[k], NULL, NULL, listing);
        if (occurrences(listing, "] add %")) fail_msg("%s%s", texts[k], listing);
    }
}

/* Sums of parts that processors have not added up yet get no bias before they are. */
static void test_owed_sums(void **state)
{
    static const char text[] = MATRICES("f32") "y: [r, d] = relu(einsum(x, w) + b)\n";
    char              listing[ROOM];
    (void)state;
    list("cuda", text, "all:2", "r:all", listing);
    assert_contains(listing, "] bias relu %");
    list("cuda", text, "all:2", "c:all", listing);
    assert_contains(listing, "all_reduce");
    assert_int_equal(occurrences(listing, "bias"), 0);
}

/* The product waits for the map's operands; a variable is written at the end of a step. */
static void test_order(void **state)
{
    char listing[ROOM];
    (void)state;
    list("cuda",
         "w: f32[c=32, d=48] = variable(init=\"zeros\")\nx: f32[r=64, c=32] = input()\n"
         "b: f32[d=48] = input()\np: [r, d] = einsum(x, w)\nu = assign(w, w * 2)\ny = p + b\n",
         NULL, NULL, listing);
    assert_contains(listing, "] bias %");
}

/* A loop's sum, to which the body adds `term`. */
#define LOOP_SUM(term)                                                                             \
    MATRICES("f32")                                                                                \
    "i: i32[r=64] = input()\nn0: i32[] = input()\n"                                                \
    "n, s = loop(n0, trips=3) {\n    body(n; k) {\n"                                               \
    "        p: [r, d] = einsum(x, w * cast(k, type=f32))\n"                                       \
    "        q: [r, d] = einsum(x, w + cast(k, type=f32))\n"                                       \
    "        yield n + 1; " term "\n    }\n}\ny = s - 1\n"

/* Instructions of a kind that read f32 where they write it. */
static int adders(const program *p, instr_kind kind)
{
    int n = 0;
    for (int k = 0; k < p->ninstrs; k++) {
        const instr *i = &p->instrs[k];
        if (i->kind == kind && i->out[0].type == MTF_F32) n += instr_reads(i, i->out[0].buffer);
    }
    return n;
}

/* On every device, products and scatters add into the sums of loops, and the map at the end is gone. */
static void test_into_sums(void **state)
{
    static const struct {
        const char *text;
        int         products, maps; /* that add into the sum; that add to it */
    } cases[] = {
        {LOOP_SUM("p"), 1, 0},
        {LOOP_SUM("p + q"), 2, 0},
        {LOOP_SUM("p + b"), 1, 1},
        {LOOP_SUM("p + 1"), 1, 1}, /* a constant stays, too */
        {LOOP_SUM("p + tanh(p)"), 0, 1},
        {LOOP_SUM("p * 2"), 0, 1},
        {LOOP_SUM("p - q"), 0, 1},
        {LOOP_SUM("scatter_add(m * cast(k, type=f32), i, dim=[v=9])"), 0, 0},
    };
    (void)state;
    for (size_t k = 0; k < 2 * sizeof cases / sizeof *cases; k++) {
        mtf_session *s =
            mtf_open_with(&(mtf_session_opts){.threads = 1, .device = k % 2 ? "cuda" : "cpu"});
        mtf_graph *g = mtf_parse(s, cases[k / 2].text, "sums");
        assert_string_equal(mtf_error(s), "");
        program *p = plan_program(g, 1, (mtf_tensor *[]){mtf_find(g, "y")}, NULL);
        assert_non_null(p);
        int products = adders(p, INSTR_CONTRACT), maps = adders(p, INSTR_MAP);
        if (products != cases[k / 2].products || maps != cases[k / 2].maps)
            fail_msg("%d products and %d maps add into the sum of\n%s", products, maps,
                     cases[k / 2].text);
        program_free(p);
        close_well(s);
    }
}

static void test_none_on_the_cpu(void **state)
{
    (void)state;
    pattern p = {patterns[1].text, "", 1};
    assert_pattern("cpu", &p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_patterns),        cmocka_unit_test(test_near_misses),
        cmocka_unit_test(test_totals),          cmocka_unit_test(test_network),
        cmocka_unit_test(test_gelu_again),      cmocka_unit_test(test_sums),
        cmocka_unit_test(test_no_sums),         cmocka_unit_test(test_owed_sums),
        cmocka_unit_test(test_order),           cmocka_unit_test(test_into_sums),
        cmocka_unit_test(test_none_on_the_cpu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
