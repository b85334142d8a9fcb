/* Tests that Transformers train the same under every layout. */
#include "small_models.h"

#include "ground.h"

static share mine; /* of the models */

enum { BATCH = 3, LENGTH = 7, INPUTS = 5, STEPS = 3 };

static void tokens(int n, int32_t *ids, int step)
{
    for (int i = 0; i < n; i++) ids[i] = 2 + (i * 7 + step) % (SMALL_VOCAB - 3);
}

/* The losses of a few steps of training. */
static void train_by(int k, bool dropout, bool composed, const char *mesh, const char *layout,
                     double *losses, const char **what)
{
    mtf_session     *s = open_as_asked(&(mtf_session_opts){.mesh = mesh, .layout = layout});
    mtf_transformer *m = small_model_by(s, k, dropout, composed, what);
    mtf_graph       *g = mtf_graph_new(s);
    mtf_dim     batch = {"batch", BATCH}, length = {"length", LENGTH}, given = {"length", INPUTS};
    bool        encodes = small_model_has_encoder(k);
    mtf_tensor *in = encodes ? mtf_input(g, "inputs", MTF_I32, mtf_shape(batch, given)) : NULL;
    mtf_tensor *targets = mtf_input(g, "targets", MTF_I32, mtf_shape(batch, length));
    mtf_transformer_result r =
        mtf_transformer_apply(m, &(mtf_transformer_batch){.inputs = in, .targets = targets},
                              &(mtf_transformer_call){.training = true});
    mtf_sgd(g, r.loss, &(mtf_sgd_opts){.rate = 0.02});
    mtf_program *p = mtf_compile(g, r.loss);
    int32_t      ids[BATCH * LENGTH], inputs[BATCH * INPUTS];
    for (int step = 0; step < STEPS; step++) {
        tokens(BATCH * LENGTH, ids, 3);
        tokens(BATCH * INPUTS, inputs, 1);
        ids[LENGTH - 1] = 0; /* padding */
        mtf_feed(p, targets, ids);
        if (in) mtf_feed(p, in, inputs);
        mtf_step(p);
        losses[step] = mtf_fetch_scalar(p, r.loss);
    }
    if (!mtf_ok(s)) fail_msg("%s, %s: %s", *what, layout ? layout : "one", mtf_error(s));
    mtf_close(s);
}

static void train(int k, bool dropout, const char *mesh, const char *layout, double *losses,
                  const char **what)
{
    train_by(k, dropout, false, mesh, layout, losses, what);
}

/* Attention as one operation and as products with a softmax in between: dropout draws the same. */
static void test_composed(void **state)
{
    static const char *const layouts[] = {NULL, "heads:a?,d_ff:a", "length:a", "memory_length:a?"};
    (void)state;
    for (int k = 0; k < small_models(); k++)
        for (int l = 0; l < 4; l++) {
            if (!share_has(mine, k) || !asked_takes(k, l, 4) || small_model_elsewhere(k)) continue;
            const char *what, *mesh = layouts[l] ? "a:2" : NULL;
            double      one[STEPS], many[STEPS];
            train_by(k, k % 2 == 0, false, mesh, layouts[l], one, &what);
            train_by(k, k % 2 == 0, true, mesh, layouts[l], many, &what);
            for (int i = 0; i < STEPS; i++)
                if (fabs(one[i] - many[i]) > 2e-5 * fabs(many[i]))
                    fail_msg("%s under %s: loss %.9g instead of %.9g in step %d", what,
                             mesh ? layouts[l] : "one", one[i], many[i], i);
        }
}

static void test_layouts(void **state)
{
    static const struct {
        const char *mesh, *layout;
    } places[6] = {{"a:2", "batch:a"},
                   {"a:3", "heads:a?,d_ff:a,vocab:a"},
                   {"a:2,b:2", "batch:a,heads:b?,d_ff:b,vocab:b"},
                   {"a:2", "length:a"},
                   {"a:2", "memory_length:a?"},
                   {"a:2,b:3", "length:a,d_model:b"}};
    (void)state;
    for (int k = 0; k < small_models(); k++) {
        const char *what;
        double      alone[STEPS], spread[STEPS];
        bool        dropout = k % 2 == 0;
        if (!share_has(mine, k)) continue;
        train(k, dropout, NULL, NULL, alone, &what);
        if (!dropout) assert_true(alone[STEPS - 1] < alone[0]);
        for (int l = 0; l < 6; l++) {
            if (!asked_takes(k, l, 6) || (small_model_elsewhere(k) && l != k % 6)) continue;
            train(k, dropout, places[l].mesh, places[l].layout, spread, &what);
            for (int i = 0; i < STEPS; i++)
                if (fabs(alone[i] - spread[i]) > 2e-5 * fabs(alone[i]))
                    fail_msg("%s under %s: loss %.9g instead of %.9g in step %d", what,
                             places[l].layout, spread[i], alone[i], i);
        }
    }
}

/* A loss that is computed block by block has the same value and gradients. */
static void test_loss_in_blocks(void **state)
{
    const char *what;
    double      blocks[STEPS], whole[STEPS];
    (void)state;
    if (mine.number > 0) return;
    for (int k = 0; k + 1 < small_models(); k++) {
        train(k, false, NULL, NULL, whole, &what);
        if (strcmp(what, "smoothed targets") != 0) continue;
        train(k + 1, false, NULL, NULL, blocks, &what);
        assert_string_equal(what, "loss in blocks");
        for (int i = 0; i < STEPS; i++) assert_true(fabs(whole[i] - blocks[i]) < 1e-5);
        return;
    }
    fail_msg("there is no model with smoothed targets");
}

/* ---- packing ---- */

enum { ROW = 9 };

/* Two examples, of 4 and 5 tokens, with 3 and 5 for the encoder: one after the other in a row, or in a
 * row each. */
typedef struct rows {
    int            n;
    const int32_t *ids, *segment, *position;
    const int32_t *inputs, *inputs_segment, *inputs_position;
    const int32_t *subsegment; /* NULL: none */
} rows;

static const rows packed = {
    1,
    (const int32_t[]){11, 1, 33, 1, 21, 42, 1, 44, 1},
    (const int32_t[]){1, 1, 1, 1, 2, 2, 2, 2, 2},
    (const int32_t[]){0, 1, 2, 3, 0, 1, 2, 3, 4},
    (const int32_t[]){14, 33, 1, 15, 42, 16, 44, 1, 0},
    (const int32_t[]){1, 1, 1, 2, 2, 2, 2, 2, 0},
    (const int32_t[]){0, 1, 2, 0, 1, 2, 3, 4, 0},
    NULL,
};
static const rows apart = {
    2,
    (const int32_t[]){11, 1, 33, 1, 0, 0, 0, 0, 0, 21, 42, 1, 44, 1, 0, 0, 0, 0},
    (const int32_t[]){1, 1, 1, 1, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0, 0},
    (const int32_t[]){0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 1, 2, 3, 4, 5, 6, 7, 8},
    (const int32_t[]){14, 33, 1, 0, 0, 0, 0, 0, 0, 15, 42, 16, 44, 1, 0, 0, 0, 0},
    (const int32_t[]){1, 1, 1, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0, 0},
    (const int32_t[]){0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 1, 2, 3, 4, 5, 6, 7, 8},
    NULL,
};

/* The first example has no inputs of its own: it was cut before its second end. */
static const rows packed_cut = {
    1,
    (const int32_t[]){11, 12, 33, 1, 21, 42, 1, 44, 1},
    (const int32_t[]){1, 1, 1, 1, 2, 2, 2, 2, 2},
    (const int32_t[]){0, 1, 2, 3, 0, 1, 2, 3, 4},
    (const int32_t[]){14, 33, 1, 15, 42, 16, 44, 1, 0},
    (const int32_t[]){1, 1, 1, 2, 2, 2, 2, 2, 0},
    (const int32_t[]){0, 1, 2, 0, 1, 2, 3, 4, 0},
    NULL,
};
static const rows apart_cut = {
    2,
    (const int32_t[]){11, 12, 33, 1, 0, 0, 0, 0, 0, 21, 42, 1, 44, 1, 0, 0, 0, 0},
    (const int32_t[]){1, 1, 1, 1, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0, 0},
    (const int32_t[]){0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 1, 2, 3, 4, 5, 6, 7, 8},
    (const int32_t[]){14, 33, 1, 0, 0, 0, 0, 0, 0, 15, 42, 16, 44, 1, 0, 0, 0, 0},
    (const int32_t[]){1, 1, 1, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0, 0},
    (const int32_t[]){0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 1, 2, 3, 4, 5, 6, 7, 8},
    NULL,
};

/* The same targets of one input, which is there once. */
static const rows one_input = {
    1,
    (const int32_t[]){11, 1, 33, 1, 21, 42, 1, 44, 1},
    (const int32_t[]){1, 1, 1, 1, 1, 1, 1, 1, 1},
    (const int32_t[]){0, 1, 2, 3, 0, 1, 2, 3, 4},
    (const int32_t[]){15, 42, 33, 44, 1, 0, 0, 0, 0},
    (const int32_t[]){1, 1, 1, 1, 1, 0, 0, 0, 0},
    (const int32_t[]){0, 1, 2, 3, 4, 5, 6, 7, 8},
    (const int32_t[]){1, 1, 1, 1, 2, 2, 2, 2, 2},
};
static const rows input_twice = {
    2,
    (const int32_t[]){11, 1, 33, 1, 0, 0, 0, 0, 0, 21, 42, 1, 44, 1, 0, 0, 0, 0},
    (const int32_t[]){1, 1, 1, 1, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0, 0},
    (const int32_t[]){0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 1, 2, 3, 4, 5, 6, 7, 8},
    (const int32_t[]){15, 42, 33, 44, 1, 0, 0, 0, 0, 15, 42, 33, 44, 1, 0, 0, 0, 0},
    (const int32_t[]){1, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0, 0},
    (const int32_t[]){0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 1, 2, 3, 4, 5, 6, 7, 8},
    NULL,
};

/* The token losses of examples in rows of their own, or of several in a row. */
static void losses_of(int k, const rows *x, float *losses, const char **what)
{
    mtf_session          *s = mtf_open_with(&(mtf_session_opts){0});
    mtf_transformer      *m = small_model(s, k, false, what);
    mtf_graph            *g = mtf_graph_new(s);
    mtf_shape             shape = mtf_shape((mtf_dim){"batch", x->n}, (mtf_dim){"length", ROW});
    mtf_transformer_batch b = {.targets = mtf_constant_data(g, x->ids, MTF_I32, shape),
                               .targets_segment = mtf_constant_data(g, x->segment, MTF_I32, shape),
                               .targets_position =
                                   mtf_constant_data(g, x->position, MTF_I32, shape)};
    if (x->subsegment) b.targets_subsegment = mtf_constant_data(g, x->subsegment, MTF_I32, shape);
    if (small_model_has_encoder(k)) {
        b.inputs = mtf_constant_data(g, x->inputs, MTF_I32, shape);
        b.inputs_segment = mtf_constant_data(g, x->inputs_segment, MTF_I32, shape);
        b.inputs_position = mtf_constant_data(g, x->inputs_position, MTF_I32, shape);
    }
    mtf_transformer_result r = mtf_transformer_apply(m, &b, NULL);
    mtf_tensor            *counted = mtf_multiply(r.token_losses, r.weights);
    mtf_program           *p = mtf_compile(g, counted);
    mtf_step(p);
    mtf_fetch(p, counted, losses);
    if (!mtf_ok(s)) fail_msg("%s: %s", *what, mtf_error(s));
    mtf_close(s);
}

static void check_rows(int k, const rows *shared, const rows *own)
{
    const char *what;
    float       together[ROW], each[2 * ROW];
    losses_of(k, shared, together, &what);
    losses_of(k, own, each, &what);
    for (int i = 0; i < ROW; i++) {
        float alone = i < 4 ? each[i] : each[ROW + i - 4];
        if (fabsf(together[i] - alone) > 2e-5f)
            fail_msg("%s: token %d has loss %g, alone in its row %g", what, i, (double)together[i],
                     (double)alone);
    }
}

static void test_packing(void **state)
{
    (void)state;
    for (int k = 0; k < small_models(); k++) {
        if (!share_has(mine, k) || small_model_pools(k)) continue;
        check_rows(k, &packed, &apart);
        check_rows(k, &packed_cut, &apart_cut);
    }
}

static void test_several_targets(void **state)
{
    (void)state;
    for (int k = 0; k < small_models(); k++)
        if (share_has(mine, k)) check_rows(k, &one_input, &input_twice);
}

int main(int argc, char **argv)
{
    share_read(argc > 1 ? argv[1] : NULL, &mine);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_composed), cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_loss_in_blocks), cmocka_unit_test(test_packing),
        cmocka_unit_test(test_several_targets)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
