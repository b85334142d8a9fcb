/* Tests wires when a processor fails or does not arrive. */
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "machine/wire.h"

#include "ground.h"

enum { PROCESSORS = 3, MOST_PROCESSORS = 4 };

typedef struct caller {
    wire     *wire;
    int       number;
    unsigned  axes[2]; /* of each sum; 0: no more */
    float     in[2], out[2];
    bool      in_place, ok;
    pthread_t thread;
} caller;

/* An all-reduce of two numbers. */
static bool sum_along(caller *c, unsigned axes)
{
    access in = {.buffer = 0, .type = MTF_F32, .stride = {1}},
           out = {.buffer = 1, .type = MTF_F32, .stride = {1}};
    instr i = {.kind = INSTR_REDUCE,
               .nin = 1,
               .nout = 1,
               .in = &in,
               .out = &out,
               .nloops = 1,
               .size = {2}};
    void *base[] = {c->in, c->in_place ? c->in : c->out};
    i.reduce = (reduce_args){FOLD_SUM, axes};
    return c->wire->run(c->wire, c->number, &i, base);
}

static void *call(void *what)
{
    caller *c = what;
    c->ok = true;
    for (int k = 0; k < 2 && c->axes[k] && c->ok; k++) c->ok = sum_along(c, c->axes[k]);
    return NULL;
}

typedef struct scene {
    mtf_session *session;
    mesh         mesh;
    wire        *wire;
    caller       callers[MOST_PROCESSORS];
    char         said[1000];
} scene;

static void hear(void *context, const char *text)
{
    scene *s = context;
    strncat(s->said, text, sizeof s->said - strlen(s->said) - 1);
}

static void begin_on(scene *s, const char *mesh_text)
{
    *s = (scene){.session = mtf_open_with(
                     &(mtf_session_opts){.patience = 1, .say = hear, .say_context = s})};
    assert_true(mesh_parse(s->session, mesh_text, &s->mesh));
    s->wire = wire_threads_open(s->session, &s->mesh, NULL);
    assert_non_null(s->wire);
    for (int k = 0; k < MOST_PROCESSORS; k++)
        s->callers[k] = (caller){.wire = s->wire, .number = k, .axes = {1}, .in = {1, (float)k}};
}

static void begin(scene *s)
{
    begin_on(s, "x:3");
}

static void start(scene *s, int k)
{
    assert_int_equal(pthread_create(&s->callers[k].thread, NULL, call, &s->callers[k]), 0);
}

static void finish(scene *s, int k, bool ok)
{
    pthread_join(s->callers[k].thread, NULL);
    assert_int_equal(s->callers[k].ok, ok);
}

static void end(scene *s)
{
    s->wire->close(s->wire);
    mtf_close(s->session);
}

static void test_sum(void **state)
{
    (void)state;
    scene s;
    begin(&s);
    for (int k = 0; k < PROCESSORS; k++) start(&s, k);
    for (int k = 0; k < PROCESSORS; k++) {
        finish(&s, k, true);
        assert_true(s.callers[k].out[0] == 3 && s.callers[k].out[1] == 3);
    }
    end(&s);
}

/* The result may take the operand's place, here and there. */
static void test_sum_in_place(void **state)
{
    (void)state;
    for (unsigned which = 1; which < 1 << PROCESSORS; which++) {
        scene s;
        begin(&s);
        for (int k = 0; k < PROCESSORS; k++) s.callers[k].in_place = which >> k & 1;
        for (int k = 0; k < PROCESSORS; k++) start(&s, k);
        for (int k = 0; k < PROCESSORS; k++) {
            finish(&s, k, true);
            const float *got = s.callers[k].in_place ? s.callers[k].in : s.callers[k].out;
            assert_true(got[0] == 3 && got[1] == 3);
        }
        end(&s);
    }
}

/* Whoever does not come within the session's patience is named, and nobody waits on.  The wire says
 * nothing: its threads are not the caller's. */
static void test_late(void **state)
{
    (void)state;
    scene s;
    begin(&s);
    start(&s, 0);
    start(&s, 2);
    finish(&s, 0, false);
    finish(&s, 2, false);
    assert_non_null(strstr(mtf_error(s.session), "all_reduce of"));
    assert_non_null(strstr(mtf_error(s.session), "waited 1 seconds for x=1"));
    assert_string_equal(s.said, "");
    s.wire->close(s.wire);
    assert_int_equal(mtf_close(s.session), 1);
    assert_non_null(strstr(s.said, "x=1"));
}

/* x=0,y=1 waits for x=0,y=0, which waits for x=1,y=0: that one alone is to blame.  x=0,y=0 comes
 * later than the others, so that it is not the first to lose patience. */
static void test_late_for_another(void **state)
{
    (void)state;
    scene s;
    begin_on(&s, "x:2;y:2");
    for (int k = 0; k < 4; k++) s.callers[k].axes[1] = 2;
    start(&s, 1);
    start(&s, 3);
    nanosleep(&(struct timespec){.tv_nsec = 300 * 1000 * 1000}, NULL);
    start(&s, 0);
    finish(&s, 0, false);
    finish(&s, 1, false);
    finish(&s, 3, false);
    assert_non_null(strstr(mtf_error(s.session), "waited 1 seconds for x=1,y=0 (--patience)"));
    s.wire->close(s.wire);
    assert_int_equal(mtf_close(s.session), 1);
}

/* A processor that fails lets the others go, and it is the one to blame. */
static void test_abort(void **state)
{
    (void)state;
    scene s;
    begin(&s);
    start(&s, 0);
    start(&s, 2);
    s.wire->abort(s.wire, 1);
    s.wire->abort(s.wire, 2);
    finish(&s, 0, false);
    finish(&s, 2, false);
    assert_true(mtf_ok(s.session));
    assert_int_equal(s.wire->failed, 1);
    s.wire->reset(s.wire);
    for (int k = 0; k < PROCESSORS; k++) start(&s, k);
    for (int k = 0; k < PROCESSORS; k++) finish(&s, k, true);
    end(&s);
}

static void test_group(void **state)
{
    (void)state;
    mesh  m = {.naxes = 2, .name = {"x", "y"}, .size = {2, 3}};
    group g = group_of(&m, 4, 2); /* x=1,y=1, along y */
    assert_int_equal(g.n, 3);
    assert_int_equal(g.mine, 1);
    for (int k = 0; k < 3; k++) assert_int_equal(group_member(&m, &g, k), 3 + k);
    g = group_of(&m, 4, 3);
    assert_int_equal(g.n, 6);
    assert_int_equal(g.mine, 4);
    assert_int_equal(group_member(&m, &g, 5), 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sum),   cmocka_unit_test(test_sum_in_place),
        cmocka_unit_test(test_late),  cmocka_unit_test(test_late_for_another),
        cmocka_unit_test(test_abort), cmocka_unit_test(test_group),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
