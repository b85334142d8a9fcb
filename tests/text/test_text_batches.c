/* Tests batches of text: on every mesh, and after seeking. */
#include "text_rows.h"

enum {
    BATCH = 6,
    LENGTH = 24,
    INPUTS_LENGTH = 20,
    PER_BATCH = BATCH * (3 * LENGTH + 3 * INPUTS_LENGTH),
    MOST = 40
};

/* What all batches have in all fields, batch after batch. */
typedef struct collected {
    int32_t numbers[MOST][PER_BATCH];
    int     batches;
} collected;

static const char *const names[] = {"inputs",  "inputs_segmentation",  "inputs_position",
                                    "targets", "targets_segmentation", "targets_position"};

typedef struct taker {
    mtf_session *session;
    mtf_program *program;
    mtf_tensor  *results[6];
    mtf_batches *batches;
} taker;

static taker make_taker(const char *mesh, const char *layout, mtf_text_opts o,
                        const mtf_batches_opts *b)
{
    taker      t = {.session = mtf_open_with(
                        &(mtf_session_opts){.threads = 1, .mesh = mesh, .layout = layout})};
    mtf_graph *g = mtf_graph_new(t.session);
    mtf_dim    batch = {"batch", BATCH}, length = {"length", LENGTH},
            inputs = {"inputs_length", INPUTS_LENGTH};
    o.length = LENGTH;
    o.inputs_length = INPUTS_LENGTH;
    o.vocabulary = mtf_vocabulary_open(t.session, "bytes:extra=20");
    mtf_dataset *d = mtf_text_open(t.session, &o);
    for (int i = 0; i < 6; i++) {
        mtf_tensor *x = mtf_input(g, names[i], MTF_I32, mtf_shape(batch, i < 3 ? inputs : length));
        t.results[i] = mtf_scale(x, 2);
    }
    t.program = mtf_compile(g, t.results[0], t.results[1], t.results[2], t.results[3], t.results[4],
                            t.results[5]);
    t.batches = mtf_batches_new(d, t.program, b);
    assert_string_equal(mtf_error(t.session), "");
    return t;
}

static void take(const taker *t, int32_t *numbers)
{
    assert_true(mtf_step(t->program));
    for (int i = 0; i < 6; i++) {
        assert_true(mtf_fetch(t->program, t->results[i], numbers));
        numbers += BATCH * (i < 3 ? INPUTS_LENGTH : LENGTH);
    }
}

static void collect(const char *mesh, const char *layout, mtf_text_opts o,
                    const mtf_batches_opts *b, collected *c)
{
    taker t = make_taker(mesh, layout, o, b);
    for (c->batches = 0; c->batches < MOST && mtf_batches_next(t.batches); c->batches++)
        take(&t, c->numbers[c->batches]);
    close_well(t.session);
}

static void same(const collected *a, const collected *b)
{
    assert_int_equal(a->batches, b->batches);
    for (int i = 0; i < a->batches; i++)
        assert_memory_equal(a->numbers[i], b->numbers[i], sizeof a->numbers[i]);
}

/* Goes to batches in an order of its own, with a fresh dataset each time. */
static void anywhere(const char *mesh, const char *layout, mtf_text_opts o,
                     const mtf_batches_opts *b, const collected *all)
{
    static int32_t numbers[PER_BATCH];
    for (int k = 0; k < 3; k++) {
        taker t = make_taker(mesh, layout, o, b);
        int   at = (7 * k + 5) % all->batches;
        assert_true(mtf_batches_seek(t.batches, at));
        for (int i = at; i < at + 2 && i < all->batches; i++) {
            assert_true(mtf_batches_next(t.batches));
            take(&t, numbers);
            assert_memory_equal(numbers, all->numbers[i], sizeof numbers);
        }
        close_well(t.session);
    }
}

static const struct place {
    const char *mesh, *layout;
} places[] = {{"x:2,y:2", "batch:x,length:y,inputs_length:y"},
              {"x:4", "batch:x"},
              {"x:5", "length:x,inputs_length:x"}};

static void check(mtf_text_opts o, mtf_batches_opts b)
{
    static collected one, other;
    collect(NULL, NULL, o, &b, &one);
    assert_true(one.batches > 6);
    for (int i = 0; i < 3; i++) {
        collect(places[i].mesh, places[i].layout, o, &b, &other);
        same(&one, &other);
        anywhere(places[i].mesh, places[i].layout, o, &b, &one);
    }
}

static const char *write_lines(const char *name, bool pairs)
{
    static char text[20000];
    char       *end = text;
    for (int i = 0; i < 200; i++) {
        for (int n = 0; n < 2 + i * i % 17; n++) *end++ = (char)('a' + (i + n) % 26);
        if (pairs) end += sprintf(end, "\t%d-%d", i, i * i);
        *end++ = '\n';
    }
    *end = 0;
    return write_text(name, text);
}

static mtf_text_opts lines(mtf_text_objective objective)
{
    bool pairs = objective == MTF_TEXT_PAIRS;
    return (mtf_text_opts){.files = write_lines(pairs ? "l.tsv" : "l.txt", pairs),
                           .objective = objective,
                           .documents = MTF_DOCUMENTS_LINE,
                           .noise = 0.3,
                           .mean_span = 1.5,
                           .seed = 11};
}

static void packed_pairs(void **state)
{
    (void)state;
    mtf_text_opts o = lines(MTF_TEXT_PAIRS);
    o.pack = true;
    check(o, (mtf_batches_opts){.epochs = 2, .shuffle = true, .seed = 5});
}

static void corrupted_spans(void **state)
{
    (void)state;
    mtf_text_opts o = lines(MTF_TEXT_SPANS);
    check(o, (mtf_batches_opts){.epochs = 1, .shuffle = true, .remainder = MTF_FILL});
    o.pack = true;
    check(o, (mtf_batches_opts){.epochs = 2, .shuffle = true, .remainder = MTF_WRAP});
    o.pack = false;
    o.joined = true;
    check(o, (mtf_batches_opts){.epochs = 3, .remainder = MTF_WRAP, .ahead = -1});
}

static void random_prefixes(void **state)
{
    (void)state;
    check(lines(MTF_TEXT_PREFIX), (mtf_batches_opts){.epochs = 1, .shuffle = true, .seed = 2});
}

/* Another epoch corrupts the same texts otherwise; another seed, too; the texts stay the same. */
static void epochs_differ(void **state)
{
    (void)state;
    static collected c, other;
    mtf_text_opts    o = lines(MTF_TEXT_SPANS);
    mtf_batches_opts b = {.epochs = 1};
    collect(NULL, NULL, o, &b, &other);
    int per_epoch = other.batches;
    b.epochs = 2;
    o.files = write_lines("l.txt", false);
    o.documents = MTF_DOCUMENTS_FILE;
    o.joined = true;
    collect(NULL, NULL, o, &b, &c);
    assert_true(c.batches % 2 == 0 && c.batches > 2 && per_epoch > 6);
    int half = c.batches / 2;
    for (int i = 0; i < half; i++)
        assert_memory_not_equal(c.numbers[i], c.numbers[half + i], sizeof c.numbers[i]);
    o.seed++;
    collect(NULL, NULL, o, &b, &other);
    assert_memory_not_equal(c.numbers[0], other.numbers[0], sizeof c.numbers[0]);
}

/* The texts of packed rows are those of rows that are not. */
static void packing_keeps_texts(void **state)
{
    (void)state;
    mtf_session  *s = mtf_open_with(NULL);
    mtf_text_opts o = lines(MTF_TEXT_PAIRS);
    o.length = 40;
    mtf_dataset *plain = open_text_well(s, o);
    o.pack = true;
    mtf_dataset *rows = open_text_well(s, o);
    int64_t      example = 0;
    assert_true(mtf_dataset_size(rows) < mtf_dataset_size(plain) / 2);
    for (int64_t r = 0; r < mtf_dataset_size(rows); r++) {
        const int32_t *inputs = row_of(rows, "inputs", r, 40),
                      *segment = row_of(rows, "inputs_segmentation", r, 40);
        const int32_t *position = row_of(rows, "inputs_position", r, 40);
        for (int at = 0, n; at < 40 && segment[at]; at += n, example++) {
            const int32_t *alone = row_of(plain, "inputs", example, 40);
            for (n = 0; at + n < 40 && segment[at + n] == segment[at]; n++) {
                assert_int_equal(inputs[at + n], alone[n]);
                assert_int_equal(position[at + n], n);
            }
            assert_int_equal(alone[n - 1], 1);
        }
    }
    assert_int_equal(example, mtf_dataset_size(plain));
    close_well(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packed_pairs), cmocka_unit_test(corrupted_spans),
        cmocka_unit_test(random_prefixes), cmocka_unit_test(epochs_differ),
        cmocka_unit_test(packing_keeps_texts)};
    return cmocka_run_group_tests_name("text_batches", tests, scratch_make, scratch_drop);
}
