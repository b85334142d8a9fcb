/* Tests that an audit finds each planned figure when falsified. */
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

/* Does this list of words have the word? */
static bool lists(const char *words, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = words; *at; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        if (length == n && strncmp(at, word, n) == 0) return true;
        at += length;
    }
    return false;
}

/* Closes a trial whose audit differs in these rows and in no others. */
static void close_different(trial *t, const char *keys)
{
    audit     a;
    audit_row rows[AUDIT_ROWS];
    assert_true(audit_program(t->p, &a));
    audit_rows(&a, rows);
    for (int k = 0; k < AUDIT_ROWS; k++)
        if ((rows[k].planned != rows[k].measured) != lists(keys, rows[k].key))
            fail_msg("%s: %lld planned, %lld measured", rows[k].what, (long long)rows[k].planned,
                     (long long)rows[k].measured);
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

/* ---- falsehoods: each is told of one processor, or by its wire ---- */

/* What runs and what is priced are one. */
static void say_more_flops(trial *t)
{
    find_instr(program_of(t, 1), false)->flops *= 3;
    step_twice(t);
}

/* It ran, and is then said to have been none. */
static void hide_collective(trial *t)
{
    step_twice(t);
    instr *i = find_instr(program_of(t, 2), true);
    i->kind = INSTR_MOVE;
    i->flops = 0;
}

/* Exchanges that are said, after they ran, to have brought nothing. */
static void say_fewer_bytes(trial *t)
{
    program *q = program_of(t, 0);
    step_twice(t);
    for (int k = 0; k < q->ninstrs; k++) {
        if (q->instrs[k].kind != INSTR_EXCHANGE) continue;
        exchange_args *how = arena_copy(&q->arena, q->instrs[k].exchange, sizeof *how);
        assert_non_null(how);
        how->to = how->from;
        q->instrs[k].exchange = how;
    }
}

/* A wire that counts otherwise than it should, or moves otherwise than was planned. */
static struct {
    const wire_moved *(*honest)(const wire *w, int me);
    void (*change)(wire_moved *m);
    wire_moved told[3]; /* by processor */
} lying;

static const wire_moved *lie(const wire *w, int me)
{
    lying.told[me] = *lying.honest(w, me);
    if (me == 1) lying.change(&lying.told[me]);
    return &lying.told[me];
}

static void step_with_lies(trial *t, void (*change)(wire_moved *m))
{
    wire *w = t->p->store->wire;
    lying.honest = w->moved;
    lying.change = change;
    w->moved = lie;
    step_twice(t);
}

static void read_in_messages(wire_moved *m)
{
    m->received_bytes += m->read_bytes;
    m->read_bytes = 0;
}

static void take_messages_for_reads(trial *t)
{
    step_with_lies(t, read_in_messages);
}

static void receive_more(wire_moved *m)
{
    m->received_bytes += m->read_bytes;
}

static void receive_messages(trial *t)
{
    step_with_lies(t, receive_more);
}

static void send_more(wire_moved *m)
{
    m->sent_bytes += m->read_bytes;
}

static void send_messages(trial *t)
{
    step_with_lies(t, send_more);
}

static void receive_from_outside(wire_moved *m)
{
    m->received_outside += m->read_bytes;
}

static void receive_outside(trial *t)
{
    step_with_lies(t, receive_from_outside);
}

static void send_to_outside(wire_moved *m)
{
    m->sent_outside += m->read_bytes;
}

static void send_outside(trial *t)
{
    step_with_lies(t, send_to_outside);
}

static void *times(device_context *c, void *old, size_t factor, size_t divisor)
{
    device *d = c->device;
    size_t  bytes = d->taken(c, old);
    d->release(c, old, bytes);
    void *other = d->alloc(c, bytes * factor / divisor);
    assert_non_null(other);
    return other;
}

static void take_more_slab(trial *t)
{
    processor *k = &t->p->processors[1];
    k->slab = times(k->context, k->slab, 3, 1);
    for (int b = 0; b < k->program->nbuffers; b++)
        if (k->program->buffers[b].kind != BUFFER_VARIABLE && k->program->buffers[b].offset >= 0)
            k->base[b] = k->slab + k->program->buffers[b].offset;
    step_twice(t);
}

static void take_more_scratch(trial *t)
{
    processor *k = &t->p->processors[1];
    k->state.scratch = times(k->context, k->state.scratch, 3, 1);
    step_twice(t);
}

/* A megabyte, of one processor. */
static int64_t taken_by_one(const wire *w, int me)
{
    (void)w;
    return me == 1 ? 1 << 20 : 0;
}

static void take_more_buffers(trial *t)
{
    step_twice(t);
    t->p->store->wire->taken = taken_by_one;
}

/* The first processor has a smaller part of the variable than the others.  Where it alone has taken
 * its scratch, the most of each is as planned, but no processor has the most of both. */
static void take_less_scratch(trial *t)
{
    step_twice(t);
    for (int k = 1; k < 3; k++) {
        processor *q = &t->p->processors[k];
        q->state.scratch = times(q->context, q->state.scratch, 1, 2);
    }
}

static const struct {
    const char *key; /* of the row that this is about */
    void (*falsify)(trial *t);
    const char *differ; /* the rows that differ then */
} falsehoods[] = {
    {"flops", say_more_flops, "flops"},
    {"collectives", hide_collective, "collectives sent_bytes read_bytes"},
    {"sent_bytes", say_fewer_bytes, "sent_bytes read_bytes"},
    {"read_bytes", take_messages_for_reads, "read_bytes received_messages"},
    {"received_messages", receive_messages, "sent_bytes received_messages"},
    {"sent_messages", send_messages, "sent_messages"},
    {"received_outside", receive_outside, "received_outside"},
    {"sent_outside", send_outside, "sent_outside"},
    {"slab_bytes", take_more_slab, "slab_bytes peak_bytes"},
    {"scratch_bytes", take_more_scratch, "scratch_bytes peak_bytes"},
    {"wire_bytes", take_more_buffers, "wire_bytes peak_bytes"},
    {"peak_bytes", take_less_scratch, "peak_bytes"},
};
enum { FALSEHOODS = sizeof falsehoods / sizeof *falsehoods };

static void test_each_falsehood_is_seen(void **state)
{
    (void)state;
    for (int k = 0; k < FALSEHOODS; k++) {
        trial t = trial_open();
        falsehoods[k].falsify(&t);
        close_different(&t, falsehoods[k].differ);
    }
}

/* A row more needs a falsehood more. */
static void test_each_row_is_falsified(void **state)
{
    (void)state;
    audit     a = {.steps = 0};
    audit_row rows[AUDIT_ROWS];
    audit_rows(&a, rows);
    assert_int_equal(AUDIT_ROWS, FALSEHOODS);
    for (int k = 0; k < AUDIT_ROWS; k++) {
        assert_string_equal(rows[k].key, falsehoods[k].key);
        assert_true(lists(falsehoods[k].differ, rows[k].key));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_honest),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_each_falsehood_is_seen),
        cmocka_unit_test(test_each_row_is_falsified),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
