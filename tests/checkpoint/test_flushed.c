/* Tests that files are on the disk before they get their names.
 *
 * Replaces the C library's functions that flush and rename, and checks each file
 * that is renamed, alone or with its folder.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "checkpoint_model.h"
#include "run/npy.h"

#include "ground.h"

enum { MOST = 1000 };

static ino_t flushed[MOST];
static int   nflushed, renamed, unflushed;

int fsync(int file)
{
    struct stat about;
    if (nflushed < MOST && fstat(file, &about) == 0) flushed[nflushed++] = about.st_ino;
    return (int)syscall(SYS_fsync, file);
}

static void look_at(int folder, const char *name)
{
    struct stat about;
    bool        found = false;
    assert_int_equal(fstatat(folder, name, &about, 0), 0);
    for (int k = 0; k < nflushed; k++) found = found || flushed[k] == about.st_ino;
    renamed++;
    unflushed += !found;
}

static void look_at_all(const char *path)
{
    DIR *d = opendir(path);
    look_at(AT_FDCWD, path);
    for (struct dirent *e; d && (e = readdir(d)) != NULL;)
        if (e->d_name[0] != '.') look_at(dirfd(d), e->d_name);
    if (d) closedir(d);
}

int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned how)
{
    look_at_all(from);
    return (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, how);
}

int rename(const char *from, const char *to)
{
    return renameat2(AT_FDCWD, from, AT_FDCWD, to, 0);
}

static int begin(void **state)
{
    (void)state;
    nflushed = renamed = unflushed = 0;
    return 0;
}

static void test_arrays(void **state)
{
    (void)state;
    static const float x[3] = {1, 2, 3};
    mtf_session       *s = mtf_open_with(NULL);
    mkdir(in_folder("arrays"), 0700);
    for (int k = 0; k < 2; k++) /* a new one, and one in the place of another */
        assert_true(npy_write(s, in_folder("arrays/x.npy"), MTF_F32, 1, (int64_t[]){3}, x));
    close_well(s);
    assert_int_equal(renamed, 2);
    assert_int_equal(unflushed, 0);
}

static void test_checkpoints(void **state)
{
    (void)state;
    model_save(in_folder("model"));
    assert_true(renamed >= 3); /* the folder, the weights, the manifest */
    assert_int_equal(unflushed, 0);
    nflushed = 0;
    model_save(in_folder("model"));
    assert_int_equal(unflushed, 0);
}

static int end(void **state)
{
    (void)state;
    drop_folder();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_arrays, begin),
        cmocka_unit_test_setup(test_checkpoints, begin),
    };
    return cmocka_run_group_tests(tests, NULL, end);
}
