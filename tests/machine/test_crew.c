/* Tests how many threads instructions take, with times that are made up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cpu/crew.h"

/* Seconds of a run with all threads and with one. */
typedef struct machine {
    double all, one;
    int    stalls; /* each so many runs with all threads wait for a core; 0: never */
} machine;

typedef struct runs {
    int    all, one, timed;
    double seconds;
} runs;

static runs run(crew *c, const machine *m, int n)
{
    runs r = {0};
    for (int k = 0; k < n; k++) {
        bool   all = crew_wants_all(c), stalls = all && m->stalls && r.all % m->stalls == 0;
        double took = (all ? m->all : m->one) + (stalls ? 4e-3 : 0);
        r.all += all;
        r.one += !all;
        r.timed += crew_is_timed(c);
        r.seconds += took;
        crew_note(c, crew_is_timed(c) ? took : -1); /* which must not count */
    }
    return r;
}

static void test_threads_that_pay(void **unused)
{
    (void)unused;
    crew c = crew_of(1e5, 1000);
    runs r = run(&c, &(machine){60e-6, 100e-6, 0}, 10000);
    assert_true(r.one < 100 && r.seconds < 10000 * 61e-6);
}

static void test_threads_that_cost(void **unused)
{
    (void)unused;
    crew c = crew_of(1e5, 1000);
    runs r = run(&c, &(machine){5e-6, 3e-6, 0}, 10000);
    assert_true(r.all < 200 && r.timed < 300);
}

/* Where both take as long, the other cores are left alone. */
static void test_ties(void **unused)
{
    (void)unused;
    crew c = crew_of(1e5, 1000);
    assert_true(run(&c, &(machine){1e-6, 1e-6, 0}, 10000).all < 200);
}

/* Threads that are faster but for one run in ten, which waits for a core. */
static void test_shared_cores(void **unused)
{
    (void)unused;
    crew          c = crew_of(1e5, 1000);
    const machine shared = {6e-6, 10e-6, 10};
    runs          r = run(&c, &shared, 20000);
    assert_true(r.one > 19000);
    assert_true(r.seconds < 20000 * 20e-6); /* with all threads 400 */
}

static void test_changes(void **unused)
{
    (void)unused;
    crew          c = crew_of(1e5, 1000);
    const machine idle = {60e-6, 100e-6, 0}, busy = {3e-3, 110e-6, 0};
    run(&c, &idle, 5000);
    assert_true(run(&c, &busy, 1000).all < 100);
    run(&c, &idle, 4096 + 20); /* the choice may have held for long */
    assert_true(run(&c, &idle, 1000).one < 20);
}

/* A large instruction is never tried with one thread, even if it waits now and then. */
static void test_large_ones(void **unused)
{
    (void)unused;
    crew products = crew_of(1e9, 1000), copies = crew_of(0, 100000000);
    runs r = run(&products, &(machine){1e-3, 1.9e-3, 7}, 20000);
    assert_int_equal(r.one + r.timed, 0);
    assert_int_equal(run(&copies, &(machine){1e-3, 1.9e-3, 7}, 20000).one, 0);
}

/* A small one is, even where all runs wait. */
static void test_small_ones_that_wait(void **unused)
{
    (void)unused;
    crew c = crew_of(1e5, 1000);
    assert_true(run(&c, &(machine){20e-6, 30e-6, 1}, 1000).all < 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads_that_pay),
        cmocka_unit_test(test_threads_that_cost),
        cmocka_unit_test(test_ties),
        cmocka_unit_test(test_shared_cores),
        cmocka_unit_test(test_changes),
        cmocka_unit_test(test_large_ones),
        cmocka_unit_test(test_small_ones_that_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
