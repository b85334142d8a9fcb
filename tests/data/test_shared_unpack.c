/* Tests gzip files that several processes unpack once: each open file stands for a process. */
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

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

/* ---- processes that begin at once ---- */

enum { CROWD = 8, ROUNDS = 25, LONG_MS = 30000 };

/* Opens the file when the gate is closed on the other side, says so, and keeps it till the exit is. */
static void one_of_many(const char *path, int gate, int opened, int ending)
{
    char              byte = 1;
    mtf_session      *s = mtf_open_with(NULL);
    input_files       files = {.session = s, .share = true};
    ssize_t           end = read(gate, &byte, 1);
    const input_file *file = input_open(&files, path);
    bool              right =
        end == 0 && file && file->shared && file->size == SIZE && !memcmp(file->bytes, bytes, SIZE);
    byte = right ? 1 : 0;
    end = write(opened, &byte, 1) == 1 ? read(ending, &byte, 1) : -1;
    input_close(&files);
    mtf_close(s);
    _exit(right && end == 0 ? 0 : 1);
}

static int of_those_that_opened(int opened)
{
    int           n = 0;
    char          byte;
    struct pollfd ready = {.fd = opened, .events = POLLIN};
    while (n < CROWD && poll(&ready, 1, LONG_MS) == 1 && read(opened, &byte, 1) == 1) n += byte;
    return n;
}

/* All keep the file while they wait for one another, as ranks do in MPI_Init. */
static void crowd(const char *path)
{
    int   gate[2], opened[2], ending[2];
    pid_t who[CROWD];
    assert_true(pipe(gate) == 0 && pipe(opened) == 0 && pipe(ending) == 0);
    for (int i = 0; i < CROWD; i++) {
        who[i] = fork();
        assert_true(who[i] >= 0);
        if (who[i]) continue;
        close(gate[1]);
        close(ending[1]);
        one_of_many(path, gate[0], opened[1], ending[0]);
    }
    close(gate[1]);
    int n = of_those_that_opened(opened[0]);
    for (int i = 0; n < CROWD && i < CROWD; i++) kill(who[i], SIGKILL); /* one waits for ever */
    close(ending[1]);
    for (int i = 0; i < CROWD; i++) {
        int status = 1;
        assert_int_equal(waitpid(who[i], &status, 0), who[i]);
        assert_int_equal(n < CROWD ? 0 : status, 0);
    }
    close(gate[0]), close(ending[0]), close(opened[0]), close(opened[1]);
    assert_int_equal(n, CROWD);
}

static void all_at_once(void **state)
{
    (void)state;
    const char *path = write_gzip("e.gz", bytes, SIZE);
    for (int i = 0; i < ROUNDS; i++) crowd(path);
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(unpacked_once),
                                       cmocka_unit_test(left_behind), cmocka_unit_test(all_at_once),
                                       cmocka_unit_test(damaged), cmocka_unit_test(no_folder)};
    return cmocka_run_group_tests_name("shared_unpack", tests, prepare, scratch_drop);
}
