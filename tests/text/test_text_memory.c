/* Tests that text larger than memory should be takes little of it.
 *
 * A program of its own, because the most memory that a process has ever had cannot be reset.
 */
#include <sys/resource.h>

#include "text_rows.h"

enum { BATCH = 64, LENGTH = 128, MIB = 1 << 20, SIZE = 64 * MIB, BOUND = 56 * MIB };

static int64_t most_memory(void)
{
    struct rusage use;
    assert_int_equal(getrusage(RUSAGE_SELF, &use), 0);
    return (int64_t)use.ru_maxrss << 10;
}

/* Paragraphs of many lengths. */
static const char *write_book(const char *name)
{
    const char *path = scratch_path(name);
    FILE       *f = fopen(path, "wb");
    assert_non_null(f);
    for (int64_t size = 0, k = 0; size < SIZE; k++) {
        size += fprintf(f, "Call me %lld.\n", (long long)k);
        if (k % (1 + k / 1000 % 50) == 0) size += fprintf(f, "\n");
    }
    assert_int_equal(fclose(f), 0);
    return path;
}

static void some_windows(mtf_text_opts o, const char *words)
{
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.threads = 1});
    mtf_graph   *g = mtf_graph_new(s);
    mtf_tensor  *x = mtf_input(g, "targets", MTF_I32,
                               mtf_shape((mtf_dim){"batch", BATCH}, (mtf_dim){"length", LENGTH}));
    mtf_program *p = mtf_compile(g, mtf_scale(x, 2));
    int64_t      before = most_memory(), batches = 0;
    o.length = LENGTH;
    mtf_batches *b =
        mtf_batches_new(open_text_well(s, o), p, &(mtf_batches_opts){.epochs = 1, .shuffle = true});
    while (batches < 3000 && mtf_batches_next(b)) batches++;
    assert_string_equal(mtf_error(s), "");
    if (batches < 1000) fail_msg("only %d batches of %s", (int)batches, words);
    int64_t more = most_memory() - before;
    if (more > BOUND)
        fail_msg("%s: %d MiB more memory for %d MiB of text", words, (int)(more / MIB), SIZE / MIB);
    close_well(s);
}

static void takes_little_memory(void **state)
{
    (void)state;
    const char *path = write_book("book.txt");
    some_windows((mtf_text_opts){.files = path, .joined = true}, "joined text");
    some_windows((mtf_text_opts){.files = path, .documents = MTF_DOCUMENTS_LINE, .pack = true},
                 "packed lines");
    some_windows((mtf_text_opts){.files = path}, "paragraphs");
    some_windows((mtf_text_opts){.files = path, .documents = MTF_DOCUMENTS_LINE}, "lines");
}

static void takes_little_memory_of_tokens(void **state)
{
    (void)state;
    static uint16_t some[1 << 16];
    const char     *path = scratch_path("book.u16");
    FILE           *f = fopen(path, "wb");
    assert_non_null(f);
    for (int i = 0; i < 1 << 16; i++) some[i] = (uint16_t)(i % 97 ? 4 + i % 200 : 1);
    for (int64_t size = 0; size < 2 * SIZE; size += (int64_t)sizeof some)
        assert_int_equal(fwrite(some, sizeof some, 1, f), 1);
    assert_int_equal(fclose(f), 0);
    some_windows((mtf_text_opts){.files = path, .joined = true}, "joined tokens");
    some_windows((mtf_text_opts){.files = path}, "texts of tokens");
}

int main(void)
{
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    return puts("note: memory was not measured: sanitizers keep some of their own\n"
                "text_memory: 0 passed, 0 failed"),
           0;
#endif
    const struct CMUnitTest tests[] = {cmocka_unit_test(takes_little_memory),
                                       cmocka_unit_test(takes_little_memory_of_tokens)};
    return cmocka_run_group_tests_name("text_memory", tests, scratch_make, scratch_drop);
}
