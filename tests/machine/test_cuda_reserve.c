/* Memory of a card that is taken at once and given out in pieces. */
#include "mtf_build.h"

#if MTF_HAVE_CUDA
#include "machine/cuda/cuda_device.h"
#endif

#include "machine/trial.h"

#if MTF_HAVE_CUDA
#include "machine/card_product.h"

enum { PIECES = 4 };
static const size_t sizes[PIECES] = {9 << 20, 1, (7 << 20) + 3, 2 << 20};

static int calls, freed;
static CUresult (*real_alloc)(CUdeviceptr *memory, size_t bytes);
static CUresult (*real_free)(CUdeviceptr memory);

static CUresult count_alloc(CUdeviceptr *memory, size_t bytes)
{
    calls++;
    return real_alloc(memory, bytes);
}

static CUresult count_free(CUdeviceptr memory)
{
    freed++;
    return real_free(memory);
}

static CUresult refuse(CUdeviceptr *memory, size_t bytes)
{
    (void)memory, (void)bytes;
    return CUDA_ERROR_OUT_OF_MEMORY;
}

static int begin(void **state)
{
    (void)state;
    card_open();
    cuda_driver *d = &((cuda_device *)cuda)->api.driver;
    real_alloc = d->cuMemAlloc, real_free = d->cuMemFree;
    d->cuMemAlloc = count_alloc, d->cuMemFree = count_free;
    calls = freed = 0;
    return 0;
}

static int end(void **state)
{
    (void)state;
    card_close();
    return 0;
}

static size_t all_bytes(void)
{
    size_t all = 0;
    for (int k = 0; k < PIECES; k++) all += sizes[k];
    return all;
}

static void take_all(char *pieces[PIECES])
{
    for (int k = 0; k < PIECES; k++) {
        assert_non_null(pieces[k] = cuda->alloc(context, sizes[k]));
        assert_int_equal((uintptr_t)pieces[k] % 256, 0);
        assert_int_equal(cuda->taken(context, pieces[k]), sizes[k]);
        for (int j = 0; j < k; j++)
            assert_true(pieces[k] >= pieces[j] + sizes[j] || pieces[j] >= pieces[k] + sizes[k]);
    }
}

static void release(char *piece, int k)
{
    cuda->release(context, piece, sizes[k]);
    assert_int_equal(cuda->taken(context, piece), 0);
}

static void test_pieces_are_taken_at_once(void **state)
{
    char *pieces[PIECES];
    (void)state;
    cuda->reserve(context, PIECES, all_bytes());
    take_all(pieces);
    assert_int_equal(calls, 1);
    void *more = cuda->alloc(context, 1 << 20); /* was not announced */
    assert_int_equal(calls, 2);
    cuda->release(context, more, 1 << 20);
    assert_int_equal(freed, 1);
    for (int k = PIECES - 1; k >= 0; k--) {
        assert_int_equal(freed, 1);
        release(pieces[k], k);
    }
    assert_int_equal(freed, 2); /* with the last piece */
    take_all(pieces);
    assert_int_equal(calls, 2 + PIECES);
    for (int k = 0; k < PIECES; k++) release(pieces[k], k);
    assert_int_equal(freed, 2 + PIECES);
}

static void test_little_memory_is_not_reserved(void **state)
{
    (void)state;
    cuda->reserve(context, 5, 5000);
    cuda->reserve(context, 1, 100 << 20);
    assert_int_equal(calls, 0);
}

/* What was announced need not be there at once; it may be there in pieces. */
static void test_refused_reservation_is_no_error(void **state)
{
    char *pieces[PIECES];
    (void)state;
    ((cuda_device *)cuda)->api.driver.cuMemAlloc = refuse;
    cuda->reserve(context, PIECES, all_bytes());
    ((cuda_device *)cuda)->api.driver.cuMemAlloc = count_alloc;
    take_all(pieces);
    assert_int_equal(calls, PIECES);
    assert_true(mtf_ok(session));
    for (int k = 0; k < PIECES; k++) release(pieces[k], k);
}

/* A context that is closed gives back what it has. */
static void test_unused_reservation_is_given_back(void **state)
{
    (void)state;
    cuda->reserve(context, PIECES, all_bytes());
    assert_int_equal(calls, 1);
    cuda_close_reserved(cuda_of(context));
    assert_int_equal(freed, 1);
}

static int set_up(void **state)
{
    (void)state;
    unsetenv("MTF_TEST_CARD");
    card_libraries();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_pieces_are_taken_at_once, begin, end),
        cmocka_unit_test_setup_teardown(test_little_memory_is_not_reserved, begin, end),
        cmocka_unit_test_setup_teardown(test_refused_reservation_is_no_error, begin, end),
        cmocka_unit_test_setup_teardown(test_unused_reservation_is_given_back, begin, end),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
#else
int main(void)
{
    printf("without CUDA's headers there is no card that is the host\n");
    return 0;
}
#endif
