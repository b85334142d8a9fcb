/* Tests batches: order, remainders, meshes, seeking, errors. */
#include "data/batch_schedule.h"
#include "data/shuffle.h"

#include "scratch.h"

/* ---- the order ---- */

static void is_permutation(int64_t n, uint64_t seed, int64_t epoch)
{
    static char seen[70000];
    shuffle     o = shuffle_of_epoch(seed, epoch, n);
    memset(seen, 0, sizeof seen);
    for (int64_t k = 0; k < n; k++) {
        int64_t i = shuffle_at(&o, k);
        assert_true(i >= 0 && i < n && !seen[i]);
        seen[i] = 1;
    }
}

static void permutations(void **state)
{
    (void)state;
    for (int64_t n = 1; n < 300; n++) is_permutation(n, (uint64_t)n, n % 5);
    is_permutation(60000, 1, 0);
    is_permutation(65536, 1, 7);
    is_permutation(65537, 1ull << 63, (int64_t)1 << 40);
    shuffle o = shuffle_of_epoch(3, 1, INT64_MAX);
    for (int64_t k = 0; k < 1000; k++) assert_true(shuffle_at(&o, INT64_MAX - 1 - k) >= 0);
}

/* How many of n places have the same example in both. */
static int64_t common(int64_t n, uint64_t seed, int64_t epoch, uint64_t other_seed,
                      int64_t other_epoch)
{
    shuffle a = shuffle_of_epoch(seed, epoch, n), b = shuffle_of_epoch(other_seed, other_epoch, n);
    int64_t same = 0;
    for (int64_t k = 0; k < n; k++) same += shuffle_at(&a, k) == shuffle_at(&b, k);
    return same;
}

static void seeds_and_epochs(void **state)
{
    (void)state;
    assert_int_equal(common(1000, 1, 0, 1, 0), 1000);
    assert_true(common(1000, 1, 0, 2, 0) < 10);
    assert_true(common(1000, 1, 0, 1, 1) < 10);
    assert_true(common(1000, 1, 0, 1 + (1ull << 32), 0) < 10);
    assert_true(common(1000, 1, 0, 1, (int64_t)1 << 32) < 10);
    /* Each example comes to each place about equally often: 12 by 12, 1000 times each. */
    int count[12][12] = {{0}};
    for (uint64_t seed = 0; seed < 12000; seed++) {
        shuffle o = shuffle_of_epoch(seed, 0, 12);
        for (int k = 0; k < 12; k++) count[k][shuffle_at(&o, k)]++;
    }
    for (int k = 0; k < 12; k++)
        for (int i = 0; i < 12; i++) assert_true(count[k][i] > 850 && count[k][i] < 1150);
}

/* ---- a dataset of 23 examples, and programs that take it ---- */

enum { EXAMPLES = 23, MOST = 4000 };

static int write_examples(void **state)
{
    unsigned char images[16 + EXAMPLES * 15] = {0, 0, 8, 3, 0, 0, 0, EXAMPLES,
                                                0, 0, 0, 3, 0, 0, 0, 5};
    char          lines[EXAMPLES * 30] = "";
    if (scratch_make(state) != 0) return -1;
    for (int i = 0; i < EXAMPLES * 15; i++) images[16 + i] = (unsigned char)(i % 251);
    for (int i = 0; i < EXAMPLES; i++)
        snprintf(lines + strlen(lines), 30, "%d\tword%d\n", i, i * i);
    write_gzip("images", images, sizeof images);
    write_text("lines.tsv", lines);
    return 0;
}

static mtf_dataset *open_examples(mtf_session *s)
{
    char images[100], lines[100];
    snprintf(images, sizeof images, "%s", scratch_path("images"));
    snprintf(lines, sizeof lines, "%s", scratch_path("lines.tsv"));
    return mtf_dataset_open(
        s, (mtf_field[]){{.name = "images", .files = images, .scale = 0.5},
                         {.name = "labels", .files = lines, .part = "0"},
                         {.name = "words", .files = lines, .part = "1", .length = 6},
                         {0}});
}

typedef struct taker {
    mtf_program *program;
    mtf_tensor  *images, *labels, *words; /* results: twice the inputs */
    int64_t      batch;
} taker;

/* One input has the examples first, one last, one between its other dimensions. */
static taker make_taker(mtf_session *s, int64_t size)
{
    mtf_graph *g = mtf_graph_new(s);
    mtf_dim    batch = {"batch", size}, rows = {"rows", 3}, cols = {"cols", 5}, a = {"a", 2},
            b = {"b", 3};
    mtf_tensor *images = mtf_input(g, "images", MTF_F32, mtf_shape(batch, rows, cols));
    mtf_tensor *labels = mtf_input(g, "labels", MTF_I32, mtf_shape(batch));
    mtf_tensor *words = mtf_input(g, "words", MTF_F32, mtf_shape(a, batch, b));
    taker       t = {NULL, mtf_scale(images, 2), mtf_scale(labels, 2), mtf_scale(words, 2), size};
    t.program = mtf_compile(g, t.images, t.labels, t.words);
    return t;
}

/* Appends what the program now computes; returns how many numbers that is. */
static int collect(const taker *t, float *out)
{
    float  *images = out, *labels = images + t->batch * 15, *words = labels + t->batch;
    int32_t whole[64];
    assert_true(mtf_step(t->program) && mtf_fetch(t->program, t->images, images));
    assert_true(mtf_fetch(t->program, t->labels, whole) && mtf_fetch(t->program, t->words, words));
    for (int64_t i = 0; i < t->batch; i++) labels[i] = (float)whole[i];
    return (int)(t->batch * 22);
}

/* What example i gives at a place of a batch of `size`; -1: zeros. */
static void expect(const float *got, int64_t size, int64_t place, int64_t i)
{
    char word[12] = "";
    if (i >= 0) snprintf(word, sizeof word, "word%d", (int)(i * i));
    for (int j = 0; j < 15; j++)
        assert_true(got[place * 15 + j] == (i < 0 ? 0 : (float)((i * 15 + j) % 251)));
    assert_true(got[size * 15 + place] == (i < 0 ? 0 : (float)(2 * i)));
    for (int j = 0; j < 6; j++) {
        float letter = j < (int)strlen(word) ? (float)(2 * word[j]) : 0;
        assert_true(got[size * 16 + j / 3 * size * 3 + place * 3 + j % 3] == letter);
    }
}

/* All batches that the options give, at most `most`. */
static int run_all(const mtf_session_opts *session, int64_t size, const mtf_batches_opts *opts,
                   int most, float *out)
{
    mtf_session *s = mtf_open_with(session);
    mtf_dataset *d = open_examples(s);
    taker        t = make_taker(s, size);
    mtf_batches *b = mtf_batches_new(d, t.program, opts);
    int          used = 0, batches = 0;
    while (batches < most && mtf_batches_next(b)) {
        used += collect(&t, out + used);
        assert_true(used + size * 22 <= MOST);
        assert_int_equal(mtf_batches_position(b), ++batches);
    }
    close_well(s);
    return batches;
}

/* ---- remainders ---- */

static void remainders(void **state)
{
    (void)state;
    static float got[MOST];
    for (int ahead = -1; ahead <= 3; ahead++) {
        int n = run_all(NULL, 5, &(mtf_batches_opts){.epochs = 2, .ahead = ahead}, 99, got);
        assert_int_equal(n, 8);
        for (int k = 0; k < 8 * 5; k++) expect(got + k / 5 * 110, 5, k % 5, k % 20);
        n = run_all(NULL, 5,
                    &(mtf_batches_opts){.epochs = 2, .ahead = ahead, .remainder = MTF_FILL}, 99,
                    got);
        assert_int_equal(n, 10);
        for (int k = 0; k < 50; k++)
            expect(got + k / 5 * 110, 5, k % 5, k % 25 < EXAMPLES ? k % 25 : -1);
        n = run_all(NULL, 5,
                    &(mtf_batches_opts){.epochs = 2, .ahead = ahead, .remainder = MTF_WRAP}, 99,
                    got);
        assert_int_equal(n, 9);
        for (int k = 0; k < 45; k++) expect(got + k / 5 * 110, 5, k % 5, k % EXAMPLES);
        n = run_all(NULL, 5, &(mtf_batches_opts){.ahead = ahead}, 13, got); /* without end */
        assert_int_equal(n, 13);
        for (int k = 0; k < 13 * 5; k++) expect(got + k / 5 * 110, 5, k % 5, k % 20);
    }
    /* A batch larger than the dataset. */
    assert_int_equal(run_all(NULL, 50, &(mtf_batches_opts){.remainder = MTF_WRAP}, 2, got), 2);
    for (int k = 0; k < 100; k++) expect(got + k / 50 * 1100, 50, k % 50, k % EXAMPLES);
    assert_int_equal(run_all(NULL, 50, &(mtf_batches_opts){.remainder = MTF_FILL}, 2, got), 2);
    for (int k = 0; k < 100; k++)
        expect(got + k / 50 * 1100, 50, k % 50, k % 50 < EXAMPLES ? k % 50 : -1);
}

/* 7 of 23 examples are left over by batches of 8: they come as 4, 2 and 1, repeated. */
static void repeated(void **state)
{
    (void)state;
    static float           got[MOST];
    static const int64_t   first[] = {0, 8, 16, 20, 22}, real[] = {8, 8, 4, 2, 1};
    const mtf_batches_opts opts = {.epochs = 2, .remainder = MTF_REPEAT};
    assert_int_equal(run_all(NULL, 8, &opts, 99, got), 10);
    for (int k = 0; k < 80; k++)
        expect(got + k / 8 * 176, 8, k % 8, first[k / 8 % 5] + k % 8 % real[k / 8 % 5]);
    /* A batch larger than the dataset. */
    assert_int_equal(run_all(NULL, 46, &opts, 1, got), 1);
    for (int k = 0; k < 46; k++) expect(got, 46, k, k % EXAMPLES);
    batch_schedule s = batch_schedule_make(EXAMPLES, 8, &opts);
    for (int k = 0; k < 10; k++) assert_int_equal(batch_schedule_real(&s, k), real[k % 5]);
}

/* 23 examples in batches of 8: two of them and a remainder. */
static void epochs_so_far(void **state)
{
    static const struct {
        mtf_remainder remainder;
        double        each;
    } ways[] = {{MTF_DROP, 1. / 2}, {MTF_FILL, 1. / 3}, {MTF_REPEAT, 1. / 5}, {MTF_WRAP, 8. / 23}};
    (void)state;
    for (int i = 0; i < 4; i++) {
        batch_schedule s =
            batch_schedule_make(EXAMPLES, 8, &(mtf_batches_opts){.remainder = ways[i].remainder});
        for (int k = 0; k < 9; k++)
            assert_float_equal((float)batch_schedule_epochs(&s, k), (float)(k * ways[i].each),
                               1e-6F);
    }
}

static void real_examples(void **state)
{
    (void)state;
    mtf_session *s = mtf_open_with(NULL);
    mtf_dataset *d = open_examples(s);
    taker        t = make_taker(s, 8);
    mtf_batches *b =
        mtf_batches_new(d, t.program, &(mtf_batches_opts){.epochs = 2, .remainder = MTF_FILL});
    for (int i = 0; i < 6; i++) {
        assert_true(mtf_batches_next(b));
        assert_int_equal(mtf_batches_real(b), i % 3 == 2 ? 7 : 8);
    }
    assert_false(mtf_batches_next(b)); /* the end is no error */
    assert_false(mtf_batches_next(b));
    assert_int_equal(mtf_batches_position(b), 6);
    mtf_batches_free(b);
    mtf_batches_free(b);
    assert_false(mtf_batches_next(b));
    close_well(s);
}

/* ---- shuffled, on meshes, from a position ---- */

static const mtf_batches_opts shuffled = {
    .epochs = 3, .shuffle = true, .seed = 5, .remainder = MTF_WRAP};

/* Every epoch has every example once, each epoch in another order. */
static void epochs_are_whole(void **state)
{
    (void)state;
    static float got[MOST];
    int          seen[3 * EXAMPLES] = {0}, order[69];
    assert_int_equal(run_all(NULL, 3, &shuffled, 99, got), EXAMPLES);
    for (int k = 0; k < 69; k++) {
        order[k] = (int)got[k / 3 * 66 + 45 + k % 3] / 2;
        assert_int_equal(seen[k / EXAMPLES * EXAMPLES + order[k]]++, 0);
        expect(got + k / 3 * 66, 3, k % 3, order[k]);
    }
    assert_memory_not_equal(order, order + EXAMPLES, EXAMPLES * sizeof *order);
    assert_memory_not_equal(order + EXAMPLES, order + 2 * EXAMPLES, EXAMPLES * sizeof *order);
}

static void meshes(void **state)
{
    (void)state;
    static const char *const cuts[][2] = {
        {"x:2", "batch:x"},
        {"x:3", "batch:x"},
        {"x:2", "rows:x,a:x"},
        {"x:2", "cols:x,b:x"},
        {"x:3", "cols:x,b:x"},
        {"x:2,y:2", "batch:x,cols:y,b:y"},
        {"x:2,y:2", "batch:x+y"},
        {"x:2,y:3", "batch:y,rows:x"},
        {"x:2,y:2", "rows:x,cols:y,b:y"},
        {"x:2,y:2", "batch:y"},
        {"x:12", "batch:x"},
        {"x:7", "rows:x,b:x"},
    };
    static float whole[MOST], got[MOST];
    for (int fill = 0; fill < 2; fill++) {
        mtf_batches_opts opts = shuffled;
        if (fill) opts.remainder = MTF_FILL;
        int n = run_all(NULL, 7, &opts, 99, whole);
        for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
            mtf_session_opts session = {.mesh = cuts[i][0], .layout = cuts[i][1], .threads = 1};
            memset(got, 0, sizeof got);
            assert_int_equal(run_all(&session, 7, &opts, 99, got), n);
            assert_memory_equal(got, whole, (size_t)n * 7 * 22 * sizeof *got);
        }
    }
}

static void seeking(void **state)
{
    (void)state;
    static float whole[MOST], got[MOST];
    for (int ahead = -1; ahead < 3; ahead += 2) {
        mtf_batches_opts opts = shuffled;
        opts.ahead = ahead;
        int          n = run_all(NULL, 4, &opts, 99, whole);
        mtf_session *s = mtf_open_with(NULL);
        taker        t = make_taker(s, 4);
        mtf_batches *b = mtf_batches_new(open_examples(s), t.program, &opts);
        for (int from = n; from >= 0; from--) { /* back and back again, from wherever it is */
            assert_true(mtf_batches_seek(b, from));
            assert_int_equal(mtf_batches_position(b), from);
            for (int k = from; k < n && k < from + 3; k++) {
                assert_true(mtf_batches_next(b));
                collect(&t, got);
                assert_memory_equal(got, whole + k * 88, 88 * sizeof *got);
            }
            if (from + 3 > n) assert_false(mtf_batches_next(b));
        }
        assert_string_equal(mtf_error(s), "");
        assert_false(mtf_batches_seek(b, n + 1));
        assert_contains(mtf_error(s), "there is no batch 18 to continue from; the last is 16");
        mtf_close(s);
    }
}

/* ---- errors ---- */

/* A bad line is met by the thread, and told when its batch is asked for: not before. */
static void late_error(void **state)
{
    (void)state;
    const char *path = write_text("bad.tsv", "0\n1\n2\n3\n4\n5\n6\nseven\n8\n9\n");
    for (int ahead = -1; ahead < 5; ahead++) {
        mtf_session *s = mtf_open_with(NULL);
        mtf_graph   *g = mtf_graph_new(s);
        mtf_tensor  *x = mtf_input(g, "x", MTF_I32, mtf_shape((mtf_dim){"examples", 2}));
        mtf_program *p = mtf_compile(g, mtf_scale(x, 2));
        mtf_dataset *d = open_field(s, (mtf_field){.name = "x", .files = path, .part = "0"});
        mtf_batches *b =
            mtf_batches_new(d, p, &(mtf_batches_opts){.ahead = ahead, .batch = "examples"});
        for (int i = 0; i < 3; i++) assert_true(mtf_batches_next(b) && mtf_step(p));
        assert_string_equal(mtf_error(s), "");
        assert_true(mtf_batches_seek(b, 2)); /* forgets what the thread may have met */
        assert_true(mtf_batches_next(b) && mtf_step(p));
        assert_false(mtf_batches_next(b));
        assert_contains(mtf_error(s), "bad.tsv\", line 8, column 0: \"seven\" is not a number");
        assert_false(mtf_batches_next(b));
        assert_int_equal(mtf_close(s), 1);
    }
}

static void refused_batches(int64_t size, const char *name, int64_t cols, mtf_batches_opts opts,
                            const char *words)
{
    mtf_session *s = mtf_open_with(NULL);
    mtf_graph   *g = mtf_graph_new(s);
    mtf_dim      batch = {"batch", size}, rows = {"rows", 3};
    mtf_tensor  *x = mtf_input(g, name, MTF_F32, mtf_shape(batch, rows, (mtf_dim){"cols", cols}));
    mtf_program *p = mtf_compile(g, mtf_scale(x, 2));
    assert_null(mtf_batches_new(open_examples(s), p, &opts));
    assert_contains(mtf_error(s), words);
    assert_false(mtf_batches_next(NULL));
    assert_int_equal(mtf_close(s), 1);
}

static void wrong_use(void **state)
{
    (void)state;
    refused_batches(5, "images", 4, (mtf_batches_opts){0},
                    "has 15 elements per example, but the input of that name takes 12");
    refused_batches(5, "pictures", 5, (mtf_batches_opts){0},
                    "no input of the program has the name of a field, as \"images\"");
    refused_batches(24, "images", 5, (mtf_batches_opts){0},
                    "23 examples do not fill a batch of 24");
    refused_batches(24, "images", 5, (mtf_batches_opts){.epochs = 1, .remainder = MTF_WRAP},
                    "do not fill");
    refused_batches(5, "images", 5, (mtf_batches_opts){.batch = "examples"},
                    "has no dimension \"examples\"");
    refused_batches(5, "images", 5, (mtf_batches_opts){.epochs = -1}, "epochs is -1");
    refused_batches(5, "images", 5, (mtf_batches_opts){.ahead = -2}, "ahead is -2");
    refused_batches(5, "images", 5, (mtf_batches_opts){.remainder = (mtf_remainder)9},
                    "remainder is 9");
}

/* A session may close while the thread is busy, waits, or never began; and the program may go first. */
static void closing(void **state)
{
    (void)state;
    for (int batches = 0; batches < 4; batches++)
        for (int free_first = 0; free_first < 3; free_first++) {
            mtf_session *s = mtf_open_with(NULL);
            taker        t = make_taker(s, 5);
            mtf_batches *b = mtf_batches_new(open_examples(s), t.program, NULL);
            for (int i = 0; i < batches; i++) assert_true(mtf_batches_next(b));
            if (free_first == 1) mtf_batches_free(b);
            if (free_first == 2) mtf_program_free(t.program);
            if (free_first) assert_false(mtf_batches_next(b));
            close_well(s);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(permutations),     cmocka_unit_test(seeds_and_epochs),
        cmocka_unit_test(remainders),       cmocka_unit_test(repeated),
        cmocka_unit_test(real_examples),    cmocka_unit_test(epochs_so_far),
        cmocka_unit_test(epochs_are_whole), cmocka_unit_test(meshes),
        cmocka_unit_test(seeking),          cmocka_unit_test(late_error),
        cmocka_unit_test(wrong_use),        cmocka_unit_test(closing),
    };
    return cmocka_run_group_tests(tests, write_examples, scratch_drop);
}
