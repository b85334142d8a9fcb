/* Tests that cache folders do not grow for ever. */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cuda/driver/cache_folder.h"

#include "ground.h"

static char folder[] = "/tmp/mtf_cache_XXXXXX";

static void path_of(int k, char path[CACHE_PATH])
{
    assert_true(cache_path("kernels", (cache_key){{(uint64_t)k, 7}}, path));
}

/* A file that was last used at second k. */
static void make_file(int k)
{
    char            path[CACHE_PATH];
    struct timespec times[2] = {{.tv_sec = k}, {.tv_sec = k}};
    path_of(k, path);
    cache_make_folders(path);
    int file = open(path, O_CREAT | O_WRONLY, 0666);
    assert_true(file >= 0 && futimens(file, times) == 0);
    close(file);
}

static bool has(int k)
{
    char path[CACHE_PATH];
    path_of(k, path);
    return access(path, F_OK) == 0;
}

static int count(const char *path, bool delete)
{
    DIR *d = opendir(path);
    int  n = 0;
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        if (e->d_name[0] == '.') continue;
        n++;
        if (delete) assert_int_equal(unlinkat(dirfd(d), e->d_name, 0), 0);
    }
    closedir(d);
    return n;
}

static void test_old_files_go(void **state)
{
    char path[CACHE_PATH], other[CACHE_PATH];
    (void)state;
    for (int k = 1; k <= CACHE_FILES; k++) make_file(k);
    snprintf(other, sizeof other, "%s/kernels/notes", folder);
    close(open(other, O_CREAT | O_WRONLY, 0666));
    path_of(CACHE_FILES, path);
    cache_trim(path);
    assert_true(has(1)); /* so many there may be */
    path_of(2, path);
    cache_used(path);
    make_file(CACHE_FILES + 1);
    path_of(CACHE_FILES + 1, path);
    cache_trim(path);
    assert_true(has(CACHE_FILES + 1) && has(CACHE_FILES) && has(2));
    assert_false(has(1) || has(3) || has(CACHE_FILES / 4 + 1));
    assert_int_equal(access(other, F_OK), 0);
    snprintf(other, sizeof other, "%s/kernels", folder);
    assert_int_equal(count(other, true), CACHE_FILES / 4 * 3 + 1);
    assert_int_equal(rmdir(other), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_old_files_go)};
    if (!mkdtemp(folder) || setenv("MTF_CACHE_DIR", folder, 1) != 0) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(folder);
    return failed;
}
