/* Compiled kernels on disk: found again, mended, and not insisted on. */
#include "cuda/driver/kernel_compile.h"
#include "cuda/driver/kernel_parts.h"

#include "ground.h"

#include <glob.h>
#include <sys/stat.h>

#include "machine/host_gpu.h"

static const char folder[] = HOST_CUDA_FOLDER "/test_cache";
static host_gpu   gpu;
static int        compiled; /* how often the compiler was called */

static nvrtcResult (*real_compile)(nvrtcProgram p, int n, const char *const *options);

static nvrtcResult count_and_compile(nvrtcProgram p, int n, const char *const *options)
{
    __atomic_fetch_add(&compiled, 1, __ATOMIC_SEQ_CST);
    return real_compile(p, n, options);
}

/* So many kernels, each with a number of its own. */
static const char *text_of(int kernels, int number)
{
    textbuf t = {.arena = &gpu.arena};
    for (int k = 0; k < kernels; k++)
        text_add(&t,
                 "KERNEL void __launch_bounds__(32) kernel%d(i32 *out0)\n{\n"
                 "    if (THREAD == 0) *out0 = %d;\n}\n\n",
                 k, number + k);
    return text_done(&t);
}

static glob_t files(void)
{
    char   pattern[1000];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/kernels/*", folder);
    glob(pattern, 0, NULL, &found);
    return found;
}

static int set_up(void **state)
{
    (void)state;
    unsetenv("MTF_TEST_GPU");
    gpu = host_gpu_open();
    real_compile = gpu.api.nvrtc.nvrtcCompileProgram;
    gpu.api.nvrtc.nvrtcCompileProgram = count_and_compile;
    return 0;
}

/* A cache that is empty. */
static int begin(void **state)
{
    (void)state;
    setenv("MTF_CACHE_DIR", folder, 1);
    glob_t found = files();
    for (size_t k = 0; k < found.gl_pathc; k++) assert_int_equal(remove(found.gl_pathv[k]), 0);
    globfree(&found);
    compiled = 0;
    return 0;
}

static void assert_runs(const kernel_images *made, int kernels, int number)
{
    const cuda_driver *d = &gpu.api.driver;
    int               *memory = host_gpu_take(&gpu, sizeof(int)), got;
    CUmodule           module[MOST_IMAGES];
    for (int m = 0; m < made->n; m++)
        assert_int_equal(d->cuModuleLoadData(&module[m], made->image[m].bytes), 0);
    for (int k = 0; k < kernels; k++) {
        char       name[40];
        void      *pointers[] = {&memory};
        CUfunction f = NULL;
        snprintf(name, sizeof name, "kernel%d", k);
        for (int m = 0; m < made->n && !f; m++) d->cuModuleGetFunction(&f, module[m], name);
        assert_non_null(f);
        d->cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, gpu.stream, pointers, NULL);
        host_gpu_get(&gpu, &got, memory, sizeof got);
        assert_int_equal(got, number + k);
    }
    for (int m = 0; m < made->n; m++) d->cuModuleUnload(module[m]);
    host_gpu_give(&gpu, memory);
}

static void compile_and_run(int kernels, int number, int calls)
{
    kernel_images made;
    fault         f = {0};
    compiled = 0;
    assert_true(
        kernel_compile(&gpu.api, &f, &gpu.arena, text_of(kernels, number), "sm_90a", &made));
    if (calls >= 0) assert_int_equal(compiled, calls);
    assert_runs(&made, kernels, number);
}

static void test_kernels_are_compiled_once(void **state)
{
    (void)state;
    compile_and_run(1, 5, 1);
    compile_and_run(1, 5, 0);
    compile_and_run(1, 6, 1);
    glob_t found = files();
    assert_int_equal(found.gl_pathc, 2);
    globfree(&found);
}

static void test_many_kernels_are_found_in_their_parts(void **state)
{
    (void)state;
    compile_and_run(50, 100, -1);
    compile_and_run(50, 100, 0);
}

static void test_damaged_file_is_replaced(void **state)
{
    (void)state;
    compile_and_run(1, 7, 1);
    glob_t found = files();
    assert_int_equal(found.gl_pathc, 1);
    struct stat about;
    assert_int_equal(stat(found.gl_pathv[0], &about), 0);
    long places[] = {0, 9, 30, 40, 200, (long)about.st_size - 2};
    for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
        FILE *f = fopen(found.gl_pathv[0], "r+b");
        fseek(f, places[k], SEEK_SET);
        int c = fgetc(f);
        fseek(f, places[k], SEEK_SET);
        fputc(c ^ 0x15, f);
        fclose(f);
        compile_and_run(1, 7, 1);
        compile_and_run(1, 7, 0);
    }
    FILE *f = fopen(found.gl_pathv[0], "wb"); /* nothing is left */
    fclose(f);
    compile_and_run(1, 7, 1);
    globfree(&found);
}

static void test_cache_that_cannot_be_written_is_no_error(void **state)
{
    (void)state;
    setenv("MTF_CACHE_DIR", "/dev/null/nowhere", 1);
    compile_and_run(1, 8, 1);
    compile_and_run(1, 8, 1);
}

/* Between start and end the caller may do other things; an error is that of the end. */
static void test_compiling_is_started_and_finished(void **state)
{
    kernel_images made;
    fault         f = {0};
    (void)state;
    kernel_job *job = kernel_compile_start(&gpu.api, &f, &gpu.arena, text_of(50, 300), "sm_90a");
    assert_non_null(job);
    assert_true(kernel_compile_finish(job, &made));
    assert_true(made.n > 1 && compiled == made.n);
    assert_runs(&made, 50, 300);
    compile_and_run(50, 300, 0);

    job = kernel_compile_start(&gpu.api, &f, &gpu.arena, "KERNEL void this is none\n", "sm_90a");
    assert_non_null(job);
    assert_false(kernel_compile_finish(job, &made));
    assert_int_equal(f.kind, ERR_DEVICE);
}

/* Long kernels first, and all of them somewhere. */
static void test_parts_have_all_kernels(void **state)
{
    enum { KERNELS = 40, MOST = 6 };
    textbuf t = {.arena = &gpu.arena};
    char   *parts[MOST] = {0};
    size_t  longest = 0, all = 0;
    (void)state;
    for (int k = 0; k < KERNELS; k++)
        text_add(&t, "KERNEL void __launch_bounds__(32) kernel%d(i32 *out0)\n{\n%*s}\n\n", k,
                 k % 7 * k % 5 * 300, "");
    int n = kernel_parts_of(text_done(&t), MOST, &gpu.arena, parts);
    assert_true(n > 1 && n <= MOST);
    for (int k = 0; k < KERNELS; k++) {
        char name[40];
        int  found = 0;
        snprintf(name, sizeof name, " kernel%d(", k);
        for (int p = 0; p < n; p++) found += strstr(parts[p], name) != NULL;
        assert_int_equal(found, 1);
    }
    for (int p = 0; p < n; p++) {
        size_t bytes = strlen(strstr(parts[p], "\nKERNEL "));
        assert_null(strstr(parts[p], "attention_")); /* none needs it */
        longest = bytes > longest ? bytes : longest;
        all += bytes;
        block_free(gpu.arena.from, parts[p]);
    }
    assert_true(longest * (size_t)n < all * 5 / 4);
}

static void test_no_text_gives_no_images(void **state)
{
    kernel_images made;
    fault         f = {0};
    (void)state;
    assert_true(kernel_compile(&gpu.api, &f, &gpu.arena, "", "sm_90a", &made));
    assert_int_equal(made.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_kernels_are_compiled_once, begin),
        cmocka_unit_test_setup(test_many_kernels_are_found_in_their_parts, begin),
        cmocka_unit_test_setup(test_damaged_file_is_replaced, begin),
        cmocka_unit_test_setup(test_cache_that_cannot_be_written_is_no_error, begin),
        cmocka_unit_test_setup(test_compiling_is_started_and_finished, begin),
        cmocka_unit_test_setup(test_parts_have_all_kernels, begin),
        cmocka_unit_test_setup(test_no_text_gives_no_images, begin),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
