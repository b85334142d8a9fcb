/* Algorithms of products are chosen once, and kept.
 *
 * Measuring writes to a result that nothing depends on yet: that is how it is seen here.
 */
#include "cuda/driver/cache_folder.h"
#include "cuda/driver/cuda_device.h"

#include "machine/trial.h"

#include <dirent.h>

#include "machine/gpu_product.h"

static const char cache[] = HOST_CUDA_FOLDER "/choices";

/* Files of the cache; the path of the last goes to `path`. */
static int kept_choices(char *path)
{
    char folder[1000];
    int  n = 0;
    snprintf(folder, sizeof folder, "%s/products", cache);
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) {
        if (e->d_name[0] == '.') continue;
        snprintf(path, 2000, "%s/%s", folder, e->d_name);
        n++;
    }
    if (d) closedir(d);
    return n;
}

static int forget_choices(void **state)
{
    char path[2000];
    (void)state;
    setenv("MTF_CACHE_DIR", cache, 1);
    unsetenv("MTF_NO_MEASURE");
    while (kept_choices(path)) assert_int_equal(remove(path), 0);
    return 0;
}

/* Multiplies in a session of its own.  Was the result written before the first step? */
static bool multiply_measures(buffer_kind kind)
{
    loaded l;
    gpu_open();
    seed_state = 7;
    trial t = random_product(MTF_F32, MTF_F32, 3);
    char *got = malloc(bytes_of(&t, 0));
    result_kind = kind;
    load(&l, &t);
    cuda->read(context, got, l.base[0], bytes_of(&t, 0));
    bool measured = memcmp(got, t.memory[0], bytes_of(&t, 0)) != 0;
    step(&l);
    cuda->read(context, got, l.base[0], bytes_of(&t, 0));
    run_once(&t, kernel_contract, 1, 1);
    assert_near(MTF_F32, t.count[0], got, t.memory[0]);
    unload(&l);
    free(got);
    trial_free(&t);
    gpu_close();
    return measured;
}

static void test_measured_once(void **state)
{
    char path[2000];
    (void)state;
    assert_true(multiply_measures(BUFFER_TEMPORARY));
    assert_int_equal(kept_choices(path), 1);
    assert_false(multiply_measures(BUFFER_TEMPORARY));
    assert_int_equal(kept_choices(path), 1);
}

static void test_not_where_it_is_refused(void **state)
{
    char path[2000];
    (void)state;
    setenv("MTF_NO_MEASURE", "1", 1);
    assert_false(multiply_measures(BUFFER_TEMPORARY));
    assert_int_equal(kept_choices(path), 0);
}

static void test_variables_keep_their_values(void **state)
{
    char path[2000];
    (void)state;
    assert_false(multiply_measures(BUFFER_VARIABLE));
    assert_int_equal(kept_choices(path), 1); /* it was measured elsewhere */
}

/* Damages the only file of the cache: another byte at `at`, or, negative, its end cut off. */
static void damage(const char *path, long at)
{
    char  whole[4096];
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t n = fread(whole, 1, sizeof whole, f);
    fclose(f);
    if (at < 0)
        n -= (size_t)-at;
    else
        whole[at] ^= 4;
    assert_non_null(f = fopen(path, "wb"));
    fwrite(whole, 1, n, f);
    fclose(f);
}

static void test_damaged_ones_are_replaced(void **state)
{
    static const long at[] = {0, 20, 150, 300, -1, -200};
    char              path[2000];
    (void)state;
    multiply_measures(BUFFER_TEMPORARY);
    for (size_t k = 0; k < sizeof at / sizeof *at; k++) {
        assert_int_equal(kept_choices(path), 1);
        damage(path, at[k]);
        assert_true(multiply_measures(BUFFER_TEMPORARY));
        assert_false(multiply_measures(BUFFER_TEMPORARY));
    }
}

static void test_first_decides(void **state)
{
    char path[2000], got[10] = {0};
    (void)state;
    multiply_measures(BUFFER_TEMPORARY); /* makes the folder */
    assert_int_equal(kept_choices(path), 1);
    remove(path);
    assert_true(cache_put_first(path, &(piece){"one", 3}));
    assert_false(cache_put_first(path, &(piece){"two", 3}));
    FILE *f = fopen(path, "rb");
    assert_int_equal(fread(got, 1, sizeof got, f), 3);
    fclose(f);
    assert_string_equal(got, "one");
    assert_int_equal(kept_choices(path), 1);
}

/* The factor 1 + 2^-13 is 1 in tf32; f32 keeps it. */
static void test_tf32_only_by_option(void **state)
{
    const int64_t size[3] = {5, 6, 8};
    (void)state;
    for (int tf32 = 0; tf32 < 2; tf32++) {
        loaded l;
        float  got[30];
        with_tf32 = tf32;
        gpu_open();
        trial t = trial_of(INSTR_CONTRACT, 3, size);
        for (int o = 0; o < 3; o++) add_operand(&t, MTF_F32, 48, o == 0);
        t.operands[0].stride[0] = 6, t.operands[0].stride[1] = 1;
        t.operands[1].stride[0] = 8, t.operands[1].stride[2] = 1;
        t.operands[2].stride[2] = 6, t.operands[2].stride[1] = 1;
        for (int k = 0; k < 48; k++)
            ((float *)t.memory[1])[k] = 1 + 0x1p-13f, ((float *)t.memory[2])[k] = 1;
        load(&l, &t);
        step(&l);
        cuda->read(context, got, l.base[0], sizeof got);
        for (int k = 0; k < 30; k++) assert_true((double)got[k] == (tf32 ? 8.0 : 8.0 + 0x1p-10));
        unload(&l);
        trial_free(&t);
        gpu_close();
    }
    with_tf32 = false;
}

static int set_up(void **state)
{
    (void)state;
    unsetenv("MTF_TEST_GPU"); /* what a real library offers differs */
    load_emulated_gpu();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_measured_once, forget_choices),
        cmocka_unit_test_setup(test_not_where_it_is_refused, forget_choices),
        cmocka_unit_test_setup(test_variables_keep_their_values, forget_choices),
        cmocka_unit_test_setup(test_damaged_ones_are_replaced, forget_choices),
        cmocka_unit_test_setup(test_first_decides, forget_choices),
        cmocka_unit_test_setup(test_tf32_only_by_option, forget_choices),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
