/* Tests that no rule for state raises the planned memory.
 *
 * Built-in models and others of the tree, with several optimizers, under many
 * layouts of four meshes, with every single rule for state that cuts some
 * variable further.  Where a mesh has more layouts than LAYOUTS, every so many
 * of them are taken.  Models that train weights of some size need no help: there
 * no rule raises it by itself.  Of the harness's small models, some of which
 * loop over their weights, rules are declined.
 */
#include <glob.h>

#include "model/ready.h"
#include "mtf_nn.h"
#include "price/decline.h"
#include "search/automatic.h"

#include "asked.h"
#include "ground.h"

/* Larger models, as BERT, take minutes to plan so often. */
enum { LAYOUTS = 16, RULE_ROOM = 100, MOST_NODES = 150, SMALL_MODELS = 3 };

typedef struct sample {
    const char  *name;
    mtf_graph   *graph;
    mtf_tensor **fetches;
    int          nfetches;
    bool         declines; /* rules that raise it are to be declined; else there must be none */
    int          tried, raised, declined;
} sample;

/* ---- rules ---- */

static bool is_legal(const mtf_graph *g, const layout *l)
{
    placement where;
    for (int i = 0; i < g->ntensors; i++)
        if (!layout_place(l, &g->all[i]->shape, "", NULL, &where)) return false;
    return true;
}

static bool cuts_some_variable(const mtf_graph *g, const layout *l)
{
    bool found = false;
    for (int i = 0; i < g->root.nnodes && !found; i++) {
        const node *n = g->root.nodes[i];
        placement   where;
        if (strcmp(n->op->name, "variable") != 0) continue;
        layout_place(l, &n->out[0]->shape, "", NULL, &where);
        found = layout_refine(l, &n->out[0]->shape, &where);
    }
    return found;
}

/* Number d of the dimensions of g along an axis; false where there is no such dimension. */
static bool make_rule(const mtf_graph *g, int d, const mesh *m, int axis, char text[RULE_ROOM],
                      layout_rule *r)
{
    const char *dim = g->dim_names.entries[d].name;
    if (!dim) return false;
    snprintf(text, RULE_ROOM, "%s:%s", dim, m->name[axis]);
    *r = (layout_rule){.dim = dim, .text = text, .cut = {1, {(uint8_t)axis}}, .optional = true};
    return true;
}

/* ---- one layout, with each rule for state ---- */

static int64_t peak_under(const sample *t, const layout *l)
{
    int64_t       peak;
    estimate_opts o = {.mesh = l->mesh, .layout = l};
    if (!estimate_peak(t->graph, t->nfetches, t->fetches, &o, &peak))
        fail_msg("%s: %s", t->name, mtf_error(t->graph->session));
    return peak;
}

static void decline_under(sample *t, layout *l)
{
    estimate_opts o = {.mesh = l->mesh};
    if (t->declines && !decline_state_rules(t->graph, t->nfetches, t->fetches, &o, l))
        fail_msg("%s: %s", t->name, mtf_error(t->graph->session));
    t->declined += l->ndeclined;
}

static void complain(sample *t, const layout *l, const char *state, int64_t peak, int64_t without)
{
    printf("%s on %d processors, \"%s %s\", state \"%s\": %lld bytes, without %lld\n", t->name,
           mesh_size(l->mesh), l->nrules > 0 ? l->rules[0].text : "",
           l->nrules > 1 ? l->rules[1].text : "", state, (long long)peak, (long long)without);
    t->raised++;
}

static void try_each_rule(sample *t, const layout *l)
{
    int64_t without = peak_under(t, l);
    for (int k = 0; k < t->graph->dim_names.room * l->mesh->naxes; k++) {
        char        text[RULE_ROOM];
        layout_rule r;
        layout      with = *l;
        if (!make_rule(t->graph, k / l->mesh->naxes, l->mesh, k % l->mesh->naxes, text, &r))
            continue;
        with.nstate = 1, with.state = &r;
        if (!cuts_some_variable(t->graph, &with)) continue;
        decline_under(t, &with);
        int64_t peak = peak_under(t, &with);
        t->tried++;
        if (peak > without) complain(t, l, text, peak, without);
    }
}

/* Of two rules none raises what the other leaves, nor both what there is without them. */
static void try_each_pair(sample *t, const layout *l)
{
    int64_t without = peak_under(t, l);
    int     dims = t->graph->dim_names.room;
    for (int k = 0; k < dims * dims && l->mesh->naxes == 2; k++) {
        char        text[2][RULE_ROOM], both[2 * RULE_ROOM];
        layout_rule r[2];
        layout      with = *l;
        if (k / dims == k % dims || !make_rule(t->graph, k / dims, l->mesh, 0, text[0], &r[0]) ||
            !make_rule(t->graph, k % dims, l->mesh, 1, text[1], &r[1]))
            continue;
        with.nstate = 2, with.state = r;
        snprintf(both, sizeof both, "%s,%s", text[0], text[1]);
        if (!cuts_some_variable(t->graph, &with)) continue;
        decline_under(t, &with);
        int64_t peak = peak_under(t, &with);
        t->tried++;
        if (peak > without) complain(t, l, both, peak, without);
        for (int one = 0; one < with.nstate && with.nstate == 2; one++) {
            layout alone = *l;
            alone.nstate = 1, alone.state = &r[one];
            int64_t other = peak_under(t, &alone);
            if (peak > other) complain(t, l, both, peak, other);
        }
    }
}

/* What is found raises it as little, on a machine where work on parts pays. */
static void try_found(sample *t, const layout *l)
{
    int64_t          without = peak_under(t, l);
    textbuf          rules = {.arena = &t->graph->session->arena}, axes = rules;
    automatic_answer found;
    for (int r = 0; r < l->nrules; r++) text_add(&rules, "%s%s", r ? "," : "", l->rules[r].text);
    for (int a = 0; a < l->mesh->naxes; a++)
        text_add(&axes, "%s%s:%d", a ? "," : "", l->mesh->name[a], l->mesh->size[a]);
    automatic_opts o = {.mesh = text_done(&axes),
                        .layout = text_done(&rules),
                        .state_layout = "auto",
                        .rates = {.flops = 1e6, .memory = 1e6, .wire = 1e9, .latency = 1e-9}};
    if (!automatic_find(t->graph, t->nfetches, t->fetches, &o, &found))
        fail_msg("%s: %s", t->name, mtf_error(t->graph->session));
    int64_t peak = peak_under(t, &found.best[0].layout);
    t->tried++;
    if (peak > without) complain(t, l, found.best[0].state_text, peak, without);
}

/* ---- layouts ---- */

/* A rule or none for each of one or two axes; the number says which dimensions. */
static bool make_layout(const mtf_graph *g, int number, layout *l, char text[2][RULE_ROOM])
{
    int choices = g->dim_names.room + 1;
    l->nrules = 0;
    for (int a = 0; a < l->mesh->naxes; a++, number /= choices) {
        if (number % choices == 0) continue;
        if (!make_rule(g, number % choices - 1, l->mesh, a, text[a], &l->rules[l->nrules++]))
            return false;
    }
    bool twice = l->nrules == 2 && l->rules[0].dim == l->rules[1].dim;
    return !twice && is_legal(g, l);
}

typedef void try_under(sample *t, const layout *l);

/* Some of the legal layouts, `many` as a rule. */
static void try_mesh(sample *t, const char *mesh_text, int many, try_under *what)
{
    mesh        m;
    layout_rule rules[2];
    char        text[2][RULE_ROOM];
    int         choices = t->graph->dim_names.room + 1, legal = 0, seen = 0;
    int         most = asked_much(many, (many + 7) / 8);
    assert_true(mesh_parse(t->graph->session, mesh_text, &m));
    layout l = {.mesh = &m, .rules = rules};
    int    all = m.naxes == 1 ? choices : choices * choices;
    for (int k = 0; k < all; k++) legal += make_layout(t->graph, k, &l, text);
    for (int k = 0; k < all; k++)
        if (make_layout(t->graph, k, &l, text) && seen++ % (legal / most + 1) == 0) what(t, &l);
}

static const char *const meshes[] = {"x:2", "x:3", "x:4", "x:2,y:2"};
enum { MESHES = sizeof meshes / sizeof *meshes };

static void try_all(const char *name, const char *optimizer, mtf_graph *g, mtf_tensor *loss)
{
    char full[200];
    snprintf(full, sizeof full, "%s, %s", name, optimizer);
    sample t = {.name = full, .graph = g, .fetches = &loss, .nfetches = 1};
    assert_non_null(loss);
    assert_string_equal(mtf_error(g->session), "");
    for (int k = 0; k < MESHES; k++) try_mesh(&t, meshes[k], LAYOUTS, try_each_rule);
    assert_true(t.tried > 0);
    assert_int_equal(t.raised, 0);
}

/* ---- models ---- */

static const char *const optimizers[] = {"sgd", "momentum", "adam", "adafactor"};
enum { OPTIMIZERS = sizeof optimizers / sizeof *optimizers };

static bool is_large(const network *n)
{
    return n->graph->root.nnodes > MOST_NODES;
}

static void test_ready_models(void **state)
{
    int taken = 0;
    (void)state;
    for (int k = 0; k < OPTIMIZERS; k++)
        for (int i = 0; model_nth(i); i++) {
            mtf_session *s = mtf_open_with(&(mtf_session_opts){.threads = 1});
            settings     v = settings_of(s, model_nth(i));
            network      n = {0};
            assert_true(model_nth(i)->build(&v, true, &n));
            if (is_large(&n)) {
                close_well(s);
                continue;
            }
            taken++;
            mtf_minimize(n.graph, n.loss,
                         &(mtf_minimize_opts){.optimizer = optimizers[k],
                                              .schedule = setting_text(&v, "rate"),
                                              .steps = 100});
            try_all(model_nth(i)->name, optimizers[k], n.graph, n.loss);
            close_well(s);
        }
    assert_int_equal(taken, OPTIMIZERS * SMALL_MODELS);
}

static mtf_graph *read_graph(mtf_session *s, const char *path)
{
    static char text[20000];
    FILE       *f = fopen(path, "r");
    assert_non_null(f);
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    return mtf_parse(s, text, path);
}

static void test_mixture_of_experts(void **state)
{
    (void)state;
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.threads = 1});
    mtf_graph   *g = read_graph(s, MTF_SOURCE_DIR "/tests/search/models/mixture_of_experts.mtf");
    try_all("mixture of experts", "its own", g, mtf_find(g, "loss"));
    close_well(s);
}

/* Its norms have biases, which nothing but the norm itself reads. */
static mtf_tensor *language_model(mtf_graph *g, int layers, int64_t size)
{
    mtf_dim batch = {"batch", size / 4}, length = {"length", size}, width = {"model", size},
            ff = {"ff", 4 * size}, heads = {"heads", 4}, kv = {"kv", size / 4},
            vocab = {"vocab", size};
    mtf_shape   text = mtf_shape(batch, length);
    mtf_tensor *table = mtf_embedding_weights(g, vocab, width, NULL);
    mtf_tensor *x = mtf_gather(table, mtf_input(g, "tokens", MTF_I32, text), vocab);
    mtf_tensor *labels = mtf_input(g, "labels", MTF_I32, text);
    mtf_tensor *causal = mtf_attention_mask_autoregressive(mtf_range(g, length, MTF_I32), MTF_F32);
    for (int i = 0; i < layers; i++) {
        char scope[20];
        snprintf(scope, sizeof scope, "layer%d", i);
        mtf_scope_push(g, scope);
        mtf_tensor *h = mtf_layer_norm(x, width, NULL);
        x = mtf_add(x, mtf_multihead_attention(h, NULL, causal, kv, heads, NULL));
        x = mtf_add(x, mtf_dense_relu_dense(mtf_layer_norm(x, width, NULL), ff, NULL));
        mtf_scope_pop(g);
    }
    mtf_tensor *logits = mtf_dense(mtf_layer_norm(x, width, NULL), mtf_shape(vocab),
                                   &(mtf_dense_opts){.no_bias = true, .kernel = table});
    return mtf_reduce_mean(mtf_softmax_cross_entropy(logits, labels, vocab), MTF_ALL);
}

static void test_language_models(void **state)
{
    (void)state;
    static const struct {
        int     layers;
        int64_t size;
    } rows[] = {{2, 32}, {8, 256}};
    for (int k = 0; k < 2 * OPTIMIZERS; k += asked_much(1, 3)) {
        mtf_session *s = mtf_open_with(&(mtf_session_opts){.threads = 1});
        mtf_graph   *g = mtf_graph_new(s);
        mtf_tensor  *loss = language_model(g, rows[k % 2].layers, rows[k % 2].size);
        const char  *optimizer = optimizers[k / 2];
        mtf_minimize(g, loss, &(mtf_minimize_opts){.optimizer = optimizer, .clip_norm = k % 2});
        try_all(k % 2 ? "large language model" : "small language model", optimizer, g, loss);
        close_well(s);
    }
}

/* ---- models of the harness ---- */

/* The loss alone, and with it all that nobody reads. */
static int list_ends(mtf_graph *g, mtf_tensor **list, int room)
{
    int n = 0;
    list[n++] = mtf_find(g, "loss");
    for (int k = 0; k < g->root.nnodes; k++) {
        mtf_tensor *x = g->root.nodes[k]->out[0];
        bool        is_read = x == list[0];
        for (int i = 0; i < g->root.nnodes && !is_read; i++)
            for (int j = 0; j < g->root.nodes[i]->nin; j++)
                is_read = is_read || g->root.nodes[i]->in[j] == x;
        if (!is_read && n < room) list[n++] = x;
    }
    return n;
}

static void try_harness_models(int most, int first_mesh, try_under *what, bool some_declined)
{
    glob_t files;
    int    declined = 0, kept = 0;
    assert_int_equal(glob(MTF_SOURCE_DIR "/tests/harness/models/*.mtf", 0, NULL, &files), 0);
    for (size_t i = 0; i < 2 * files.gl_pathc; i += (size_t)asked_much(1, 3)) {
        mtf_session *s = mtf_open_with(&(mtf_session_opts){.threads = 1});
        mtf_graph   *g = read_graph(s, files.gl_pathv[i / 2]);
        mtf_tensor  *ends[40];
        sample t = {.name = files.gl_pathv[i / 2], .graph = g, .fetches = ends, .declines = true};
        t.nfetches = list_ends(g, ends, i % 2 ? 40 : 1);
        for (int k = first_mesh; k < MESHES; k++) try_mesh(&t, meshes[k], most, what);
        assert_true(t.tried > 0);
        assert_int_equal(t.raised, 0);
        declined += t.declined;
        kept += t.tried - t.declined;
        close_well(s);
    }
    globfree(&files);
    assert_int_equal(declined > 0, some_declined);
    assert_true(kept > 0);
}

static void test_harness_models(void **state)
{
    (void)state;
    try_harness_models(LAYOUTS, 0, try_each_rule, true);
}

static void test_two_rules(void **state)
{
    (void)state;
    try_harness_models(3, MESHES - 1, try_each_pair, true);
}

static void test_found_rules(void **state)
{
    (void)state;
    try_harness_models(4, 0, try_found, false);
    for (int i = 0; model_nth(i); i++) {
        mtf_session *s = mtf_open_with(&(mtf_session_opts){.threads = 1});
        settings     v = settings_of(s, model_nth(i));
        network      n = {0};
        sample       t = {.name = model_nth(i)->name, .fetches = &n.loss, .nfetches = 1};
        assert_true(model_nth(i)->build(&v, true, &n));
        if (is_large(&n)) {
            close_well(s);
            continue;
        }
        mtf_minimize(n.graph, n.loss,
                     &(mtf_minimize_opts){
                         .optimizer = "adam", .schedule = setting_text(&v, "rate"), .steps = 100});
        t.graph = n.graph;
        for (int k = 0; k < MESHES; k++) try_mesh(&t, meshes[k], 2, try_found);
        assert_true(t.tried > 0);
        assert_int_equal(t.raised, 0);
        close_well(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ready_models),    cmocka_unit_test(test_mixture_of_experts),
        cmocka_unit_test(test_language_models), cmocka_unit_test(test_harness_models),
        cmocka_unit_test(test_two_rules),       cmocka_unit_test(test_found_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
