/* Tests cores: counting, enumerating, moving a thread. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cores.h"

static void test_count(void **state)
{
    (void)state;
    assert_in_range(cores_count(), 1, cores_machine());
}

static void test_a_walk_visits_each_once(void **state)
{
    (void)state;
    cpu_set_t mine; /* all of them, whatever share of their time is ours */
    assert_int_equal(sched_getaffinity(0, sizeof mine, &mine), 0);
    int start = cores_current(), count = CPU_COUNT(&mine), visits[CPU_SETSIZE] = {0};
    for (int k = 0; k < count; k++) assert_int_equal(visits[cores_after(start, k)]++, 0);
    assert_int_equal(cores_after(start, 0), start);
    assert_int_equal(cores_after(start, count), start);
    assert_int_equal(cores_after(start, 3 * count + 1), cores_after(start, 1));
}

static void test_a_move_binds_nobody(void **state)
{
    (void)state;
    cpu_set_t before, after;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    for (int k = 0; k < cores_count(); k++) {
        cores_move(cores_after(cores_current(), 1));
        assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
        assert_true(CPU_EQUAL(&before, &after));
    }
}

/* While bound, the thread is where it was sent. */
static void test_only_cores_of_the_process(void **state)
{
    (void)state;
    cpu_set_t all, one;
    int       there = cores_after(cores_current(), 1);
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    CPU_SET((size_t)there, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(cores_count(), 1);
    assert_int_equal(cores_current(), there);
    assert_int_equal(cores_after(there, 5), there);
    cores_move(there + 1); /* not ours: nothing happens */
    assert_int_equal(cores_current(), there);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_count),
        cmocka_unit_test(test_a_walk_visits_each_once),
        cmocka_unit_test(test_a_move_binds_nobody),
        cmocka_unit_test(test_only_cores_of_the_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
