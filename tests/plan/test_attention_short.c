/* Tests in which type attention's gradients are computed.
 *
 * Results of bf16 and f16 are rounded by the instruction itself, unless processors add them up
 * first: then the parts are f32.
 */
#include "plan/plan.h"

#include "ground.h"

#define HEADS                                                                                      \
    "q: $[b=4, h=2, i=6, d=4] = input\nk: $[b=4, h=2, m=6, d=4] = input\nv: $[b=4, h=2, m=6, "     \
    "d=4] = input\n"
#define ONE_HEAD                                                                                   \
    "q: $[b=4, h=2, i=6, d=4] = input\nk: $[b=4, m=6, d=4] = input\nv: $[b=4, m=6, d=4] = input\n"
#define ITSELF                                                                                     \
    "q: $[b=4, h=2, i=6, d=4] = input\nk: $[b=4, h=2, i=6, d=4] = input\nv: $[b=4, h=2, i=6, "     \
    "d=4] = input\n"
#define BIASED HEADS "n: $[h=2, i=6, m=6] = input\n"
#define ATTEND "y, l = attention(q, k, v, query=i, memory=m, key=d, value=d)\n"
#define ATTEND_ITSELF                                                                              \
    "y, l = attention(q, k, v, query=i, memory=i, key=d, value=d, max_relative=0)\n"
#define ATTEND_BIASED                                                                              \
    "y, l = attention(q, k, v, n, query=i, memory=m, key=d, value=d, with=(bias))\n"

/* S: a result of the inputs' type; W: of the type of its sum. */
typedef struct row {
    const char *text, *mesh, *layout, *types;
} row;

static const row rows[] = {
    {HEADS ATTEND, "p:1", "", "SSS"},
    {HEADS ATTEND, "p:2", "b:p", "SSS"},
    {HEADS ATTEND, "p:2", "h:p", "SSS"},
    {HEADS ATTEND, "p:2", "m:p", "WSS"},
    {HEADS ATTEND, "p:2", "i:p", "SWW"},
    {HEADS ATTEND, "p:2,q:2", "b:p,m:q", "WSS"},
    {ONE_HEAD ATTEND, "p:1", "", "SSS"},
    {ONE_HEAD ATTEND, "p:2", "b:p", "SSS"},
    {ONE_HEAD ATTEND, "p:2", "h:p", "SWW"},
    {ITSELF ATTEND_ITSELF, "p:1", "", "SSS"},
    {ITSELF ATTEND_ITSELF, "p:2", "h:p", "SSS"},
    {ITSELF ATTEND_ITSELF, "p:2", "i:p", "SWW"},
    {BIASED ATTEND_BIASED, "p:1", "", "SSSW"},
    {BIASED ATTEND_BIASED, "p:2", "b:p", "SSSW"},
};

static void write_text(const row *r, const char *type, char *text, size_t size)
{
    size_t used = 0;
    char   both[1000];
    bool   biased = strlen(r->types) == 4;
    snprintf(both, sizeof both,
             "%sz: f64 = cast(y)\ndq, dk, dv%s = gradients(reduce_sum(z * z); q, k, v%s)\n",
             r->text, biased ? ", dn" : "", biased ? ", n" : "");
    for (const char *p = both; *p; p++)
        used += (size_t)snprintf(text + used, size - used, "%.*s", *p == '$' ? 9 : 1,
                                 *p == '$' ? type : p);
    assert_true(used < size);
}

static void check_types(const row *r, const program *p, mtf_dtype type)
{
    int found = 0;
    for (int i = 0; i < p->ninstrs; i++) {
        const instr *a = &p->instrs[i];
        if (a->kind != INSTR_ATTENTION_GRAD) continue;
        found++;
        assert_int_equal(a->nout, (int)strlen(r->types));
        for (int o = 0; o < a->nout; o++) {
            mtf_dtype right = r->types[o] == 'W' && type != MTF_F64 ? MTF_F32 : type;
            if (a->out[o].type != right)
                fail_msg("%s--layout %s: result %d is %s, not %s", r->text, r->layout, o,
                         mtf_dtype_name(a->out[o].type), mtf_dtype_name(right));
        }
    }
    assert_int_equal(found, 1);
}

static void test_rounded_where_nothing_is_owed(void **state)
{
    static const char *const names[] = {"dq", "dk", "dv", "dn"};
    static const mtf_dtype   types[] = {MTF_BF16, MTF_F16, MTF_F32, MTF_F64};
    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
            const row   *r = &rows[k];
            char         text[2000];
            mesh         m;
            layout       l;
            mtf_session *s = mtf_open_with(&(mtf_session_opts){.threads = 1});
            write_text(r, mtf_dtype_name(types[t]), text, sizeof text);
            mtf_graph *g = mtf_parse(s, text, "short");
            if (!g) fail_msg("%s\n%s", mtf_error(s), text);
            mtf_tensor *all[4];
            int         n = (int)strlen(r->types);
            for (int o = 0; o < n; o++) all[o] = mtf_find(g, names[o]);
            assert_true(mesh_parse(s, r->mesh, &m) && layout_parse(s, r->layout, &m, &l));
            for (int here = 0; here < mesh_size(&m); here++) {
                program *p = plan_program(g, n, all,
                                          &(plan_opts){.layout = &l, .here = mesh_place(&m, here)});
                assert_string_equal(mtf_error(s), "");
                check_types(r, p, types[t]);
                program_free(p);
            }
            close_well(s);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rounded_where_nothing_is_owed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
