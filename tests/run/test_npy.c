/* Tests .npy files: round trips, foreign headers, hostile bytes. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "run/npy.h"

/* ---- help ------------------------------------------------------------------------------- */

/* Counts what is alive, and fails the allocation number `fail_at`. */
typedef struct counter {
    int made, alive, fail_at;
} counter;

static void *counted_alloc(void *context, size_t bytes)
{
    counter *c = context;
    if (++c->made == c->fail_at) return NULL;
    void *p = malloc(bytes);
    if (p) c->alive++;
    return p;
}

static void counted_release(void *context, void *memory)
{
    counter *c = context;
    if (memory) c->alive--;
    free(memory);
}

static mtf_session *open_counted(counter *c)
{
    return mtf_open_with(&(mtf_session_opts){.allocator = {counted_alloc, counted_release, c}});
}

static char folder[] = "/tmp/mtf_npy_XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int drop_folder(void **state)
{
    (void)state;
    char command[100];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

static const char *in_folder(const char *name, char path[200])
{
    snprintf(path, 200, "%s/%s", folder, name);
    return path;
}

/* A file of the given version whose header is `dictionary`, followed by `n` bytes of data. */
static size_t make_file(unsigned char *file, int version, const char *dictionary, const void *data,
                        size_t n)
{
    size_t length = strlen(dictionary), start = version == 1 ? 10 : 12;
    memcpy(file, "\x93NUMPY", 6);
    file[6] = (unsigned char)version;
    file[7] = 0;
    for (size_t i = 8; i < start; i++) file[i] = (unsigned char)(length >> 8 * (i - 8));
    memcpy(file + start, dictionary, length);
    if (n) memcpy(file + start + length, data, n);
    return start + length + n;
}

/* Parsing must fail, with these words in the sentence, and leave nothing behind. */
static void refused(const unsigned char *file, size_t n, const char *words)
{
    counter      c = {0};
    mtf_session *s = open_counted(&c);
    npy_array    a = {.data = file == NULL ? NULL : &c};
    /* An exact copy, so that the sanitizer sees a byte read too far. */
    unsigned char *exact = malloc(n ? n : 1);
    assert_non_null(exact);
    if (n) memcpy(exact, file, n);
    assert_false(npy_parse(s, "hostile.npy", exact, n, &a));
    assert_null(a.data);
    if (!strstr(mtf_error(s), words) || !strstr(mtf_error(s), "hostile.npy"))
        fail_msg("expected \"%s\", got: %s", words, mtf_error(s));
    free(exact);
    mtf_close(s);
    assert_int_equal(c.alive, 0);
}

static void refused_header(const char *dictionary, const char *words)
{
    unsigned char file[2000];
    for (int version = 1; version <= 3; version++)
        refused(file, make_file(file, version, dictionary, "\0\0\0\0\0\0\0\0", 8), words);
}

/* ---- what must work --------------------------------------------------------------------- */

static void round_trip(void **state)
{
    (void)state;
    static const int64_t sizes[] = {2, 3, 1};
    unsigned char        data[48];
    for (int type = MTF_F32; type <= MTF_BOOL; type++)
        for (int ndims = 0; ndims <= 3; ndims++) {
            mtf_session *s = mtf_open_with(NULL);
            char         path[200];
            int64_t      count = 1;
            for (int i = 0; i < ndims; i++) count *= sizes[i];
            size_t bytes = (size_t)count * mtf_dtype_bytes((mtf_dtype)type);
            for (size_t i = 0; i < bytes; i++)
                data[i] = (unsigned char)(type == MTF_BOOL ? i % 2 : i * 37);
            in_folder("round.npy", path);
            assert_true(npy_write(s, path, (mtf_dtype)type, ndims, sizes, data));
            npy_array a;
            assert_true(npy_read(s, path, &a));
            assert_int_equal(a.type, type);
            assert_int_equal(a.ndims, ndims);
            for (int i = 0; i < ndims; i++) assert_int_equal(a.size[i], sizes[i]);
            assert_int_equal(a.bytes, bytes);
            assert_memory_equal(a.data, data, bytes);
            npy_release(s, &a);
            assert_null(a.data);
            assert_int_equal(mtf_close(s), 0);
        }
}

/* The very bytes that numpy.save writes for numpy.float32([[1, 2, 3]]). */
static void writes_what_numpy_writes(void **state)
{
    (void)state;
    static const char  dictionary[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 3), }";
    static const float values[] = {1, 2, 3};
    unsigned char      wanted[128 + 12], got[200];
    memset(wanted, ' ', 128);
    memcpy(wanted, "\x93NUMPY\x01\x00\x76\x00", 10);
    memcpy(wanted + 10, dictionary, sizeof dictionary - 1);
    wanted[127] = '\n';
    memcpy(wanted + 128, values, sizeof values);

    char         path[200];
    mtf_session *s = mtf_open_with(NULL);
    assert_true(npy_write(s, in_folder("exact.npy", path), MTF_F32, 2, (int64_t[]){1, 3}, values));
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t n = fread(got, 1, sizeof got, f);
    fclose(f);
    assert_int_equal(n, sizeof wanted);
    assert_memory_equal(got, wanted, sizeof wanted);
    assert_int_equal(mtf_close(s), 0);
}

static void most_dimensions(void **state)
{
    (void)state;
    int64_t sizes[MTF_MAX_DIMS];
    for (int i = 0; i < MTF_MAX_DIMS; i++) sizes[i] = 1;
    mtf_session *s = mtf_open_with(NULL);
    char         path[200], text[NPY_TEXT];
    npy_array    a;
    assert_true(npy_write(s, in_folder("many.npy", path), MTF_I64, MTF_MAX_DIMS, sizes, "1234567"));
    assert_true(npy_read(s, path, &a));
    assert_int_equal(a.ndims, MTF_MAX_DIMS);
    npy_release(s, &a);
    for (int i = 0; i < MTF_MAX_DIMS; i++) sizes[i] = INT64_MAX;
    assert_true(strlen(npy_text(MTF_F32, MTF_MAX_DIMS, sizes, text)) < NPY_TEXT);
    assert_int_equal(mtf_close(s), 0);
}

static void other_spellings(void **state)
{
    (void)state;
    static const char *const headers[] = {
        "{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }\n",
        "{\"shape\":(2,),\"fortran_order\":False,\"descr\":\"<i4\"}",
        "  {\n'fortran_order' : True , 'descr':'<i4', 'shape' : ( 2L , ) }  \n\n",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (1, 2, 1)}",
    };
    static const int32_t values[] = {7, -8};
    for (size_t h = 0; h < sizeof headers / sizeof *headers; h++)
        for (int version = 1; version <= 3; version++) {
            unsigned char file[300];
            size_t        n = make_file(file, version, headers[h], values, sizeof values);
            mtf_session  *s = mtf_open_with(NULL);
            npy_array     a;
            if (!npy_parse(s, "x", file, n, &a)) fail_msg("%s: %s", headers[h], mtf_error(s));
            assert_int_equal(a.type, MTF_I32);
            assert_memory_equal(a.data, values, sizeof values);
            npy_release(s, &a);
            assert_int_equal(mtf_close(s), 0);
        }
}

static void column_major(void **state)
{
    (void)state;
    /* a[i, j, k] = 100 i + 10 j + k for shape (2, 3, 2), the first index running fastest */
    double by_column[12], *value = by_column;
    for (int k = 0; k < 2; k++)
        for (int j = 0; j < 3; j++)
            for (int i = 0; i < 2; i++) *value++ = 100 * i + 10 * j + k;
    unsigned char file[400];
    size_t n = make_file(file, 1, "{'descr': '<f8', 'fortran_order': True, 'shape': (2, 3, 2), }",
                         by_column, sizeof by_column);
    mtf_session *s = mtf_open_with(NULL);
    npy_array    a;
    assert_true(npy_parse(s, "x", file, n, &a));
    const double *got = a.data;
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 2; k++) assert_true(*got++ == 100 * i + 10 * j + k);
    npy_release(s, &a);
    assert_int_equal(mtf_close(s), 0);
}

static void opaque_pairs_are_bf16(void **state)
{
    (void)state;
    static const char *const headers[] = {
        "{'descr': '<V2', 'fortran_order': False, 'shape': (2,), }",
        "{'descr': '|V2', 'fortran_order': False, 'shape': (2,), }",
    };
    for (int h = 0; h < 2; h++) {
        unsigned char file[200];
        size_t        n = make_file(file, 1, headers[h], "\x80\x3f\x00\xc0", 4);
        mtf_session  *s = mtf_open_with(NULL);
        npy_array     a;
        assert_true(npy_parse(s, "x", file, n, &a));
        assert_int_equal(a.type, MTF_BF16);
        assert_memory_equal(a.data, "\x80\x3f\x00\xc0", 4);
        npy_release(s, &a);
        assert_int_equal(mtf_close(s), 0);
    }
}

static void any_byte_is_true(void **state)
{
    (void)state;
    unsigned char file[200];
    size_t       n = make_file(file, 1, "{'descr': '|b1', 'fortran_order': False, 'shape': (4,), }",
                               "\x00\x01\x07\xff", 4);
    mtf_session *s = mtf_open_with(NULL);
    npy_array    a;
    assert_true(npy_parse(s, "x", file, n, &a));
    assert_memory_equal(a.data, "\x00\x01\x01\x01", 4);
    npy_release(s, &a);
    assert_int_equal(mtf_close(s), 0);
}

static void empty_array(void **state)
{
    (void)state;
    for (int fortran = 0; fortran < 2; fortran++) {
        unsigned char file[200];
        char          header[100];
        snprintf(header, sizeof header,
                 "{'descr': '<f4', 'fortran_order': %s, 'shape': (3, 0, 2), }",
                 fortran ? "True" : "False");
        size_t       n = make_file(file, 2, header, NULL, 0);
        mtf_session *s = mtf_open_with(NULL);
        npy_array    a;
        assert_true(npy_parse(s, "x", file, n, &a));
        assert_int_equal(a.bytes, 0);
        npy_release(s, &a);
        assert_int_equal(mtf_close(s), 0);
    }
}

/* ---- what must be refused --------------------------------------------------------------- */

static void no_npy_at_all(void **state)
{
    (void)state;
    refused(NULL, 0, "NumPy's magic bytes");
    refused((const unsigned char *)"hello, world", 12, "NumPy's magic bytes");
    refused((const unsigned char *)"\x93NUMPY", 6, "ends inside its header");
    refused((const unsigned char *)"\x93NUMPY\x01\x00\x10\x00{", 11, "ends inside its header");
    refused((const unsigned char *)"\x93NUMPY\x04\x00\x10\x00\x00\x00", 12, "version 4.0");
    refused((const unsigned char *)"\x93NUMPY\x01\x01\x10\x00\x00\x00", 12, "version 1.1");
    refused((const unsigned char *)"\x93NUMPY\x02\x00\xff\xff\xff\xff{}", 14, "4294967295 bytes");
}

static void every_prefix(void **state)
{
    (void)state;
    unsigned char file[300];
    size_t n = make_file(file, 1, "{'descr': '<f8', 'fortran_order': True, 'shape': (2, 2), }",
                         "0123456789abcdef0123456789abcdef", 32);
    for (size_t cut = 0; cut < n; cut++) refused(file, cut, "");
    file[n] = 'x';
    refused(file, n + 1, "longer than it should be");
}

static void wrong_types(void **state)
{
    (void)state;
    static const struct {
        const char *descr, *words;
    } cases[] = {
        {"'>f4'", "big-endian"},
        {"'>i8'", "\"<i8\""},
        {"'|u1'", "\"|u1\", but only \"<f4\" (f32), \"<f8\" (f64), \"<f2\" (f16), \"<i4\" (i32)"},
        {"'<i2'", "only \"<f4\""},
        {"'<c8'", "only \"<f4\""},
        {"'|O'", "only \"<f4\""},
        {"'<U4'", "only \"<f4\""},
        {"'|V3'", "only \"<f4\""},
        {"''", "only \"<f4\""},
        {"'<f4<f4<f4<f4<f4<f4<f4<f4<f4'", "only \"<f4\""},
        {"'\x01\xff'", "only \"<f4\""},
        {"[('a', '<f4'), ('b', '<i4')]", "structure"},
        {"None", "element type in quotes"},
        {"{'descr': '<f4'}", "element type in quotes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char header[200];
        snprintf(header, sizeof header, "{'descr': %s, 'fortran_order': False, 'shape': (2,), }",
                 cases[i].descr);
        refused_header(header, cases[i].words);
    }
}

static void wrong_shapes(void **state)
{
    (void)state;
    static const struct {
        const char *shape, *words;
    } cases[] = {
        {"(-2,)", "negative"},
        {"(2)", "a comma after the only size"},
        {"2", "the shape in parentheses"},
        {"[2]", "the shape in parentheses"},
        {"(2,,)", "a size"},
        {"(2 2)", "a comma or a parenthesis"},
        {"((2,),)", "a size"},
        {"(2.0,)", "a comma or a parenthesis"},
        {"(True,)", "a size"},
        {"(9223372036854775808,)", "too large"},
        {"(99999999999999999999999999999999999,)", "too large"},
        {"(9223372036854775807,)", "more elements"},
        {"(4294967296, 4294967296)", "more elements"},
        {"(3037000500, 3037000500)", "more elements"},
        {"(1152921504606846976, 2)", "more elements"},
        {"(1000000000000,)", "cut short"},
        {"(1,)", "longer than it should be"},
        {"()", "longer than it should be"},
        {"(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)", "more than 16 dimensions"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char header[200];
        snprintf(header, sizeof header, "{'descr': '<f4', 'fortran_order': False, 'shape': %s, }",
                 cases[i].shape);
        refused_header(header, cases[i].words);
    }
}

static void wrong_dictionaries(void **state)
{
    (void)state;
    refused_header("", "an opening brace");
    refused_header("[]", "an opening brace");
    refused_header("{}", "lacks \"descr\"");
    refused_header("{'descr': '<f4', 'shape': (2,), }", "lacks \"fortran_order\"");
    refused_header("{'descr': '<f4', 'fortran_order': False}", "lacks \"shape\"");
    refused_header("{'descr': '<f4', 'descr': '<f4', }", "\"descr\" twice");
    refused_header("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'more': 1}",
                   "\"more\"");
    refused_header("{'descr': '<f4' 'fortran_order': False}", "a comma or a closing brace");
    refused_header("{'descr' '<f4'}", "a colon");
    refused_header("{'descr: '<f4'}", "unknown key");
    refused_header("{'descr", "a key in quotes");
    refused_header("{descr: '<f4'}", "a key in quotes");
    refused_header("{,}", "a key in quotes");
    refused_header("{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}", "True or False");
    refused_header("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} or 1", "nothing more");
    refused_header("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)",
                   "a comma or a closing");
}

static void unreadable_files(void **state)
{
    (void)state;
    char      path[200];
    npy_array a;

    mtf_session *s = mtf_open_with(NULL);
    assert_false(npy_read(s, in_folder("absent.npy", path), &a));
    assert_non_null(strstr(mtf_error(s), "No such file or directory"));
    assert_false(npy_write(s, path, MTF_F32, 0, NULL, "0123")); /* after an error: nothing */
    assert_int_equal(access(path, F_OK), -1);
    mtf_close(s);

    s = mtf_open_with(NULL);
    assert_false(npy_read(s, folder, &a));
    assert_non_null(strstr(mtf_error(s), "is a folder"));
    mtf_close(s);

    s = mtf_open_with(NULL);
    assert_false(npy_read(s, "/dev/zero", &a));
    assert_non_null(strstr(mtf_error(s), "not a regular file"));
    mtf_close(s);

    assert_int_equal(mkfifo(in_folder("pipe", path), 0600), 0);
    s = mtf_open_with(NULL);
    assert_false(npy_read(s, path, &a));
    mtf_close(s);
}

/* ---- writing ---------------------------------------------------------------------------- */

static void unwritable_targets(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        int         wrong;
    } cases[] = {{"/nonexistent/y.npy", ENOENT}, {"/dev/full", ENOSPC}, {"/tmp", EISDIR}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mtf_session *s = mtf_open_with(NULL);
        assert_false(npy_write(s, cases[i].path, MTF_F32, 0, NULL, "0123"));
        if (!strstr(mtf_error(s), strerror(cases[i].wrong))) fail_msg("%s", mtf_error(s));
        assert_non_null(strstr(mtf_error(s), cases[i].path));
        mtf_close(s);
    }
    struct stat about;
    assert_int_equal(stat("/dev/full", &about), 0);
    assert_true(S_ISCHR(about.st_mode)); /* written to, not replaced */
}

static void replaces_through_links(void **state)
{
    (void)state;
    char         file[200], link[200];
    struct stat  about;
    npy_array    a;
    mtf_session *s = mtf_open_with(NULL);
    assert_true(npy_write(s, in_folder("real.npy", file), MTF_F32, 0, NULL, "0123"));
    assert_int_equal(symlink(file, in_folder("link.npy", link)), 0);
    assert_true(npy_write(s, link, MTF_I64, 0, NULL, "01234567"));
    assert_int_equal(lstat(link, &about), 0);
    assert_true(S_ISLNK(about.st_mode));
    assert_true(npy_read(s, file, &a));
    assert_int_equal(a.type, MTF_I64);
    npy_release(s, &a);
    assert_int_equal(mtf_close(s), 0);
}

/* ---- no memory -------------------------------------------------------------------------- */

static void every_allocation_fails_once(void **state)
{
    (void)state;
    char         path[200];
    mtf_session *writer = mtf_open_with(NULL);
    assert_true(
        npy_write(writer, in_folder("memory.npy", path), MTF_F32, 1, (int64_t[]){2}, "01234567"));
    assert_int_equal(mtf_close(writer), 0);
    for (int fail_at = 1;; fail_at++) {
        counter      c = {.fail_at = fail_at};
        mtf_session *s = open_counted(&c);
        npy_array    a;
        bool         ok = npy_read(s, path, &a);
        if (s && !ok) assert_non_null(strstr(mtf_error(s), "memory: "));
        npy_release(s, &a);
        mtf_close(s);
        assert_int_equal(c.alive, 0);
        if (c.made < fail_at) {
            assert_true(ok);
            break;
        }
        assert_false(ok);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trip),
        cmocka_unit_test(writes_what_numpy_writes),
        cmocka_unit_test(most_dimensions),
        cmocka_unit_test(other_spellings),
        cmocka_unit_test(column_major),
        cmocka_unit_test(opaque_pairs_are_bf16),
        cmocka_unit_test(any_byte_is_true),
        cmocka_unit_test(empty_array),
        cmocka_unit_test(no_npy_at_all),
        cmocka_unit_test(every_prefix),
        cmocka_unit_test(wrong_types),
        cmocka_unit_test(wrong_shapes),
        cmocka_unit_test(wrong_dictionaries),
        cmocka_unit_test(unreadable_files),
        cmocka_unit_test(unwritable_targets),
        cmocka_unit_test(replaces_through_links),
        cmocka_unit_test(every_allocation_fails_once),
    };
    return cmocka_run_group_tests(tests, make_folder, drop_folder);
}
