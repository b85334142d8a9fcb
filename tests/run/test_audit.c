/* Tests that an audit of a run can disagree: each promise is falsified in turn. */
#include "run/audit.h"
#include "run/compiled.h"

#include "ground.h"

static const char net[] = "x: f32[b=12, d=8] = random_normal\n"
                          "w: f32[d=8, h=10] = variable\n"
                          "y: [b, h] = einsum(x, w)\n"
                          "s = softmax(y, dim=h)\n"
                          "g = gradients(reduce_sum(s * s); w)\n"
                          "n = assign(w, w - g)\n"
                          "m = reduce_max(y, over=(b))\n";

typedef struct trial {
    mtf_session *s;
    mtf_program *p;
} trial;

static trial trial_open(void)
{
    trial t = {0};
    t.s = mtf_open_with(&(mtf_session_opts){
        .threads = 3, .mesh = "x:3", .layout = "b:x", .state_layout = "d:x!", .measure = true});
    mtf_graph  *g = mtf_parse(t.s, net, "test");
    mtf_tensor *fetches[] = {mtf_find(g, "n"), mtf_find(g, "m")};
    t.p = mtf_compile_n(g, 2, fetches);
    assert_non_null(t.p);
    return t;
}

static void step_twice(const trial *t)
{
    assert_true(mtf_step(t->p) && mtf_step(t->p));
}

static program *program_of(const trial *t, int number)
{
    return t->p->processors[number].program;
}

/* The first instruction of a kind; for collectives, of any of them. */
static instr *find_instr(program *q, bool collective)
{
    for (int k = 0; k < q->ninstrs; k++)
        if (instr_is_collective(&q->instrs[k]) == collective &&
            (collective || q->instrs[k].kind == INSTR_CONTRACT))
            return &q->instrs[k];
    fail_msg("the program has no such instruction");
    return NULL;
}

/* Closes a trial whose audit differs in this row, and in no row that stands before it. */
static void close_different(trial *t, const char *key)
{
    audit     a;
    audit_row rows[AUDIT_ROWS];
    bool      found = false;
    assert_true(audit_program(t->p, &a));
    audit_rows(&a, rows);
    for (int k = 0; k < AUDIT_ROWS && !found; k++) {
        bool same = rows[k].planned == rows[k].measured;
        if (same == (strcmp(rows[k].key, key) == 0))
            fail_msg("%s: %lld planned, %lld measured", rows[k].what, (long long)rows[k].planned,
                     (long long)rows[k].measured);
        found = strcmp(rows[k].key, key) == 0;
    }
    assert_true(found);
    assert_false(audit_agrees(t->s, &a));
    assert_non_null(strstr(mtf_error(t->s), "the plan promised "));
    assert_int_equal(mtf_close(t->s), 1);
}

static void test_honest(void **state)
{
    (void)state;
    trial     t = trial_open();
    audit     a;
    audit_row rows[AUDIT_ROWS];
    step_twice(&t);
    assert_true(audit_program(t.p, &a) && audit_agrees(t.s, &a));
    assert_int_equal(a.steps, 2);
    assert_int_equal(a.processors, 3);
    audit_rows(&a, rows);
    for (int k = 0; k < AUDIT_ROWS; k++) assert_int_equal(rows[k].planned, rows[k].measured);
    assert_true(a.measured.flops > 0 && a.measured.collectives > 0 && a.measured.read > 0);
    assert_true(a.measured.memory > 0 && a.measured.scratch > 0 && a.measured.wire > 0);
    close_well(t.s);
}

/* Every kernel, on so much that threads share it. */
static void test_threads(void **state)
{
    (void)state;
    static const char        large[] = "x: f32[b=64, h=24, w=24, c=16] = random_normal\n"
                                       "u: f32[b=64, h=24, w=24, c=16] = random_uniform\n"
                                       "f: f32[fh=3, fw=3, c=16, o=16] = variable\n"
                                       "y = conv2d(x, f)\n"
                                       "df = gradients(reduce_sum(y * y); f)\n"
                                       "w: f32[c=16, e=48] = variable\n"
                                       "z: [b, h, w, e] = einsum(x, w)\n"
                                       "s = softmax(z, dim=e)\n"
                                       "k = cumsum(x, dim=h)\n"
                                       "m = reduce_max(u, over=(b))\n"
                                       "n = reduce_sum(x * u)\n"
                                       "v, at = sort(x, dim=w)\n"
                                       "i = argmax(x, dim=c)\n"
                                       "table: f32[c=16, q=50] = variable\n"
                                       "g = gather(table, i, dim=c)\n"
                                       "dt = gradients(reduce_sum(g * g); table)\n"
                                       "p = pad(k, dim=h, before=2, after=1)\n";
    static const char *const names[] = {"y", "df", "s", "k", "m", "n", "v", "i", "dt", "p"};
    for (int threads = 1; threads <= 4; threads++) {
        mtf_session *s = mtf_open_with(&(mtf_session_opts){.threads = threads, .measure = true});
        mtf_graph   *g = mtf_parse(s, large, "test");
        mtf_tensor  *fetches[10];
        audit        a;
        for (int k = 0; k < 10; k++) fetches[k] = mtf_find(g, names[k]);
        mtf_program *p = mtf_compile_n(g, 10, fetches);
        assert_true(p && mtf_step(p) && audit_program(p, &a) && audit_agrees(s, &a));
        close_well(s);
    }
}

static void test_flops(void **state)
{
    (void)state;
    trial t = trial_open();
    find_instr(program_of(&t, 1), false)->flops *= 3; /* what runs and what is priced are one */
    step_twice(&t);
    close_different(&t, "flops");
}

static void test_number_of_collectives(void **state)
{
    (void)state;
    trial t = trial_open();
    step_twice(&t);
    instr *i = find_instr(program_of(&t, 2), true);
    i->kind = INSTR_MOVE;
    i->flops = 0;
    audit     a;
    audit_row rows[AUDIT_ROWS];
    assert_true(audit_program(t.p, &a));
    audit_rows(&a, rows);
    assert_string_equal(rows[1].key, "collectives");
    assert_int_equal(rows[1].planned, rows[1].measured - 2);
    assert_false(audit_agrees(t.s, &a));
    assert_int_equal(mtf_close(t.s), 1);
}

/* An exchange that says, after it ran, that it brought less. */
static void test_bytes_of_a_collective(void **state)
{
    (void)state;
    trial    t = trial_open();
    program *q = program_of(&t, 0);
    step_twice(&t);
    for (int k = 0; k < q->ninstrs; k++) {
        if (q->instrs[k].kind != INSTR_EXCHANGE) continue;
        exchange_args *how = arena_copy(&q->arena, q->instrs[k].exchange, sizeof *how);
        assert_non_null(how);
        how->to = how->from;
        q->instrs[k].exchange = how;
    }
    close_different(&t, "sent_bytes");
}

static void *thrice(device *d, void *old)
{
    size_t bytes = d->taken(d, old);
    d->release(d, old, bytes);
    void *more = d->alloc(d, 3 * bytes);
    assert_non_null(more);
    return more;
}

static void test_slab(void **state)
{
    (void)state;
    trial      t = trial_open();
    processor *k = &t.p->processors[1];
    k->slab = thrice(t.p->device, k->slab);
    for (int b = 0; b < k->program->nbuffers; b++)
        if (k->program->buffers[b].kind != BUFFER_VARIABLE && k->program->buffers[b].offset >= 0)
            k->base[b] = k->slab + k->program->buffers[b].offset;
    step_twice(&t);
    close_different(&t, "slab_bytes");
}

static void test_scratch(void **state)
{
    (void)state;
    trial      t = trial_open();
    processor *k = &t.p->processors[1];
    k->state.scratch = thrice(t.p->device, k->state.scratch);
    step_twice(&t);
    close_different(&t, "scratch_bytes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_honest),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_flops),
        cmocka_unit_test(test_number_of_collectives),
        cmocka_unit_test(test_bytes_of_a_collective),
        cmocka_unit_test(test_slab),
        cmocka_unit_test(test_scratch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
