/* Tests event files by reading them back with a reader of its own. */
#include "base/crc32c.h"
#include "model/events.h"

#include "ground.h"

#include <glob.h>
#include <unistd.h>

/* One record's place in the file. */
typedef struct record {
    const uint8_t *data;
    size_t         size;
} record;

static uint64_t little(const uint8_t *at, int bytes)
{
    uint64_t x = 0;
    for (int i = bytes - 1; i >= 0; i--) x = x << 8 | at[i];
    return x;
}

/* Bit by bit, unlike the library's. */
static uint32_t slow_crc(const uint8_t *data, size_t n)
{
    uint32_t crc = ~0u;
    for (size_t i = 0; i < n; i++) {
        crc ^= data[i];
        for (int k = 0; k < 8; k++) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
    }
    crc = ~crc;
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

static const uint8_t *next_record(const uint8_t *at, record *r)
{
    r->size = (size_t)little(at, 8);
    assert_int_equal(little(at + 8, 4), slow_crc(at, 8));
    r->data = at + 12;
    assert_int_equal(little(r->data + r->size, 4), slow_crc(r->data, r->size));
    return r->data + r->size + 4;
}

static uint64_t varint(const uint8_t **at)
{
    uint64_t x = 0;
    for (int shift = 0;; shift += 7) {
        uint8_t byte = *(*at)++;
        x |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) return x;
    }
}

/* The field of this number: where it begins and, where it is counted, its size; NULL: absent. */
static const uint8_t *field(record m, uint64_t number, size_t *size)
{
    for (const uint8_t *at = m.data; at < m.data + m.size;) {
        uint64_t       key = varint(&at);
        const uint8_t *begin = at;
        switch (key & 7) {
        case 0: varint(&at); break;
        case 1: at += 8; break;
        case 5: at += 4; break;
        default:
            assert_int_equal(key & 7, 2);
            *size = (size_t)varint(&at);
            begin = at;
            at += *size;
        }
        if (key >> 3 == number) return begin;
    }
    return NULL;
}

static record inner(record m, uint64_t number)
{
    record r = {.size = 0};
    r.data = field(m, number, &r.size);
    assert_non_null(r.data);
    return r;
}

static void check_scalar(record event, int64_t step, const char *tag, float value)
{
    size_t         size = 0;
    const uint8_t *at = field(event, 2, &size);
    assert_non_null(at);
    assert_int_equal(varint(&at), step);
    record scalar = inner(inner(event, 5), 1), name = inner(scalar, 1);
    assert_int_equal(name.size, strlen(tag));
    assert_memory_equal(name.data, tag, name.size);
    uint32_t bits = (uint32_t)little(field(scalar, 2, &size), 4);
    assert_memory_equal(&bits, &value, sizeof bits);
}

static void test_read_back(void **state)
{
    char         folder[] = "/tmp/mtf_events_XXXXXX", pattern[300], path[200];
    mtf_session *s = mtf_open_with(NULL);
    glob_t       found;
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/a/b", folder);
    events *e = events_open(s, path);
    assert_non_null(e);
    assert_true(events_scalar(e, 1, "loss", 2.5));
    assert_true(events_scalar(e, 300, "watch/a/b/mean", -1e-30));
    assert_true(events_scalar(e, (int64_t)1 << 40, "rate", INFINITY));
    assert_true(events_close(e));

    snprintf(pattern, sizeof pattern, "%s/events.out.tfevents.*", path);
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    assert_int_equal(found.gl_pathc, 1);
    char          *text = read_text(found.gl_pathv[0]);
    const uint8_t *at = (const uint8_t *)text;
    record         r;
    at = next_record(at, &r);
    assert_memory_equal(inner(r, 3).data, "brain.Event:2", 13);
    at = next_record(at, &r);
    check_scalar(r, 1, "loss", 2.5f);
    at = next_record(at, &r);
    check_scalar(r, 300, "watch/a/b/mean", -1e-30f);
    at = next_record(at, &r);
    check_scalar(r, (int64_t)1 << 40, "rate", INFINITY);
    FILE *f = fopen(found.gl_pathv[0], "rb");
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    assert_int_equal(ftell(f), (char *)at - text);
    fclose(f);
    free(text);
    unlink(found.gl_pathv[0]);
    globfree(&found);
    rmdir(path);
    *strrchr(path, '/') = 0;
    rmdir(path);
    rmdir(folder);
    close_well(s);
}

static void test_errors(void **state)
{
    (void)state;
    mtf_session *s = mtf_open_with(NULL);
    assert_null(events_open(s, "/proc/no/such"));
    assert_contains(mtf_error(s), "file: ");
    assert_int_equal(mtf_close(s), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_read_back),
                                       cmocka_unit_test(test_errors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
