/* Quotas: of both kinds of control groups, as files that stand for the system's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/quota.h"

static char root[] = "/tmp/mtf_quota_XXXXXX";

static void write_file(const char *name, const char *text)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", root, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void make_folder(const char *name)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", root, name);
    assert_int_equal(mkdir(path, 0700), 0);
}

static int cores_of(const char *membership)
{
    char path[200];
    write_file("membership", membership);
    snprintf(path, sizeof path, "%s/membership", root);
    return quota_cores(path, root);
}

static int set_up(void **state)
{
    (void)state;
    if (!mkdtemp(root)) return -1;
    make_folder("jobs");
    make_folder("jobs/one");
    make_folder("cpu");
    make_folder("cpu/old");
    return 0;
}

static int tear_down(void **state)
{
    static const char *const names[] = {"membership",
                                        "cpu.max",
                                        "jobs/cpu.max",
                                        "jobs/one/cpu.max",
                                        "cpu/old/cpu.cfs_quota_us",
                                        "cpu/old/cpu.cfs_period_us",
                                        "jobs/one",
                                        "jobs",
                                        "cpu/old",
                                        "cpu",
                                        ""};
    char                     path[200];
    (void)state;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        snprintf(path, sizeof path, "%s/%s", root, names[k]);
        remove(path);
    }
    return 0;
}

static void test_no_limit(void **state)
{
    (void)state;
    assert_int_equal(quota_cores("/nowhere", root), 0);
    assert_int_equal(cores_of(""), 0);
    assert_int_equal(cores_of("0::/jobs/one\n"), 0);
    write_file("jobs/one/cpu.max", "max 100000\n");
    assert_int_equal(cores_of("0::/jobs/one\n"), 0);
}

static void test_of_its_own_or_of_a_group_above(void **state)
{
    (void)state;
    write_file("jobs/one/cpu.max", "400000 100000\n");
    assert_int_equal(cores_of("0::/jobs/one\n"), 4);
    write_file("jobs/cpu.max", "250000 100000\n");
    assert_int_equal(cores_of("0::/jobs/one\n"), 3); /* two and a half keep three busy */
    write_file("cpu.max", "50000 100000\n");
    assert_int_equal(cores_of("0::/jobs/one\n"), 1);
    assert_int_equal(cores_of("0::/somewhere/unseen\n"), 1);
    assert_int_equal(cores_of("0::/\n"), 1);
    write_file("cpu.max", "max 100000\n");
    assert_int_equal(cores_of("0::/\n"), 0);
}

static void test_of_the_older_kind(void **state)
{
    (void)state;
    write_file("cpu/old/cpu.cfs_quota_us", "200000\n");
    write_file("cpu/old/cpu.cfs_period_us", "100000\n");
    assert_int_equal(cores_of("4:memory:/old\n3:cpu:/old\n"), 2);
    assert_int_equal(cores_of("3:cpuacct,cpu:/old\n"), 2);
    assert_int_equal(cores_of("3:cpuset,cpuacct:/old\n"), 0);
    write_file("cpu/old/cpu.cfs_quota_us", "-1\n");
    assert_int_equal(cores_of("3:cpu:/old\n"), 0);
}

static void test_files_that_say_nothing(void **state)
{
    static const char *const texts[] = {"", "\n", "many few\n", "0 0\n", "100000\n", "-5 100000\n"};
    (void)state;
    write_file("jobs/cpu.max", "max 100000\n");
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        write_file("jobs/one/cpu.max", texts[k]);
        assert_int_equal(cores_of("0::/jobs/one\n"), 0);
    }
    assert_int_equal(cores_of("no colons\nonly:one\n::\n"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_limit),
        cmocka_unit_test(test_of_its_own_or_of_a_group_above),
        cmocka_unit_test(test_of_the_older_kind),
        cmocka_unit_test(test_files_that_say_nothing),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
