/* Tests that maps keep the least from which later maps follow. */
#include "mtf_nn.h"
#include "plan/least_cut.h"
#include "program/map_form.h"
#include "run/compiled.h"

#include "ground.h"

/* ---- cuts ---- */

enum { INPUTS = 3, STEPS = 9, REGISTERS = INPUTS + STEPS };

/* Do the wanted registers follow from those of `kept`? */
static bool suffices(const least_cut *c, unsigned kept)
{
    bool known[REGISTERS];
    for (int r = 0; r < REGISTERS; r++) {
        const scalar_step *s = r < INPUTS ? NULL : &c->map->map.steps[r - INPUTS];
        int                of[3], n = s ? map_operands(s, of) : 0;
        known[r] = s && !map_folds(s->fn);
        for (int k = 0; k < n; k++) known[r] = known[r] && known[of[k]];
        known[r] = known[r] || kept >> r & 1;
        if (c->wanted[r] && !known[r]) return false;
    }
    return true;
}

static int64_t price(const least_cut *c, unsigned kept)
{
    int64_t all = 0;
    for (int r = 0; r < REGISTERS; r++) all += kept >> r & 1 ? c->cost[r] : 0;
    return all;
}

static void test_no_set_of_registers_is_cheaper(void **state)
{
    (void)state;
    uint32_t word = 1;
#define RANDOM(n) ((int)((word = word * 1664525u + 1013904223u) >> 8) % (n))
    for (int trial = 0; trial < 200; trial++) {
        scalar_step steps[STEPS] = {0};
        instr map = {.kind = INSTR_MAP, .nin = INPUTS, .map = {.nsteps = STEPS, .steps = steps}};
        least_cut c = {.map = &map};
        unsigned  kept = 0;
        int64_t   best = NOT_AT_ANY_COST;
        for (int s = 0; s < STEPS; s++) {
            static const scalar_fn fns[] = {FN_add, FN_add, FN_exp, FN_ROW_SUM, FN_IMMEDIATE};
            steps[s].fn = fns[RANDOM(5)];
            steps[s].a = RANDOM(INPUTS + s), steps[s].b = RANDOM(INPUTS + s);
        }
        for (int r = 0; r < REGISTERS; r++) {
            c.cost[r] = RANDOM(6) ? 1 + RANDOM(20) : NOT_AT_ANY_COST;
            c.wanted[r] = r >= INPUTS && RANDOM(4) == 0;
        }
        for (unsigned set = 0; set < 1u << REGISTERS; set++) {
            int64_t here = suffices(&c, set) ? price(&c, set) : NOT_AT_ANY_COST;
            if (here < best) best = here;
        }
        assert_int_equal(least_cut_find(&c), best);
        if (best >= NOT_AT_ANY_COST) continue;
        for (int r = 0; r < REGISTERS; r++) kept |= (unsigned)c.kept[r] << r;
        assert_true(suffices(&c, kept));
        assert_int_equal(price(&c, kept), best);
    }
#undef RANDOM
}

/* ---- programs ---- */

enum { ROWS = 512, MODEL = 160, VOCAB = 700, FETCHES = 3 };

typedef struct outcome {
    int64_t peak;
    int     large; /* results of maps of the size of the logits, in f32 */
    float   loss, *grads[2];
} outcome;

/* A norm, a product, gelu, a product and a cross-entropy, in bf16; and the gradients. */
static outcome run(bool recomputes)
{
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.threads = 2, .seed = 5});
    s->can.recomputes = recomputes;
    mtf_graph  *g = mtf_graph_new(s);
    mtf_dim     rows = {"rows", ROWS}, model = {"model", MODEL}, vocab = {"vocab", VOCAB};
    mtf_dim     hidden = {"hidden", 2 * MODEL};
    mtf_tensor *x = mtf_input(g, "x", MTF_F32, mtf_shape(rows, model));
    mtf_tensor *labels = mtf_input(g, "labels", MTF_I32, mtf_shape(rows));
    mtf_tensor *wi = mtf_variable(g, "wi", mtf_shape(model, hidden), NULL);
    mtf_tensor *wo = mtf_variable(g, "wo", mtf_shape(hidden, vocab), NULL);
    mtf_tensor *h = mtf_layer_norm(mtf_cast(mtf_exp(x), MTF_BF16), model, NULL);
    h = mtf_gelu(mtf_einsum(mtf_shape(rows, hidden), h, mtf_cast(wi, MTF_BF16)));
    mtf_tensor *logits = mtf_einsum(mtf_shape(rows, vocab), h, mtf_cast(wo, MTF_BF16));
    mtf_tensor *each = mtf_softmax_cross_entropy_with_logits(mtf_cast(logits, MTF_F32),
                                                             mtf_one_hot(labels, vocab), vocab, 0);
    mtf_tensor *all[FETCHES] = {mtf_reduce_mean(each, MTF_ALL)};
    mtf_gradients(1, all, 2, (mtf_tensor *[]){wi, wo}, NULL, all + 1);
    mtf_program *p = mtf_compile_n(g, FETCHES, all);
    assert_string_equal(mtf_error(s), "");
    static float feed[ROWS * MODEL];
    static int   ids[ROWS];
    for (int k = 0; k < ROWS * MODEL; k++) feed[k] = (float)(k % 37) / 37 - 0.5f;
    for (int k = 0; k < ROWS; k++) ids[k] = k * 13 % VOCAB;
    assert_true(mtf_feed(p, x, feed) && mtf_feed(p, labels, ids) && mtf_step(p));
    outcome o = {.grads = {calloc(MODEL * 2 * MODEL, 4), calloc(2 * MODEL * VOCAB, 4)}};
    assert_true(mtf_fetch(p, all[0], &o.loss) && mtf_fetch(p, all[1], o.grads[0]) &&
                mtf_fetch(p, all[2], o.grads[1]));
    const program *q = first_program(p);
    o.peak = q->slab_bytes;
    for (int k = 0; k < q->ninstrs; k++)
        for (int n = 0; n < q->instrs[k].nout && q->instrs[k].kind == INSTR_MAP; n++)
            o.large += instr_operand_bytes(&q->instrs[k], n) == ROWS * VOCAB * 4;
    close_well(s);
    return o;
}

/* The exponentials, in f32, and the like are not stored; and nothing else changes. */
static void test_a_program_keeps_less(void **state)
{
    (void)state;
    outcome least = run(true), plain = run(false);
    assert_float_equal(least.loss, plain.loss, 0);
    assert_memory_equal(least.grads[0], plain.grads[0], MODEL * 2 * MODEL * 4);
    assert_memory_equal(least.grads[1], plain.grads[1], 2 * MODEL * VOCAB * 4);
    /* Chips without products of bf16 widen the factors: those copies are made either way. */
    assert_true(least.large + 2 <= plain.large);
    assert_true(least.peak < plain.peak);
    for (int k = 0; k < 2; k++) free(least.grads[k]), free(plain.grads[k]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_set_of_registers_is_cheaper),
        cmocka_unit_test(test_a_program_keeps_less),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
