/* Tests Transformers with mixtures of experts: training, any mesh, decoding. */
#include "microbatch/microbatch.h"
#include "mtf_train.h"
#include "mtf_transformer.h"

#include "ground.h"

enum { VOCAB = 40, BATCH = 6, LENGTH = 10, STEPS = 3 };

static const mtf_dim batch = {"batch", BATCH}, length = {"length", LENGTH};

typedef struct how {
    mtf_moe_opts moe;
    const char  *mesh, *layout;
    int64_t      parts;
    bool         recompute, encoder, reversible;
    bool    attends; /* the attention's projections are such mixtures, not the layers between */
    int64_t ensemble;
} how;

static const mtf_moe_opts kinds[] = {
    {.second_policy_train = "random", .second_threshold_eval = 1, .z_loss = 1e-3, .dropout = 0.1},
    {.gating = "switch", .dropout = 0.1},
    {.gating = "top_k",
     .k = 3,
     .sigmoid = true,
     .bias_rate = 0.01,
     .shared = 1,
     .activation = {"swish", "linear"}},
    {.gating = "ntlb", .switch_policy_train = "input_dropout"},
    {.gating = "switch_max"},
    {.gating = "expert_selection"},
    {.gating = "expert_choice"},
    {.outer = 2, .second_policy_train = "random", .second_threshold_eval = 1, .z_loss = 1e-3},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static mtf_transformer *model(mtf_session *s, const how *h)
{
    mtf_attention_layer a = {.heads = 2, .kv = 4};
    mtf_moe_opts        m = h->moe;
    m.experts = m.experts ? m.experts : 5, m.hidden = m.hidden ? m.hidden : 6;
    if (h->attends) a.experts = &m, a.shared_kv = true;
    mtf_transformer_layer layers[] = {
        {.kind = MTF_SELF_ATTENTION, .attention = a}, {.kind = MTF_MOE, .moe = m}, {0}, {0}};
    if (h->attends)
        layers[1] = (mtf_transformer_layer){.kind = MTF_FEED_FORWARD, .feed_forward.hidden = 16};
    mtf_transformer_layer encoder[] = {layers[0], layers[1], {0}};
    if (h->encoder) {
        layers[2] = layers[1];
        layers[1] = (mtf_transformer_layer){.kind = MTF_ENC_DEC_ATTENTION, .attention = a};
    }
    mtf_transformer_opts o = {
        .d_model = 8, .input_vocab = VOCAB, .vocab_divisor = 8, .ensemble = h->ensemble};
    o.stack = (mtf_stack_opts){.layers = layers,
                               .blocks = 2,
                               .max_length = 24,
                               .recompute = h->recompute,
                               .reversible = h->reversible};
    if (h->encoder) o.encoder = (mtf_stack_opts){.layers = encoder, .blocks = 1, .max_length = 24};
    return mtf_transformer_new(s, &o);
}

static mtf_transformer_result apply(mtf_graph *g, const mtf_transformer *m, bool encoder,
                                    bool training)
{
    mtf_transformer_batch b = {.targets =
                                   mtf_input(g, "targets", MTF_I32, mtf_shape(batch, length))};
    if (encoder) b.inputs = mtf_input(g, "inputs", MTF_I32, mtf_shape(batch, length));
    return mtf_transformer_apply(m, &b, &(mtf_transformer_call){.training = training});
}

static void feed(mtf_program *p, mtf_graph *g, bool encoder)
{
    int32_t ids[BATCH * LENGTH];
    for (int i = 0; i < BATCH * LENGTH; i++) ids[i] = i % 7 == 6 ? 0 : 2 + i * 13 % (VOCAB - 2);
    assert_true(mtf_feed(p, mtf_find(g, "targets"), ids));
    if (encoder) assert_true(mtf_feed(p, mtf_find(g, "inputs"), ids));
}

/* The loss of each step of training, and what experts add to it. */
static void train(const how *h, double loss[STEPS], double auxiliary[STEPS])
{
    mtf_session *s =
        open_as_asked(&(mtf_session_opts){.mesh = h->mesh, .layout = h->layout, .threads = 2});
    mtf_graph             *g = mtf_graph_new(s);
    mtf_transformer       *m = model(s, h);
    mtf_transformer_result r = apply(g, m, h->encoder, true);
    mtf_sgd(g, r.loss, &(mtf_sgd_opts){.rate = 0.1f});
    if (h->parts) mtf_microbatches(g, batch, h->parts);
    mtf_program *p = r.auxiliary ? mtf_compile(g, r.loss, r.auxiliary) : mtf_compile(g, r.loss);
    if (!p) fail_msg("%s: %s", h->moe.gating, mtf_error(s));
    for (int step = 0; step < STEPS; step++) {
        feed(p, g, h->encoder);
        assert_true(mtf_step(p));
        loss[step] = mtf_fetch_scalar(p, r.loss);
        auxiliary[step] = r.auxiliary ? mtf_fetch_scalar(p, r.auxiliary) : 0;
    }
    close_well(s);
}

static void check_same(const how *h, const double want[STEPS], const char *what)
{
    double loss[STEPS], more[STEPS];
    train(h, loss, more);
    for (int i = 0; i < STEPS; i++)
        if (!(fabs(loss[i] - want[i]) < 2e-5))
            fail_msg("%s, %s: the loss is %.9g, not %.9g", h->moe.gating ? h->moe.gating : "top_2",
                     what, loss[i], want[i]);
}

/* Layouts, recomputing and micro-batches change nothing. */
static void check_training(how *h)
{
    double want[STEPS], more[STEPS];
    bool   nested = h->moe.outer > 0,
         free = h->moe.gating && strcmp(h->moe.gating, "expert_choice") == 0;
    train(h, want, more);
    assert_true(want[STEPS - 1] < want[0]);
    assert_true(free ? more[0] == 0 : more[0] > 0);
    h->mesh = "x:2,y:3";
    h->layout = nested ? "batch:x,expert_x:x,heads:y,vocab:y,expert_y:y"
                       : "batch:x,experts:x,heads:y,vocab:y,expert_hidden:y?";
    if (h->attends) h->layout = "batch:x,experts:x,heads:y,vocab:y,d_ff:y";
    check_same(h, want, h->layout);
    h->layout = nested ? "batch:y,expert_x:x,expert_y:y" : "batch:y,experts:x+y";
    check_same(h, want, h->layout);
    h->recompute = true;
    check_same(h, want, "recomputed");
    h->recompute = false;
    h->parts = 3;
    h->layout = nested ? "batch:x,expert_y:y" : "batch:x,experts:y";
    check_same(h, want, "in three parts");
    h->mesh = h->layout = "";
    h->parts = 4;
    check_same(h, want, "in four parts");
}

static void test_training(void **state)
{
    (void)state;
    for (int k = 0; k < KINDS; k += asked_much(1, 2)) {
        how h = {.moe = kinds[k], .encoder = k == 1};
        check_training(&h);
    }
    for (int encoder = 0; encoder < 2; encoder++) {
        how h = {.moe = {.gating = "switch", .loss_coef = 0.1, .z_loss = 0.01},
                 .encoder = encoder,
                 .attends = true};
        check_training(&h);
    }
}

/* One pass over the micro-batches is enough: experts' tensors are in parts as well. */
static void test_one_pass(void **state)
{
    (void)state;
    for (int k = 0; k < KINDS; k++) {
        how          h = {.moe = kinds[k]};
        mtf_session *s = open_two_threads();
        mtf_graph   *g = mtf_graph_new(s);
        microbatched done;
        mtf_tensor  *loss = apply(g, model(s, &h), false, true).loss;
        mtf_sgd(g, loss, NULL);
        mtf_microbatches(g, batch, 3);
        assert_true(microbatch_graph(g, 1, &loss, &done));
        assert_int_equal(done.passes, 1);
        close_well(s);
    }
}

/* ---- attention by experts ---- */

/* Sets each variable: one drawn by its own name, or, of a mixture with one linear expert, what makes it the
 * single projection of that name. */
static void set_weights(mtf_graph *g)
{
    enum { MOST = 64, CHANNELS = 8, ALL = 8 };
    mtf_tensor *w[MOST];
    int         n = mtf_variables(g, w, MOST);
    for (int i = 0; i < n; i++) {
        static float data[VOCAB * CHANNELS];
        char         name[200], *at;
        int64_t      size = mtf_shape_size(w[i]->shape);
        snprintf(name, sizeof name, "%s", mtf_name_of_tensor(w[i]));
        bool identity = strstr(name, "/wi/kernel") && strstr(name, "Attention");
        if ((at = strstr(name, "/wo/kernel")) && strstr(name, "Attention")) *at = 0;
        if ((at = strstr(name, "Experts"))) memmove(at, at + 7, strlen(at + 7) + 1);
        unsigned seed = 1;
        for (const char *c = name; *c; c++) seed = seed * 31 + (unsigned char)*c;
        assert_true(size <= (int64_t)(sizeof data / sizeof *data));
        for (int64_t k = 0; k < size; k++) {
            seed = seed * 1664525u + 1013904223u;
            data[k] = identity ? (float)(k / CHANNELS == k % CHANNELS)
                               : (float)(seed >> 8) / (1 << 24) - 0.5f;
        }
        assert_true(mtf_variable_set(w[i], data));
    }
}

/* The loss of evaluation with these weights. */
static double evaluated(bool attends, bool encoder)
{
    mtf_moe_opts one = {.experts = 1, .hidden = 8, .gating = "switch", .activation = {"linear"}};
    mtf_session *s = open_two_threads();
    mtf_graph   *g = mtf_graph_new(s);
    mtf_attention_layer   a = {.heads = 2, .kv = 4, .shared_kv = true};
    mtf_transformer_layer layers[] = {{.kind = MTF_SELF_ATTENTION, .attention = a},
                                      {.kind = MTF_ENC_DEC_ATTENTION, .attention = a},
                                      {0}};
    if (attends) layers[0].attention.experts = layers[1].attention.experts = &one;
    if (!encoder) layers[1].kind = MTF_LAYER_END;
    mtf_transformer_layer below[] = {layers[0], {0}};
    mtf_transformer_opts  o = {.d_model = 8,
                               .input_vocab = VOCAB,
                               .vocab_divisor = 8,
                               .stack = {.layers = layers, .blocks = 2, .max_length = 24}};
    if (encoder) o.encoder = (mtf_stack_opts){.layers = below, .blocks = 1, .max_length = 24};
    mtf_transformer       *m = mtf_transformer_new(s, &o);
    mtf_transformer_result r = apply(g, m, encoder, false);
    mtf_program           *p = mtf_compile(g, r.loss);
    if (!p) fail_msg("%s", mtf_error(s));
    set_weights(g);
    int32_t ids[BATCH * LENGTH];
    for (int i = 0; i < BATCH * LENGTH; i++)
        ids[i] = i % LENGTH < LENGTH - i / LENGTH ? 2 + i * 13 % (VOCAB - 2) : 0;
    assert_true(mtf_feed(p, mtf_find(g, "targets"), ids));
    if (encoder) assert_true(mtf_feed(p, mtf_find(g, "inputs"), ids));
    assert_true(mtf_step(p));
    double loss = mtf_fetch_scalar(p, r.loss);
    close_well(s);
    return loss;
}

/* One linear expert, whose gate is 1, is a single projection; padding is not projected, and not seen. */
static void test_attention(void **state)
{
    (void)state;
    for (int encoder = 0; encoder < 2; encoder++)
        assert_near(evaluated(true, encoder), evaluated(false, encoder), 1e-6);
}

/* Both mixtures of each such layer, in all blocks, add to the loss: one expert's balance is 1. */
static void test_attention_losses(void **state)
{
    (void)state;
    for (int k = 0; k < 4; k++) {
        bool   encoder = k % 2;
        double loss[STEPS], more[STEPS];
        how    h = {.moe = {.experts = 1, .gating = "switch", .loss_coef = 0.1},
                    .encoder = encoder,
                    .recompute = k / 2,
                    .attends = true};
        train(&h, loss, more);
        assert_near(more[0], 0.1 * 2 * (encoder ? 1 + 2 * 2 : 2), 1e-6);
    }
}

/* ---- what a training tells ---- */

enum { TOLD_STEPS = 4, TOLD_MOST = 400 };

typedef struct listener {
    mtf_graph *graph;
    bool       even; /* routers that prefer no expert: the first ones are chosen */
    int        layers;
    double     told[TOLD_MOST];
    int        n;
    char       text[20000];
} listener;

static void hear(void *context, const char *text)
{
    listener *l = context;
    strncat(l->text, text, sizeof l->text - strlen(l->text) - 1);
}

static bool set_routers(void *context)
{
    static const float zeros[256];
    listener          *l = context;
    mtf_tensor        *w[64];
    int                n = mtf_variables(l->graph, w, 64);
    for (int i = 0; i < n && l->even; i++)
        if (strstr(mtf_name_of_tensor(w[i]), "_gating/"))
            assert_true(mtf_variable_set(w[i], zeros));
    return true;
}

static bool listen(void *context, const mtf_train_step *now)
{
    listener *l = context;
    l->layers = now->nexperts;
    for (int k = 0; k < now->nexperts; k++) {
        const mtf_train_experts *x = &now->experts[k];
        double                   sum = 0;
        assert_true(l->n + x->experts + 3 <= TOLD_MOST);
        for (int64_t e = 0; e < x->experts; e++) sum += l->told[l->n++] = x->load[e];
        assert_near(sum, 1, 1e-6);
        l->told[l->n++] = x->dropped;
        l->told[l->n++] = x->entropy;
        l->told[l->n++] = x->loss;
    }
    return true;
}

static void hear_training(const how *h, listener *l)
{
    int32_t      ids[BATCH * LENGTH];
    mtf_session *s = open_as_asked(&(mtf_session_opts){.mesh = h->mesh, .layout = h->layout});
    mtf_graph   *g = mtf_graph_new(s);
    for (int i = 0; i < BATCH * LENGTH; i++) ids[i] = 2 + i * 13 % (VOCAB - 2);
    mtf_transformer_batch b = {.targets =
                                   mtf_constant_data(g, ids, MTF_I32, mtf_shape(batch, length))};
    mtf_tensor           *loss =
        mtf_transformer_apply(model(s, h), &b, &(mtf_transformer_call){.training = true}).loss;
    mtf_sgd(g, loss, &(mtf_sgd_opts){.rate = 0.1f});
    if (h->parts) mtf_microbatches(g, batch, h->parts);
    l->graph = g;
    if (!mtf_train(g, loss,
                   &(mtf_train_opts){.steps = TOLD_STEPS,
                                     .experts = true,
                                     .profile = true,
                                     .show = hear,
                                     .show_context = l,
                                     .ready = set_routers,
                                     .after_step = listen,
                                     .look_context = l}))
        fail_msg("%s", mtf_error(s));
    close_well(s);
}

static void check_told(const how *h, const char *what)
{
    static listener want, got;
    how             plain = {.moe = h->moe, .attends = h->attends};
    want = got = (listener){0};
    hear_training(&plain, &want);
    hear_training(h, &got);
    assert_int_equal(got.n, want.n);
    for (int i = 0; i < got.n; i++)
        if (!(fabs(got.told[i] - want.told[i]) < 1e-5))
            fail_msg("%s: number %d is %g, not %g", what, i, got.told[i], want.told[i]);
}

/* Loads, what was dropped, entropy and losses of each layer and step, whatever computes them. */
static void test_told(void **state)
{
    static listener  l;
    static const how same[] = {
        {.moe = {.second_policy_train = "all"}, .recompute = true},
        {.moe = {.second_policy_train = "all"}, .mesh = "x:2", .layout = "batch:x,experts:x?"},
        {.moe = {.gating = "top_k", .dropless = true}, .recompute = true},
        {.moe = {.gating = "switch"}, .attends = true, .mesh = "x:2", .layout = "experts:x"},
    };
    how even = {.moe = {.second_policy_train = "all", .capacity_train = 1.5, .loss_coef = 0.5}};
    (void)state;
    for (size_t k = 0; k < sizeof same / sizeof *same; k++) check_told(&same[k], "told");
    l = (listener){.even = true};
    hear_training(&even, &l);
    /* of 10 tokens, 4 find a place at each of the two experts that all choose */
    const double want[] = {0.5, 0.5, 0, 0, 0, 0.6, log(5), 0.5};
    assert_int_equal(l.layers, 2);
    assert_int_equal(l.n, TOLD_STEPS * 2 * 8);
    for (int i = 0; i < 8; i++) assert_near(l.told[i], want[i], 1e-5);
    assert_contains(l.text, "transformer/block_001/layer_001/MoE1D ");
    assert_contains(l.text, "loads of experts, as multiples of an even one");
    even = (how){.moe = {.gating = "top_k", .outer = 2, .loss_coef = 0.5}};
    l = (listener){0};
    hear_training(&even, &l);
    assert_int_equal(l.n, TOLD_STEPS * 2 * (2 * 5 + 3));
}

/* ---- decoding ---- */

enum { PROMPT = 5, NEW = LENGTH - PROMPT };

/* Token by token each has the probability that the whole pass gives it. */
static void test_decoding(void **state)
{
    (void)state;
    static const char *const places[][2] = {
        {"", ""}, {"x:2", "batch:x,experts:x?,expert_x:x?"}, {"x:3", "experts:x?,expert_y:x?"}};
    static const int     decoded[] = {0, 1, 2, 3, 7};
    static const int32_t never[] = {-1};
    for (int k = 0; k < 3 * 6; k++) {
        bool           attends = k / 3 == 5;
        how            h = {.moe = attends ? kinds[1] : kinds[decoded[k / 3]],
                            .mesh = places[k % 3][0],
                            .layout = places[k % 3][1],
                            .attends = attends};
        mtf_decode_job jobs[2] = {{0}}, *both[2] = {&jobs[0], &jobs[1]};
        int32_t        prompts[2][PROMPT], ids[BATCH * LENGTH] = {0};
        h.moe.capacity_eval = h.moe.capacity_inner = 5; /* drops nothing */
        mtf_session     *s = open_as_asked(&(mtf_session_opts){.mesh = h.mesh, .layout = h.layout});
        mtf_graph       *g = mtf_graph_new(s);
        mtf_transformer *m = model(s, &h);
        mtf_decoder *d = mtf_decoder_new(m, &(mtf_decoder_opts){.batch = 2, .max_length = LENGTH});
        for (int j = 0; j < 2; j++) {
            for (int i = 0; i < PROMPT; i++) prompts[j][i] = 2 + (i * 7 + j * 11) % (VOCAB - 3);
            prompts[j][2] = 0; /* a token like others, where more follow */
            jobs[j] = (mtf_decode_job){
                .prompt = prompts[j], .length = PROMPT, .how = {.max_tokens = NEW, .stop = never}};
        }
        if (!mtf_decode(d, 2, both)) fail_msg("%s", mtf_error(s));
        for (int j = 0; j < 2; j++)
            for (int i = 0; i < LENGTH; i++)
                ids[j * LENGTH + i] = i < PROMPT ? prompts[j][i] : jobs[j].ids[0][i - PROMPT];
        mtf_transformer_result r = apply(g, m, false, false);
        mtf_program           *p = mtf_compile(g, r.token_losses);
        float                  losses[BATCH * LENGTH];
        assert_true(mtf_feed(p, mtf_find(g, "targets"), ids) && mtf_step(p) &&
                    mtf_fetch(p, r.token_losses, losses));
        for (int j = 0; j < 2; j++) {
            double sum = 0;
            for (int i = PROMPT; i < LENGTH; i++) sum -= losses[j * LENGTH + i];
            assert_near(jobs[j].scores[0], sum, 1e-5);
            mtf_decode_free(d, &jobs[j]);
        }
        assert_int_equal(mtf_close(s), 0);
    }
}

/* A text's losses are the same wherever it stands in the batch, also where second experts are drawn. */
static void test_places(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        how h = {.moe = kinds[k ? KINDS - 1 : 0], .attends = false};
        h.moe.dropless = k == 0;
        mtf_session           *s = open_two_threads();
        mtf_graph             *g = mtf_graph_new(s);
        mtf_transformer_result r = apply(g, model(s, &h), false, false);
        mtf_program           *p = mtf_compile(g, r.token_losses);
        int32_t                ids[BATCH * LENGTH];
        float                  losses[BATCH * LENGTH];
        for (int i = 0; i < BATCH * LENGTH; i++) ids[i] = 2 + i % LENGTH * 13 % (VOCAB - 2);
        assert_true(p && mtf_feed(p, mtf_find(g, "targets"), ids) && mtf_step(p) &&
                    mtf_fetch(p, r.token_losses, losses));
        for (int row = 1; row < BATCH; row++)
            assert_memory_equal(losses + row * LENGTH, losses, LENGTH * sizeof *losses);
        close_well(s);
    }
}

/* ---- errors ---- */

static void refuse(const how *h, const char *sentence)
{
    mtf_session *s = open_two_threads();
    assert_null(model(s, h));
    close_with(s, sentence);
}

static void test_errors(void **state)
{
    (void)state;
    refuse(&(how){.ensemble = 2, .attends = true},
           "value: the members of an ensemble have no mixtures of experts");
    refuse(&(how){.attends = true, .moe = {.bias_rate = 0.1}},
           "value: ExpertsSelfAttention: its queries and keys come from mixtures of experts, which "
           "have no biases of balance");
    refuse(&(how){.ensemble = 2}, "value: the members of an ensemble have no mixtures of experts");
    refuse(&(how){.reversible = true}, "value: transformer: the layers of a reversible stack give "
                                       "nothing but their result, and MoE1D has a "
                                       "loss besides; use recompute");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_training),  cmocka_unit_test(test_one_pass),
        cmocka_unit_test(test_attention), cmocka_unit_test(test_attention_losses),
        cmocka_unit_test(test_told),      cmocka_unit_test(test_decoding),
        cmocka_unit_test(test_places),    cmocka_unit_test(test_errors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
