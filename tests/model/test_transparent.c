/* Tests transparent attention: which of the encoder's outputs a decoder's modules mix, and how. */
#include "graph/node.h"
#include "model/transformer/apply.h"
#include "model/transformer/transparent.h"
#include "taken_weights.h"

/* last */
#include "ground.h"

enum { D = 4, BATCH = 2, M = 3, LAYERS = 4, FROM = 3, TO = 2, MEMBERS = 2 };
enum { ELEMENTS = BATCH * M * D };

static const mtf_transparent modules = {
    .encoder_layers = 2, .encoder_modules = 2, .decoder_layers = 1, .decoder_modules = TO};
static const mtf_transformer_layer encoder[] = {
    {.kind = MTF_SELF_ATTENTION, .attention = {.heads = 2, .kv = 2}},
    {.kind = MTF_FEED_FORWARD, .feed_forward = {.hidden = 5}},
    {0}};
static const mtf_transformer_layer decoder[] = {
    {.kind = MTF_ENC_DEC_ATTENTION, .attention = {.heads = 2, .kv = 2, .transparent = &modules}},
    {0}};

static mtf_transformer_opts opts_of(int members)
{
    return (mtf_transformer_opts){.d_model = D,
                                  .input_vocab = 8,
                                  .activation = MTF_F64,
                                  .ensemble = members,
                                  .encoder = {.layers = encoder, .blocks = 2},
                                  .stack = {.layers = decoder, .blocks = TO}};
}

static mtf_transformer *model_of(mtf_session *s, int members)
{
    mtf_transformer_opts o = opts_of(members);
    mtf_transformer     *m = mtf_transformer_new(s, &o);
    if (!m) fail_msg("%s", mtf_error(s));
    return m;
}

/* Module j sees the sum of outputs i, times softmax over i of w[i, j]. */
static void check_mean(const taken *t, const double *outputs, int j, const double *got)
{
    const double *w = weight_of(t, "w");
    double        part[FROM], sum = 0;
    for (int i = 0; i < FROM; i++) sum += part[i] = exp(w[i * TO + j]);
    for (int k = 0; k < ELEMENTS; k++) {
        double want = 0;
        for (int i = 0; i < FROM; i++)
            want += part[i] / sum * outputs[(i * MEMBERS + t->member) * ELEMENTS + k];
        assert_near(got[t->member * ELEMENTS + k], want, 1e-9);
    }
}

static void check_mixture(const char *mesh, const char *layout, int members)
{
    double           outputs[FROM * MEMBERS * ELEMENTS], got[MEMBERS * ELEMENTS];
    taken            t;
    mtf_session     *s = open_as_asked(&(mtf_session_opts){.mesh = mesh, .layout = layout});
    mtf_transformer *m = model_of(s, members);
    mtf_graph       *g = mtf_graph_new(s);
    stack_call       c = call_of(m, &m->decoder, CALL_EVALUATE, false);
    mtf_tensor      *in[LAYERS + 1] = {NULL}, *out[TO];
    c.graph = g, c.encoded_layers = in;
    mtf_shape shape = mtf_shape_plus(
        m->ensemble, mtf_shape((mtf_dim){"batch", BATCH}, (mtf_dim){"length", M}, m->d_model));
    for (int k = 0; k < FROM; k++) {
        char name[8];
        snprintf(name, sizeof name, "x%d", k);
        in[2 * k] = mtf_input(g, name, MTF_F64, shape);
    }
    for (c.index = 0; c.index < TO; c.index++) {
        mtf_tensor *x = transparent_memory(&c, &modules);
        out[c.index] = mtf_transpose(x, mtf_shape_rename(shape, "length", "memory_length"));
    }
    mtf_program *p = mtf_compile_n(g, TO, out);
    if (!p) fail_msg("%s", mtf_error(s));
    take_weights(g, members, &t);
    stir_weights(&t, 1.5);
    for (int k = 0; k < FROM * MEMBERS * ELEMENTS; k++) outputs[k] = cos(k * 0.9);
    for (int k = 0; k < FROM; k++) mtf_feed(p, in[2 * k], outputs + k * MEMBERS * ELEMENTS);
    mtf_step(p);
    for (int j = 0; j < TO; j++) {
        assert_true(mtf_fetch(p, out[j], got));
        for (t.member = 0; t.member < members; t.member++) check_mean(&t, outputs, j, got);
    }
    free_weights(&t);
    close_well(s);
}

static void test_mixture(void **state)
{
    (void)state;
    check_mixture(NULL, NULL, 1);
    check_mixture("a:2,b:3", "batch:a,length:b,memory_length:b", MEMBERS);
    check_mixture("a:2,b:3", "d_model:b,encoder_module_outputs:a", 1);
}

/* The first output is the embedding, the last one what a decoder sees otherwise; each layer has one. */
static void test_outputs(void **state)
{
    static const int32_t text[] = {3, 4, 5, 6, 1, 0};
    double               first[ELEMENTS], embedded[ELEMENTS], last[ELEMENTS], final[ELEMENTS];
    mtf_session         *s = mtf_open_with(NULL);
    mtf_transformer     *m = model_of(s, 1);
    mtf_graph           *g = mtf_graph_new(s);
    stack_call           c = call_of(m, &m->decoder, CALL_EVALUATE, false), e;
    mtf_shape            ids = mtf_shape((mtf_dim){"batch", BATCH}, (mtf_dim){"length", M});
    mtf_tensor          *in = mtf_constant_data(g, text, MTF_I32, ids);
    (void)state;
    assert_true(encoder_run(m, &(mtf_transformer_batch){.inputs = in}, CALL_EVALUATE, &c));
    assert_non_null(c.encoded_layers);
    for (int k = 0; k <= LAYERS; k++)
        for (int i = 0; i < k; i++) assert_ptr_not_equal(c.encoded_layers[i], c.encoded_layers[k]);
    e = call_of(m, &m->encoder, CALL_EVALUATE, false);
    e.graph = g, e.outside = "", e.batch = mtf_shape(ids.dims[0]), e.length = ids.dims[1];
    mtf_scope_push(g, "encoder");
    mtf_tensor  *x = embed_tokens(&e, m->input_vocab, in);
    mtf_program *p = mtf_compile(g, x, c.encoded_layers[0], c.encoded_layers[LAYERS], c.encoded);
    assert_true(p && mtf_step(p));
    assert_true(mtf_fetch(p, x, embedded) && mtf_fetch(p, c.encoded_layers[0], first));
    assert_true(mtf_fetch(p, c.encoded_layers[LAYERS], last) && mtf_fetch(p, c.encoded, final));
    assert_memory_equal(first, embedded, sizeof first);
    assert_memory_equal(last, final, sizeof last);
    assert_memory_not_equal(first, last, sizeof first);
    close_well(s);
}

static void refuse(mtf_transformer_opts o, const char *piece)
{
    mtf_session *s = mtf_open_with(NULL);
    assert_null(mtf_transformer_new(s, &o));
    assert_contains(mtf_error(s), piece);
    mtf_close(s);
}

static void test_refusals(void **state)
{
    mtf_transformer_opts o = opts_of(1);
    (void)state;
    o.encoder.blocks = 3;
    refuse(o, "transparent attention: 2 modules of 2 layers; \"encoder\" has 6 layers");
    o.encoder.blocks = 2, o.stack.blocks = 3;
    refuse(o, "transparent attention: 2 modules of 1 layers; \"decoder\" has 3 layers");
    o.stack.blocks = 2, o.encoder.reversible = true;
    refuse(o, "which a reversible stack does not keep");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_mixture),
                                       cmocka_unit_test(test_outputs),
                                       cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
