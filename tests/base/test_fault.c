/* Tests that every thread sees the first error complete. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"

enum { WRITERS = 3, ROUNDS = 300 };

static const char sentence[] =
    "value: a sentence of some length, so that its writing takes a while";

typedef struct round {
    fault       fault;
    _Atomic int begin, wrong;
} round;

/* Whoever has failed, first or not, finds the error whole. */
static void *write_it(void *what)
{
    round *r = what;
    while (!r->begin) sched_yield();
    fail(&r->fault, ERR_VALUE, "a sentence of %s length, so that its writing takes a while",
         "some");
    if (r->fault.kind != ERR_VALUE || strcmp(r->fault.text, sentence) != 0) r->wrong++;
    return NULL;
}

/* So does whoever only looks. */
static void *read_it(void *what)
{
    round *r = what;
    r->begin = 1;
    while (r->fault.kind == ERR_NONE) {}
    if (strcmp(r->fault.text, sentence) != 0) r->wrong++;
    return NULL;
}

#include <cmocka.h>

static void test_text_before_kind(void **state)
{
    (void)state;
    for (int k = 0; k < ROUNDS; k++) {
        round     r = {0};
        pthread_t writers[WRITERS], reader;
        for (int w = 0; w < WRITERS; w++)
            assert_int_equal(pthread_create(&writers[w], NULL, write_it, &r), 0);
        assert_int_equal(pthread_create(&reader, NULL, read_it, &r), 0);
        for (int w = 0; w < WRITERS; w++) pthread_join(writers[w], NULL);
        pthread_join(reader, NULL);
        assert_int_equal(r.wrong, 0);
    }
}

static void test_words_are_added(void **state)
{
    (void)state;
    fault f = {0};
    fault_more(&f, ERR_MEMORY, " for \"%s\"", "w");
    assert_string_equal(f.text, "");
    fault_take(&f, ERR_MEMORY, "memory: none is left");
    fault_more(&f, ERR_VALUE, " for \"%s\"", "v");
    fault_more(&f, ERR_MEMORY, " for \"%s\"", "w");
    fault_whose(&f, "processor x=1");
    assert_string_equal(f.text, "memory: processor x=1: none is left for \"w\"");
    for (int k = 0; k < 200; k++) fault_more(&f, ERR_MEMORY, ", and more");
    assert_int_equal(strlen(f.text), sizeof f.text - 1);
}

static void test_first_is_kept_until_cleared(void **state)
{
    (void)state;
    fault f = {0};
    assert_true(fault_take(&f, ERR_FILE, "file: the first"));
    assert_false(fault_take(&f, ERR_TYPE, "type: the second"));
    assert_string_equal(f.text, "file: the first");
    fault_clear(&f);
    assert_int_equal(f.kind, ERR_NONE);
    assert_string_equal(f.text, "");
    assert_true(fault_take(&f, ERR_TYPE, "type: another"));
    fault_whose(&f, "rank 1");
    fault_whose(&f, "rank 2");
    assert_string_equal(f.text, "type: rank 1: another");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_before_kind),
        cmocka_unit_test(test_first_is_kept_until_cleared),
        cmocka_unit_test(test_words_are_added),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
