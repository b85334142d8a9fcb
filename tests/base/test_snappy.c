/* Tests the expansion of Snappy's bytes, sound and damaged. */
#include "base/snappy.h"

#include "ground.h"

typedef struct packed {
    const char *bytes;
    size_t      n;
    const char *text; /* NULL: they are damaged */
} packed;

#define PACKED(bytes, text)                                                                        \
    {                                                                                              \
        bytes, sizeof bytes - 1, text                                                              \
    }

static const packed all[] = {
    PACKED("\x00", ""),
    PACKED("\x03\x08"
           "abc",
           "abc"),
    PACKED("\x03\xf0\x02"
           "abc",
           "abc"),
    PACKED("\x03\xf4\x02\x00"
           "abc",
           "abc"),
    PACKED("\x03\xf8\x02\x00\x00"
           "abc",
           "abc"),
    PACKED("\x03\xfc\x02\x00\x00\x00"
           "abc",
           "abc"),
    PACKED("\x08\x0c"
           "abcd\x01\x04",
           "abcdabcd"), /* a copy of 4, one byte of distance */
    PACKED("\x08\x0c"
           "abcd\x0e\x04\x00",
           "abcdabcd"), /* two bytes */
    PACKED("\x08\x0c"
           "abcd\x0f\x04\x00\x00\x00",
           "abcdabcd"), /* four bytes */
    PACKED("\x0c\x04"
           "ab\x26\x02\x00",
           "abababababab"), /* reaches into itself */
    PACKED("", NULL),
    PACKED("\x80", NULL),
    PACKED("\x03\x08"
           "ab",
           NULL), /* a piece beyond the end */
    PACKED("\x02\x08"
           "abc",
           NULL), /* more than the length */
    PACKED("\x04\x08"
           "abc",
           NULL), /* less */
    PACKED("\x08\x0c"
           "abcd\x01\x05",
           NULL), /* from before the beginning */
    PACKED("\x08\x0c"
           "abcd\x01\x00",
           NULL), /* from itself */
    PACKED("\x07\x0c"
           "abcd\x01\x04",
           NULL), /* a copy beyond the length */
    PACKED("\x08\x0c"
           "abcd\x0e\x04",
           NULL),                 /* half a distance */
    PACKED("\x03\xf4\x02", NULL), /* half a length */
    PACKED("\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x00", NULL),
};

static void known_bytes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        uint8_t        to[64], own[64];
        size_t         length = 0;
        const uint8_t *from = memcpy(own, all[i].bytes, all[i].n);
        bool           ok = snappy_length(from, all[i].n, &length) && length <= sizeof to &&
                  snappy_expand(from, all[i].n, to, length);
        assert_int_equal(ok, all[i].text != NULL);
        if (!ok) continue;
        assert_int_equal(length, strlen(all[i].text));
        assert_memory_equal(to, all[i].text, length);
    }
}

/* Nobody allocates a gigabyte because five bytes say so. */
static void length_follows_bytes(void **state)
{
    (void)state;
    size_t length;
    assert_false(snappy_length((const uint8_t *)"\x80\x80\x80\x80\x04", 5, &length));
    assert_true(snappy_length((const uint8_t *)"\x6e\x00\x00\x00\x00", 5, &length));
    assert_int_equal(length, 110);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(known_bytes),
                                       cmocka_unit_test(length_follows_bytes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
