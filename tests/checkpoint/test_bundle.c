/* Tests checkpoints of TensorFlow, sound and damaged. */
#include "base/dtype.h"
#include "base/session.h"
#include "checkpoint/bundle.h"
#include "checkpoint/opening.h"
#include "checkpoint/reading.h"
#include "checkpoint/sorted_table.h"
#include "ground.h"

static const char reference[] = MTF_SOURCE_DIR "/tests/reference/bundles";

/* ---- what TensorFlow wrote ---- */

static const struct {
    const char *name;
    mtf_dtype   type;
    int         count;
    double      values[6];
} written[] = {
    {"a/common/beginning/one", MTF_F32, 1, {1.5}},
    {"a/common/beginning/one_more", MTF_F32, 1, {2.5}},
    {"a/common/beginning/two", MTF_F32, 2, {1, 2}},
    {"bf16", MTF_BF16, 6, {0, 1, -2.5, 0x1.94p99, INFINITY, 3}},
    {"bool", MTF_BOOL, 2, {1, 0}},
    {"empty", MTF_F32, 0, {0}},
    {"f32", MTF_F32, 6, {0, 1, -2.5, 1e30f, INFINITY, 3}},
    {"f64", MTF_F64, 6, {0, 1, -2.5, 1e30, INFINITY, 3}},
    {"half", MTF_F16, 5, {-2, -1, 0, 1, 2}},
    {"i32", MTF_I32, 2, {-1, 2147483647}},
    {"i64", MTF_I64, 2, {-1, 0x1p62}},
};

static void reads_every_type(const char *folder)
{
    mtf_session *s = mtf_open_with(NULL);
    contents     c = contents_make(&s->arena);
    reader       r;
    char         path[300];
    int          summed;
    snprintf(path, sizeof path, "%s/%s/all", reference, folder);
    assert_true(checkpoint_open(&c, path, NEWEST));
    assert_true(reader_open(&r, &c, &s->allocator, (part_copier){0}, 1, &s->fault));
    assert_int_equal(c.ntensors, 13);
    assert_string_equal(contents_find(&c, "text")->foreign, "string");
    assert_string_equal(contents_find(&c, "bytes")->foreign, "uint8");
    for (size_t i = 0; i < sizeof written / sizeof *written; i++) {
        const kept_tensor *t = contents_find(&c, written[i].name);
        char               elements[6 * 8];
        assert_non_null(t);
        assert_null(t->foreign);
        assert_int_equal(t->type, written[i].type);
        assert_int_equal(shape_size(&t->shape), written[i].count);
        assert_true(reader_get(&r, t, 0, elements, written[i].count));
        for (int k = 0; k < written[i].count; k++)
            assert_true(dtype_load(t->type, elements, k) == written[i].values[k]);
    }
    assert_true(reader_verify(&r, &summed));
    assert_int_equal(summed, 11);
    reader_close(&r);
    assert_int_equal(mtf_close(s), 0);
}

static void every_type(void **state)
{
    (void)state;
    reads_every_type("types");
    reads_every_type("snappy"); /* the same index, compressed */
}

/* ---- indexes in memory ---- */

typedef struct trial {
    mtf_session *session;
    contents     contents;
} trial;

static trial trial_open(void)
{
    trial t = {.session = mtf_open_with(NULL)};
    t.contents = contents_make(&t.session->arena);
    return t;
}

/* Bytes of their own, so that a read beyond them is seen. */
static bool trial_parse(trial *t, const void *bytes, size_t n)
{
    void *own = malloc(n ? n : 1);
    if (n) memcpy(own, bytes, n);
    bool ok = bundle_parse(&t->contents, "folder/x.index", own, n);
    assert_int_equal(ok, mtf_ok(t->session));
    free(own);
    return ok;
}

static char index_bytes[2000];

static size_t read_index(const char *folder)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s/all.index", reference, folder);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t n = fread(index_bytes, 1, sizeof index_bytes, f);
    assert_true(n > 100 && n < sizeof index_bytes);
    fclose(f);
    return n;
}

static bool index_is_sound(size_t n)
{
    trial t = trial_open();
    bool  ok = trial_parse(&t, index_bytes, n) && t.contents.ntensors == 13;
    if (!ok) assert_false(mtf_ok(t.session));
    fault_clear(&t.session->fault);
    mtf_close(t.session);
    return ok;
}

/* Nobody reads the zeros of the footer, nor the block that says more of the table. */
static void every_byte(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        size_t n = read_index(k ? "snappy" : "types");
        int    unseen = 0;
        for (size_t i = 0; i < n; i++) {
            index_bytes[i] ^= 0x41;
            unseen += index_is_sound(n);
            index_bytes[i] ^= 0x41;
        }
        assert_true(unseen < 60);
        for (size_t i = 0; i < n; i += 7) assert_false(index_is_sound(i));
        assert_true(index_is_sound(n));
    }
}

/* ---- entries that no TensorFlow writes ---- */

static message_out head_of(uint64_t files, uint64_t order)
{
    message_out m = {.used = 0};
    message_put_key(&m, 1, WIRE_VARINT);
    message_put_varint(&m, files);
    message_put_key(&m, 2, WIRE_VARINT);
    message_put_varint(&m, order);
    return m;
}

/* An entry by its fields: type, sizes ending in 0, file, place, bytes. */
typedef struct entry {
    uint64_t type;
    int64_t  sizes[20];
    uint64_t file, at, bytes;
    bool     sliced;
} entry;

static message_out entry_of(const entry *e)
{
    message_out m = {.used = 0}, shape = {.used = 0};
    uint64_t    numbers[] = {e->type, 0, e->file, e->at, e->bytes};
    for (int d = 0; e->sizes[d]; d++) {
        message_out dim = {.used = 0};
        message_put_key(&dim, 1, WIRE_VARINT);
        message_put_varint(&dim, (uint64_t)e->sizes[d]);
        message_put_counted(&shape, 2, dim.bytes, dim.used);
    }
    message_put_counted(&m, 2, shape.bytes, shape.used);
    for (int k = 0; k < 5; k++) {
        if (k == 1) continue;
        message_put_key(&m, k + 1, WIRE_VARINT);
        message_put_varint(&m, numbers[k]);
    }
    if (e->sliced) message_put_counted(&m, 7, "", 0);
    return m;
}

/* Parses an index of these messages, and compares the error. */
static void parses(const char *wanted, int n, const char *const *names, const message_out *messages)
{
    trial         t = trial_open();
    crc32c_tables crc;
    table_writer  w = {.bytes = {.from = &t.session->allocator, .why = &t.session->fault}};
    crc32c_fill(&crc);
    for (int i = 0; i < n; i++)
        assert_true(table_add(&w, names[i],
                              (message){messages[i].bytes, messages[i].bytes + messages[i].used}));
    assert_true(table_end(&w, &crc));
    bool ok = trial_parse(&t, w.bytes.bytes, (size_t)w.bytes.count);
    assert_int_equal(ok, wanted == NULL);
    if (wanted && !strstr(mtf_error(t.session), wanted))
        fail_msg("%s, not %s", mtf_error(t.session), wanted);
    table_close(&w);
    bytes_free(&w.bytes);
    mtf_close(t.session);
}

static void one_entry(const char *wanted, entry e)
{
    message_out all[] = {head_of(2, 0), entry_of(&e)};
    parses(wanted, 2, (const char *const[]){"", "w"}, all);
}

static void hostile_entries(void **state)
{
    (void)state;
    entry wide = {.type = 1, .bytes = 4};
    for (int d = 0; d < 17; d++) wide.sizes[d] = 1;
    one_entry(NULL, (entry){1, {2, 3}, 1, 5, 24, false});
    one_entry("is in no file", (entry){1, {2, 3}, 2, 5, 24, false});
    one_entry("fewer or more bytes", (entry){1, {2, 3}, 0, 5, 23, false});
    one_entry("fewer or more bytes", (entry){14, {2, 3}, 0, 5, 24, false});
    one_entry("an impossible place", (entry){1, {2, 3}, 0, INT64_MAX, 24, false});
    one_entry("an impossible place", (entry){1, {2, 3}, 0, 0, UINT64_MAX, false});
    one_entry("a damaged entry", (entry){1, {-2, 3}, 0, 0, 24, false});
    one_entry("a damaged entry", (entry){1, {INT64_MAX, 3}, 0, 0, 24, false});
    one_entry("a damaged entry", wide);
    one_entry("is partitioned", (entry){1, {2, 3}, 0, 0, 24, true});
    one_entry(NULL, (entry){77, {2, 3}, 0, 0, 24, false}); /* an unknown type */
}

static void hostile_tables(void **state)
{
    (void)state;
    static char       name[5000];
    const entry       e = {1, {2, 3}, 0, 0, 24, false};
    const message_out good = head_of(1, 0), none = head_of(0, 0), many = head_of(1 << 20, 0);
    const message_out big = head_of(1, 1), w = entry_of(&e), cut = {{0x08}, 1};
    memset(name, 'n', sizeof name - 1);
    parses("is empty", 0, NULL, NULL);
    parses("does not say how many files", 1, (const char *const[]){"w"}, &w);
    parses("says it has 0 files", 1, (const char *const[]){""}, &none);
    parses("says it has 1048576 files", 1, (const char *const[]){""}, &many);
    parses("is big-endian", 1, (const char *const[]){""}, &big);
    parses("a damaged first entry", 1, (const char *const[]){""}, &cut);
    parses("a damaged entry", 2, (const char *const[]){"", "w"}, (message_out[]){good, cut});
    parses("not sorted", 3, (const char *const[]){"", "w", "v"}, (message_out[]){good, w, w});
    parses("not sorted", 3, (const char *const[]){"", "w", "w"}, (message_out[]){good, w, w});
    parses("longer than 4095", 2, (const char *const[]){"", name}, (message_out[]){good, w});
    parses(NULL, 3, (const char *const[]){"", "v", "w"}, (message_out[]){good, w, w});
}

/* ---- there and back ---- */

static void what_is_written_is_read(void **state)
{
    (void)state;
    trial         t = trial_open(), back = trial_open();
    crc32c_tables crc;
    byte_list     bytes = {.from = &t.session->allocator, .why = &t.session->fault};
    crc32c_fill(&crc);
    t.contents.crc = &crc;
    for (int i = 0; i < 2000; i++) {
        char name[40];
        snprintf(name, sizeof name, "layer_%04d/w", i);
        kept_tensor *k = contents_add(&t.contents, name);
        mtf_shape    shape = {.ndims = i % 16 + 1};
        for (int d = 0; d < shape.ndims; d++) shape.dims[d].size = d ? 1 : i;
        assert_true(
            contents_shape(&t.contents, k, (mtf_dtype)(i % 2 ? MTF_BF16 : MTF_I64), &shape));
        k->sum = (uint32_t)i * 2654435761u;
        k->at = (int64_t)i << 33;
    }
    assert_true(bundle_print(&t.contents, &bytes));
    assert_true(trial_parse(&back, bytes.bytes, (size_t)bytes.count));
    assert_int_equal(back.contents.ntensors, 2000);
    for (int i = 0; i < 2000; i++) {
        const kept_tensor *a = t.contents.tensors[i], *b = back.contents.tensors[i];
        assert_string_equal(a->name, b->name);
        assert_int_equal(a->type, b->type);
        assert_int_equal(a->shape.ndims, b->shape.ndims);
        assert_int_equal(a->shape.dims[0].size, b->shape.dims[0].size);
        assert_true(a->at == b->at && a->bytes == b->bytes && a->sum == b->sum);
    }
    assert_string_equal(back.contents.files[0].name, "x.data-00000-of-00001");
    bytes_free(&bytes);
    assert_int_equal(mtf_close(t.session) + mtf_close(back.session), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type),
        cmocka_unit_test(every_byte),
        cmocka_unit_test(hostile_entries),
        cmocka_unit_test(hostile_tables),
        cmocka_unit_test(what_is_written_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
