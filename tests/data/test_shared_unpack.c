/* Tests gzip files that several processes unpack once: each open file stands for a process. */
#include <sys/stat.h>

#include "data/input_file.h"
#include "data/shared_unpack.h"

#include "scratch.h"

enum { SIZE = 700000 };

static uint8_t bytes[SIZE];

static int prepare(void **state)
{
    uint32_t x = 1;
    for (int i = 0; i < SIZE; i++) bytes[i] = (uint8_t)((x = x * 1664525u + 1013904223u) >> 24);
    return scratch_make(state) || setenv("TMPDIR", scratch_folder, 1);
}

static bool exists(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0;
}

static const input_file *open_shared(input_files *f, mtf_session *s, const char *path)
{
    *f = (input_files){.session = s, .share = true};
    const input_file *file = input_open(f, path);
    assert_string_equal(mtf_error(s), "");
    assert_int_equal(file->size, SIZE);
    assert_memory_equal(file->bytes, bytes, SIZE);
    assert_non_null(file->shared);
    return file;
}

static void unpacked_once(void **state)
{
    (void)state;
    mtf_session *s = mtf_open_with(NULL);
    const char  *path = write_gzip("a.gz", bytes, SIZE);
    input_files  one, two;
    const char  *unpacked = open_shared(&one, s, path)->shared->path;
    struct stat  first, second;
    assert_int_equal(stat(unpacked, &first), 0);
    assert_string_equal(open_shared(&two, s, path)->shared->path, unpacked);
    assert_int_equal(stat(unpacked, &second), 0);
    assert_int_equal(first.st_ino, second.st_ino);
    assert_int_equal(first.st_mtim.tv_nsec, second.st_mtim.tv_nsec); /* nobody wrote it again */
    input_close(&one);
    assert_true(exists(unpacked));
    input_close(&two);
    assert_false(exists(unpacked));
    close_well(s);
}

/* A process that was killed leaves half a file, or a whole one. */
static void left_behind(void **state)
{
    (void)state;
    mtf_session *s = mtf_open_with(NULL);
    const char  *path = write_gzip("b.gz", bytes, SIZE);
    input_files  files;
    const char  *unpacked = open_shared(&files, s, path)->shared->path;
    input_close(&files);
    FILE *f = fopen(unpacked, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes + 7, 1, SIZE / 2, f), SIZE / 2);
    assert_int_equal(fclose(f), 0);
    open_shared(&files, s, path);
    input_close(&files);
    assert_false(exists(unpacked));
    close_well(s);
}

static void damaged(void **state)
{
    (void)state;
    mtf_session *s = mtf_open_with(NULL);
    const char  *path = write_gzip("c.gz", bytes, SIZE);
    struct stat  about;
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(truncate(path, about.st_size / 2), 0);
    input_files files = {.session = s, .share = true};
    assert_null(input_open(&files, path));
    assert_contains(mtf_error(s), "c.gz\" is cut short: its gzip data end after");
    input_close(&files);
    assert_int_equal(mtf_close(s), 1);
}

/* Without a place for the file each process has its own bytes. */
static void no_folder(void **state)
{
    (void)state;
    mtf_session *s = mtf_open_with(NULL);
    const char  *path = write_gzip("d.gz", bytes, SIZE);
    setenv("TMPDIR", "/nowhere", 1);
    input_files       files = {.session = s, .share = true};
    const input_file *file = input_open(&files, path);
    assert_string_equal(mtf_error(s), "");
    assert_null(file->shared);
    assert_memory_equal(file->bytes, bytes, SIZE);
    input_close(&files);
    setenv("TMPDIR", scratch_folder, 1);
    close_well(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(unpacked_once), cmocka_unit_test(left_behind),
                                       cmocka_unit_test(damaged), cmocka_unit_test(no_folder)};
    return cmocka_run_group_tests_name("shared_unpack", tests, prepare, scratch_drop);
}
