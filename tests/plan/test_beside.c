/* Tests plans for devices that run collectives beside other work. */
#include "price/estimate.h"
#include "program/wire_sizes.h"

#include "ground.h"
#include "scene.h"

/* Two gradients of 80 x 80, of which the first is known while the second is computed. */
static const char network[] = "x: f32[batch=64, in=80] = random_uniform\n"
                              "w: f32[in=80, mid=80] = variable(init=\"ones\")\n"
                              "v: f32[mid=80, out=80] = variable(init=\"ones\")\n"
                              "h: [batch, mid] = tanh(einsum(x, w))\n"
                              "z: [batch, out] = einsum(h, v)\n"
                              "dw, dv = gradients(reduce_sum(square(z)); w, v)\n"
                              "nv = assign(v, v - 0.1 * dv)\n"
                              "y = assign(w, w - 0.1 * dw + 0.01 * reduce_sum(nv))\n";

static estimate *priced(scene *c, const char *text, bool overlaps, double wire)
{
    price_rates r = PRICE_RATES;
    r.flops = 1e9, r.memory = 1e9, r.wire = wire, r.latency = 1e-6;
    scene_open(c, text, "p:4", "batch:p");
    c->s->can.overlaps = overlaps;
    return scene_priced(c, &r);
}

static int place_of(const program *p, instr_kind kind, const char *cause)
{
    for (int k = 0; k < p->ninstrs; k++)
        if (p->instrs[k].kind == kind && p->instrs[k].cause &&
            strcmp(mtf_name_of_tensor(p->instrs[k].cause), cause) == 0)
            return k;
    fail_msg("no \"%s\" for \"%s\"", instr_name(kind), cause);
    return -1;
}

static double sum_between(const price *p, int begin, int end)
{
    double seconds = 0;
    for (int k = begin; k < end; k++) seconds += p->lines[k].seconds;
    return seconds;
}

/* The sum of dv begins when dv is known, and is waited for by the update; that of dw follows it. */
static void test_sums_begin_early(void **state)
{
    (void)state;
    scene     late, early;
    estimate *a = priced(&late, network, false, 1e9), *b = priced(&early, network, true, 1e9);
    int       dw = place_of(b->program, INSTR_REDUCE, "dw");
    int       dv = place_of(b->program, INSTR_REDUCE, "dv");
    assert_int_equal(dv, place_of(b->program, INSTR_CONTRACT, "dv") + 1);
    assert_int_equal(dw, place_of(b->program, INSTR_CONTRACT, "dw") + 1);
    assert_true(dv < dw && b->price.beside && b->price.beside->beside[dv]);
    assert_null(a->price.beside);
    assert_true(a->price.hidden_seconds == 0 && b->price.collectives == a->price.collectives);
    assert_int_equal(b->price.sent_bytes, a->price.sent_bytes);
    estimate_free(a);
    estimate_free(b);
    close_well(late.s);
    close_well(early.s);
}

/* Between its begin and the first who waits, the longer of a collective and of other work counts. */
static void expect_longer(double wire)
{
    scene          c;
    estimate      *e = priced(&c, network, true, wire);
    const price   *p = &e->price;
    const program *q = e->program;
    int            dv = place_of(q, INSTR_REDUCE, "dv"), dw = place_of(q, INSTR_REDUCE, "dw");
    double         before = sum_between(p, 0, dv), after = sum_between(p, dw + 1, q->ninstrs);
    double work = sum_between(p, dv + 1, dw), sums = p->lines[dv].seconds + p->lines[dw].seconds;
    assert_int_equal(p->beside->awaits[dw],
                     dv); /* it stays in the first queue: its reader is next */
    double expected = before + fmax(work, p->lines[dv].seconds) + p->lines[dw].seconds + after;
    assert_near(p->seconds, expected, 1e-12);
    assert_near(p->hidden_seconds, fmin(work, p->lines[dv].seconds), 1e-12);
    assert_near(p->wire_seconds, sums - p->hidden_seconds, 1e-12);
    estimate_free(e);
    close_well(c.s);
}

static void test_the_longer_counts(void **state)
{
    (void)state;
    expect_longer(1e9);  /* the collective takes longer, */
    expect_longer(1e12); /* or the work beside it */
}

/* Three gradients, whose sums take far longer than all work: they come one after the other, whichever queue
 * they are in, so that the step takes at least what comes before the first and all of them. */
static void test_sums_wait_for_one_another(void **state)
{
    static const char text[] = "x: f32[batch=64, in=80] = random_uniform\n"
                               "u: f32[in=80, mid=80] = variable(init=\"ones\")\n"
                               "v: f32[mid=80, top=80] = variable(init=\"ones\")\n"
                               "w: f32[top=80, out=80] = variable(init=\"ones\")\n"
                               "h: [batch, mid] = tanh(einsum(x, u))\n"
                               "g: [batch, top] = tanh(einsum(h, v))\n"
                               "z: [batch, out] = einsum(g, w)\n"
                               "du, dv, dw = gradients(reduce_sum(square(z)); u, v, w)\n"
                               "nw = assign(w, w - 0.1 * dw)\n"
                               "nv = assign(v, v - 0.1 * dv)\n"
                               "y = assign(u, u - 0.1 * du)\n";
    (void)state;
    scene        c;
    estimate    *e = priced(&c, text, true, 1e5);
    const price *p = &e->price;
    int          dw = place_of(e->program, INSTR_REDUCE, "dw"),
        dv = place_of(e->program, INSTR_REDUCE, "dv"),
        du = place_of(e->program, INSTR_REDUCE, "du");
    assert_true(dw < dv && dv < du && p->beside->beside[dw] && p->beside->beside[dv]);
    double sums = p->lines[dw].seconds + p->lines[dv].seconds + p->lines[du].seconds;
    double least = sum_between(p, 0, dw) + sums;
    assert_true(p->seconds >= least &&
                p->seconds <= least + sum_between(p, du + 1, e->program->ninstrs) + 1e-12);
    estimate_free(e);
    close_well(c.s);
}

/* Running sums of dv are made from its sum, which is under way while dw is computed. */
#define RUNNING_SUMS                                                                               \
    "x: f32[batch=64, in=80] = random_uniform\n"                                                   \
    "w: f32[in=80, mid=80] = variable(init=\"ones\")\n"                                            \
    "v: f32[mid=80, out=80] = variable(init=\"ones\")\n"                                           \
    "h: [batch, mid] = tanh(einsum(x, w))\n"                                                       \
    "z: [batch, out] = einsum(h, v)\n"                                                             \
    "loss = reduce_sum(square(z))\n"                                                               \
    "dv = gradients(loss; v)\n"                                                                    \
    "s = cumsum(dv, dim=out)\n"                                                                    \
    "dw = gradients(loss; w)\n"                                                                    \
    "nw = assign(w, w - 0.1 * dw)\n"

static bool waits_for_other_gradient(const char *text)
{
    scene     c;
    estimate *e = priced(&c, text, true, 1e9);
    bool later = place_of(e->program, INSTR_SCAN, "s") > place_of(e->program, INSTR_CONTRACT, "dw");
    estimate_free(e);
    close_well(c.s);
    return later;
}

/* What is only stored is computed where it is stored; what products need is computed at once. */
static void test_what_is_stored_is_late(void **state)
{
    (void)state;
    assert_true(waits_for_other_gradient(RUNNING_SUMS "y = assign(v, v - 0.1 * s)\n"));
    assert_false(waits_for_other_gradient(RUNNING_SUMS "y: [mid] = einsum(s, v)\n"));
}

/* The sums of biases, which are short, are begun in between the long ones of weights. */
static const char biases[] =
    "x: bf16[batch=64, in=80] = random_uniform\n"
    "w: f32[in=80, mid=80] = variable(init=\"ones\")\n"
    "v: f32[mid=80, out=80] = variable(init=\"ones\")\n"
    "b: f32[mid=80] = variable(init=\"ones\")\n"
    "c: f32[out=80] = variable(init=\"ones\")\n"
    "h: [batch, mid] = tanh(einsum(x, cast(w, type=bf16)) + cast(b, type=bf16))\n"
    "z: [batch, out] = einsum(h, cast(v, type=bf16)) + cast(c, type=bf16)\n"
    "dw, dv, db, dc = gradients(reduce_sum(square(z)); w, v, b, c)\n"
    "nc = assign(c, c - 0.1 * dc)\n"
    "nv = assign(v, v - 0.1 * dv)\n"
    "nb = assign(b, b - 0.1 * db)\n"
    "y = assign(w, w - 0.1 * dw)\n";

/* The first instruction that reads a result of collective c or of a later one. */
static int awaited(const program *p, int c)
{
    for (int k = c + 1; k < p->ninstrs; k++)
        for (int from = c; from < k; from++)
            if (instr_is_collective(&p->instrs[from]) &&
                instr_reads(&p->instrs[k], p->instrs[from].out[0].buffer))
                return k;
    return p->ninstrs - 1;
}

/* Nothing comes to lie where a short sum is read, before a sum is awaited anyway. */
static void test_short_operands_stay(void **state)
{
    (void)state;
    scene          c;
    estimate      *e = priced(&c, biases, true, 1e9);
    const program *p = e->program;
    int            met = 0;
    for (int k = 0; k < p->ninstrs; k++) {
        const buffer *b = &p->buffers[p->instrs[k].nin ? p->instrs[k].in[0].buffer : 0];
        if (!instr_is_collective(&p->instrs[k]) || b->bytes > WHOLE_BYTES) continue;
        assert_true(b->last >= awaited(p, k));
        met += awaited(p, k) > k + 1;
    }
    assert_true(met > 0);
    estimate_free(e);
    close_well(c.s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums_begin_early),
        cmocka_unit_test(test_the_longer_counts),
        cmocka_unit_test(test_sums_wait_for_one_another),
        cmocka_unit_test(test_what_is_stored_is_late),
        cmocka_unit_test(test_short_operands_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
