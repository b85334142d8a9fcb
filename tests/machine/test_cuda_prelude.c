/* The words of kernels: functions, casts, short floats and random numbers.
 *
 * Every scalar function of every type it takes, on ordinary and special numbers, against
 * what the CPU computes.
 */
#include "base/philox.h"
#include "cuda/driver/kernel_compile.h"
#include "cpu/map_steps.h"
#include "program/scalar.h"

#include "ground.h"

#include "machine/host_gpu.h"

enum { NUMBERS = 48, PAIRS = NUMBERS * NUMBERS, SHORTS = 65536, ROOM = SHORTS * 8 };

static host_gpu gpu;
static char     in[ROOM], other[ROOM], out[ROOM];
static char    *gpu_in, *gpu_other, *gpu_out;

static const mtf_dtype compute_types[] = {MTF_F32, MTF_F64, MTF_I32, MTF_I64, MTF_BOOL};
static const mtf_dtype f8_types[] = {MTF_F8E4M3, MTF_F8E5M2};
enum { TYPES = sizeof compute_types / sizeof *compute_types };

#define EACH_TYPE(t) for (int t = 0; t < TYPES; t++)

static bool is_legal(scalar_fn fn, mtf_dtype type)
{
    return fn > FN_ROW_MIN && map_step_of(fn, type) != NULL;
}

static void kernel_begin(textbuf *t, const char *name, const char *to, const char *from)
{
    text_add(t,
             "KERNEL void __launch_bounds__(64) %s(%s *out0, const %s *in0, const %s *in1, "
             "char *scratch, const step_words *words)\n{\n    i64 k = BLOCK * 64 + THREAD;\n    ",
             name, to, from, from);
}

static char *write_kernels(void)
{
    static arena a;
    a = arena_make(&gpu.session->allocator, &gpu.session->fault);
    textbuf t = {.arena = &a};
    char    name[100];
    EACH_TYPE(k)
    {
        mtf_dtype   type = compute_types[k];
        const char *word = kernel_type(type);
        for (int fn = 0; fn < SCALAR_FNS; fn++) {
            const scalar_info *info = &scalar_infos[fn];
            if (!is_legal((scalar_fn)fn, type)) continue;
            snprintf(name, sizeof name, "%s_%s", info->name, word);
            kernel_begin(&t, name, info->gives_bool ? "u8" : word, word);
            text_add(&t, "out0[k] = fn_%s(in0[k]%s);\n}\n", info->name,
                     info->arity == 2 ? ", in1[k]" : "");
        }
        for (int to = 0; to < DTYPES; to++) {
            mtf_dtype made = dtype_compute((mtf_dtype)to);
            snprintf(name, sizeof name, "to_%s_%s", kernel_type((mtf_dtype)to), word);
            kernel_begin(&t, name, kernel_type(made), word);
            text_add(&t, "out0[k] = cast_%s(in0[k]);\n}\n", kernel_type((mtf_dtype)to));
        }
    }
    for (int b = 0; b < 2; b++) {
        const char *word = b ? "bf16" : "f16";
        kernel_begin(&t, b ? "widen_bf16" : "widen_f16", "f32", word);
        text_add(&t, "out0[k] = load(in0 + k);\n}\n");
        kernel_begin(&t, b ? "store_bf16" : "store_f16", word, "f32");
        text_add(&t, "store(out0 + k, in0[k]);\n}\n");
    }
    for (int k = 0; k < 2; k++) {
        const char *word = kernel_type(f8_types[k]);
        snprintf(name, sizeof name, "widen_%s", word);
        kernel_begin(&t, name, "f32", word);
        text_add(&t, "out0[k] = load(in0 + k);\n}\n");
        snprintf(name, sizeof name, "store_%s", word);
        kernel_begin(&t, name, word, "f32");
        text_add(&t, "store(out0 + k, in0[k]);\n}\n");
    }
    kernel_begin(&t, "draws", "u32", "u32");
    text_add(
        &t,
        "philox_stream s = philox_iterations(stream_of(words, 7), 3, 5);\n"
        "    for (int w = 0; w < 4; w++) out0[k * 4 + w] = philox_at(s, k << 31).word[w];\n}\n");
    return text_done(&t);
}

static int set_up(void **state)
{
    (void)state;
    gpu = host_gpu_open();
    char *text = write_kernels();
    host_gpu_load(&gpu, text);
    host_gpu_compile_for_real(&gpu, text);
    gpu_in = host_gpu_take(&gpu, ROOM);
    gpu_other = host_gpu_take(&gpu, ROOM);
    gpu_out = host_gpu_take(&gpu, ROOM);
    return 0;
}

static void launch(const char *name, int64_t elements)
{
    char *scratch = NULL;
    void *pointers[] = {&gpu_out, &gpu_in, &gpu_other, &scratch, &gpu.words};
    assert_true(elements % 64 == 0);
    host_gpu_put(&gpu, gpu_in, in, ROOM);
    host_gpu_put(&gpu, gpu_other, other, ROOM);
    host_gpu_launch(&gpu, &(kernel_launch){name, elements / 64, 64, 0}, pointers);
    host_gpu_get(&gpu, out, gpu_out, ROOM);
}

/* Ordinary numbers, and those at the ends of their type. */
static double number(int k)
{
    static const double special[] = {0,           -0.0, 1,    -1,    INFINITY,   -INFINITY,
                                     (double)NAN, 0.5,  2.5,  -2.5,  1e30,       -1e30,
                                     3e9,         -3e9, 1e19, -1e19, 1e-40,      88,
                                     -88,         -104, 20,   -20,   2147483647, -2147483648.0};
    int                 n = sizeof special / sizeof *special;
    return k < n ? special[k] : (double)((k * 7919) % 2001) / 250 - 4;
}

static void fill_pairs(mtf_dtype type)
{
    for (int k = 0; k < PAIRS; k++) {
        dtype_store(type, in, k, number(k / NUMBERS));
        dtype_store(type, other, k, number(k % NUMBERS));
    }
}

static scalar element(mtf_dtype type, const char *at, int k)
{
    scalar s = {.whole = 0};
    if (dtype_is_float(type))
        s.real = dtype_load(type, at, k);
    else
        s.whole = type == MTF_I64   ? ((const int64_t *)at)[k]
                  : type == MTF_I32 ? ((const int32_t *)at)[k]
                                    : ((const uint8_t *)at)[k];
    return s;
}

/* The GPU's functions are other ones than the CPU's: a few units in the last place. */
static bool agree(mtf_dtype type, scalar want, scalar got)
{
    if (!dtype_is_float(type)) return want.whole == got.whole;
    if (want.real != want.real) return got.real != got.real;
    double allowed = type == MTF_F32 ? 4e-6 : 1e-13, least = type == MTF_F32 ? 1e-37 : 1e-300;
    return want.real == got.real || fabs(want.real - got.real) <= allowed * fabs(want.real) + least;
}

static void test_functions_are_those_of_the_cpu(void **state)
{
    (void)state;
    EACH_TYPE(t)
    {
        mtf_dtype type = compute_types[t];
        fill_pairs(type);
        for (int fn = 0; fn < SCALAR_FNS; fn++) {
            char name[100];
            if (!is_legal((scalar_fn)fn, type)) continue;
            mtf_dtype made = scalar_infos[fn].gives_bool ? MTF_BOOL : type;
            snprintf(name, sizeof name, "%s_%s", scalar_infos[fn].name, kernel_type(type));
            launch(name, PAIRS);
            for (int k = 0; k < PAIRS; k++) {
                scalar x = element(type, in, k), y = element(type, other, k);
                scalar want = scalar_eval((scalar_fn)fn, type, x, y), got = element(made, out, k);
                if (!agree(made, want, got))
                    fail_msg("%s(%.9g, %.9g) is %.9g, not %.9g", name, dtype_real(type, x),
                             dtype_real(type, y), dtype_real(made, got), dtype_real(made, want));
            }
        }
    }
}

static void test_casts_are_those_of_the_cpu(void **state)
{
    (void)state;
    EACH_TYPE(t)
    {
        mtf_dtype from = compute_types[t];
        fill_pairs(from);
        for (int to = 0; to < DTYPES; to++) {
            char      name[100];
            mtf_dtype made = dtype_compute((mtf_dtype)to);
            snprintf(name, sizeof name, "to_%s_%s", kernel_type((mtf_dtype)to), kernel_type(from));
            launch(name, PAIRS);
            for (int k = 0; k < PAIRS; k++) {
                scalar x = element(from, in, k), got = element(made, out, k);
                scalar want = scalar_cast((mtf_dtype)to, from, x);
                bool   same =
                    dtype_is_float(made)
                          ? want.real == got.real || (want.real != want.real && got.real != got.real)
                          : want.whole == got.whole;
                if (!same) fail_msg("%s: %g", name, dtype_real(from, x));
            }
        }
    }
}

/* All of them, and floats between any two of them. */
static void test_short_floats_are_rounded_to_even(void **state)
{
    (void)state;
    for (int b = 0; b < 2; b++) {
        mtf_dtype type = b ? MTF_BF16 : MTF_F16;
        for (int k = 0; k < SHORTS; k++) ((uint16_t *)in)[k] = (uint16_t)k;
        launch(b ? "widen_bf16" : "widen_f16", SHORTS);
        for (int k = 0; k < SHORTS; k++) {
            float want = b ? bf16_to_f32((uint16_t)k) : f16_to_f32((uint16_t)k);
            float got = ((float *)out)[k];
            assert_true(want != want ? got != got : f32_bits(want) == f32_bits(got));
        }
        for (int k = 0; k < SHORTS; k++) ((uint32_t *)in)[k] = (uint32_t)k * 65537u + 0x7ff0u;
        launch(b ? "store_bf16" : "store_f16", SHORTS);
        for (int k = 0; k < SHORTS; k++) {
            float    x = ((float *)in)[k];
            uint16_t got = ((uint16_t *)out)[k], want = b ? f32_to_bf16(x) : f32_to_f16(x);
            if (x != x)
                assert_true(isnan(dtype_load(type, &got, 0)));
            else
                assert_int_equal(got, want);
        }
    }
}

/* All codes, and floats all over the range and beyond it, with both zeros, infinity and NaN. */
static void test_f8_is_that_of_the_cpu(void **state)
{
    (void)state;
    for (int t = 0; t < 2; t++) {
        mtf_dtype type = f8_types[t];
        char      name[100];
        for (int k = 0; k < 256; k++) in[k] = (char)k;
        snprintf(name, sizeof name, "widen_%s", kernel_type(type));
        launch(name, 256);
        for (int k = 0; k < 256; k++) {
            float want = (float)dtype_load(type, in, k), got = ((float *)out)[k];
            assert_true(want != want ? got != got : f32_bits(want) == f32_bits(got));
        }
        for (int k = 0; k < SHORTS; k++)
            ((uint32_t *)in)[k] = (uint32_t)k << 16 | (k % 3 ? 0 : 0x8000u);
        snprintf(name, sizeof name, "store_%s", kernel_type(type));
        launch(name, SHORTS);
        for (int k = 0; k < SHORTS; k++) {
            uint8_t want;
            dtype_store(type, &want, 0, (double)((float *)in)[k]);
            assert_int_equal((uint8_t)out[k], want);
        }
    }
}

static void test_random_numbers_are_those_of_the_cpu(void **state)
{
    (void)state;
    step_words words = {.seed = 0x123456789abcdefu, .step = 9};
    host_gpu_put(&gpu, gpu.words, &words, sizeof words);
    launch("draws", 64);
    philox_stream s = philox_iterations((philox_stream){0x123456789abcdefu, 7, 9}, 3, 5);
    for (int k = 0; k < 64; k++) {
        philox_block b = philox_at(s, (uint64_t)k << 31);
        assert_memory_equal((uint32_t *)out + k * 4, b.word, sizeof b.word);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_functions_are_those_of_the_cpu),
        cmocka_unit_test(test_casts_are_those_of_the_cpu),
        cmocka_unit_test(test_short_floats_are_rounded_to_even),
        cmocka_unit_test(test_f8_is_that_of_the_cpu),
        cmocka_unit_test(test_random_numbers_are_those_of_the_cpu),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
