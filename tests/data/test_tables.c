/* Tests tables of examples: CSV files, columns by number and by name. */
#include "scratch.h"

/* ---- what Python wrote ---- */

static const char table[] = MTF_SOURCE_DIR "/tests/data/table.csv"; /* tests/reference/tables.py */
enum { ROWS = 14 };
static const char *const texts[7] = {"plain",         "a \"quoted\" word", "two\nlines", "",
                                     "comma, inside", "cr\r\nlf",          "\""};

static void check_table(const char *path)
{
    enum { LENGTH = 16 };
    mtf_session *s = mtf_open_with(NULL);
    mtf_dataset *d = mtf_dataset_open(
        s, (mtf_field[]){
               {.name = "label", .files = path, .part = "6"}, /* numbers beside names */
               {.name = "x", .files = path, .part = "2-5", .scale = 8},
               {.name = "back", .files = path, .part = "x3,4,id"},
               {.name = "text", .files = path, .part = "a \"name\", quoted", .length = LENGTH},
               {0}});
    assert_int_equal(mtf_dataset_size(d), ROWS);
    for (int i = 0; i < ROWS; i++) {
        int64_t label;
        float   x[4];
        double  back[3];
        int32_t text[LENGTH];
        size_t  size = strlen(texts[i % 7]);
        assert_true(mtf_dataset_read(d, "label", i, MTF_I64, 1, &label) && label == i % 10);
        assert_true(mtf_dataset_read(d, "x", i, MTF_F32, 4, x));
        for (int k = 0; k < 4; k++) assert_true(x[k] == (float)(i + 8 * k));
        assert_true(mtf_dataset_read(d, "back", i, MTF_F64, 3, back));
        assert_true(back[0] == i / 8.0 + 3 && back[1] == i / 8.0 + 2 && back[2] == i);
        assert_true(mtf_dataset_read(d, "text", i, MTF_I32, LENGTH, text));
        for (size_t k = 0; k < LENGTH; k++)
            assert_int_equal(text[k], k < size ? texts[i % 7][k] : 0);
    }
    close_well(s);
}

static void python_wrote(void **state)
{
    (void)state;
    check_table(table);
    char *text = read_text(table);
    check_table(write_gzip("t.csv.gz", text, strlen(text)));
    free(text);
}

/* ---- hand-written files ---- */

static void row_is(mtf_field f, int64_t rows, int64_t row, int n, const double *want)
{
    mtf_session *s = mtf_open_with(NULL);
    mtf_dataset *d = open_field(s, f);
    double       got[8];
    assert_string_equal(mtf_error(s), "");
    assert_int_equal(mtf_dataset_size(d), rows);
    assert_true(mtf_dataset_read(d, f.name, row, MTF_F64, n, got));
    for (int i = 0; i < n; i++) assert_true(got[i] == want[i]);
    close_well(s);
}

static void forms(void **state)
{
    (void)state;
    double      want[] = {1, 2.5, -3};
    const char *path = write_text("t.csv", "0,0,0\n1, 2.5 ,\"-3\"");
    row_is((mtf_field){.name = "x", .files = path}, 2, 1, 3,
           want); /* all columns, no last line end */
    path = write_text("t.csv", "\xef\xbb\xbf\r\n\r\n1,2.5,-3\r\n\r\n\n4,5,6\r\n\r\n");
    row_is((mtf_field){.name = "x", .files = path, .part = "0-2"}, 2, 0, 3, want);
    path = write_text("t.csv", " a , b,\"c \"\n1,2.5,-3\n");
    row_is((mtf_field){.name = "x", .files = path, .part = "a,b,c"}, 1, 0, 3, want);
    row_is((mtf_field){.name = "x", .files = path, .header = true}, 1, 0, 3, want);
    path = write_text("t.tsv", "a\tb, b\tc\n1\t2.5\t-3\n");
    row_is((mtf_field){.name = "x", .files = path, .part = "b, b"}, 1, 0, 1, want + 1);
    row_is((mtf_field){.name = "x", .files = path, .header = true}, 1, 0, 3, want);
    path = write_text("t.csv", "7\n\"8\"\n");
    row_is((mtf_field){.name = "x", .files = path}, 2, 1, 1, (double[]){8});
}

/* The names may stand in another order in another file. */
static void several_files(void **state)
{
    (void)state;
    scratch_clear();
    write_text("s-1.csv", "a,b\n1,2\n3,4\n");
    write_text("s-2.csv", "b,c,a\n6,0,5\n");
    mtf_field f = {.name = "x", .files = scratch_path("s-*.csv"), .part = "a,b"};
    row_is(f, 3, 0, 2, (double[]){1, 2});
    row_is(f, 3, 2, 2, (double[]){5, 6});
    f = (mtf_field){.name = "x", .files = scratch_path("s-*.csv"), .header = true};
    refused(f, "s-2.csv\" has 3 columns, but");
}

static void damaged(void **state)
{
    (void)state;
    mtf_field f = {.name = "x", .files = write_text("t.csv", "1,2\n3,\"4\n5,6\n")};
    refused(f, "t.csv\", line 2: a quote opens here and is never closed");
    write_text("t.csv", "1,2\n3,\"4\n\"5,6\n");
    refused(f, "t.csv\", line 3: a comma should follow the closing quote");
    write_text("t.csv", "1,2\n3,\"4\n4\"\n5\n");
    refused(f, "t.csv\", line 4 has 1 column, but the first row has 2");
    write_text("t.csv", "1,2\n3,\"4\n4\"\n");
    f.part = "1";
    refused(f, "t.csv\", line 2, column 1: \"4?4\" is not a number");
    write_text("t.csv", "1,\n");
    refused(f, "line 1, column 1: \"\" is not a number");
    refused(f, "a header says that the first line has the names");
    f.part = "2";
    refused(f, "asks for column 2, counted from 0, but");
    f.part = "naem";
    write_text("t.csv", "name,age\n1,2\n");
    refused(f, "names no column \"naem\"; did you mean \"name\"?");
    f.part = "name,";
    refused(f, "names no column \"\"");
    f.part = "1-0";
    refused(f, "the columns 1-0 run backwards: the first must not be after the last, as in 0-1");
    f.part = "0-1";
    f.length = 4;
    refused(f, "a text of one column; its part names 2");
    f = (mtf_field){.name = "x", .files = write_text("t.csv", ""), .header = true};
    refused(f, "t.csv\" is empty; its first line should name the columns");
    f.header = false;
    refused(f, "has no examples");
    write_text("t.csv", "a,b\n");
    f.part = "a";
    refused(f, "has no examples");
    char *text = read_text(table); /* cut anywhere it is read, or refused with its name */
    for (size_t n = 0; n < strlen(text); n++) {
        mtf_session *s = mtf_open_with(NULL);
        mtf_dataset *d = open_field(
            s, (mtf_field){.name = "x", .files = write_plain("c.csv", text, n), .part = "label"});
        int64_t label;
        for (int64_t i = 0; i < mtf_dataset_size(d); i++)
            if (mtf_dataset_read(d, "x", i, MTF_I64, 1, &label)) assert_int_equal(label, i % 10);
        if (!mtf_ok(s)) assert_contains(mtf_error(s), "c.csv\"");
        mtf_close(s);
    }
    free(text);
}

/* ---- numbers that do not fit ---- */

static void read_as(mtf_field f, mtf_dtype type, const char *words)
{
    mtf_session *s = mtf_open_with(NULL);
    mtf_dataset *d = open_field(s, f);
    int64_t      room[4];
    bool         ok = d != NULL;
    for (int64_t i = 0; i < mtf_dataset_size(d); i++)
        ok = ok && mtf_dataset_read(d, f.name, i, type, 2, room);
    if (words)
        assert_contains(mtf_error(s), words);
    else
        assert_string_equal(mtf_error(s), "");
    assert_int_equal(ok, !words);
    mtf_close(s);
}

static void ranges(void **state)
{
    (void)state;
    mtf_field f = {.name = "x",
                   .files = write_text("t.csv", "a,b\n1,2147483647\n-2147483648,2\n"),
                   .header = true};
    read_as(f, MTF_I32, NULL);
    write_text("t.csv", "a,b\n1,2\n3,2147483648\n");
    read_as(f, MTF_I32,
            "t.csv\", line 3, column 1: 2147483648 is out of the range of i32, the type of the "
            "input \"x\"");
    read_as(f, MTF_I64, NULL);
    read_as(f, MTF_F32, NULL);
    f.scale = 0.5;
    read_as(f, MTF_I32, NULL);
    f.scale = 2;
    read_as(f, MTF_I32, "line 3, column 1: 4294967296 is out of the range of i32");
    write_text("t.csv", "a,b\n1,\"9223372036854775807\"\n1,-9223372036854775808\n");
    f.scale = 1;
    read_as(f, MTF_I64, NULL);
    write_text("t.csv", "a,b\n9223372036854775808,0\n");
    read_as(f, MTF_I64, "line 2, column 0: 9.2233720368547758e+18 is out of the range of i64");
    write_text("t.csv", "a,b\n0,nan\n");
    read_as(f, MTF_I32, "line 2, column 1: nan is out of the range of i32");
    write_text("t.csv", "a,b\n0,-2147483648.9\n");
    read_as(f, MTF_I32, NULL);
    write_text("t.csv", "a,b\n0,-2147483649.0\n");
    read_as(f, MTF_I32, "line 2, column 1: -2147483649 is out of");

    f = (mtf_field){
        .name = "x", .files = write_text("t.csv", "0,9\n4,10\n"), .least = 0, .most = 9};
    read_as(f, MTF_I32, "t.csv\", line 2, column 1: 10 is outside of 0 to 9, the range of \"x\"");
    f.most = 10;
    read_as(f, MTF_I32, NULL);
    f.least = 1;
    read_as(f, MTF_F32, "line 1, column 0: 0 is outside of 1 to 10");
    f.least = 11;
    read_as(f, MTF_F32, "takes numbers from 11 to 10, an empty range");
    f = (mtf_field){
        .name = "x", .files = write_text("t.txt", "aa\nb\n"), .length = 2, .least = 97, .most = 98};
    read_as(f, MTF_F32, NULL); /* what fills up is not a number of the file */
    f.most = 97;
    read_as(f, MTF_F32, "t.txt\", line 2, byte 0: 98 is outside");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(python_wrote), cmocka_unit_test(forms),  cmocka_unit_test(several_files),
        cmocka_unit_test(damaged),      cmocka_unit_test(ranges),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
