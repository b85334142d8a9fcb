/* Tests that no operation is half there.
 *
 * What is in the catalogue has a line of manual, a definition, a case in
 * tests/cases and a function in the public header, or stands below with the
 * reason why not.
 */
#include <ctype.h>
#include <dirent.h>

#include "graph/op.h"
#include "ops/catalogue.h"

#include "ground.h"

/* clang-format off */

/* Ops that C spells otherwise; NULL: only text and the library itself use it. */
static const struct spelling {
    const char *op, *public_name;
} spellings[] = {
    {"read",        "mtf_read_variable"},
    {"print",       "mtf_print_tensor"},
    {"while",       "mtf_while_loop"},
    {"loop",        "mtf_while_loop"},
    {"pad_reflect", "mtf_pad"},
    {"pad_edge",    "mtf_pad"},
    {"conv",        "mtf_conv1d"},
    {"conv_input",  "mtf_conv1d_transpose"},
    {"conv_filter", NULL}, /* in gradients of convolutions  */
    {"window",      "mtf_max_pool"},
    {"overlap_add", NULL}, /* in gradients of pooling       */
    {"argmax_over", NULL}, /* in gradients of reduce_max    */
    {"argmin_over", NULL}, /* in gradients of reduce_min    */
    {"argmin",      NULL}, /* the original has none         */
};

/* clang-format on */

static bool is_letter(int c)
{
    return isalnum(c) || c == '_' || c == '/';
}

/* Does `word` stand in the text by itself, with one of `after` behind it? */
static bool has_word(const char *text, const char *word, const char *after)
{
    size_t n = strlen(word);
    for (const char *p = text; (p = strstr(p, word)); p += n)
        if ((p == text || !is_letter((unsigned char)p[-1])) && p[n] && strchr(after, p[n]))
            return true;
    return false;
}

static void test_manual(void **state)
{
    (void)state;
    for (const op *const *o = op_catalogue; *o; o++) {
        if (!(*o)->name || !*(*o)->name) fail_msg("an operation has no name");
        if (!(*o)->says || !*(*o)->says) fail_msg("%s says nothing", (*o)->name);
        if (!(*o)->args) fail_msg("%s does not list its arguments", (*o)->name);
        for (int i = 0; (*o)->attrs && (*o)->attrs[i].name; i++)
            if (!(*o)->attrs[i].says)
                fail_msg("%s does not explain %s", (*o)->name, (*o)->attrs[i].name);
        for (const op *const *other = op_catalogue; other != o; other++)
            if (strcmp((*o)->name, (*other)->name) == 0)
                fail_msg("two operations are called %s", (*o)->name);
    }
}

static void test_definition(void **state)
{
    (void)state;
    for (const op *const *o = op_catalogue; *o; o++) {
        bool primitive = (*o)->infer && (*o)->lower;
        if (!(*o)->expand && !primitive)
            fail_msg("%s has neither expand nor infer and lower", (*o)->name);
        if ((*o)->expand && ((*o)->infer || (*o)->lower || (*o)->grad))
            fail_msg("%s is written in other operations and as one of its own", (*o)->name);
    }
}

static void test_public_functions(void **state)
{
    (void)state;
    char *header = read_text(MTF_SOURCE_DIR "/include/mtf.h");
    for (const op *const *o = op_catalogue; *o; o++) {
        char        plain[80];
        const char *name = plain;
        snprintf(plain, sizeof plain, "mtf_%s", (*o)->name);
        for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++)
            if (strcmp(spellings[i].op, (*o)->name) == 0) name = spellings[i].public_name;
        if (name && !has_word(header, name, "("))
            fail_msg("include/mtf.h has no %s for %s", name, (*o)->name);
    }
    free(header);
}

static void test_spellings_are_needed(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
        const op *const *o = op_catalogue;
        while (*o && strcmp((*o)->name, spellings[i].op) != 0) o++;
        if (!*o) fail_msg("no operation is called %s any more", spellings[i].op);
    }
}

/* Marks the ops that the file uses, as a call or alone on the right of a line. */
static void mark_file(const char *path, bool *seen)
{
    char *text = read_text(path);
    for (int i = 0; op_catalogue[i]; i++) {
        char alone[80];
        snprintf(alone, sizeof alone, "= %s", op_catalogue[i]->name);
        if (!seen[i])
            seen[i] = has_word(text, op_catalogue[i]->name, "(") || has_word(text, alone, " \n(");
    }
    free(text);
}

static int mark_folder(const char *path, bool *seen)
{
    DIR *d = opendir(path);
    if (!d) fail_msg("cannot open %s", path);
    int files = 0;
    for (struct dirent *e; (e = readdir(d));) {
        char inner[4096];
        if (e->d_name[0] == '.') continue;
        snprintf(inner, sizeof inner, "%s/%s", path, e->d_name);
        const char *dot = strrchr(e->d_name, '.');
        if (!dot)
            files += mark_folder(inner, seen);
        else if (strcmp(dot, ".mtf") == 0)
            mark_file(inner, seen), files++;
    }
    closedir(d);
    return files;
}

static void test_cases_cover_all(void **state)
{
    (void)state;
    bool seen[512] = {0};
    assert_true(mark_folder(MTF_SOURCE_DIR "/tests/cases", seen) > 100);
    for (int i = 0; op_catalogue[i]; i++)
        if (!seen[i]) fail_msg("no file of tests/cases uses %s", op_catalogue[i]->name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_manual),           cmocka_unit_test(test_definition),
        cmocka_unit_test(test_public_functions), cmocka_unit_test(test_spellings_are_needed),
        cmocka_unit_test(test_cases_cover_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
