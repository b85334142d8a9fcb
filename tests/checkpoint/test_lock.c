/* Tests locks on folders: one owner, and stale locks. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "checkpoint/lock.h"
#include "checkpoint_model.h"
#include "ground.h"

/* ---- file systems that this machine may not have ---- */

static bool without_flock, as_fuse;

int flock(int file, int operation)
{
    if (!without_flock) return (int)syscall(SYS_flock, file, operation);
    errno = ENOSYS;
    return -1;
}

int fstatfs(int file, struct statfs *about)
{
    int got = (int)syscall(SYS_fstatfs, file, about);
    if (as_fuse) about->f_type = 0x65735546;
    return got;
}

/* ---- help ---- */

static const char *new_folder(const char *name)
{
    assert_int_equal(mkdir(in_folder(name), 0777), 0);
    return in_folder(name);
}

static bool there_is_a_lock(const char *name)
{
    char path[400];
    snprintf(path, sizeof path, "%s/.lock", in_folder(name));
    return access(path, F_OK) == 0;
}

static void write_lock(const char *name, const char *text)
{
    char path[400];
    snprintf(path, sizeof path, "%s/.lock", in_folder(name));
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    assert_true(file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text));
    close(file);
}

static void test_one_holder(void **state)
{
    (void)state;
    folder_lock a, b;
    fault       why = {0};
    const char *folder = new_folder("one");
    assert_true(lock_take(&a, folder, &why));
    assert_true(lock_is_of(&a, folder) && !lock_is_of(&a, "elsewhere") &&
                !lock_is_of(NULL, folder));
    assert_string_equal(a.before, "");
    assert_false(lock_take(&b, folder, &why));
    assert_contains(why.text, "/one\" is in use by another training of this process");
    lock_release(&b); /* was never taken */
    assert_true(there_is_a_lock("one"));
    lock_release(&a);
    assert_false(there_is_a_lock("one"));
    fault_clear(&why);
    assert_true(lock_take(&b, folder, &why));
    lock_release(&b);
    assert_false(lock_take(&b, in_folder("nowhere"), &why));
    assert_contains(why.text, "/nowhere/.lock\" cannot be written: No such file or directory");
}

/* A save from outside of the training that has the folder is refused. */
static void test_saves(void **state)
{
    (void)state;
    folder_lock a;
    fault       why = {0};
    const char *folder = new_folder("saves");
    assert_true(lock_take(&a, folder, &why));
    model m = model_open("x:2", "a:x", NULL);
    assert_false(mtf_save(m.session, folder, NULL));
    assert_contains(mtf_error(m.session), "is in use by another training");
    mtf_close(m.session);
    assert_true(there_is_a_lock("saves"));
    lock_release(&a);
    m = model_open("x:2", "a:x", NULL);
    assert_true(mtf_save(m.session, folder, &(mtf_save_opts){.background = true}));
    assert_true(there_is_a_lock("saves"));
    assert_true(mtf_save_wait(m.session));
    assert_false(there_is_a_lock("saves"));
    close_well(m.session);
}

/* A process that takes the lock and stays; its number. */
static pid_t start_holder(const char *folder)
{
    int   ready[2];
    char  byte = 0;
    pid_t child;
    assert_int_equal(pipe(ready), 0);
    if ((child = fork()) == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves nobody */
        folder_lock l;
        fault       why = {0};
        if (!lock_take(&l, folder, &why) || write(ready[1], &byte, 1) != 1) _exit(1);
        for (;;) pause();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return child;
}

static void test_killed_holder(void **state)
{
    (void)state;
    folder_lock l;
    fault       why = {0};
    char        name[100], host[65] = "";
    const char *folder = new_folder("killed_holder");
    pid_t       child = start_holder(folder);
    gethostname(host, sizeof host - 1);
    snprintf(name, sizeof name, "process %d on host %s", (int)child, host);
    assert_false(lock_take(&l, folder, &why));
    assert_contains(why.text, name);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_true(there_is_a_lock("killed_holder"));
    fault_clear(&why);
    assert_true(lock_take(&l, folder, &why));
    assert_string_equal(l.before, name);
    lock_release(&l);
}

/* Of many that begin at once over a stale lock, one at a time has it. */
static void test_race(void **state)
{
    (void)state;
    enum { PROCESSES = 8, ROUNDS = 50 };
    const char *folder = new_folder("race");
    pid_t       children[PROCESSES];
    write_lock("race", "process 999999999\nhost elsewhere\nbegan 1\n");
    for (int i = 0; i < PROCESSES; i++) {
        if ((children[i] = fork()) != 0) continue;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        char only[400];
        int  wrong = 0;
        snprintf(only, sizeof only, "%s/only", folder);
        for (int round = 0; round < ROUNDS;) {
            folder_lock l;
            fault       why = {0};
            if (!lock_take(&l, folder, &why)) continue;
            int file = open(only, O_WRONLY | O_CREAT | O_EXCL, 0666); /* nobody else is here */
            wrong += file < 0 || unlink(only) != 0;
            close(file);
            lock_release(&l);
            round++;
        }
        _exit(wrong ? 1 : 0);
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    assert_false(there_is_a_lock("race"));
}

static void test_words(void **state)
{
    (void)state;
    static const char *const words[] = {"", "process 1", "process x\nhost y\nbegan z\n",
                                        "process -1\nhost y\nbegan 2\n", "\n\n\n\n"};
    new_folder("words");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        folder_lock l;
        fault       why = {0};
        write_lock("words", words[i]);
        assert_true(lock_take(&l, in_folder("words"), &why));
        assert_string_equal(l.before, "");
        lock_release(&l);
    }
}

/* Another host's lock is believed where nothing else can tell. */
static void test_other_host(void **state)
{
    (void)state;
    folder_lock l;
    fault       why = {0};
    new_folder("other_host");
    write_lock("other_host", "process 7\nhost elsewhere\nbegan 1\n");
    as_fuse = true;
    assert_false(lock_take(&l, in_folder("other_host"), &why));
    assert_contains(why.text, "process 7 on host elsewhere");
    as_fuse = false;
    fault_clear(&why);
    assert_true(lock_take(&l, in_folder("other_host"), &why));
    assert_string_equal(l.before, "process 7 on host elsewhere");
    lock_release(&l);
}

/* Then only the words in the file tell. */
static void test_without_flock(void **state)
{
    (void)state;
    folder_lock l;
    fault       why = {0};
    char        text[200], host[65] = "";
    const char *folder = new_folder("without_flock");
    without_flock = true;
    gethostname(host, sizeof host - 1);
    pid_t child = start_holder(folder);
    assert_false(lock_take(&l, folder, &why));
    snprintf(text, sizeof text, "process %d on host %s", (int)child, host);
    assert_contains(why.text, text);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    fault_clear(&why);
    assert_true(lock_take(&l, folder, &why)); /* it is gone */
    lock_release(&l);
    snprintf(text, sizeof text, "process %d\nhost %s\nbegan 1\n", (int)getpid(), host);
    write_lock("without_flock", text); /* another process once had this number */
    assert_true(lock_take(&l, folder, &why));
    lock_release(&l);
    write_lock("without_flock", "process 7\nhost elsewhere\nbegan 1\n");
    assert_false(lock_take(&l, folder, &why));
    assert_contains(why.text, "if that process is gone, delete \"");
    without_flock = false;
}

static int drop(void **state)
{
    (void)state;
    drop_folder();
    return 0;
}

int main(void)
{
    in_folder(""); /* children share it */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_holder),    cmocka_unit_test(test_saves),
        cmocka_unit_test(test_killed_holder), cmocka_unit_test(test_race),
        cmocka_unit_test(test_words),         cmocka_unit_test(test_other_host),
        cmocka_unit_test(test_without_flock),
    };
    return cmocka_run_group_tests(tests, NULL, drop);
}
