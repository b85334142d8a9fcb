/* Tests TFRecord files: TensorFlow's, hand-made ones, damaged ones. */
#include "base/crc32c.h"

#include "scratch.h"

static const char stored[] = MTF_SOURCE_DIR "/tests/data/examples.tfrecord";

/* What tests/reference/tfrecords.py wrote. */
static void check_stored(const char *path)
{
    mtf_session *s = mtf_open_with(NULL);
    mtf_dataset *d = mtf_dataset_open(
        s, (mtf_field[]){{.name = "label", .files = path, .part = "label"},
                         {.name = "whole", .files = path, .part = "whole"},
                         {.name = "real", .files = path, .part = "real"},
                         {.name = "text", .files = path, .part = "text", .length = 4},
                         {.name = "list", .files = path, .part = "list", .length = 5},
                         {0}});
    assert_int_equal(mtf_dataset_size(d), 7);
    for (int i = 0; i < 7; i++) {
        int32_t label, text[4], list[5];
        int64_t whole[3];
        float   real[2];
        assert_true(mtf_dataset_read(d, "label", i, MTF_I32, 1, &label) && label == i);
        assert_true(mtf_dataset_read(d, "whole", i, MTF_I64, 3, whole));
        assert_true(whole[0] == i && whole[1] == -i && whole[2] == i * 1000000000000);
        assert_true(mtf_dataset_read(d, "real", i, MTF_F32, 2, real));
        assert_true(real[0] == (float)i / 4 && real[1] == -1.5f);
        assert_true(mtf_dataset_read(d, "text", i, MTF_I32, 4, text));
        for (int k = 0; k < 4; k++) assert_int_equal(text[k], k < i ? 'a' + k : 0);
        assert_true(mtf_dataset_read(d, "list", i, MTF_I32, 5, list));
        for (int k = 0; k < 5; k++) assert_int_equal(list[k], k < i ? k : 0);
    }
    close_well(s);
}

static void from_tensorflow(void **state)
{
    (void)state;
    char packed[300];
    snprintf(packed, sizeof packed, "%s.gz", stored);
    check_stored(stored);
    check_stored(packed);
    mtf_session *s = mtf_open_with(NULL);
    mtf_field    f = {
           .name = "x", .files = MTF_SOURCE_DIR "/tests/data/examples.tfrecord", .part = "whole"};
    mtf_dataset *d = open_field(s, f);
    int32_t      narrow[3];
    assert_true(mtf_dataset_read(d, "x", 0, MTF_I32, 3, narrow)); /* all zeros */
    assert_false(mtf_dataset_read(d, "x", 2, MTF_I32, 3, narrow));
    assert_contains(mtf_error(s), "record 2, element 2: 2000000000000 is out of the range of i32");
    mtf_close(s);
}

/* ---- hand-made messages ---- */

/* Frames a message as the only record of a file. */
static const char *write_record(const char *message, size_t n)
{
    unsigned char file[400] = {(unsigned char)n};
    crc32c_tables t;
    crc32c_fill(&t);
    uint32_t head = crc32c_masked(crc32c(&t, file, 8)),
             foot = crc32c_masked(crc32c(&t, message, n));
    memcpy(file + 8, &head, 4);
    memcpy(file + 12, message, n);
    memcpy(file + 12 + n, &foot, 4);
    return write_plain("r.tfrecord", file, n + 16);
}

/* Example { Features { entry { name "a", Feature } } } around a Feature of n < 100 bytes. */
static const char *write_feature(const char *feature, size_t n)
{
    char head[] = {0x0a, (char)(n + 7), 0x0a, (char)(n + 5), 0x0a, 1, 'a', 0x12, (char)n},
         message[200];
    memcpy(message, head, sizeof head);
    memcpy(message + sizeof head, feature, n);
    return write_record(message, sizeof head + n);
}

#define FEATURE(bytes) write_feature(bytes, sizeof(bytes) - 1)

static void reads(const char *path, int64_t count, const double *values)
{
    mtf_session *s = mtf_open_with(NULL);
    mtf_dataset *d = open_field(s, (mtf_field){.name = "x", .files = path, .part = "a"});
    double       x[8];
    if (!mtf_dataset_read(d, "x", 0, MTF_F64, count, x)) fail_msg("%s", mtf_error(s));
    for (int64_t i = 0; i < count; i++) assert_true(x[i] == values[i]);
    close_well(s);
}

static void packed_and_not(void **state)
{
    (void)state;
    double numbers[] = {1, 300, -1};
    reads(FEATURE("\x1a\x0f\x0a\x0d\x01\xac\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), 3,
          numbers);
    reads(FEATURE("\x1a\x10\x08\x01\x08\xac\x02\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), 3,
          numbers);
    reads(FEATURE("\x1a\x06\x0a\x01\x01\x08\xac\x02"), 2, numbers); /* mixed */
    double floats[] = {1, -2};
    reads(FEATURE("\x12\x0a\x0a\x08\0\0\x80\x3f\0\0\0\xc0"), 2, floats);
    reads(FEATURE("\x12\x0a\x0d\0\0\x80\x3f\x0d\0\0\0\xc0"), 2, floats);
    double letters[] = {'a', 'b', 'c'};
    reads(FEATURE("\x0a\x07\x0a\x02"
                  "ab"
                  "\x0a\x01"
                  "c"),
          3, letters);
    /* Unknown fields of every kind are passed over. */
    reads(FEATURE("\x78\x05\x79"
                  "12345678"
                  "\x7d"
                  "1234"
                  "\x1a\x03\x0a\x01\x01"),
          1, numbers);
}

static mtf_field feature(const char *path)
{
    return (mtf_field){.name = "x", .files = path, .part = "a", .length = 3};
}

static void bad_messages(void **state)
{
    (void)state;
    static const char no_example[] = "r.tfrecord\": record 0, at byte 0, is not a tf.Example";
    refused(feature(FEATURE("\x1a\x05\x0a\x01\x01")), no_example); /* a list too long */
    refused(feature(FEATURE("\x1a\x03\x0a\x01\x81")), no_example); /* a number without end */
    refused(feature(FEATURE("\x1b\x02")), no_example);             /* a group */
    refused(feature(FEATURE("\x12\x05\x0a\x03"
                            "123")),
            no_example);                                       /* three quarters of a float */
    refused(feature(FEATURE("\x12\x02\x08\x01")), no_example); /* a float as a varint */
    refused(feature(FEATURE("\x0a\x02\x08\x01")), no_example); /* a text as a varint */
    refused(feature(FEATURE("\x1a\x05\x0d"
                            "1234")),
            no_example); /* a whole number as a float */
    refused(feature(write_record("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12)),
            no_example);
    refused(feature(write_record("\x0a\x02\x0a\x01", 4)), no_example);
    refused(feature(write_record("", 0)), "record 0, at byte 0, has no feature \"a\"");
    refused((mtf_field){.name = "x", .files = FEATURE("\x1a\0"), .part = "b"},
            "has no feature \"b\"");
    refused((mtf_field){.name = "x", .files = FEATURE("\x1a\0"), .part = "a"}, "has 0 elements");
    refused((mtf_field){.name = "x", .files = FEATURE("\x1a\0")},
            "its part should name the feature");
}

/* ---- damage ---- */

/* Cut anywhere but between records, a file is refused; so is every changed byte. */
static void cut_and_changed(void **state)
{
    (void)state;
    FILE  *f = fopen(stored, "rb");
    char   bytes[2000], bad[2000];
    size_t size = fread(bytes, 1, sizeof bytes, f), at = 0;
    fclose(f);
    for (size_t n = 0; n <= size; n++) {
        if (n == at) { /* the end of a record, and where the next one begins */
            at += 16 + (n < size ? (unsigned char)bytes[n] : 0);
            continue;
        }
        mtf_field cut = feature(write_plain("r.tfrecord", bytes, n));
        cut.part = "list";
        refused(cut, "r.tfrecord\" is cut short: record ");
    }
    for (size_t i = 0; i < size; i++) {
        memcpy(bad, bytes, size);
        bad[i] ^= 0x10;
        mtf_field changed = feature(write_plain("r.tfrecord", bad, size));
        changed.part = "list";
        refused(changed, "match its checksum");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(from_tensorflow), cmocka_unit_test(packed_and_not),
        cmocka_unit_test(bad_messages), cmocka_unit_test(cut_and_changed)};
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
