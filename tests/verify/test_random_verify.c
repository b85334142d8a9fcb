/* Verifies random programs on random meshes, few results fetched.
 *
 * Usage: test_random_verify [first seed] [how many]
 */
#include "../property/property_case.h"
#include "verify/verify.h"

#include "ground.h"

enum { CASES = 2000 };

typedef struct random_tally {
    int passed, failed;
} random_tally;

/* False where the rules put two dimensions of a tensor on one axis: one of them was dropped. */
static bool try_case(random_tally *t, uint64_t seed, property_case *c, dice *d)
{
    static char   text[TEXT_ROOM];
    char          where[200], rules[MAX_RULES * LINE_ROOM / 8];
    mesh          m;
    layout        l;
    mtf_tensor   *fetches[MAX_FETCHES];
    verify_answer a = {0};
    mtf_session  *s = mtf_open_with(&(mtf_session_opts){.threads = 1});
    case_text(c, text);
    case_mesh(c, where, sizeof where);
    case_layout(c, rules, sizeof rules);
    mtf_graph *g = mtf_parse(s, text, "random");
    bool       ok = g && mesh_parse(s, where, &m) && layout_parse(s, rules, &m, &l) &&
              layout_parse_state(s, c->state_layout, &l);
    int n = 0;
    for (; ok && n < c->nfetches; n++) fetches[n] = mtf_find(g, c->fetches[n].name);
    ok = ok && verify_graph(g, n, fetches, &(verify_opts){.layout = &l, .seed = seed}, &a);
    bool legal = ok || !case_drop_rule(c, d, mtf_error(s));
    if (ok && a.equal) {
        t->passed++;
    } else if (legal) {
        t->failed++;
        printf("seed %llu, --mesh %s --layout %s --state-layout \"%s\"", (unsigned long long)seed,
               where, rules, c->state_layout);
        for (int k = 0; k < n; k++) printf(" --fetch %s", mtf_name_of_tensor(fetches[k]));
        printf(": %s %s after %s%s\n", mtf_error(s),
               a.first.tensor ? mtf_name_of_tensor(a.first.tensor) : "", plan_pass_name(a.pass),
               a.stuck ? a.stuck : "");
        puts(text);
    }
    mtf_close(s);
    return legal;
}

int main(int argc, char **argv)
{
    random_tally t = {0};
    uint64_t     first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    int          cases = argc > 2 ? atoi(argv[2]) : asked_much(CASES, CASES / 5);
    for (uint64_t seed = first; seed < first + (uint64_t)cases; seed++) {
        static property_case c;
        static char          dims[MOST_DIMS][NAME_ROOM];
        dice                 d = {seed * 0x9e3779b97f4a7c15u + 7};
        case_make_program(&c, seed);
        int n = case_dims(&c, MOST_DIMS, dims);
        if (n < 0) continue;
        case_make_layout(&c, &d, n, dims);
        c.automatic = false;
        while (!try_case(&t, seed, &c, &d)) continue;
    }
    printf("test_random_verify: %d passed, %d failed\n", t.passed, t.failed);
    return t.failed != 0;
}
