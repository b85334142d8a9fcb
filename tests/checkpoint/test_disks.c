/* Tests saving to full and read-only disks. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "checkpoint_model.h"
#include "ground.h"

enum { NOBODY = 65534 };

/* ---- help ---- */

static mtf_session *open_reader(void)
{
    return model_open("x:3", "b:x", NULL).session;
}

/* The folder holds this and nothing else, hidden or not. */
static void assert_only(const char *name, const char *only)
{
    DIR *d = opendir(in_folder(name));
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d)) != NULL;)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            assert_string_equal(e->d_name, only);
    closedir(d);
}

/* Saves step 2, which must fail with this piece of a sentence and leave nothing. */
static void assert_unsaved(const char *name, bool background, const char *why)
{
    model m = model_open("x:2", "a:x", NULL);
    assert_false(mtf_save(m.session, in_folder(name),
                          &(mtf_save_opts){.step = 2, .background = background}) &&
                 mtf_save_wait(m.session));
    assert_contains(mtf_error(m.session), why);
    assert_contains(mtf_error(m.session), in_folder(name));
    mtf_close(m.session);
    assert_only(name, "step_00000001");
}

static void write_line(const char *path, const char *line)
{
    int file = open(path, O_WRONLY);
    if (file < 0 || write(file, line, strlen(line)) < 0)
        print_message("%s: %s\n", path, strerror(errno));
    if (file >= 0) close(file);
}

/* Mounts of this process alone, which end with it: for root, or for its own root elsewhere. */
static bool own_mounts(void)
{
    uid_t user = geteuid();
    gid_t group = getegid();
    if (user == 0) {
        if (unshare(CLONE_NEWNS) != 0) return false;
    } else {
        char line[60];
        if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
        snprintf(line, sizeof line, "0 %u 1", (unsigned)user);
        write_line("/proc/self/uid_map", line);
        write_line("/proc/self/setgroups", "deny");
        snprintf(line, sizeof line, "0 %u 1", (unsigned)group);
        write_line("/proc/self/gid_map", line);
    }
    return mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

static void skip_for(const char *test)
{
    print_message("%s was not tested: nothing may be mounted here: %s\n", test, strerror(errno));
    skip();
}

/* ---- no room ---- */

static void test_file_too_large(void **state)
{
    (void)state;
    model_save("room");
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit before, small = {.rlim_cur = 700};
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small.rlim_max = before.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    for (int background = 0; background < 2; background++)
        assert_unsaved("room", background,
                       "weights-00001-of-00001.safetensors\" cannot be written: File too large");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_string_equal(load_error(open_reader(), "room"), "");
    assert_int_equal(mkdir(in_folder("room/.writing_step_00000002"), 0777), 0);
    model_save("room"); /* what a kill would leave is removed */
    assert_only("room", "step_00000001");
}

/* A file system of three pages: one checkpoint and the lock fit, a second does not. */
static void test_full_disk(void **state)
{
    (void)state;
    assert_int_equal(mkdir(in_folder("small"), 0777), 0);
    if (mount("tmpfs", in_folder("small"), "tmpfs", 0, "size=12k") != 0) skip_for("a full disk");
    model_save("small");
    for (int background = 0; background < 2; background++)
        assert_unsaved("small", background, "cannot be written: No space left on device");
    assert_string_equal(load_error(open_reader(), "small"), "");
    assert_int_equal(umount(in_folder("small")), 0);
}

/* ---- no leave ---- */

static void test_unmade(void **state)
{
    (void)state;
    model m = model_open(NULL, NULL, NULL);
    assert_false(mtf_save(m.session, "/proc/nowhere", NULL));
    assert_contains(mtf_error(m.session), "\"/proc/nowhere\" cannot be made");
    mtf_close(m.session);
}

/* Root is refused nothing, so it is somebody else for a while. */
static void test_closed_folder(void **state)
{
    (void)state;
    uid_t user = geteuid();
    model_save("closed");
    assert_int_equal(chmod(in_folder(""), 0755), 0);
    assert_int_equal(chmod(in_folder("closed"), 0555), 0);
    if (user == 0 && seteuid(NOBODY) != 0) skip_for("a folder without permission");
    assert_unsaved("closed", false, "cannot be written to: Permission denied");
    assert_string_equal(load_error(open_reader(), "closed"), "");
    assert_int_equal(seteuid(user), 0);
    assert_int_equal(chmod(in_folder("closed"), 0777), 0);
}

static void test_read_only_disk(void **state)
{
    (void)state;
    model_save("still");
    if (mount(in_folder("still"), in_folder("still"), NULL, MS_BIND, NULL) != 0 ||
        mount(NULL, in_folder("still"), NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) != 0)
        skip_for("a read-only disk");
    for (int background = 0; background < 2; background++)
        assert_unsaved("still", background, "cannot be written to: Read-only file system");
    assert_string_equal(load_error(open_reader(), "still"), "");
    assert_int_equal(umount(in_folder("still")), 0);
}

static int drop(void **state)
{
    (void)state;
    drop_folder();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_file_too_large), cmocka_unit_test(test_unmade),
        cmocka_unit_test(test_closed_folder),  cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_read_only_disk),
    };
    if (!own_mounts()) print_message("this process gets no mounts of its own\n");
    return cmocka_run_group_tests(tests, NULL, drop);
}
