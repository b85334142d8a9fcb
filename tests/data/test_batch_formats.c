/* Tests batches of each format: shuffled, cut, from a position, all at once.
 *
 * Every number of an example follows from the number of the example, which the
 * field "label" holds; so in any order of batches all fields must agree.
 */
#include "data/dataset.h"

#include "scratch.h"

enum { EXAMPLES = 23, BATCH = 4, COLUMNS = 15, LENGTH = 7 };

static int token_of(int place)
{
    return 40000 + place * 7 % 1000;
}

static int write_all(void **state)
{
    if (scratch_make(state) != 0) return -1;
    static char text[EXAMPLES * 400];
    int         used = sprintf(text, "word,label,c0");
    for (int k = 1; k < COLUMNS; k++) used += sprintf(text + used, ",c%d", k);
    for (int i = 0; i < EXAMPLES; i++) {
        used += sprintf(text + used, "\r\n\"w\"\"%d\n\",%d", i, i);
        for (int k = 0; k < COLUMNS; k++) used += sprintf(text + used, ",%d.5", i * COLUMNS + k);
    }
    write_gzip("t.csv", text, (size_t)used); /* unpacked, whatever its name */
    char head[128], array[128 + 2 * EXAMPLES * COLUMNS];
    memset(head, ' ', sizeof head);
    memcpy(head, "\x93NUMPY\x01\0\x76\0", 10);
    memcpy(head + 10, "{'descr': '<i2', 'fortran_order': False, 'shape': (23, 3, 5)}", 61);
    head[127] = '\n';
    memcpy(array, head, sizeof head);
    for (int i = 0; i < EXAMPLES * COLUMNS; i++) {
        array[128 + 2 * i] = (char)((i - 300) & 255);
        array[128 + 2 * i + 1] = (char)((i - 300) >> 8 & 255);
    }
    write_plain("a.npy", array, sizeof array);
    for (int file = 0; file < 2;
         file++) { /* windows 0 to 9, then 10 to 22, and one token more each */
        int      first = file ? 10 : 0, count = (file ? 13 : 10) * LENGTH + 1;
        uint16_t tokens[13 * LENGTH + 1];
        for (int i = 0; i < count; i++) tokens[i] = (uint16_t)token_of(first * LENGTH + i);
        write_plain(file ? "k-2.bin" : "k-1.bin", tokens, 2 * (size_t)count);
    }
    return 0;
}

static mtf_dataset *open_all(mtf_session *s)
{
    char table[100], array[100], tokens[100];
    snprintf(table, sizeof table, "%s", scratch_path("t.csv"));
    snprintf(array, sizeof array, "%s", scratch_path("a.npy"));
    snprintf(tokens, sizeof tokens, "%s", scratch_path("k-*.bin"));
    return mtf_dataset_open(
        s, (mtf_field[]){
               {.name = "columns", .files = table, .part = "2-16", .scale = 2},
               {.name = "label", .files = table, .part = "label", .least = 0, .most = EXAMPLES - 1},
               {.name = "word", .files = table, .part = "word", .length = 6},
               {.name = "array", .files = array},
               {.name = "tokens", .files = tokens, .format = "u16", .length = LENGTH},
               {.name = "targets", .files = tokens, .format = "u16", .length = LENGTH, .shift = 1},
               {0}});
}

enum { FETCHES = 6 };
typedef struct taker {
    mtf_program *program;
    mtf_tensor  *fetch[FETCHES];
} taker;

static taker make_taker(mtf_session *s)
{
    mtf_graph  *g = mtf_graph_new(s);
    mtf_dim     batch = {"batch", BATCH}, rows = {"rows", 3}, cols = {"cols", 5};
    mtf_dim     length = {"length", LENGTH}, letters = {"letters", 6};
    mtf_tensor *in[FETCHES] = {mtf_input(g, "columns", MTF_F32, mtf_shape(batch, rows, cols)),
                               mtf_input(g, "label", MTF_I32, mtf_shape(batch)),
                               mtf_input(g, "word", MTF_I32, mtf_shape(batch, letters)),
                               mtf_input(g, "array", MTF_I32, mtf_shape(batch, rows, cols)),
                               mtf_input(g, "tokens", MTF_I32, mtf_shape(length, batch)),
                               mtf_input(g, "targets", MTF_I32, mtf_shape(length, batch))};
    taker       t;
    for (int i = 0; i < FETCHES; i++) t.fetch[i] = mtf_scale(in[i], 2);
    t.program =
        mtf_compile(g, t.fetch[0], t.fetch[1], t.fetch[2], t.fetch[3], t.fetch[4], t.fetch[5]);
    return t;
}

/* All fields of the batch that is fed agree with its labels, which are left in `order`. */
static void expect_batch(const taker *t, int *order)
{
    float   columns[BATCH * COLUMNS];
    int32_t label[BATCH], word[BATCH * 6], array[BATCH * COLUMNS], token[BATCH * LENGTH],
        target[BATCH * LENGTH];
    void *to[FETCHES] = {columns, label, word, array, token, target};
    assert_true(mtf_step(t->program));
    for (int i = 0; i < FETCHES; i++) assert_true(mtf_fetch(t->program, t->fetch[i], to[i]));
    for (int b = 0; b < BATCH; b++) {
        int  i = order[b] = label[b] / 2;
        char text[16] = "";
        snprintf(text, sizeof text, "w\"%d\n", i);
        for (int k = 0; k < COLUMNS; k++) {
            assert_true(columns[b * COLUMNS + k] == (float)(4 * (i * COLUMNS + k) + 2));
            assert_int_equal(array[b * COLUMNS + k], 2 * (i * COLUMNS + k - 300));
        }
        for (int k = 0; k < 6; k++)
            assert_int_equal(word[b * 6 + k], k < (int)strlen(text) ? 2 * text[k] : 0);
        for (int k = 0; k < LENGTH; k++) {
            assert_int_equal(token[k * BATCH + b], 2 * token_of(i * LENGTH + k));
            assert_int_equal(target[k * BATCH + b], 2 * token_of(i * LENGTH + k + 1));
        }
    }
}

static const mtf_batches_opts opts = {
    .epochs = 2, .shuffle = true, .seed = 3, .remainder = MTF_WRAP};
enum { BATCHES = 2 * EXAMPLES / BATCH };

/* The order of all examples; and the same from each position on. */
static void run_all(const mtf_session_opts *session, int *order)
{
    mtf_session *s = mtf_open_with(session);
    taker        t = make_taker(s);
    mtf_batches *b = mtf_batches_new(open_all(s), t.program, &opts);
    int          again[BATCH], n = 0;
    for (; mtf_batches_next(b); n++) expect_batch(&t, order + n * BATCH);
    assert_string_equal(mtf_error(s), "");
    assert_int_equal(n, BATCHES);
    for (int from = n - 1; from >= 0; from -= 3) {
        assert_true(mtf_batches_seek(b, from) && mtf_batches_next(b));
        expect_batch(&t, again);
        assert_memory_equal(again, order + from * BATCH, sizeof again);
    }
    close_well(s);
}

static void all_at_once(void **state)
{
    (void)state;
    static const char *const cuts[][2] = {
        {"x:2", "batch:x"},           {"x:3", "batch:x"},
        {"x:2", "cols:x,length:x"},   {"x:2,y:2", "batch:x,length:y,rows:y,letters:y"},
        {"x:2,y:2", "rows:x,cols:y"}, {"x:5", "cols:x,length:x,letters:x"},
    };
    int whole[BATCHES * BATCH], got[BATCHES * BATCH], seen[EXAMPLES] = {0};
    run_all(NULL, whole);
    for (int i = 0; i < EXAMPLES; i++)
        assert_int_equal(seen[whole[i]]++, 0); /* an epoch has each once */
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        run_all(&(mtf_session_opts){.mesh = cuts[i][0], .layout = cuts[i][1], .threads = 1}, got);
        assert_memory_equal(got, whole, sizeof whole);
    }
}

/* Whoever needs some columns of a row does not look at the others. */
static void only_what_is_wanted(void **state)
{
    (void)state;
    const char  *path = write_text("own.csv", "no,1,2,none,99999999999\n");
    mtf_session *s = mtf_open_with(NULL);
    mtf_dataset *d = open_field(s, (mtf_field){.name = "x", .files = path, .least = 1, .most = 2});
    const field *f = dataset_field(d, "x");
    int32_t      x[2];
    fault        why = {0};
    wanted       w = {.begin = 1, .end = 3, .type = MTF_I32, .out = x};
    assert_true(field_read(f, 0, 5, &w, &why) && x[0] == 1 && x[1] == 2);
    w = (wanted){.begin = 2, .end = 4, .type = MTF_I32, .out = x};
    assert_false(field_read(f, 0, 5, &w, &why));
    assert_contains(why.text, "own.csv\", line 1, column 3: \"none\" is not a number");
    close_well(s);
}

/* A bad number is told when its batch is asked for. */
static void late_misfit(void **state)
{
    (void)state;
    const char  *path = write_text("bad.csv", "x\n0\n1\n2\n3\n4\n10\n");
    mtf_session *s = mtf_open_with(NULL);
    mtf_graph   *g = mtf_graph_new(s);
    mtf_tensor  *x = mtf_input(g, "x", MTF_I32, mtf_shape((mtf_dim){"batch", 2}));
    mtf_program *p = mtf_compile(g, mtf_scale(x, 2));
    mtf_dataset *d = open_field(s, (mtf_field){.name = "x", .files = path, .part = "x", .most = 9});
    mtf_batches *b = mtf_batches_new(d, p, NULL);
    for (int i = 0; i < 2; i++) assert_true(mtf_batches_next(b) && mtf_step(p));
    assert_string_equal(mtf_error(s), "");
    assert_false(mtf_batches_next(b));
    assert_contains(mtf_error(s),
                    "bad.csv\", line 7, column 0: 10 is outside of 0 to 9, the range of \"x\"");
    mtf_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_at_once),
        cmocka_unit_test(only_what_is_wanted),
        cmocka_unit_test(late_misfit),
    };
    return cmocka_run_group_tests(tests, write_all, scratch_drop);
}
