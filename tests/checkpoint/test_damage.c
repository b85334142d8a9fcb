/* Tests that damaged and incomplete checkpoints are refused. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "checkpoint/checksum.h"
#include "checkpoint_model.h"
#include "ground.h"

/* ---- help ---- */

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

/* A checkpoint, and who loads it. */
typedef struct victim {
    const char *folder;
    mtf_session *(*reader)(void);
} victim;

static mtf_session *open_small(void)
{
    return model_open(NULL, NULL, NULL).session;
}

enum { LARGE = 300000, LARGE_BYTES = 4 * LARGE }; /* more than is read at once */

static mtf_session *open_large(void)
{
    mtf_session *s =
        mtf_open_with(&(mtf_session_opts){.threads = 1, .mesh = "x:3", .layout = "many:x"});
    mtf_tensor *w = mtf_variable(mtf_graph_new(s), "w", mtf_shape((mtf_dim){"many", LARGE}),
                                 &(mtf_variable_opts){.init = "ones"});
    float      *unused = malloc(LARGE_BYTES);
    assert_true(unused && mtf_variable_get(w, unused)); /* now the session has it */
    free(unused);
    return s;
}

static const victim flipped = {"flipped", open_small}, cut = {"cut", open_small},
                    large = {"large", open_large};

static void flip(const char *path, int64_t at, unsigned char bits)
{
    int           file = open(path, O_RDWR);
    unsigned char byte = 0;
    assert_true(file >= 0 && pread(file, &byte, 1, at) == 1);
    byte ^= bits;
    assert_true(pwrite(file, &byte, 1, at) == 1);
    close(file);
}

/* Loading and verifying both refuse a checkpoint, in a sentence that names the file. */
static void assert_refused(const victim *v, const char *name, const char *what, int64_t at)
{
    const char *errors[] = {load_error(v->reader(), v->folder), verify_error(v->folder)};
    for (int i = 0; i < 2; i++)
        if (strncmp(errors[i], "file: ", 6) != 0 || !strstr(errors[i], name))
            fail_msg("%s %s %lld: %s says \"%s\"", name, what, (long long)at,
                     i == 0 ? "loading" : "verifying", errors[i]);
}

static void assert_sound(const victim *v)
{
    assert_string_equal(load_error(v->reader(), v->folder), "");
    assert_string_equal(verify_error(v->folder), "");
}

/* Of every byte one bit, whether it is a letter, a blank or an element. */
static void flip_each(const char *path, const char *name)
{
    int64_t size = size_of(path);
    for (int64_t at = 0; at < size; at++) {
        unsigned char bits = (unsigned char)(1u << at % 8);
        flip(path, at, bits);
        assert_refused(&flipped, name, "with another byte", at);
        flip(path, at, bits);
    }
    assert_sound(&flipped);
}

static void test_flipped_bits(void **state)
{
    (void)state;
    model_save("flipped");
    assert_int_equal(each_file("flipped/step_00000001", flip_each), 2);
}

/* The first byte of a large file's elements, the last, and many between. */
static void flip_some(const char *path, const char *name)
{
    enum { PLACES = 250 };
    int64_t size = size_of(path), begin = size - LARGE_BYTES;
    if (!strstr(name, ".safetensors")) return;
    srand(2);
    for (int i = 0; i < PLACES; i++) {
        int64_t       at = i == 0 ? begin : i == 1 ? size - 1 : begin + rand() % LARGE_BYTES;
        unsigned char bits = (unsigned char)(1 + rand() % 255);
        flip(path, at, bits);
        assert_refused(&large, name, "with another byte", at);
        flip(path, at, bits);
    }
    assert_sound(&large);
}

static void test_flipped_bits_of_many(void **state)
{
    (void)state;
    mtf_session *s = open_large();
    assert_true(mtf_save(s, in_folder("large"), NULL));
    close_well(s);
    assert_int_equal(each_file("large/step_00000000", flip_some), 2);
}

/* To every length but its own, and a few longer ones. */
static void cut_each(const char *path, const char *name)
{
    int64_t size = size_of(path);
    char   *text = read_text(path);
    for (int64_t length = 0; length < size + 20; length++) {
        if (length == size) continue;
        assert_int_equal(truncate(path, length), 0);
        assert_refused(&cut, name, "of length", length);
        int file = open(path, O_WRONLY | O_TRUNC);
        assert_true(file >= 0 && write(file, text, (size_t)size) == size);
        close(file);
    }
    assert_sound(&cut);
    assert_int_equal(unlink(path), 0); /* gone altogether */
    assert_refused(&cut, name, "of length", -1);
    int file = open(path, O_WRONLY | O_CREAT, 0666);
    assert_true(file >= 0 && write(file, text, (size_t)size) == size);
    close(file);
    free(text);
}

static void test_cut_short(void **state)
{
    (void)state;
    model_save("cut");
    assert_int_equal(each_file("cut/step_00000001", cut_each), 2);
}

static void test_misfits(void **state)
{
    (void)state;
    model_save("misfit");
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
    assert_null(strstr(mtf_error(s), "other"));
    mtf_close(s);

    /* Of another model all that does not fit is told, up to some. */
    s = mtf_open_with(NULL);
    g = mtf_graph_new(s);
    mtf_variable_get(mtf_variable(g, "layer/v", mtf_shape(a, b), NULL), values);
    mtf_variable_get(mtf_variable(g, "layer/w", mtf_shape(a, b), NULL), values);
    for (int k = 0; k < 4; k++) {
        char name[20];
        snprintf(name, sizeof name, "more/%d", k);
        mtf_variable_get(mtf_variable(g, name, mtf_shape(a), NULL), values);
    }
    assert_false(mtf_load(s, in_folder("misfit"), NULL, NULL));
    assert_contains(mtf_error(s),
                    "lacks variable \"layer/v\"; did you mean \"layer/w\"?; 5 others do "
                    "not fit: \"layer/w\" is [a=7, b=5] there and [a=7, b=6] here, "
                    "\"more/0\" f32[a=7] is missing, ");
    assert_contains(mtf_error(s), ", ...");
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

/* Writes the manifest anew, with another text in place of one, and the sum that it then has. */
static void rewrite_manifest(const char *checkpoint, const char *from, const char *to)
{
    char path[400], sum[CHECKSUM_TEXT], text[20000];
    snprintf(path, sizeof path, "%s/manifest.json", in_folder(checkpoint));
    char *old = read_text(path), *at = strstr(old, from), *end = strstr(old, "\"sum\": \"");
    for (char *next = end; next; next = strstr(next + 1, "\"sum\": \"")) end = next;
    assert_true(at && end && at < end);
    int used = snprintf(text, sizeof text, "%.*s%s%.*s\"sum\": \"", (int)(at - old), old, to,
                        (int)(end - at - (long)strlen(from)), at + strlen(from));
    checksum_text(checksum_bytes(text, (size_t)used), sum);
    used += snprintf(text + used, sizeof text - (size_t)used, "%s\"\n}\n", sum);
    int file = open(path, O_WRONLY | O_TRUNC);
    assert_true(file >= 0 && write(file, text, (size_t)used) == used);
    close(file);
    free(old);
}

static void test_versions(void **state)
{
    (void)state;
    model_save("version");
    rewrite_manifest("version/step_00000001", "  \"facts\": {},\n",
                     ""); /* before there were facts */
    assert_string_equal(load_error(open_small(), "version"), "");
    assert_string_equal(verify_error("version"), "");
    rewrite_manifest("version/step_00000001", "mtf checkpoint 1", "mtf checkpoint 2");
    const char *errors[] = {load_error(open_small(), "version"), verify_error("version")};
    for (int i = 0; i < 2; i++)
        assert_contains(errors[i],
                        "/manifest.json\" was made by a newer mtf: its version is 2, and "
                        "this mtf reads up to 1");
    rewrite_manifest("version/step_00000001", "mtf checkpoint 2", "mtf checkpoint x");
    assert_contains(load_error(open_small(), "version"), "is not a manifest");
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
    for (int round = 0; round < 40; round++) {
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
        cmocka_unit_test(test_flipped_bits), cmocka_unit_test(test_flipped_bits_of_many),
        cmocka_unit_test(test_cut_short),    cmocka_unit_test(test_misfits),
        cmocka_unit_test(test_versions),     cmocka_unit_test(test_killed),
    };
    return cmocka_run_group_tests(tests, NULL, drop);
}
