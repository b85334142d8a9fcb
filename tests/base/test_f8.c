/* f8 against PyTorch: every code, and rounding between any two. */
#include "base/dtype.h"
#include "base/npy_header.h"

#include "ground.h"

#include <math.h>

#include "base/f8_values.h"

static const struct {
    mtf_dtype          type;
    const uint32_t    *numbers;
    const f8_rounding *roundings;
    int                count;
} formats[] = {
    {MTF_F8E4M3, f8e4m3_numbers, f8e4m3_roundings,
     sizeof f8e4m3_roundings / sizeof *f8e4m3_roundings},
    {MTF_F8E5M2, f8e5m2_numbers, f8e5m2_roundings,
     sizeof f8e5m2_roundings / sizeof *f8e5m2_roundings},
};
enum { FORMATS = 2 };

static void test_every_code_is_its_number(void **state)
{
    (void)state;
    for (int t = 0; t < FORMATS; t++)
        for (int code = 0; code < 256; code++) {
            uint8_t byte = (uint8_t)code;
            float   got = (float)dtype_load(formats[t].type, &byte, 0);
            float   want = f32_of_bits(formats[t].numbers[code]);
            if (isnan(want))
                assert_true(isnan(got));
            else
                assert_int_equal(f32_bits(got), f32_bits(want));
        }
}

static void test_every_number_is_its_code(void **state)
{
    (void)state;
    for (int t = 0; t < FORMATS; t++)
        for (int code = 0; code < 256; code++) {
            uint8_t back;
            float   x = f32_of_bits(formats[t].numbers[code]);
            dtype_store(formats[t].type, &back, 0, (double)x);
            if (isnan(x))
                assert_true(isnan(dtype_load(formats[t].type, &back, 0)));
            else if (!isinf(x))
                assert_int_equal(back, code);
        }
}

static void test_rounding_is_to_even_and_saturates(void **state)
{
    (void)state;
    for (int t = 0; t < FORMATS; t++)
        for (int k = 0; k < formats[t].count; k++) {
            const f8_rounding *r = &formats[t].roundings[k];
            uint8_t            code, converted;
            float              x = f32_of_bits(r->number);
            dtype_store(formats[t].type, &code, 0, (double)x);
            dtype_convert(formats[t].type, &converted, MTF_F32, &x, 1);
            if (code != r->code || converted != r->code)
                fail_msg("%s: %a is 0x%02x, not 0x%02x", mtf_dtype_name(formats[t].type), (double)x,
                         code, r->code);
        }
}

/* Compilers and processors differ in the sign of a NaN that they compute, so f8 has only one. */
static void test_nan_has_one_code(void **state)
{
    static const uint32_t nans[] = {0x7fc00000u, 0xffc00000u, 0x7f800001u,
                                    0xff800001u, 0x7fffffffu, 0xffffffffu};
    enum { NANS = sizeof nans / sizeof *nans };
    (void)state;
    for (int t = 0; t < FORMATS; t++)
        for (int k = 0; k < NANS; k++) {
            float    x = f32_of_bits(nans[k]);
            uint8_t  converted, from_f16, code = (uint8_t)(t ? f32_to_f8e5m2(x) : f32_to_f8e4m3(x));
            uint16_t half = f32_to_f16(x);
            dtype_convert(formats[t].type, &converted, MTF_F32, &x, 1);
            dtype_convert(formats[t].type, &from_f16, MTF_F16, &half, 1);
            assert_int_equal(code, 0x7f);
            assert_int_equal(converted, 0x7f);
            assert_int_equal(from_f16, 0x7f);
        }
}

/* A file of NumPy holds opaque bytes. */
static void test_npy_headers(void **state)
{
    (void)state;
    for (int t = 0; t < FORMATS; t++) {
        char   header[NPY_HEADER_ROOM];
        size_t n = npy_header_print(formats[t].type, 1, (int64_t[]){3}, header);
        header[n - 1] = 0;
        assert_non_null(strstr(header + 10, "'descr': '|V1'"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_code_is_its_number),
        cmocka_unit_test(test_every_number_is_its_code),
        cmocka_unit_test(test_rounding_is_to_even_and_saturates),
        cmocka_unit_test(test_nan_has_one_code),
        cmocka_unit_test(test_npy_headers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
