/* Tests CPU quotas of control groups, read from sample files. */
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

static int64_t memory_of(const char *membership)
{
    char path[200];
    write_file("membership", membership);
    snprintf(path, sizeof path, "%s/membership", root);
    return quota_memory(path, root);
}

static int set_up(void **state)
{
    (void)state;
    if (!mkdtemp(root)) return -1;
    make_folder("jobs");
    make_folder("jobs/one");
    make_folder("cpu");
    make_folder("cpu/old");
    make_folder("memory");
    make_folder("memory/old");
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
                                        "memory.max",
                                        "jobs/memory.max",
                                        "jobs/one/memory.max",
                                        "memory/memory.limit_in_bytes",
                                        "memory/old/memory.limit_in_bytes",
                                        "memory/old",
                                        "memory",
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

static void test_memory(void **state)
{
    (void)state;
    assert_int_equal(quota_memory("/nowhere", root), 0);
    assert_int_equal(memory_of("0::/jobs/one\n"), 0);
    write_file("jobs/one/memory.max", "max\n");
    assert_int_equal(memory_of("0::/jobs/one\n"), 0);
    write_file("jobs/one/memory.max", "8589934592\n");
    assert_int_equal(memory_of("0::/jobs/one\n"), 8589934592);
    write_file("jobs/memory.max", "1048577\n");
    assert_int_equal(memory_of("0::/jobs/one\n"), 1048577);
    write_file("memory.max", "4096\n");
    assert_int_equal(memory_of("0::/jobs/one\n"), 4096);
    assert_int_equal(memory_of("0::/\n"), 4096);
    write_file("memory.max", "few\n");
    assert_int_equal(memory_of("0::/\n"), 0);
    assert_int_equal(memory_of("0::/jobs/one\n"), 1048577);
}

/* Without a limit these files have the largest number of bytes that are whole pages. */
static void test_memory_of_the_older_kind(void **state)
{
    (void)state;
    write_file("memory/memory.limit_in_bytes", "9223372036854771712\n");
    write_file("memory/old/memory.limit_in_bytes", "123456789\n");
    assert_int_equal(memory_of("4:memory:/old\n3:cpu:/jobs\n"), 123456789);
    assert_int_equal(memory_of("4:hugetlb,memory:/old\n"), 123456789);
    assert_int_equal(memory_of("4:hugetlb:/old\n"), 0);
    assert_int_equal(memory_of("4:memory:/\n"), 0);
    write_file("memory/old/memory.limit_in_bytes", "-1\n");
    assert_int_equal(memory_of("4:memory:/old\n"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_limit),
        cmocka_unit_test(test_of_its_own_or_of_a_group_above),
        cmocka_unit_test(test_of_the_older_kind),
        cmocka_unit_test(test_files_that_say_nothing),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_memory_of_the_older_kind),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
