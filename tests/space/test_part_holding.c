/* Which part of a dimension has an element. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "space/mesh.h"

#include <cmocka.h>

static void holds(int64_t size, int parts, int64_t element)
{
    int  k = part_holding(size, parts, element);
    span r = part_range(size, parts, k);
    assert_in_range(k, 0, parts - 1);
    assert_in_range(element, r.begin, r.begin + r.size - 1);
}

/* Parts without elements included: there are more parts than elements. */
static void test_all_small(void **state)
{
    (void)state;
    for (int64_t size = 1; size <= 40; size++)
        for (int parts = 1; parts <= 50; parts++)
            for (int64_t element = 0; element < size; element++) holds(size, parts, element);
}

/* Where (element + 1) * parts no longer fits 64 bits, the part is found from an estimate. */
static void test_huge(void **state)
{
    (void)state;
    const int64_t sizes[] = {INT64_MAX / 65536 - 1, INT64_MAX / 65536 + 1, ((int64_t)1 << 58) - 3};
    const int     parts[] = {3, 65535, 65536, 1000003};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (size_t p = 0; p < sizeof parts / sizeof *parts; p++)
            for (int part = 0; part < parts[p]; part += parts[p] / 3) {
                span r = part_range(sizes[s], parts[p], part);
                holds(sizes[s], parts[p], r.begin);
                holds(sizes[s], parts[p], r.begin + r.size - 1);
                if (part) holds(sizes[s], parts[p], r.begin - 1);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_small),
        cmocka_unit_test(test_huge),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
