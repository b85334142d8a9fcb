/* Tests CRC-32C against known values. */
#include "base/crc32c.h"

#include "ground.h"

static uint32_t checksum(const void *bytes, size_t n)
{
    crc32c_tables t;
    crc32c_fill(&t);
    return crc32c(&t, bytes, n);
}

/* RFC 3720, B.4, and the usual check value of this polynomial. */
static void known_values(void **state)
{
    (void)state;
    uint8_t bytes[32];
    assert_int_equal(checksum("123456789", 9), 0xe3069283);
    assert_int_equal(checksum("", 0), 0);
    memset(bytes, 0, sizeof bytes);
    assert_int_equal(checksum(bytes, 32), 0x8a9136aa);
    memset(bytes, 0xff, sizeof bytes);
    assert_int_equal(checksum(bytes, 32), 0x62a8ab43);
    for (int i = 0; i < 32; i++) bytes[i] = (uint8_t)i;
    assert_int_equal(checksum(bytes, 32), 0x46dd794e);
    for (int i = 0; i < 32; i++) bytes[i] = (uint8_t)(31 - i);
    assert_int_equal(checksum(bytes, 32), 0x113fdb5c);
}

/* Bytes may come in pieces; what files store can be undone. */
static void pieces(void **state)
{
    (void)state;
    crc32c_tables t;
    crc32c_fill(&t);
    const char *digits = "123456789";
    for (size_t i = 0; i <= 9; i++) {
        uint32_t first = crc32c(&t, digits, i);
        assert_int_equal(crc32c_more(&t, first, digits + i, 9 - i), 0xe3069283);
    }
    assert_int_equal(crc32c_unmasked(crc32c_masked(0xe3069283)), 0xe3069283);
}

/* Eight at once and one by one agree, wherever the bytes begin and however many they are. */
static void any_length(void **state)
{
    (void)state;
    uint8_t       bytes[64];
    crc32c_tables t;
    crc32c_fill(&t);
    for (int i = 0; i < 64; i++) bytes[i] = (uint8_t)(i * 37 + 11);
    for (size_t begin = 0; begin < 8; begin++)
        for (size_t n = 0; n < 56; n++) {
            uint32_t plain = 0xffffffffu;
            for (size_t i = 0; i < n; i++)
                plain = plain >> 8 ^ t.after[0][(plain ^ bytes[begin + i]) & 0xff];
            assert_int_equal(crc32c(&t, bytes + begin, n), ~plain);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(known_values), cmocka_unit_test(pieces),
                                       cmocka_unit_test(any_length)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
