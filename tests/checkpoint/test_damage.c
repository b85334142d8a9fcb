/* Checkpoints that were damaged, cut short, cut off in the writing: all are refused, or not there. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "checkpoint_model.h"
#include "ground.h"

/* ---- help ---- */

static void save_some(const char *folder)
{
    model m = model_open("x:2", "a:x", NULL);
    model_fill(&m, 3);
    assert_true(mtf_save(m.session, in_folder(folder), &(mtf_save_opts){.step = 1}));
    close_well(m.session);
}

/* The error that loading gives; "" where it goes well. */
static const char *load_error(const char *folder)
{
    static char text[1000];
    model       m = model_open("x:3", "b:x", NULL);
    mtf_load(m.session, in_folder(folder), NULL, NULL);
    snprintf(text, sizeof text, "%s", mtf_error(m.session));
    mtf_close(m.session);
    return text;
}

/* Calls visit for each file of a checkpoint; returns how many there are. */
static int each_file(const char *checkpoint, void (*visit)(const char *path, const char *name))
{
    DIR *d = opendir(in_folder(checkpoint));
    int  n = 0;
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        char path[400];
        if (e->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", in_folder(checkpoint), e->d_name);
        visit(path, e->d_name);
        n++;
    }
    closedir(d);
    return n;
}

static int64_t size_of(const char *path)
{
    struct stat about;
    assert_int_equal(stat(path, &about), 0);
    return about.st_size;
}

/* ---- damage ---- */

static void flip(const char *path, int64_t at, unsigned char bits)
{
    int           file = open(path, O_RDWR);
    unsigned char byte = 0;
    assert_true(file >= 0 && pread(file, &byte, 1, at) == 1);
    byte ^= bits;
    assert_true(pwrite(file, &byte, 1, at) == 1);
    close(file);
}

/* One bit, of every byte of small files; the folder's name or the file's is in the sentence. */
static void flip_each(const char *path, const char *name)
{
    int64_t size = size_of(path), step = size / 500 + 1;
    for (int64_t at = 0; at < size; at += step) {
        unsigned char bits = (unsigned char)(1u << at % 8);
        flip(path, at, bits);
        const char *error = load_error("damage");
        if (strncmp(error, "file: ", 6) != 0 || !strstr(error, name))
            fail_msg("byte %lld of %s: \"%s\"", (long long)at, name, error);
        flip(path, at, bits);
    }
    assert_string_equal(load_error("damage"), "");
}

static void test_flipped_bits(void **state)
{
    (void)state;
    save_some("damage");
    assert_int_equal(each_file("damage/step_00000001", flip_each), 2);
}

static void cut_each(const char *path, const char *name)
{
    int64_t size = size_of(path), step = size / 60 + 1;
    char   *text = read_text(path);
    for (int64_t at = 0; at <= size + step; at += step) {
        if (at == size) continue;
        assert_int_equal(truncate(path, at), 0);
        const char *error = load_error("cut");
        if (strncmp(error, "file: ", 6) != 0 || !strstr(error, name))
            fail_msg("%s of %lld bytes: \"%s\"", name, (long long)at, error);
        int file = open(path, O_WRONLY | O_TRUNC);
        assert_true(file >= 0 && write(file, text, (size_t)size) == size);
        close(file);
    }
    free(text);
    assert_int_equal(unlink(path), 0); /* gone altogether */
    assert_contains(load_error("cut"), name);
    int file = open(path, O_WRONLY | O_CREAT, 0666);
    close(file);
}

static void test_cut_short(void **state)
{
    (void)state;
    save_some("cut");
    assert_int_equal(each_file("cut/step_00000001", cut_each), 2);
}

static void test_misfits(void **state)
{
    (void)state;
    save_some("misfit");
    mtf_session *s = mtf_open_with(NULL);
    mtf_graph   *g = mtf_graph_new(s);
    mtf_dim      a = {"a", 7}, b = {"b", 6};
    float        values[42];
    mtf_variable_get(mtf_variable(g, "layer/w", mtf_shape(a, b), NULL), values);
    assert_false(mtf_load(s, in_folder("misfit"), NULL, NULL));
    assert_contains(mtf_error(s), "/weights-00001-of-00001.safetensors\": tensor \"layer/w\" is "
                                  "f32[a=7, b=5], but the variable \"layer/w\" is f32[a=7, b=6]");
    mtf_close(s);

    s = mtf_open_with(NULL);
    g = mtf_graph_new(s);
    mtf_variable_get(mtf_variable(g, "layer/v", mtf_shape(a, b), NULL), values);
    assert_false(mtf_load(s, in_folder("misfit"), NULL, NULL));
    assert_contains(mtf_error(s), "lacks variable \"layer/v\"; did you mean \"layer/w\"?");
    mtf_close(s);

    s = mtf_open_with(NULL);
    g = mtf_graph_new(s);
    mtf_dim     five = {"b", 5};
    mtf_tensor *v = mtf_variable(g, "body/v", mtf_shape(a, five), NULL);
    mtf_tensor *other =
        mtf_variable(g, "other", mtf_shape(a), &(mtf_variable_opts){.init = "ones"});
    mtf_variable_get(v, values);
    mtf_variable_get(other, values);
    mtf_loaded l;
    assert_true(
        mtf_load(s, in_folder("misfit"),
                 &(mtf_load_opts){.partial = true,
                                  .rename = (const char *const[]){"^body/(.)$", "layer/w", NULL}},
                 &l));
    assert_int_equal(l.variables, 1);
    assert_true(mtf_variable_get(v, values) && values[1] == (13 + 3 * 29) % 251);
    assert_true(mtf_variable_get(other, values) && values[0] == 1);
    close_well(s);
}

/* ---- death ---- */

static void save_forever(void)
{
    model m = model_open("x:2,y:2", "a:x,b:y", NULL);
    for (int64_t step = 1;; step++) {
        model_fill(&m, step);
        mtf_save_opts o = {.step = step, .keep = 2, .background = step % 2};
        if (!mtf_save(m.session, in_folder("killed"), &o)) _exit(1);
    }
}

static void test_killed(void **state)
{
    (void)state;
    int64_t newest = 0;
    srand(1);
    for (int turn = 0; turn < 40; turn++) {
        pid_t child = fork();
        if (child == 0) save_forever();
        struct timespec rest = {.tv_nsec = 5000000 + rand() % 60000000};
        nanosleep(&rest, NULL);
        kill(child, SIGKILL);
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));
        if (access(in_folder("killed"), F_OK) != 0) continue; /* it had not begun */
        model      m = model_open("x:3", "c:x", NULL);
        mtf_loaded l;
        if (!mtf_load(m.session, in_folder("killed"), NULL, &l)) {
            assert_contains(mtf_error(m.session), "holds no checkpoint");
            assert_int_equal(newest, 0); /* nothing is lost that was there */
        } else {
            newest = l.step;
            assert_int_equal(model_wrong(&m, l.step), 0);
        }
        mtf_close(m.session);
    }
    assert_true(newest > 0);
}

/* ---- no room ---- */

static void test_no_room(void **state)
{
    (void)state;
    save_some("room");
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit before, small = {.rlim_cur = 700, .rlim_max = RLIM_INFINITY};
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small.rlim_max = before.rlim_max;
    for (int background = 0; background < 2; background++) {
        model m = model_open("x:2", "a:x", NULL);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        assert_false(mtf_save(m.session, in_folder("room"),
                              &(mtf_save_opts){.step = 2, .background = background}));
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        assert_contains(mtf_error(m.session),
                        "weights-00001-of-00001.safetensors\" cannot be written: File too large");
        mtf_close(m.session);
    }
    assert_string_equal(load_error("room"), "");
    save_some("room"); /* what was left is removed */
    assert_int_not_equal(access(in_folder("room/.writing_step_00000002"), F_OK), 0);
}

/* A file system of two pages: one checkpoint fits, a second does not. */
static void test_full_disk(void **state)
{
    (void)state;
    char path[300];
    snprintf(path, sizeof path, "%s", in_folder("small"));
    assert_int_equal(mkdir(path, 0777), 0);
    if (mount("tmpfs", path, "tmpfs", 0, "size=8k") != 0) {
        print_message("a full disk was not tested: no tmpfs may be mounted here: %s\n",
                      strerror(errno));
        skip();
    }
    save_some("small");
    model m = model_open("x:2", "a:x", NULL);
    assert_false(mtf_save(m.session, path, &(mtf_save_opts){.step = 2, .background = true}));
    assert_contains(mtf_error(m.session), "cannot be written: No space left on device");
    mtf_close(m.session);
    assert_string_equal(load_error("small"), "");
    assert_int_equal(umount(path), 0);
}

static void test_read_only(void **state)
{
    (void)state;
    model m = model_open(NULL, NULL, NULL);
    assert_false(mtf_save(m.session, "/proc/nowhere", NULL));
    assert_contains(mtf_error(m.session), "\"/proc/nowhere\" cannot be made");
    mtf_close(m.session);
    save_some("closed");
    if (geteuid() == 0) return; /* who may do all is refused nothing */
    assert_int_equal(chmod(in_folder("closed"), 0555), 0);
    m = model_open(NULL, NULL, NULL);
    assert_false(mtf_save(m.session, in_folder("closed"), &(mtf_save_opts){.step = 2}));
    assert_contains(mtf_error(m.session), "cannot be made: Permission denied");
    mtf_close(m.session);
    assert_int_equal(chmod(in_folder("closed"), 0777), 0);
    assert_string_equal(load_error("closed"), "");
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
        cmocka_unit_test(test_flipped_bits), cmocka_unit_test(test_cut_short),
        cmocka_unit_test(test_misfits),      cmocka_unit_test(test_killed),
        cmocka_unit_test(test_no_room),      cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_read_only),
    };
    return cmocka_run_group_tests(tests, NULL, drop);
}
