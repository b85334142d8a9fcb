/* Tests that positions are computed where they are read. */
#include "plan/plan.h"
#include "program/program.h"

#include "ground.h"

typedef struct counts {
    int maps, alone, positions; /* maps without an operand; maps that ask for a position */
} counts;

static counts plan(const char *text, bool recomputes)
{
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.threads = 1});
    s->can.recomputes = recomputes;
    mtf_graph  *g = mtf_parse(s, text, "positions");
    mtf_tensor *all[] = {mtf_find(g, "y"), mtf_find(g, "z")};
    program    *p = plan_program(g, 2, all, NULL);
    counts      c = {0};
    assert_string_equal(mtf_error(s), "");
    for (int k = 0; k < p->ninstrs; k++) {
        const instr *i = &p->instrs[k];
        bool         asks = false;
        if (i->kind != INSTR_MAP) continue;
        for (int n = 0; n < i->map.nsteps; n++) asks = asks || i->map.steps[n].fn == FN_INDEX;
        c.maps++;
        c.alone += i->nin == 0;
        c.positions += asks;
    }
    program_free(p);
    close_well(s);
    return c;
}

/* Two maps that cannot be one, as a loss and its gradient: each counts for itself. */
static const char two_readers[] = "x: f32[r=64, c=48] = input\nt: i32[r=64] = input\n"
                                  "p: i32[c=48] = range\nw: f32[c=48, d=32] = variable\n"
                                  "y: [r, d] = einsum(where(equal(t, p), x, 0), w)\n"
                                  "z: [r, d] = einsum(where(less(t, p), 0, x), w)\n";

static void test_each_reader_counts_for_itself(void **state)
{
    (void)state;
    counts c = plan(two_readers, true);
    assert_int_equal(c.alone, 0);
    assert_int_equal(c.positions, c.maps);
}

/* Where memory is near, they are stored. */
static void test_elsewhere_they_are_stored(void **state)
{
    (void)state;
    counts c = plan(two_readers, false);
    assert_int_equal(c.alone, 1);
    assert_int_equal(c.positions, 1);
}

/* What is fetched is stored as well. */
static void test_fetched_positions_are_there(void **state)
{
    (void)state;
    counts c = plan("x: f32[r=64, c=48] = input\nz: f32[c=48] = range\ny = x * z\n", true);
    assert_int_equal(c.alone, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_reader_counts_for_itself),
        cmocka_unit_test(test_elsewhere_they_are_stored),
        cmocka_unit_test(test_fetched_positions_are_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
