/* Tests that every operation is complete.
 *
 * An operation of the catalogue has a manual line, a definition, a case in
 * tests/cases and a function in the public header, or is listed below with the
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
    {"attention_grad", NULL}, /* in gradients of attention */
    {"argmin",      NULL}, /* the original has none         */
};

/* clang-format on */

static bool is_letter(int c)
{
    return isalnum(c) || c == '_' || c == '/';
}

/* Does `word` stand in the text by itself, followed by one of `after`? */
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
    char *losses = read_text(MTF_SOURCE_DIR "/include/mtf_nn.h");
    for (const op *const *o = op_catalogue; *o; o++) {
        char        plain[80];
        const char *name = plain;
        snprintf(plain, sizeof plain, "mtf_%s", (*o)->name);
        for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++)
            if (strcmp(spellings[i].op, (*o)->name) == 0) name = spellings[i].public_name;
        if (name && !has_word(header, name, "(") && !has_word(losses, name, "("))
            fail_msg("neither include/mtf.h nor include/mtf_nn.h has %s for %s", name, (*o)->name);
    }
    free(header);
    free(losses);
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

/* ---- every definition is listed ---- */

static bool is_listed(const char *name, int length)
{
    for (const op *const *o = op_catalogue; *o; o++)
        if ((int)strlen((*o)->name) == length && strncmp((*o)->name, name, (size_t)length) == 0)
            return true;
    return false;
}

static int word_length(const char *p)
{
    int n = 0;
    while (isalnum((unsigned char)p[n]) || p[n] == '_') n++;
    return n;
}

/* A macro of the file defines ops: wherever it is called, at the beginning of a line. */
static int check_made(const char *path, const char *text, const char *body)
{
    const char *define = NULL;
    char        call[80];
    int         found = 0;
    for (const char *p = text; (p = strstr(p, "#define ")) && p < body; p++) define = p + 8;
    if (!define) fail_msg("%s: op_## outside of any macro", path);
    int n = snprintf(call, sizeof call, "\n%.*s(", word_length(define), define);
    for (const char *p = text; (p = strstr(p, call)); found++) {
        p += n;
        p += strspn(p, " \n");
        if (!is_listed(p, word_length(p)))
            fail_msg("ops/catalogue.h does not list %.*s of %s", word_length(p), p, path);
    }
    return found;
}

/* Whatever the file defines as `const op op_NAME = {`, by itself or in a macro. */
static int check_definitions(const char *path)
{
    static const char lead[] = "const op";
    char             *text = read_text(path);
    int               found = 0;
    for (const char *p = text; (p = strstr(p, lead));) {
        p += strlen(lead);
        const char *name = p + strspn(p, " ");
        if (name == p || strncmp(name, "op_", 3) != 0) continue;
        name += 3;
        const char *after = name + word_length(name);
        if (strncmp(name, "##", 2) == 0)
            found += check_made(path, text, name);
        else if (strncmp(after, " = {", 4) == 0) {
            if (!is_listed(name, word_length(name)))
                fail_msg("ops/catalogue.h does not list %.*s of %s", word_length(name), name, path);
            found++;
        }
    }
    free(text);
    return found;
}

static void test_definitions_are_listed(void **state)
{
    (void)state;
    static const char        folder[] = MTF_SOURCE_DIR "/src/ops";
    static const char *const rows[] = {
#define REAL1(name, ...) #name,
#define ANY1(name, ...) #name,
#define TEST1(name, ...) #name,
#define LOGIC1(name, ...) #name,
#define REAL2(name, ...) #name,
#define ANY2(name, ...) #name,
#define COMPARE(name, ...) #name,
#define LOGIC2(name, ...) #name,
#include "program/scalars.h"
    };
    int  found = sizeof rows / sizeof *rows, listed = 0;
    DIR *d = opendir(folder);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) {
        char        path[4096];
        const char *dot = strrchr(e->d_name, '.');
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (dot && strcmp(dot, ".c") == 0) found += check_definitions(path);
    }
    closedir(d);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!is_listed(rows[i], (int)strlen(rows[i])))
            fail_msg("ops/catalogue.h does not list %s of program/scalars.h", rows[i]);
    while (op_catalogue[listed]) listed++;
    assert_int_equal(found, listed); /* so none was overlooked */
}

/* ---- cases ---- */

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
        cmocka_unit_test(test_manual),
        cmocka_unit_test(test_definition),
        cmocka_unit_test(test_public_functions),
        cmocka_unit_test(test_spellings_are_needed),
        cmocka_unit_test(test_definitions_are_listed),
        cmocka_unit_test(test_cases_cover_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
