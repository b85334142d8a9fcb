/* Tests which filters of convolutions are copied for a GPU's library.
 *
 * Plans for GPUs need no GPU.
 */
#include "plan/plan.h"
#include "program/window_form.h"

#include "ground.h"

typedef struct row {
    const char *text, *device, *library;
    int         transposed; /* convolutions of the library, of all three */
    bool        tf32;
} row;

#define FORM(type, n, channels, outputs)                                                           \
    "x: " type "[n=" n ", h=32, w=32, c=" channels "] = input()\n"                                 \
    "f: " type "[fh=3, fw=3, c=" channels ", o=" outputs "] = input()\n"
#define GRADIENTS "g: [n, h, w, o] = y * 2\ndx, df = gradients(y; x, f; g)\n"
#define SAME "y = conv2d(x, f)\n" GRADIENTS

static const row rows[] = {
    {FORM("bf16", "2", "64", "64") SAME, "cuda", "", 3, false},
    {FORM("f16", "2", "64", "64") SAME, "cuda", "", 3, false},
    {FORM("f32", "2", "64", "64") SAME, "cuda", "", 3, true},
    /* the library is not asked for these */
    {FORM("f32", "2", "64", "64") SAME, "cuda", "all", 0, false},
    {FORM("f32", "2", "64", "64") SAME, "cuda", "", 0, false},
    {FORM("bf16", "2", "64", "64") SAME, "cpu", "", 0, false},
    {FORM("bf16", "2", "64", "64") SAME, "cuda", "no", 0, false},
    {FORM("f64", "2", "64", "64") SAME, "cuda", "all", 0, false},
    /* too little work, or channels that tensor cores do not take */
    {FORM("bf16", "1", "32", "32") SAME, "cuda", "", 0, false},
    {FORM("bf16", "1", "32", "32") SAME, "cuda", "all", 3, false},
    {FORM("bf16", "4", "60", "64") SAME, "cuda", "", 0, false},
    {FORM("bf16", "4", "64", "60") SAME, "cuda", "", 0, false},
    {FORM("bf16", "4", "64", "60") SAME, "cuda", "all", 3, false},
    /* groups */
    {"x: bf16[n=4, h=32, w=32, c=128] = input()\nf: bf16[fh=3, fw=3, ci=64, o=64] = input()\n"
     "y = conv(x, f, stride=(1, 1), dilation=(1, 1), before=(1, 1), after=(1, 1), "
     "groups=2)\n" GRADIENTS,
     "cuda", "all", 0, false},
    /* paddings of a filter's size */
    {FORM("bf16", "4", "64",
          "64") "y = conv(x, f, stride=(1, 1), dilation=(1, 1), before=(3, 1), after=(1, 1))\n"
                "dx, df = gradients(y; x, f; y)\n",
     "cuda", "", 0, false},
};

static program *plan_of(const row *r, mtf_session **s)
{
    static const char *const names[] = {"y", "dx", "df"};
    mtf_tensor              *fetches[3];
    setenv("MTF_CUDNN", r->library, 1);
    *s = mtf_open_with(&(mtf_session_opts){.threads = 1, .device = r->device, .tf32 = r->tf32});
    mtf_graph *g = mtf_parse(*s, r->text, "test");
    if (!mtf_ok(*s)) fail_msg("%s\n%s", mtf_error(*s), r->text);
    for (int k = 0; k < 3; k++) fetches[k] = mtf_find(g, names[k]);
    program *p = plan_program(g, 3, fetches, &(plan_opts){0});
    if (!p) fail_msg("%s\n%s", mtf_error(*s), r->text);
    return p;
}

/* Does it copy from or to the filter of the convolution, all of it? */
static bool moves_filter(const instr *move, const instr *window)
{
    int64_t       elements = window->window.chans * window->window.outs;
    const access *w = window_operands_of(window).w;
    for (int d = 0; d < window->window.nspatial; d++) elements *= window->window.taps[d];
    bool after = window->window.kind == WINDOW_FILTER;
    return move->kind == INSTR_MOVE && instr_elements(move) == elements &&
           (after ? move->in[0].buffer : move->out[0].buffer) == w->buffer;
}

static void test_which_are_transposed(void **unused)
{
    (void)unused;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        mtf_session *s;
        program     *p = plan_of(&rows[k], &s);
        int          windows = 0, transposed = 0, moved = 0;
        for (int n = 0; n < p->ninstrs; n++) {
            const instr *i = &p->instrs[n];
            if (i->kind != INSTR_WINDOW) continue;
            windows++;
            transposed += window_is_transposed(i);
            int beside = i->window.kind == WINDOW_FILTER ? n + 1 : n - 1;
            moved += beside >= 0 && beside < p->ninstrs && moves_filter(&p->instrs[beside], i);
        }
        if (windows != 3 || transposed != rows[k].transposed || moved != transposed)
            fail_msg("%d convolutions, %d filters transposed, %d copied; not 3, %d:\n%s", windows,
                     transposed, moved, rows[k].transposed, rows[k].text);
        program_free(p);
        close_well(s);
    }
    unsetenv("MTF_CUDNN");
}

/* A filter in another type is copied once for the convolution and its gradient. */
static void test_copied_once(void **unused)
{
    static const row r = {"x: bf16[n=2, h=32, w=32, c=64] = input()\n"
                          "v: f32[fh=3, fw=3, c=64, o=64] = variable()\nf: bf16 = cast(v)\n" SAME,
                          "cuda", "", 3, false};
    mtf_session     *s;
    program         *p = plan_of(&r, &s);
    const instr     *windows[3] = {0};
    int              moves = 0;
    (void)unused;
    for (int k = 0; k < p->ninstrs; k++) {
        const instr *i = &p->instrs[k];
        moves += i->kind == INSTR_MOVE;
        if (i->kind == INSTR_WINDOW) windows[i->window.kind] = i;
    }
    assert_int_equal(moves, 2);
    for (int k = 0; k < 3; k++) assert_true(windows[k] && window_is_transposed(windows[k]));
    assert_int_equal(windows[WINDOW_FORWARD]->in[1].buffer, windows[WINDOW_INPUT]->in[1].buffer);
    program_free(p);
    close_well(s);
}

/* Loops refer to instructions by number. */
static void test_in_a_loop(void **unused)
{
    static const char text[] =
        "x0: bf16[n=2, h=6, w=6, c=8] = input()\nf: bf16[fh=3, fw=3, c=8, o=8] = input()\n"
        "n0: i32[] = constant(value=0)\n"
        "z, n = while(x0, n0) {\n    cond(x, n) {\n        yield less(n, 3)\n    }\n"
        "    body(x, n) {\n        a: bf16[n=2, h=6, w=6, c=8] = conv(x, f, stride=(1, 1), "
        "dilation=(1, 1), before=(1, 1), after=(1, 1))\n        yield a, n + 1\n    }\n}\n";
    (void)unused;
    setenv("MTF_CUDNN", "all", 1);
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.threads = 1, .device = "cuda"});
    mtf_graph   *g = mtf_parse(s, text, "test");
    assert_string_equal(mtf_error(s), "");
    mtf_tensor *z = mtf_find(g, "z");
    program    *p = plan_program(g, 1, &z, &(plan_opts){0});
    assert_string_equal(mtf_error(s), "");
    int transposed = 0;
    for (int k = 0; k < p->ninstrs; k++) {
        const instr *i = &p->instrs[k];
        transposed += i->kind == INSTR_WINDOW && window_is_transposed(i);
        if (i->kind == INSTR_LOOP) assert_int_equal(p->instrs[i->loop.other].kind, INSTR_AGAIN);
        if (i->kind == INSTR_AGAIN) assert_int_equal(p->instrs[i->loop.other].kind, INSTR_LOOP);
        if (i->kind == INSTR_TEST) assert_int_equal(p->instrs[i->loop.other].kind, INSTR_AGAIN);
    }
    assert_int_equal(transposed, 1);
    program_free(p);
    close_well(s);
    unsetenv("MTF_CUDNN");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_which_are_transposed),
                                       cmocka_unit_test(test_copied_once),
                                       cmocka_unit_test(test_in_a_loop)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
