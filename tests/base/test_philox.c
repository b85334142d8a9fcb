/* Philox against the published vectors of Random123. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/philox.h"

static void assert_block(philox_block got, philox_block want)
{
    for (int k = 0; k < 4; k++) assert_int_equal(got.word[k], want.word[k]);
}

static void test_known_answers(void **state)
{
    (void)state;
    assert_block(philox((philox_block){{0, 0, 0, 0}}, 0, 0),
                 (philox_block){{0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}});
    assert_block(philox((philox_block){{~0u, ~0u, ~0u, ~0u}}, ~0u, ~0u),
                 (philox_block){{0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu}});
    assert_block(philox((philox_block){{0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u}},
                        0xa4093822u, 0x299f31d0u),
                 (philox_block){{0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u}});
}

/* Of seven rounds, as flags are drawn; their numbers are the lower 15 bits of half words. */
static void test_flags(void **state)
{
    (void)state;
    philox_block b = philox_rounds((philox_block){{0, 0, 0, 0}}, 0, 0, PHILOX_FLAG_ROUNDS);
    assert_block(b, (philox_block){{0x5f6fb709u, 0x0d893f64u, 0x4f121f81u, 0x4f730a48u}});
    assert_block(philox_flags_at((philox_stream){0}, 0), b);
    static const uint32_t numbers[] = {0x3709, 0x5f6f, 0x3f64, 0x0d89,
                                       0x1f81, 0x4f12, 0x0a48, 0x4f73};
    for (uint64_t g = 0; g < 24; g++) assert_int_equal(philox_flag(&b, g), numbers[g % 8]);
    assert_int_equal(philox_flag_share(0), 0);
    assert_int_equal(philox_flag_share(0.9), 29491);
    assert_int_equal(philox_flag_share(1), 1 << 15);
}

/* The counter is the block number, the op and the step; the key is the seed. */
static void test_stream_layout(void **state)
{
    (void)state;
    philox_stream s = {.seed = 0x299f31d0a4093822u, .op = 0x13198a2eu, .step = 0x03707344u};
    assert_block(philox_at(s, 0x85a308d3243f6a88u),
                 (philox_block){{0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u}});
}

/* Two iterations make a block whose first half is the new key, the second what op and step were. */
static void test_iterations(void **state)
{
    (void)state;
    philox_stream first = {.seed = 0x299f31d0a4093822u, .op = 0x13198a2eu, .step = 0x03707344u};
    philox_stream inside = philox_iterations(first, 0x243f6a88u, 0x85a308d3u);
    assert_block(
        philox_at(inside, 0x0000000700000005u),
        philox((philox_block){{5, 7, 0x5001e420u, 0x24126ea1u}}, 0xd16cfe09u, 0x94fdccebu));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_answers),
        cmocka_unit_test(test_flags),
        cmocka_unit_test(test_stream_layout),
        cmocka_unit_test(test_iterations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
