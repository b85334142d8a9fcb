/* Tests automatic layouts: known answers, fixed rules, meshes, state. */
#include "price/estimate.h"
#include "price/links.h"
#include "search/automatic.h"
#include "search/shapes.h"
#include "asked.h"
#include "ground.h"

/* A processor for which products, memory and wire are all worth something. */
static const char machine[] = "flops=1e12,memory=1e11,wire=1e10,latency=1e-6";

typedef struct ground {
    mtf_session     *s;
    mtf_graph       *g;
    mtf_tensor      *last;
    mtf_layout_found found[8];
    int              n;
} ground;

static ground start(const char *text, const char *fetch)
{
    ground c = {.s = mtf_open_with(&(mtf_session_opts){.threads = 1})};
    c.g = mtf_parse(c.s, text, "test");
    c.last = mtf_find(c.g, fetch);
    if (!mtf_ok(c.s)) fail_msg("%s", mtf_error(c.s));
    return c;
}

static void find(ground *c, const mtf_layout_opts *o)
{
    c->n = mtf_layout_find(c->g, 1, &c->last, o, 8, c->found);
}

static void finds(ground *c, const mtf_layout_opts *o, const char *rules)
{
    find(c, o);
    if (!c->n) fail_msg("%s", mtf_error(c->s));
    assert_string_equal(c->found[0].layout, rules);
    assert_true(c->found[0].gap == 0);
}

/* Two dense layers and a step of gradient descent. */
static char *dense(int batch, int in, int hidden, int classes)
{
    static char text[1000];
    snprintf(text, sizeof text,
             "x: f32[batch=%d, in=%d] = input\n"
             "t: f32[batch=%d, classes=%d] = input\n"
             "w1: f32[in=%d, hidden=%d] = variable\n"
             "w2: f32[hidden=%d, classes=%d] = variable\n"
             "h: [batch, hidden] = einsum(x, w1)\n"
             "y: [batch, classes] = einsum(relu(h), w2)\n"
             "loss = reduce_mean(square(y - t))\n"
             "d1, d2 = gradients(loss; w1, w2)\n"
             "n1 = assign(w1, w1 - 0.1 * d1)\n"
             "n2 = assign(w2, w2 - 0.1 * d2)\n",
             batch, in, batch, classes, in, hidden, hidden, classes);
    return text;
}

static char *read_model(const char *name)
{
    char path[300];
    snprintf(path, sizeof path, MTF_SOURCE_DIR "/tests/search/models/%s", name);
    return read_text(path);
}

/* ---- known answers ---- */

/* The original's example, whose answer it gives as 300 bytes of tensors.  Here the slab of the last
 * processor: 5x5, 5x5 and 5x5 elements of f32, 100 bytes each, in places of 64 bytes. */
static void test_worked_example(void **state)
{
    (void)state;
    ground c = start("x1: f32[a=10, b=5] = input\n"
                     "x2: f32[b=5, c=20] = input\n"
                     "y: [a, c] = einsum(x1, x2)\n",
                     "y");
    finds(&c, &(mtf_layout_opts){.mesh = "m1:4,m2:2", .objective = MTF_SMALLEST}, "a:m2,c:m1");
    assert_int_equal(c.found[0].peak_bytes, 3 * 128);
    assert_int_equal(c.found[0].sent_bytes, 0);
    mtf_close(c.s);
}

static void test_small_dense_is_data_parallel(void **state)
{
    (void)state;
    ground c = start(dense(4096, 64, 64, 16), "loss");
    finds(&c, &(mtf_layout_opts){.mesh = "x:4", .machine = machine}, "batch:x");
    mtf_close(c.s);
}

/* The best layout is the one that cuts the batch, which is not searched where the batch is one replica's. */
static void test_batch_of_one_replica_stays_whole(void **state)
{
    (void)state;
    ground           c = start(dense(4096, 64, 64, 16), "loss");
    automatic_answer a;
    automatic_opts   o = {.mesh = "x:4", .layout = "auto", .want = 8, .whole_batch = true};
    assert_true(rates_choose(c.s, machine, &o.rates));
    assert_true(automatic_find(c.g, 1, &c.last, &o, &a) && a.n > 0);
    for (int k = 0; k < a.n; k++) assert_null(strstr(a.best[k].layout_text, "batch"));
    mtf_close(c.s);
}

static void test_wide_dense_is_model_parallel(void **state)
{
    (void)state;
    ground c = start(dense(512, 1024, 16384, 1024), "loss");
    /* Its variables alone take 134 MB; an eighth of them and of what else grows with them fits. */
    finds(&c, &(mtf_layout_opts){.mesh = "x:8", .machine = machine, .memory = 60000000},
          "hidden:x");
    assert_true(c.found[0].peak_bytes <= 60000000);
    mtf_close(c.s);
}

static void test_two_axes_are_both(void **state)
{
    (void)state;
    ground c = start(dense(16384, 1024, 8192, 1024), "loss");
    finds(&c, &(mtf_layout_opts){.mesh = "x:4,y:4", .machine = machine}, "batch:x,hidden:y");
    mtf_close(c.s);
}

static void test_experts_go_along_the_batch_axis(void **state)
{
    (void)state;
    char  *text = read_model("mixture_of_experts.mtf");
    ground c = start(text, "loss");
    finds(&c, &(mtf_layout_opts){.mesh = "x:8", .machine = machine}, "batch:x,experts:x");
    mtf_close(c.s);
    free(text);
}

/* ---- what the user says ---- */

static void test_given_rules_stand(void **state)
{
    (void)state;
    ground c = start(dense(4096, 64, 64, 16), "loss");
    finds(&c, &(mtf_layout_opts){.mesh = "x:4", .machine = machine, .layout = "hidden:x,auto"},
          "hidden:x");
    for (int k = 0; k < c.n; k++) assert_non_null(strstr(c.found[k].layout, "hidden:x"));
    /* Without the word, nothing else is cut. */
    finds(&c, &(mtf_layout_opts){.mesh = "auto:6", .machine = machine, .layout = "batch:mesh_0"},
          "batch:mesh_0");
    assert_string_equal(c.found[0].mesh, "mesh_0:6");
    mtf_close(c.s);
}

/* With time for one layout only, that is the first of the rules to begin with, as it is written. */
static void test_starts_as_written(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"hidden:x+y,batch:x", "hidden:x+y"}, /* both are dimensions of h: the first rule has x */
        {"batch:y,hidden:x?", "batch:y,hidden:x"},
        {"in:q,depth:x,classes:y|batch:x",
         "classes:y"}, /* without what the mesh and the model lack */
        {"batch:x+y,in:x,auto", "batch:x+y"},
    };
    ground           c = start(dense(4096, 64, 64, 16), "loss");
    automatic_answer a;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        automatic_opts o = {.mesh = "x:2,y:3", .layout = "auto", .starts = rows[k][0], .work = 1};
        assert_true(rates_choose(c.s, machine, &o.rates));
        assert_true(automatic_find(c.g, 1, &c.last, &o, &a));
        assert_string_equal(a.best[0].layout_text, rows[k][1]);
    }
    mtf_close(c.s);
}

static void test_twice_the_same(void **state)
{
    (void)state;
    char  *text = read_model("mixture_of_experts.mtf");
    ground a = start(text, "loss"), b = start(text, "loss");
    find(&a, &(mtf_layout_opts){.mesh = "x:2,y:3", .machine = machine});
    find(&b, &(mtf_layout_opts){.mesh = "x:2,y:3", .machine = machine});
    assert_int_equal(a.n, b.n);
    for (int k = 0; k < a.n; k++) {
        assert_string_equal(a.found[k].layout, b.found[k].layout);
        assert_true(a.found[k].seconds == b.found[k].seconds);
    }
    mtf_close(a.s);
    mtf_close(b.s);
    free(text);
}

static void test_nothing_fits(void **state)
{
    (void)state;
    ground c = start(dense(64, 64, 256, 16), "loss");
    find(&c, &(mtf_layout_opts){.mesh = "x:2", .machine = machine, .memory = 90000});
    assert_int_equal(c.n, 0);
    assert_non_null(strstr(mtf_error(c.s),
                           "memory: no layout on mesh x:2 fits: a processor may use "
                           "90000 bytes, and the smallest layout, \""));
    assert_non_null(strstr(mtf_error(c.s), "too many; it would fit on mesh x:4"));
    mtf_close(c.s);
}

static const char *refusal(long long memory)
{
    static char text[600];
    ground      c = start(dense(64, 64, 256, 16), "loss");
    find(&c, &(mtf_layout_opts){.mesh = "x:2", .layout = "batch:x", .memory = (size_t)memory});
    snprintf(text, sizeof text, "%s", mtf_error(c.s));
    mtf_close(c.s);
    return text;
}

static long long number_after(const char *text, const char *words)
{
    const char *at = strstr(text, words);
    if (!at) fail_msg("\"%s\" is not in \"%s\"", words, text);
    return atoll(at + strlen(words));
}

/* Variables that alone are too many are what is named. */
static void test_floor(void **state)
{
    (void)state;
    long long variables = number_after(refusal(1), "too many; variables alone take ");
    assert_int_equal(variables, 4 * (64 * 256 + 256 * 16));
    assert_non_null(strstr(refusal(variables - 1), ": use --state-layout auto or more processors"));
    assert_non_null(strstr(refusal(variables), "too many; recompute, or use more processors"));
}

/* The number that the sentence names is a limit that fits, and one byte less does not. */
static void limit_is_right(const char *m, const char *state_layout)
{
    for (int64_t memory = 1000;;) {
        ground c = start(dense(64, 64, 256, 16), "loss");
        find(&c,
             &(mtf_layout_opts){.mesh = m, .state_layout = state_layout, .memory = (size_t)memory});
        const char *needs = strstr(mtf_error(c.s), ", needs ");
        long long   least = needs ? atoll(needs + 8) : 0;
        int         found = c.n;
        mtf_close(c.s);
        if (memory == 1000) {
            assert_true(found == 0 && least > 1000);
            memory = least - 1;
        } else if (found == 0) {
            assert_int_equal(least, memory + 1);
            memory++;
        } else {
            return;
        }
    }
}

static void test_smallest_that_does_not_fit(void **state)
{
    (void)state;
    limit_is_right("x:2,y:2", NULL);
    limit_is_right("x:2,y:2", "auto");
    if (asked_much(1, 0)) limit_is_right("auto:6", NULL);
    limit_is_right("auto:4", "auto");
}

/* In the middle, a window reaches to both sides: the last processor needs less. */
static void test_limit_holds_for_the_middle(void **state)
{
    (void)state;
    ground  c = start("x: f32[batch=2, height=12, width=16, from=8] = input\n"
                       "w: f32[down=3, across=3, from=8, to=8] = variable\n"
                       "y = conv2d(x, w)\n",
                      "y");
    mesh    m;
    layout  l;
    int64_t last, most;
    double  seconds;
    assert_true(mesh_parse(c.s, "x:3", &m) && layout_parse(c.s, "height:x", &m, &l));
    estimate_opts o = {.mesh = &m, .layout = &l, .rates = PRICE_RATES};
    assert_true(estimate_largest(c.g, 1, &c.last, &o, &seconds, &last, &(int64_t){0}));
    assert_true(estimate_peak(c.g, 1, &c.last, &o, &most) && most > last);
    find(&c, &(mtf_layout_opts){.mesh = "x:3", .layout = "height:x", .memory = (size_t)most});
    assert_true(c.n == 1 && c.found[0].peak_bytes == most);
    find(&c, &(mtf_layout_opts){.mesh = "x:3", .layout = "height:x", .memory = (size_t)most - 1});
    assert_int_equal(c.n, 0);
    mtf_close(c.s);
}

/* ---- meshes ---- */

typedef struct listed {
    char text[400];
} listed;

static bool list(void *context, const mesh *m)
{
    listed *l = context;
    for (int a = 0; a < m->naxes; a++) {
        char size[20];
        snprintf(size, sizeof size, "%s%d", a ? "x" : " ", m->size[a]);
        strncat(l->text, size, sizeof l->text - strlen(l->text) - 1);
    }
    return true;
}

static void test_shapes(void **state)
{
    (void)state;
    static const struct {
        int         processors, most;
        bool        ordered;
        const char *shapes;
    } rows[] = {{1, 2, false, " 1"},
                {8, 3, false, " 8 4x2 2x2x2"},
                {8, 3, true, " 8 4x2 2x4 2x2x2"},
                {12, 2, false, " 12 6x2 4x3"},
                {12, 2, true, " 12 6x2 4x3 3x4 2x6"},
                {7, 3, true, " 7"},
                {512, 2, false, " 512 256x2 128x4 64x8 32x16"}};
    mtf_session *s = mtf_open_with(NULL);
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        listed l = {""};
        assert_true(shapes_visit(s, rows[k].processors, rows[k].most, rows[k].ordered, list, &l));
        assert_string_equal(l.text, rows[k].shapes);
    }
    mtf_close(s);
}

/* The best over all shapes is as good as the best of each. */
static void test_mesh_is_found(void **state)
{
    (void)state;
    ground c = start(dense(16384, 1024, 8192, 1024), "loss");
    double best = INFINITY;
    for (int k = 0; k < 3; k++) {
        static const char *const shapes[] = {"mesh_0:12", "mesh_0:6,mesh_1:2", "mesh_0:4,mesh_1:3"};
        find(&c, &(mtf_layout_opts){.mesh = shapes[k], .machine = machine});
        best = fmin(best, c.found[0].seconds);
    }
    find(&c, &(mtf_layout_opts){.mesh = "auto:12", .machine = machine});
    assert_true(c.n > 0 && c.found[0].seconds == best);
    mtf_close(c.s);
}

/* The rows of a 2x3 mesh are nodes of 3; those of a 3x2 mesh fit in none. */
static void test_order_of_axes_is_found(void **state)
{
    (void)state;
    static const char nodes[] =
        "flops=1e12,memory=1e12,wire=1e11,latency=1e-6,node=3,outer_wire=1e9,outer_latency=1e-5";
    ground c = start(dense(1536, 384, 1536, 384), "loss");
    double best = INFINITY, other;
    for (int k = 0; k < 2; k++) {
        find(&c, &(mtf_layout_opts){.mesh = k ? "mesh_0:2,mesh_1:3" : "mesh_0:3,mesh_1:2",
                                    .machine = nodes});
        if (k) best = c.found[0].seconds;
        if (!k) other = c.found[0].seconds;
    }
    assert_true(best < other);
    find(&c, &(mtf_layout_opts){.mesh = "auto:6", .machine = nodes});
    assert_true(c.n > 0 && c.found[0].seconds <= best);
    mtf_close(c.s);
}

/* Of layouts that are as small the fastest comes first, of those as fast the smallest. */
static void test_ties(void **state)
{
    (void)state;
    char  *net = read_model("u_net.mtf");
    ground c = start(net, "loss");
    find(&c, &(mtf_layout_opts){.mesh = "x:4", .objective = MTF_SMALLEST});
    int ties = 0; /* as small, and slower */
    for (int k = 1; k < c.n; k++) {
        const mtf_layout_found *a = &c.found[k - 1], *b = &c.found[k];
        assert_true(a->peak_bytes <= b->peak_bytes);
        if (a->peak_bytes < b->peak_bytes) continue;
        assert_true(a->seconds <= b->seconds * (1 + 1e-9));
        ties += a->seconds < b->seconds * (1 - 1e-9);
    }
    assert_true(ties > 0);
    mtf_close(c.s);
    free(net);
    /* Such ties are rare in time: the rule itself, both ways. */
    const cost lean = {.seconds = 2, .peak = 10}, fat = {.seconds = 2, .peak = 11};
    const cost slow = {.seconds = 3, .peak = 10};
    assert_true(worth_less(worth_of(&lean, false, 0), worth_of(&fat, false, 0)));
    assert_false(worth_less(worth_of(&fat, false, 0), worth_of(&lean, false, 0)));
    assert_true(worth_less(worth_of(&lean, true, 0), worth_of(&slow, true, 0)));
    assert_false(worth_less(worth_of(&lean, true, 0), worth_of(&lean, true, 0)));
}

/* Every legal layout is priced, however loose the bounds of memory are: then the best is proved. */
static void test_memory_is_proved(void **state)
{
    (void)state;
    char  *text = read_model("u_net.mtf");
    ground c = start(text, "loss");
    find(&c, &(mtf_layout_opts){.mesh = "x:2,y:2", .objective = MTF_SMALLEST});
    assert_true(c.n > 0 && c.found[0].gap == 0);
    mtf_close(c.s);
    free(text);
}

/* Rules of the user that cannot stand together are named. */
static void test_given_rules_are_named(void **state)
{
    (void)state;
    ground c = start(dense(8, 4, 6, 3), "loss");
    find(&c, &(mtf_layout_opts){.mesh = "x:2", .layout = "batch:x,hidden:x,auto"});
    assert_int_equal(c.n, 0);
    assert_non_null(strstr(mtf_error(c.s), "by the rules \"batch:x\" and \"hidden:x\""));
    mtf_close(c.s);
}

/* Cut state brings under the limit what does not fit without. */
static void test_state_is_found(void **state)
{
    (void)state;
    ground c = start(dense(4096, 512, 512, 512), "loss");
    find(&c, &(mtf_layout_opts){.mesh = "x:4", .machine = machine, .objective = MTF_SMALLEST});
    int64_t without = c.found[0].peak_bytes;
    find(&c,
         &(mtf_layout_opts){
             .mesh = "x:4", .machine = machine, .objective = MTF_SMALLEST, .state_layout = "auto"});
    assert_true(c.n > 0 && c.found[0].peak_bytes < without);
    assert_true(strlen(c.found[0].state_layout) > 0);
    mtf_close(c.s);
}

/* So many equal layers, and a step of gradient descent. */
static char *deep(int layers)
{
    static char text[10000];
    size_t      used = (size_t)snprintf(text, sizeof text, "h0: f32[batch=448, a=64] = input\n");
#define ADD(...) used += (size_t)snprintf(text + used, sizeof text - used, __VA_ARGS__)
    for (int k = 0; k < layers; k++) {
        ADD("v%d: f32[a=64, b=64] = variable\n", k);
        ADD("w%d: f32[b=64, a=64] = variable\n", k);
        ADD("g%d: [batch, b] = einsum(h%d, v%d)\n", k, k, k);
        ADD("h%d: [batch, a] = einsum(tanh(g%d), w%d)\n", k + 1, k, k);
    }
    ADD("loss = reduce_mean(square(h%d))\n", layers);
    for (int k = 0; k < layers; k++) ADD("%sdv%d, dw%d", k ? ", " : "", k, k);
    ADD(" = gradients(loss; ");
    for (int k = 0; k < layers; k++) ADD("%sv%d, w%d", k ? ", " : "", k, k);
    ADD(")\n");
    for (int k = 0; k < layers; k++) {
        ADD("nv%d = assign(v%d, v%d - 0.1 * dv%d)\n", k, k, k, k);
        ADD("nw%d = assign(w%d, w%d - 0.1 * dw%d)\n", k, k, k, k);
    }
#undef ADD
    return text;
}

/* Where layers are left out, what they need counts when rules for state are chosen. */
static void test_state_of_layers_is_found(void **state)
{
    (void)state;
    ground          c = start(deep(12), "loss");
    mtf_layout_opts o = {.mesh = "x:4", .layout = "batch:x", .machine = machine};
    find(&c, &o);
    int64_t without = c.found[0].peak_bytes;
    o.state_layout = "auto";
    o.memory = (size_t)without - 1;
    find(&c, &o);
    if (!c.n) fail_msg("%s", mtf_error(c.s));
    assert_true(c.found[0].peak_bytes < without && strlen(c.found[0].state_layout) > 0);
    mtf_close(c.s);
}

/* ---- answers as input ---- */

/* A session that is given what was found, as text, plans the same. */
static void runs(const char *text, const char *fetch, const mtf_layout_found *x)
{
    mtf_session_opts o = {
        .threads = 1, .mesh = x->mesh, .layout = x->layout, .state_layout = x->state_layout};
    mtf_session *s = mtf_open_with(&o);
    mtf_graph   *g = mtf_parse(s, text, "test");
    mtf_program *p = mtf_compile(g, mtf_find(g, fetch));
    if (!p) fail_msg("%s; %s; %s: %s", x->mesh, x->layout, x->state_layout, mtf_error(s));
    mtf_close(s);
}

/* Variables of two dimensions that other tensors have too: rules for state may want both axes. */
static void test_every_answer_runs(void **state)
{
    (void)state;
    static const mtf_layout_opts asked[] = {
        {.mesh = "x:2,y:2", .layout = "batch:x,auto", .state_layout = "auto"},
        {.mesh = "x:2,y:2", .state_layout = "hidden:x,auto", .objective = MTF_SMALLEST},
        {.mesh = "x:2,y:2", .layout = "", .state_layout = "auto", .objective = MTF_SMALLEST},
        {.mesh = "auto:8", .layout = "batch:mesh_0?,auto", .state_layout = "auto"},
        {.mesh = "auto:8", .state_layout = "auto", .objective = MTF_SMALLEST},
    };
    char *texts[] = {strdup(dense(64, 64, 256, 8)), read_model("mixture_of_experts.mtf")};
    int   both = 0; /* answers that cut one dimension of state along two axes */
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < sizeof asked / sizeof *asked;
             i += (size_t)asked_much(1, k ? 5 : 2)) {
            mtf_layout_opts o = asked[i];
            ground          c = start(texts[k], "loss");
            if (k && o.state_layout[0] == 'h') o.state_layout = "auto";
            o.machine = machine;
            find(&c, &o);
            if (!c.n) fail_msg("%s", mtf_error(c.s));
            for (int n = 0; n < c.n; n++) {
                runs(texts[k], "loss", &c.found[n]);
                both += strchr(c.found[n].state_layout, '+') != NULL;
            }
            mtf_close(c.s);
        }
    assert_true(both > 0);
    free(texts[0]);
    free(texts[1]);
}

/* ---- sessions ---- */

static void test_session_runs_it(void **state)
{
    (void)state;
    char        *argv[] = {"test",
                           "--mesh",
                           "auto:4",
                           "--layout",
                           "auto",
                           "--machine",
                           "flops=1e6,wire=1e9,latency=1e-9"};
    mtf_session *s = mtf_open(7, argv);
    mtf_graph   *g = mtf_parse(s, dense(8, 4, 6, 3), "test");
    mtf_tensor  *loss = mtf_find(g, "loss"), *x = mtf_find(g, "x"), *t = mtf_find(g, "t");
    mtf_program *p = mtf_compile(g, loss);
    float        ones[32];
    for (int i = 0; i < 32; i++) ones[i] = 1;
    mtf_feed(p, x, ones);
    mtf_feed(p, t, ones);
    assert_true(mtf_step(p) && isfinite(mtf_fetch_scalar(p, loss)));
    assert_true(mtf_program_cost(p).collectives > 0);
    assert_int_equal(mtf_close(s), 0);
}

/* What is given as a value or a list stands, as its text would. */
static void test_session_with_lists(void **state)
{
    (void)state;
    const mtf_dim    x = {"x", 4};
    const mtf_rule   in[] = {{.dim = "in", .axes = {"x"}}, {0}};
    mtf_session_opts o = {.threads = 1,
                          .mesh_shape = mtf_shape(x),
                          .layout = "batch:x,auto",
                          .state_rules = in,
                          .machine = machine};
    mtf_session     *s = mtf_open_with(&o);
    mtf_graph       *g = mtf_parse(s, dense(8, 4, 6, 3), "test");
    mtf_program     *p = mtf_compile(g, mtf_find(g, "loss"));
    if (!p) fail_msg("%s", mtf_error(s));
    assert_string_equal(s->opts.mesh, "x:4");
    assert_string_equal(s->opts.layout, "batch:x");
    assert_string_equal(s->opts.state_layout, "in:x");
    assert_int_equal(mtf_close(s), 0);
}

static void test_session_wants_a_graph_first(void **state)
{
    (void)state;
    mtf_session *s =
        mtf_open_with(&(mtf_session_opts){.threads = 1, .mesh = "x:2", .layout = "auto"});
    mtf_graph *g = mtf_parse(s, dense(8, 4, 6, 3), "test");
    float      w[24] = {0};
    assert_false(mtf_variable_set(mtf_find(g, "w1"), w));
    assert_non_null(strstr(mtf_error(s), "compile it before variables are read or set"));
    mtf_close(s);
}

/* ---- no memory ---- */

typedef struct purse {
    int left; /* calls until one is refused; negative: it was */
} purse;

static void *take(void *context, size_t bytes)
{
    purse *p = context;
    return p->left-- == 0 ? NULL : malloc(bytes);
}

static void give(void *context, void *memory)
{
    (void)context;
    free(memory);
}

/* Whichever allocation fails, there is an answer or a sentence. */
static void test_every_allocation(void **state)
{
    (void)state;
    bool refused = true;
    for (int n = 1; refused; n += asked_much(1, 29)) {
        purse        p = {n};
        mtf_session *s =
            mtf_open_with(&(mtf_session_opts){.allocator = {take, give, &p}, .threads = 1});
        if (!s) continue;
        mtf_graph       *g = mtf_parse(s, dense(8, 4, 6, 3), "test");
        mtf_tensor      *loss = g ? mtf_find(g, "loss") : NULL;
        mtf_layout_found found;
        int              k = mtf_layout_find(
                         g, 1, &loss, &(mtf_layout_opts){.mesh = "auto:4", .state_layout = "auto"}, 1, &found);
        refused = p.left < 0;
        assert_true(k == 1 || !mtf_ok(s));
        mtf_close(s);
    }
}

/* ---- machines ---- */

static void test_machines(void **state)
{
    (void)state;
    static const char *const shipped[] = {"h100-node", "h100-nodes", "h200-node", "h200",
                                          "cpu-cluster"};
    mtf_session             *s = mtf_open_with(NULL);
    price_rates              r;
    for (size_t k = 0; k < sizeof shipped / sizeof *shipped; k++) {
        char path[300];
        snprintf(path, sizeof path, MTF_SOURCE_DIR "/share/machines/%s.machine", shipped[k]);
        assert_true(rates_choose(s, path, &r));
        assert_true(r.capacity > 1e9 && (r.nproducts > 0 || r.gpu->nproducts > 0));
    }
    assert_true(rates_read(s,
                           "# a machine\nflops 10\nmemory 20 # fast\nwire 30\nlatency 1\nnode 8\n"
                           "product f32 64 5\nproduct f32 0 2\nouter_wire 3\nouter_latency 2\n"
                           "message 0.25\nouter_message 0.5\n"
                           "axis far 1 9\npauses 200\npause 1e-3\nalone 1.5\nhalf 0\n"
                           "cache 4e6 40\ncache 1e6 80\nwindow f32 64 40\nwindow f32 4 10\n"
                           "multiplies bf16\n",
                           "m", &r));
    assert_true(abilities_multiply(r.can, MTF_BF16) && !abilities_multiply(r.can, MTF_F16));
    assert_true(r.nwindows == 2 &&
                rates_window(&r, &(window_rate){.type = MTF_F32, .channels = 4}) == 10);
    assert_true(rates_product(&r, MTF_F32, 8) == 2 && rates_product(&r, MTF_F32, 1e6) == 5);
    assert_true(rates_product(&r, MTF_F64, 1e6) == 10);
    mesh m;
    assert_true(mesh_parse(s, "far:2,nodes:4,gpus:8", &m));
    links gpus = links_of(&r, &m, 4), nodes = links_of(&r, &m, 2), far = links_of(&r, &m, 1);
    assert_true(gpus.nodes == 1 && gpus.inner.wire == 30 && gpus.inner.message == 0.25);
    assert_true(nodes.inside == 1 && nodes.outer.wire == 3 && nodes.outer.message == 0.5);
    assert_true(far.inner.latency == 9 && links_of(&r, &m, 7).inner.wire == 1);
    assert_true(r.pauses == 200 && r.pause == 1e-3);
    assert_true(r.ncaches == 2 && rates_memory(&r, 1) == 80 && rates_memory(&r, 1e9) == 20);
    textbuf     written = {.arena = &s->arena};
    price_rates again;
    rates_write(&r, &written);
    const char *first = text_done(&written);
    assert_true(rates_read(s, first, "m", &again));
    textbuf twice = {.arena = &s->arena};
    rates_write(&again, &twice);
    assert_string_equal(text_done(&twice), first);
    assert_true(rates_speed(&r, 1) == 1 && rates_speed(&r, 0.8) == 1.25);
    assert_true(rates_speed(&r, 0.25) == 1.5);
    r.half = 1.4, r.quarter = 1;
    assert_true(rates_speed(&r, 0.875) == 1 && rates_speed(&r, 0.5) == 1.4);
    assert_true(fabs(rates_speed(&r, 0.625) - 1.2) < 1e-12 && rates_speed(&r, 1) == 1);
    assert_true(fabs(rates_speed(&r, 0.25) - 1.45) < 1e-12); /* between half and alone, 1.5 */
    r.most = 1.42;
    assert_true(rates_speed(&r, 0.25) == 1.42 && fabs(rates_speed(&r, 0.375) - 1.41) < 1e-12);
    assert_true(fabs(rates_speed(&r, 0.125) - 1.46) < 1e-12);
    r.half = 3; /* never more than what is left */
    assert_true(rates_speed(&r, 0.5) == 1.5);
    assert_false(rates_read(s, "flops 10\nflop 20\n", "m", &r));
    assert_non_null(strstr(mtf_error(s), "m:2: \"flop 20\" is not a line of a machine file"));
    assert_false(rates_read(s, "cache 1e6\n", "m", &r));
    mtf_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_worked_example),
        cmocka_unit_test(test_small_dense_is_data_parallel),
        cmocka_unit_test(test_batch_of_one_replica_stays_whole),
        cmocka_unit_test(test_wide_dense_is_model_parallel),
        cmocka_unit_test(test_two_axes_are_both),
        cmocka_unit_test(test_experts_go_along_the_batch_axis),
        cmocka_unit_test(test_given_rules_stand),
        cmocka_unit_test(test_starts_as_written),
        cmocka_unit_test(test_twice_the_same),
        cmocka_unit_test(test_nothing_fits),
        cmocka_unit_test(test_floor),
        cmocka_unit_test(test_smallest_that_does_not_fit),
        cmocka_unit_test(test_limit_holds_for_the_middle),
        cmocka_unit_test(test_order_of_axes_is_found),
        cmocka_unit_test(test_ties),
        cmocka_unit_test(test_memory_is_proved),
        cmocka_unit_test(test_given_rules_are_named),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_mesh_is_found),
        cmocka_unit_test(test_state_is_found),
        cmocka_unit_test(test_state_of_layers_is_found),
        cmocka_unit_test(test_every_answer_runs),
        cmocka_unit_test(test_session_runs_it),
        cmocka_unit_test(test_session_with_lists),
        cmocka_unit_test(test_session_wants_a_graph_first),
        cmocka_unit_test(test_every_allocation),
        cmocka_unit_test(test_machines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
