/* Tests that no rule for state raises the planned memory.
 *
 * Ready models and others of the tree, with several optimizers, under many
 * layouts of four meshes, with every single rule for state that cuts some
 * variable further.  Where a mesh has more layouts than LAYOUTS, every so many
 * of them are taken.
 */
#include "model/ready.h"
#include "mtf_nn.h"
#include "plan/estimate.h"

#include "ground.h"

enum { LAYOUTS = 16, RULE_ROOM = 100 };

typedef struct subject {
    const char *name;
    mtf_graph  *graph;
    mtf_tensor *loss;
    int         tried, raised;
} subject;

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
    *r = (layout_rule){.dim = dim, .text = text, .cut = {1, {(uint8_t)axis}}};
    return true;
}

/* ---- one layout, with each rule for state ---- */

static int64_t peak_under(const subject *t, const layout *l)
{
    int64_t       peak;
    estimate_opts o = {.mesh = l->mesh, .layout = l};
    if (!estimate_peak(t->graph, 1, &t->loss, &o, &peak))
        fail_msg("%s: %s", t->name, mtf_error(t->graph->session));
    return peak;
}

static void try_each_rule(subject *t, const layout *l)
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
        int64_t peak = peak_under(t, &with);
        t->tried++;
        if (peak <= without) continue;
        printf("%s on %d processors, \"%s %s\", state \"%s\": %lld bytes, without %lld\n", t->name,
               mesh_size(l->mesh), l->nrules > 0 ? l->rules[0].text : "",
               l->nrules > 1 ? l->rules[1].text : "", text, (long long)peak, (long long)without);
        t->raised++;
    }
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

static void try_mesh(subject *t, const char *mesh_text)
{
    mesh        m;
    layout_rule rules[2];
    char        text[2][RULE_ROOM];
    int         choices = t->graph->dim_names.room + 1, legal = 0, seen = 0;
    assert_true(mesh_parse(t->graph->session, mesh_text, &m));
    layout l = {.mesh = &m, .rules = rules};
    int    all = m.naxes == 1 ? choices : choices * choices;
    for (int k = 0; k < all; k++) legal += make_layout(t->graph, k, &l, text);
    for (int k = 0; k < all; k++)
        if (make_layout(t->graph, k, &l, text) && seen++ % (legal / LAYOUTS + 1) == 0)
            try_each_rule(t, &l);
}

static void try_all(const char *name, const char *optimizer, mtf_graph *g, mtf_tensor *loss)
{
    static const char *const meshes[] = {"x:2", "x:3", "x:4", "x:2,y:2"};
    char                     full[200];
    snprintf(full, sizeof full, "%s, %s", name, optimizer);
    subject t = {.name = full, .graph = g, .loss = loss};
    assert_non_null(loss);
    assert_string_equal(mtf_error(g->session), "");
    for (size_t k = 0; k < sizeof meshes / sizeof *meshes; k++) try_mesh(&t, meshes[k]);
    assert_true(t.tried > 0);
    assert_int_equal(t.raised, 0);
}

/* ---- models ---- */

static const char *const optimizers[] = {"sgd", "momentum", "adam", "adafactor"};
enum { OPTIMIZERS = sizeof optimizers / sizeof *optimizers };

static void test_ready_models(void **state)
{
    (void)state;
    for (int k = 0; k < OPTIMIZERS; k++)
        for (int i = 0; model_nth(i); i++) {
            mtf_session *s = mtf_open_with(&(mtf_session_opts){.threads = 1});
            settings     v = settings_of(s, model_nth(i));
            network      n = {0};
            assert_true(model_nth(i)->build(&v, true, &n));
            mtf_minimize(n.graph, n.loss,
                         &(mtf_minimize_opts){.optimizer = optimizers[k],
                                              .schedule = setting_text(&v, "rate"),
                                              .steps = 100});
            try_all(model_nth(i)->name, optimizers[k], n.graph, n.loss);
            close_well(s);
        }
}

static void test_mixture_of_experts(void **state)
{
    (void)state;
    static char  text[20000];
    FILE        *f = fopen(MTF_SOURCE_DIR "/tests/search/models/mixture_of_experts.mtf", "r");
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.threads = 1});
    assert_non_null(f);
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    mtf_graph *g = mtf_parse(s, text, "mixture of experts");
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
    for (int k = 0; k < 2 * OPTIMIZERS; k++) {
        mtf_session *s = mtf_open_with(&(mtf_session_opts){.threads = 1});
        mtf_graph   *g = mtf_graph_new(s);
        mtf_tensor  *loss = language_model(g, rows[k % 2].layers, rows[k % 2].size);
        const char  *optimizer = optimizers[k / 2];
        mtf_minimize(g, loss, &(mtf_minimize_opts){.optimizer = optimizer, .clip_norm = k % 2});
        try_all(k % 2 ? "large language model" : "small language model", optimizer, g, loss);
        close_well(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ready_models),
        cmocka_unit_test(test_mixture_of_experts),
        cmocka_unit_test(test_language_models),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
