/* Tests how many threads instructions take, with times that are made up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cpu/crew.h"

/* Instructions of a step: seconds alone, and what a parallel region adds. */
typedef struct machine {
    int    n;
    double alone[3];
    int    threads;
    double region;
} machine;

static double run_step(crew *c, const machine *m)
{
    double all = 0;
    for (int k = 0; k < m->n; k++) {
        bool   alone = crew_leaves(c, (float)m->alone[k]);
        double took = alone ? m->alone[k] : m->alone[k] / m->threads + m->region;
        all += took;
        if (crew_is_timed(c)) crew_add(c, took);
    }
    crew_step(c);
    return all;
}

/* The mean of a step, as multiples of the best. */
static double run(crew *c, const machine *m, int steps, double best)
{
    double all = 0;
    for (int k = 0; k < steps; k++) all += run_step(c, m);
    return all / steps / best;
}

static const machine idle = {3, {10e-6, 100e-6, 2e-3}, 2, 1e-6},
                     busy = {3, {10e-6, 100e-6, 2e-3}, 2, 4e-3};

static void test_idle_cores(void **unused)
{
    (void)unused;
    crew c = crew_new();
    assert_true(run(&c, &idle, 10000, 1058e-6) < 1.03);
    assert_false(crew_leaves(&c, 100e-6F));
}

static void test_shared_cores(void **unused)
{
    (void)unused;
    crew c = crew_new();
    assert_true(run(&c, &busy, 10000, 2110e-6) < 1.05);
    assert_true(crew_leaves(&c, 2e-3F));
}

/* With many threads only small instructions are better off alone. */
static void test_sizes(void **unused)
{
    (void)unused;
    const machine many = {3, {10e-6, 100e-6, 2e-3}, 16, 20e-6};
    crew          c = crew_new();
    assert_true(run(&c, &many, 10000, 10e-6 + 26.25e-6 + 145e-6) < 1.05);
    assert_true(crew_leaves(&c, 10e-6F));
    assert_false(crew_leaves(&c, 100e-6F));
}

/* Where it makes no difference, cores are left to others. */
static void test_ties(void **unused)
{
    (void)unused;
    const machine equal = {2, {10e-6, 1e-3, 0}, 1, 0};
    crew          c = crew_new();
    run(&c, &equal, 40, 1);
    assert_true(crew_leaves(&c, 1e-3F));
}

static void test_changes(void **unused)
{
    (void)unused;
    crew c = crew_new();
    run(&c, &idle, 1000, 1);
    assert_true(run(&c, &busy, 5000, 2110e-6) < 1.2);
    run(&c, &idle, 50 * 3 * 20, 1); /* as long as the waits of a trial are worth */
    assert_true(run(&c, &idle, 1000, 1058e-6) < 1.05);
}

/* The largest never run alone, even if they always wait. */
static void test_large_ones(void **unused)
{
    (void)unused;
    const machine large = {1, {1, 0, 0}, 2, 4e-3};
    crew          c = crew_new();
    assert_true(run(&c, &large, 100, 0.504) < 1.0001);
}

/* Between trials nothing is timed. */
static void test_few_are_timed(void **unused)
{
    (void)unused;
    crew c = crew_new();
    int  timed = 0;
    for (int k = 0; k < 10000; k++) {
        timed += crew_is_timed(&c);
        run_step(&c, &idle);
    }
    assert_true(timed > 0 && timed < 2000);
}

static void test_estimates(void **unused)
{
    (void)unused;
    assert_true(crew_estimate(0, 0) == 0);
    assert_true(crew_estimate(2e10, 0) > 0.5F && crew_estimate(2e10, 0) < 2);
    assert_true(crew_estimate(0, INT64_MAX) > 1e6F);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_idle_cores),    cmocka_unit_test(test_shared_cores),
        cmocka_unit_test(test_sizes),         cmocka_unit_test(test_ties),
        cmocka_unit_test(test_changes),       cmocka_unit_test(test_large_ones),
        cmocka_unit_test(test_few_are_timed), cmocka_unit_test(test_estimates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
