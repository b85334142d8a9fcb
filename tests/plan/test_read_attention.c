/* Tests which gradients of attention read what attention gave.
 *
 * Plans for GPUs need no GPU.
 */
#include "plan/plan.h"

#include "ground.h"

#define OPERANDS(type)                                                                             \
    "q: " type "[b=3, i=8, h=2, d=16] = input()\nk: " type "[b=3, m=6, h=2, d=16] = input()\n"     \
    "v: " type "[b=3, m=6, h=2, d=16] = input()\ng: " type "[b=3, i=8, h=2, d=16] = input()\n"
#define ATTEND "query=i, memory=m, key=d, value=d"
#define GRADIENTS "dq, dk, dv = gradients(y; q, k, v; g)\n"

typedef struct row {
    const char *text, *device;
    bool        reads; /* y */
} row;

static const row rows[] = {
    {OPERANDS("bf16") "y, l = attention(q, k, v, " ATTEND ")\n" GRADIENTS, "cuda", true},
    {OPERANDS("f16") "y, l = attention(q, k, v, " ATTEND ", max_relative=0)\n" GRADIENTS, "cuda",
     true},
    /* the gradient of y comes from a map that computes delta as well */
    {OPERANDS("bf16") "y, l = attention(q, k, v, " ATTEND ")\nw = y * g\n"
                      "dq, dk, dv = gradients(w; q, k, v; g)\n",
     "cuda", true},
    /* the library is not asked for these */
    {OPERANDS("bf16") "y, l = attention(q, k, v, " ATTEND ")\n" GRADIENTS, "cpu", false},
    {OPERANDS("f32") "y, l = attention(q, k, v, " ATTEND ")\n" GRADIENTS, "cuda", false},
    {OPERANDS("bf16") "n: bf16[i=8, m=6] = input()\n"
                      "y, l = attention(q, k, v, n, " ATTEND ", with=(bias))\n" GRADIENTS,
     "cuda", false},
    {OPERANDS("bf16") "s: i32[b=3, i=8] = input()\nt: i32[b=3, m=6] = input()\n"
                      "y, l = attention(q, k, v, s, t, " ATTEND
                      ", with=(query_segment, memory_segment))\n" GRADIENTS,
     "cuda", false},
    /* delta is not the sum of dy y alone */
    {OPERANDS("bf16") "e: f32[b=3, i=8, h=2] = input()\ny, l = attention(q, k, v, " ATTEND ")\n"
                      "dq, dk, dv = gradients(y, l; q, k, v; g, e)\n",
     "cuda", false},
};

static bool reads_y(const row *r)
{
    static const char *const names[] = {"dq", "dk", "dv"};
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.threads = 1, .device = r->device});
    mtf_graph   *g = mtf_parse(s, r->text, "test");
    mtf_tensor  *fetches[3];
    int          y = -1, found = -1;
    assert_string_equal(mtf_error(s), "");
    for (int k = 0; k < 3; k++) fetches[k] = mtf_find(g, names[k]);
    program *p = plan_program(g, 3, fetches, &(plan_opts){0});
    assert_string_equal(mtf_error(s), "");
    for (int k = 0; k < p->ninstrs; k++) {
        const instr *i = &p->instrs[k];
        if (i->kind == INSTR_ATTENTION) y = i->out[0].buffer;
        if (i->kind != INSTR_ATTENTION_GRAD) continue;
        assert_int_equal(found, -1);
        found = i->attention->at[ATTENTION_Y];
        if (found < 0) continue;
        const access *a = &i->in[found], *dy = &i->in[i->attention->at[ATTENTION_DY]];
        assert_int_equal(a->buffer, y);
        assert_int_equal(i->attention->first_iteration, i->nin);
        for (int l = 0; l < i->nloops; l++) assert_int_equal(a->stride[l], dy->stride[l]);
    }
    program_free(p);
    close_well(s);
    return found >= 0;
}

static void test_who_reads_y(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        if (reads_y(&rows[k]) != rows[k].reads)
            fail_msg("for %s, y should%s be read:\n%s", rows[k].device, rows[k].reads ? "" : " not",
                     rows[k].text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_who_reads_y)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
