/* Tests files of examples: IDX, .npy, TSV, text, windows of bytes. */
#include "scratch.h"

/* ---- IDX ---- */

/* 2 x 3 bytes: 1 2 3 / 4 5 6 */
static const unsigned char small[] = {0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 6};

static void read_small(const char *path)
{
    mtf_session *s = mtf_open_with(NULL);
    mtf_dataset *d = open_field(s, (mtf_field){.name = "x", .files = path, .scale = 0.5});
    float        x[3];
    int64_t      y[3];
    assert_int_equal(mtf_dataset_size(d), 2);
    assert_true(mtf_dataset_read(d, "x", 1, MTF_F32, 3, x));
    assert_true(x[0] == 2 && x[1] == 2.5f && x[2] == 3);
    assert_true(mtf_dataset_read(d, "x", 0, MTF_I64, 3, y));
    assert_true(y[0] == 0 && y[1] == 1 && y[2] == 1);
    close_well(s);
}

static void idx_files(void **state)
{
    (void)state;
    read_small(write_plain("x", small, sizeof small));
    read_small(write_gzip("x", small, sizeof small));
}

static mtf_field idx(const char *path)
{
    return (mtf_field){.name = "x", .files = path, .format = "idx"};
}

static void idx_cut_anywhere(void **state)
{
    (void)state;
    for (size_t n = 0; n < sizeof small; n++)
        refused(idx(write_plain("x", small, n)), "x\" is cut short");
    /* A gzip file without its first two bytes is a plain file, and no IDX file. */
    char   gz[200];
    FILE  *f = fopen(write_gzip("x", small, sizeof small), "rb");
    size_t n = fread(gz, 1, sizeof gz, f);
    fclose(f);
    while (n-- > 0) refused(idx(write_plain("x", gz, n)), "x\" ");
}

static void idx_damaged(void **state)
{
    (void)state;
    char   gz[200], bad[200];
    FILE  *f = fopen(write_gzip("x", small, sizeof small), "rb");
    size_t n = fread(gz, 1, sizeof gz, f);
    fclose(f);
    for (size_t at = n - 8; at < n; at++) { /* checksum and length */
        memcpy(bad, gz, n);
        bad[at] ^= 0x55;
        refused(idx(write_plain("x", bad, n)), "x\" is damaged: incorrect ");
    }
}

static void idx_hostile(void **state)
{
    (void)state;
    static const struct {
        const char *bytes, *words;
        size_t      n;
    } cases[] = {
        {"\x50\x4b\x08\x01\0\0\0\x01\x07", "is not an IDX file", 9},
        {"\0\0\x0d\x01\0\0\0\x01\x07", "type 0x0d", 9},
        {"\0\0\x08\0\x07", "0 dimensions", 5},
        {"\0\0\x08\x05\0\0\0\x01\0\0\0\x01\0\0\0\x01\0\0\0\x01\0\0\0\x01\x07", "5 dimensions", 25},
        {"\0\0\x08\x01\0\0\0\0", "size 0", 8},
        {"\0\0\x08\x04\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
         "more elements than any file has", 20},
        {"\0\0\x08\x01\x7f\xff\xff\xff\x01", "2147483646 of its 2147483647 bytes are missing", 9},
        {"\0\0\x08\x01\0\0\0\x02\x01\x02\x03", "more bytes than its header says", 11},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        refused(idx(write_plain("x", cases[i].bytes, cases[i].n)), cases[i].words);
        refused(idx(write_gzip("x", cases[i].bytes, cases[i].n)), cases[i].words);
    }
}

/* ---- .npy ---- */

/* A header of 128 bytes before the elements. */
static const char *write_npy(const char *name, const char *dictionary, const void *data, size_t n)
{
    char file[400];
    memset(file, ' ', 128);
    memcpy(file, "\x93NUMPY\x01\0\x76\0", 10);
    memcpy(file + 10, dictionary, strlen(dictionary));
    file[127] = '\n';
    memcpy(file + 128, data, n);
    return write_plain(name, file, 128 + n);
}

static void npy_files(void **state)
{
    (void)state;
    double       values[6] = {0.5, -1, 2, 3, 1e10, 5};
    int64_t      large[2] = {((int64_t)1 << 60) + 1, -7}, exact;
    int32_t      whole[2];
    mtf_session *s = mtf_open_with(NULL);
    const char  *path = write_npy(
         "a.npy", "{'descr': '<f8', 'fortran_order': False, 'shape': (3,2)}", values, sizeof values);
    mtf_dataset *d = open_field(s, (mtf_field){.name = "x", .files = path});
    assert_int_equal(mtf_dataset_size(d), 3);
    assert_true(mtf_dataset_read(d, "x", 1, MTF_I32, 2, whole));
    assert_true(whole[0] == 2 && whole[1] == 3);
    path = write_npy("b.npy", "{'descr': '<i8', 'fortran_order': False, 'shape': (2,)}", large,
                     sizeof large);
    d = open_field(s, (mtf_field){.name = "x", .files = path});
    assert_true(mtf_dataset_read(d, "x", 0, MTF_I64, 1, &exact) && exact == large[0]);
    path = write_npy("c.npy", "{'descr': '|u1', 'fortran_order': False, 'shape': (2,1)}",
                     "\x07\xff", 2);
    d = open_field(s, (mtf_field){.name = "x", .files = path});
    assert_true(mtf_dataset_read(d, "x", 1, MTF_I64, 1, &exact) && exact == 255);
    close_well(s);
    refused((mtf_field){.name = "x", .files = path, .length = 2}, "every example of");
    path =
        write_npy("a.npy", "{'descr': '<f8', 'fortran_order': True, 'shape': (3,2)}", values, 48);
    refused((mtf_field){.name = "x", .files = path}, "Fortran order");
    path =
        write_npy("a.npy", "{'descr': '<f8', 'fortran_order': False, 'shape': (3,2)}", values, 40);
    refused((mtf_field){.name = "x", .files = path},
            "cut short: its header says 48 bytes of elements");
    path = write_npy("a.npy", "{'descr': '<f8', 'fortran_order': False, 'shape': ()}", values, 8);
    refused((mtf_field){.name = "x", .files = path}, "is a single number");
    path =
        write_npy("a.npy", "{'descr': '<f8', 'fortran_order': False, 'shape': (2,0)}", values, 0);
    refused((mtf_field){.name = "x", .files = path}, "its examples have no elements");
}

/* What numpy.save wrote, read as each type that has the number: tests/reference/tables.py. */
static void npy_types(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double      least, most;
        bool        i32; /* both fit */
    } rows[] = {
        {"u1", 0, 255, true},           {"i1", -128, 127, true},
        {"u2", 0, 65535, true},         {"i2", -32768, 32767, true},
        {"u4", 0, 4294967295.0, false}, {"i4", -0x1p31, 0x1p31 - 1, true},
        {"u8", 0, 0x1p64, false},       {"i8", -0x1p63, 0x1p63, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char         path[300];
        mtf_session *s = mtf_open_with(NULL);
        double       x[2];
        float        f[2];
        int32_t      whole[2];
        int64_t      large[2];
        snprintf(path, sizeof path, MTF_SOURCE_DIR "/tests/data/elements_%s.npy", rows[i].name);
        mtf_dataset *d = open_field(s, (mtf_field){.name = "x", .files = path});
        assert_int_equal(mtf_dataset_size(d), 3);
        assert_true(mtf_dataset_read(d, "x", 0, MTF_F64, 2, x) && x[0] == rows[i].least &&
                    x[1] == rows[i].most);
        assert_true(mtf_dataset_read(d, "x", 2, MTF_F32, 2, f) && f[0] == 7 && f[1] == 100);
        assert_true(mtf_dataset_read(d, "x", 1, MTF_I64, 2, large) && large[0] == 0 &&
                    large[1] == 1);
        assert_true(mtf_dataset_read(d, "x", 2, MTF_I32, 2, whole) && whole[0] == 7 &&
                    whole[1] == 100);
        bool i64 = rows[i].most < 0x1p64;
        assert_int_equal(mtf_dataset_read(d, "x", 0, MTF_I64, 2, large), i64);
        if (i64 && rows[i].most == 0x1p63)
            assert_true(large[0] == INT64_MIN && large[1] == INT64_MAX);
        if (i64 && rows[i].most < 0x1p63) assert_true(large[1] == (int64_t)rows[i].most);
        if (!i64)
            assert_contains(mtf_error(s),
                            "elements_u8.npy\", example 0: 1.8446744073709552e+19 is out");
        if (i64) assert_int_equal(mtf_dataset_read(d, "x", 0, MTF_I32, 2, whole), rows[i].i32);
        if (i64 && !rows[i].i32) assert_contains(mtf_error(s), "example 0: ");
        if (rows[i].i32)
            assert_true(whole[0] == (int32_t)rows[i].least && whole[1] == (int32_t)rows[i].most);
        mtf_close(s);
    }
}

/* ---- TSV ---- */

static void tsv_columns(void **state)
{
    (void)state;
    const char *path =
        write_text("t.tsv", "3\tab\t0.25\r\n-7\t\t1e3\r\n9007199254740993\tlong text\t-1");
    mtf_session *s = mtf_open_with(NULL);
    mtf_dataset *d =
        mtf_dataset_open(s, (mtf_field[]){{.name = "n", .files = path, .part = "0"},
                                          {.name = "t", .files = path, .part = "1", .length = 4},
                                          {.name = "r", .files = path, .part = "2", .scale = 2},
                                          {0}});
    int64_t n;
    int32_t t[4];
    float   r;
    assert_int_equal(mtf_dataset_size(d), 3);
    assert_true(mtf_dataset_read(d, "n", 2, MTF_I64, 1, &n) && n == 9007199254740993);
    assert_true(mtf_dataset_read(d, "t", 0, MTF_I32, 4, t));
    assert_true(t[0] == 'a' && t[1] == 'b' && t[2] == 0 && t[3] == 0);
    assert_true(mtf_dataset_read(d, "t", 1, MTF_I32, 4, t) && t[0] == 0);
    assert_true(mtf_dataset_read(d, "t", 2, MTF_I32, 4, t) && t[3] == 'g');
    assert_true(mtf_dataset_read(d, "r", 0, MTF_F32, 1, &r) && r == 0.5f);
    assert_true(mtf_dataset_read(d, "r", 2, MTF_F32, 1, &r) && r == -2);
    close_well(s);
}

static void tsv_refused(void **state)
{
    (void)state;
    const char *path = write_text("t.tsv", "1\t2\n3\tx4\n5\n\n");
    refused((mtf_field){.name = "x", .files = path, .part = "1"},
            "t.tsv\", line 2, column 1: \"x4\" is not a number");
    refused((mtf_field){.name = "x", .files = path, .part = "0"},
            "line 4, column 0: \"\" is not a number");
    refused((mtf_field){.name = "x", .files = path, .part = "2"},
            "line 1 has 2 columns; column 2 is asked for");
    refused((mtf_field){.name = "x", .files = path, .part = "first"}, "names no column \"first\"");
    refused((mtf_field){.name = "x", .files = write_text("t.tsv", "")}, "has no examples");
    refused((mtf_field){.name = "x", .files = write_text("t.tsv", ""), .part = "0"},
            "has no examples");
    refused((mtf_field){.name = "x", .files = write_text("t.tsv", "1 2"), .part = "0"},
            "\"1 2\" is not a number");
}

/* ---- text ---- */

static void text_lines(void **state)
{
    (void)state;
    const char  *path = write_text("t.txt", "ab\n\nabcdef\r\n\xff");
    mtf_session *s = mtf_open_with(NULL);
    mtf_dataset *d = open_field(s, (mtf_field){.name = "x", .files = path, .length = 3});
    int32_t      x[3];
    assert_int_equal(mtf_dataset_size(d), 4);
    assert_true(mtf_dataset_read(d, "x", 0, MTF_I32, 3, x) && x[1] == 'b' && x[2] == 0);
    assert_true(mtf_dataset_read(d, "x", 1, MTF_I32, 3, x) && x[0] == 0);
    assert_true(mtf_dataset_read(d, "x", 2, MTF_I32, 3, x) && x[2] == 'c');
    assert_true(mtf_dataset_read(d, "x", 3, MTF_I32, 3, x) && x[0] == 255 && x[1] == 0);
    d = open_field(s, (mtf_field){.name = "x", .files = path});
    assert_true(mtf_dataset_read(d, "x", 0, MTF_I32, 2, x) && x[1] == 'b');
    assert_false(mtf_dataset_read(d, "x", 2, MTF_I32, 2, x));
    assert_contains(mtf_error(s),
                    "t.txt\": example 2 has 6 elements for the field \"x\", where 2 are taken");
    mtf_close(s);
}

static void byte_windows(void **state)
{
    (void)state;
    write_text("w-1", "abcdefg");
    write_text("w-2", "hij");
    mtf_session *s = mtf_open_with(NULL);
    mtf_dataset *d = open_field(
        s, (mtf_field){.name = "x", .files = scratch_path("w-*"), .format = "bytes", .length = 3});
    float x[3];
    assert_int_equal(mtf_dataset_size(d), 4);
    assert_true(mtf_dataset_read(d, "x", 1, MTF_F32, 3, x) && x[0] == 'd' && x[2] == 'f');
    assert_true(mtf_dataset_read(d, "x", 2, MTF_F32, 3, x) && x[0] == 'g' && x[1] == 0);
    assert_true(mtf_dataset_read(d, "x", 3, MTF_F32, 3, x) && x[2] == 'j');
    close_well(s);
    refused((mtf_field){.name = "x", .files = scratch_path("w-*"), .format = "bytes"},
            "how long one is");
}

/* ---- tokens ---- */

static mtf_field tokens(const char *format, const char *path, int64_t length, int64_t shift)
{
    return (mtf_field){
        .name = "x", .files = path, .format = format, .length = length, .shift = shift};
}

/* 101 tokens that NumPy wrote: 3 i, and 70001 i (tests/reference/tables.py). */
static void token_windows(void **state)
{
    (void)state;
    for (int wide = 0; wide < 2; wide++)
        for (int64_t shift = 0; shift < 3; shift++) {
            const char  *path = MTF_SOURCE_DIR "/tests/data/tokens_u16.bin", *format = "u16";
            int64_t      factor = wide ? 70001 : 3, x[25];
            mtf_session *s = mtf_open_with(NULL);
            if (wide) path = MTF_SOURCE_DIR "/tests/data/tokens_u32.bin", format = "u32";
            mtf_dataset *d = open_field(s, tokens(format, path, 25, shift));
            assert_int_equal(mtf_dataset_size(d), shift < 2 ? 4 : 3);
            for (int64_t k = 0; k < mtf_dataset_size(d); k++) {
                assert_true(mtf_dataset_read(d, "x", k, MTF_I64, 25, x));
                for (int i = 0; i < 25; i++) assert_int_equal(x[i], factor * (25 * k + shift + i));
            }
            close_well(s);
        }
    const char *path = write_plain("t.bin", "\1\0\2\0\3\0\4", 7);
    refused(tokens("u16", path, 2, 0), "t.bin\" is cut short, or no file of u16: its 7 bytes");
    write_plain("t.bin", "\1\0\2\0\3\0", 6);
    refused(tokens("u32", path, 2, 0), "not a multiple of 4");
    refused(tokens("u16", path, 0, 0), "its length should say how long one is");
    refused(tokens("u16", path, 1, -1), "a negative shift");
    refused(tokens("u16", path, 3, 0), "has no examples"); /* nothing follows to be predicted */
    refused(tokens("u16", path, 1, INT64_MAX), "has no examples");
    refused(tokens(NULL, path, 1, 0), "show its format");
    mtf_field f = tokens("u16", path, 1, 0);
    f.least = 0, f.most = 1;
    refused(f, "t.bin\", element 1: 2 is outside of 0 to 1");
    f.shift = 1;
    refused(f, "t.bin\", element 1: 2 is outside of 0 to 1");
    mtf_session *s = mtf_open_with(NULL);
    uint16_t     many[700];
    int32_t      all[699];
    for (int i = 0; i < 700; i++) many[i] = (uint16_t)(65535 - i);
    mtf_dataset *d =
        open_field(s, tokens("u16", write_gzip("t.bin.gz", many, sizeof many), 699, 1));
    assert_true(mtf_dataset_read(d, "x", 0, MTF_I32, 699, all));
    for (int i = 0; i < 699; i++) assert_int_equal(all[i], 65534 - i);
    close_well(s);
}

/* Letters and those that follow them: as many windows of each. */
static void shifted_bytes(void **state)
{
    (void)state;
    const char  *path = write_text("w", "abcdefg"); /* a window, another, and one letter */
    mtf_session *s = mtf_open_with(NULL);
    mtf_dataset *d = mtf_dataset_open(
        s, (mtf_field[]){{.name = "x", .files = path, .format = "bytes", .length = 3},
                         {.name = "y", .files = path, .format = "bytes", .length = 3, .shift = 1},
                         {0}});
    int32_t y[3];
    assert_int_equal(mtf_dataset_size(d), 3);
    assert_true(mtf_dataset_read(d, "y", 0, MTF_I32, 3, y) && y[0] == 'b' && y[2] == 'd');
    assert_true(mtf_dataset_read(d, "y", 1, MTF_I32, 3, y) && y[0] == 'e' && y[2] == 'g');
    assert_true(mtf_dataset_read(d, "y", 2, MTF_I32, 3, y) && y[0] == 0 && y[2] == 0);
    close_well(s);
}

/* ---- several files ---- */

static void shards(void **state)
{
    (void)state;
    static const unsigned char more[] = {0, 0, 8, 2, 0, 0, 0, 1, 0, 0, 0, 3, 7, 8, 9};
    static const unsigned char other[] = {0, 0, 8, 2, 0, 0, 0, 1, 0, 0, 0, 2, 7, 8};
    write_plain("s-00", small, sizeof small);
    write_gzip("s-01", more, sizeof more);
    mtf_session *s = mtf_open_with(NULL);
    mtf_dataset *d = open_field(s, (mtf_field){.name = "x", .files = scratch_path("s-*")});
    float        x[3];
    assert_int_equal(mtf_dataset_size(d), 3);
    assert_true(mtf_dataset_read(d, "x", 2, MTF_F32, 3, x) && x[0] == 7);
    assert_true(mtf_dataset_read(d, "x", 1, MTF_F32, 3, x) && x[0] == 4);
    close_well(s);
    write_plain("s-01", other, sizeof other);
    refused((mtf_field){.name = "x", .files = scratch_path("s-*")},
            "the files of a field must be alike");
    write_text("l-1.txt", "a\nb\n");
    write_text("l-2.txt", ""); /* an empty one between others */
    write_text("l-3.txt", "c");
    s = mtf_open_with(NULL);
    d = open_field(s, (mtf_field){.name = "x", .files = scratch_path("l-?.txt"), .length = 1});
    assert_int_equal(mtf_dataset_size(d), 3);
    assert_true(mtf_dataset_read(d, "x", 2, MTF_F32, 1, x) && x[0] == 'c');
    close_well(s);
}

static void large_file(void **state)
{
    (void)state;
    size_t n = (1 << 20) + 17; /* mapped */
    char  *bytes = malloc(n);
    assert_non_null(bytes);
    for (size_t i = 0; i < n; i++) bytes[i] = (char)(i % 100);
    mtf_session *s = mtf_open_with(NULL);
    int32_t      x[10];
    for (int gzip = 0; gzip < 2; gzip++) {
        const char  *path = (gzip ? write_gzip : write_plain)(gzip ? "g" : "p", bytes, n);
        mtf_dataset *d =
            open_field(s, (mtf_field){.name = "x", .files = path, .format = "bytes", .length = 10});
        assert_int_equal(mtf_dataset_size(d), 104860);
        assert_true(mtf_dataset_read(d, "x", 104859, MTF_I32, 10, x) && x[2] == 92 && x[3] == 0);
    }
    free(bytes);
    close_well(s);
}

/* ---- what is refused whatever the format ---- */

static void wrong_fields(void **state)
{
    (void)state;
    scratch_clear();
    mtf_field missing = {.name = "x", .files = scratch_path("none")};
    refused(missing, "none\": No such file or directory");
    missing.files = scratch_path("n*ne");
    refused(missing, "no file matches");
    missing.files = scratch_folder;
    refused(missing, "is a folder; a file of examples is needed");
    const char *path = write_text("t.tsv", "1\t2\n");
    refused((mtf_field){.name = "x", .files = path, .format = "tsb"}, "did you mean \"tsv\"?");
    refused((mtf_field){.name = "x", .files = path, .part = "0", .length = -1}, "negative length");
    refused((mtf_field){.name = "x"}, "field \"x\" names no files");
    refused((mtf_field){.name = "x", .files = write_text("t.what", "?")}, "show its format");
    const char *lines = write_text("t.txt", "1\n");
    refused((mtf_field){.name = "x", .files = lines, .part = "0"},
            "has a part, \"0\", but its format is text");
    refused((mtf_field){.name = "x", .files = lines, .header = true},
            "has a header, but its format is text");
    refused((mtf_field){.name = "x", .files = lines, .shift = 1},
            "has a shift, but its format is text");
    mtf_session *s = mtf_open_with(NULL);
    assert_null(mtf_dataset_open(s, (mtf_field[]){{0}}));
    assert_contains(mtf_error(s), "needs a field at least");
    mtf_close(s);
    const char *longer = write_text("u.tsv", "1\n2\n");
    s = mtf_open_with(NULL);
    assert_null(mtf_dataset_open(s, (mtf_field[]){{.name = "x", .files = path, .part = "0"},
                                                  {.name = "y", .files = longer, .part = "0"},
                                                  {0}}));
    assert_contains(mtf_error(s), "\"y\" has 2 examples, but \"x\" has 1");
    mtf_close(s);
    s = mtf_open_with(NULL);
    float        x;
    mtf_dataset *d = open_field(s, (mtf_field){.name = "x", .files = path, .part = "0"});
    assert_false(mtf_dataset_read(d, "x", 1, MTF_F32, 1, &x));
    assert_contains(mtf_error(s), "there is no example 1; the dataset has 1");
    mtf_close(s);
    assert_null(open_field(NULL, (mtf_field){.name = "x", .files = path})); /* harmless */
    assert_int_equal(mtf_dataset_size(NULL), 0);
    assert_false(mtf_dataset_read(NULL, "x", 0, MTF_F32, 1, &x));
}

/* ---- memory ---- */

typedef struct budget {
    int left; /* allocations that succeed */
} budget;

static void *take(void *context, size_t bytes)
{
    budget *b = context;
    return b->left-- > 0 ? malloc(bytes) : NULL;
}

static void give(void *context, void *memory)
{
    (void)context;
    free(memory);
}

static void no_memory(void **state)
{
    (void)state;
    char        path[100];
    static char zeros[300000];
    snprintf(path, sizeof path, "%s", write_gzip("z.txt.gz", zeros, sizeof zeros));
    for (int left = 0;; left++) {
        budget       b = {left};
        mtf_session *s = mtf_open_with(&(mtf_session_opts){.allocator = {take, give, &b}});
        mtf_dataset *d =
            s ? open_field(s, (mtf_field){.name = "x", .files = path, .length = 1}) : NULL;
        bool ok = d != NULL;
        if (s && !ok) assert_contains(mtf_error(s), "memory: ");
        if (s) mtf_close(s);
        if (ok) break;
        assert_true(left < 50);
    }
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.memory = 100000});
    assert_null(open_field(s, (mtf_field){.name = "x", .files = path, .length = 1}));
    assert_contains(mtf_error(s), "unpacks to more than 100000 bytes, the memory of this session");
    mtf_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(idx_files),     cmocka_unit_test(idx_cut_anywhere),
        cmocka_unit_test(idx_damaged),   cmocka_unit_test(idx_hostile),
        cmocka_unit_test(npy_files),     cmocka_unit_test(npy_types),
        cmocka_unit_test(tsv_columns),   cmocka_unit_test(tsv_refused),
        cmocka_unit_test(text_lines),    cmocka_unit_test(byte_windows),
        cmocka_unit_test(token_windows), cmocka_unit_test(shifted_bytes),
        cmocka_unit_test(shards),        cmocka_unit_test(large_file),
        cmocka_unit_test(wrong_fields),  cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
