/* Tests that every configuration file of a folder gives a run and a model.
 *
 * The files of tests/model/gin are written as the original's and T5's are; MTF_GIN_FOLDER names another folder, in
 * which includes are looked for.
 */
#include <dirent.h>
#include <sys/stat.h>

#include "config_models.h"

/* last */
#include "ground.h"

enum { PATH_ROOM = 1024, VOCAB = 100 };

static const char *folder(void)
{
    const char *said = getenv("MTF_GIN_FOLDER");
    return said && *said ? said : MTF_SOURCE_DIR "/tests/model/gin";
}

/* Models of other folders may be too large for this machine. */
static bool is_own(void)
{
    return strncmp(folder(), MTF_SOURCE_DIR, strlen(MTF_SOURCE_DIR)) == 0;
}

/* The file is read without errors, and its model can be trained: a step is compiled. */
static void check_file(const char *path)
{
    opened o = open_config(
        &(mtf_config_opts){.files = (const char *const[]){path, NULL},
                           .folders = (const char *const[]){folder(), NULL},
                           .params = (const char *const[]){"MIXTURE_NAME = 'task'", NULL}},
        VOCAB);
    mtf_graph  *g = build(&o);
    mtf_tensor *loss = NULL;
    for (int i = 0; i < g->ntensors; i++)
        if (g->all[i]->shape.ndims == 0 && g->all[i]->type == MTF_F32) loss = g->all[i];
    if (!loss || (is_own() && !mtf_compile(g, loss)))
        fail_msg("%s: %s", path, mtf_error(o.session));
    close_well(o.session);
}

static int check_folder(const char *path)
{
    DIR           *d = opendir(path);
    struct dirent *e;
    int            seen = 0;
    if (!d) fail_msg("cannot open %s", path);
    while ((e = readdir(d))) {
        char        inner[PATH_ROOM];
        struct stat s;
        size_t      n = strlen(e->d_name);
        if (e->d_name[0] == '.') continue;
        assert_true(snprintf(inner, sizeof inner, "%s/%s", path, e->d_name) < PATH_ROOM);
        assert_int_equal(stat(inner, &s), 0);
        if (S_ISDIR(s.st_mode)) seen += check_folder(inner);
        if (n < 4 || strcmp(e->d_name + n - 4, ".gin") != 0) continue;
        check_file(inner);
        seen++;
    }
    closedir(d);
    return seen;
}

static void test_every_file(void **state)
{
    (void)state;
    int seen = check_folder(folder());
    if (is_own())
        assert_int_equal(seen, 11);
    else
        assert_true(seen > 0);
}

/* What a file for several questions cannot have. */
static void test_files_of_questions(void **state)
{
    static const char two[] = "infer_model.decode_fn = @decode_from_files\n"
                              "decode_from_files.input_filenames = ['a', 'b']";
    mtf_session      *s = mtf_open_with(NULL);
    mtf_config_run    run;
    mtf_config       *c =
        mtf_config_open(s, &(mtf_config_opts){.files = (const char *const[]){"tiny", NULL},
                                              .params = (const char *const[]){two, NULL}});
    (void)state;
    assert_false(mtf_config_get_run(c, &run));
    assert_contains(mtf_error(s), "decode_from_files takes lists of one file");
    mtf_close(s);
    opened o = open_names("tiny", NULL,
                          "infer_model.decode_fn = @decode_from_files\n"
                          "decode_from_files.input_filenames = ['a']\n"
                          "decode_from_files.output_filenames = ['b']",
                          VOCAB);
    assert_string_equal(o.run.decode.input_file, "a");
    assert_string_equal(o.run.decode.output_file, "b");
    close_well(o.session);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_file),
                                       cmocka_unit_test(test_files_of_questions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
