/* Session, fetches, mesh, layout and machine of a command line. */
#include "cli/choices.h"

#include <assert.h>

#include "cli/graph_file.h"
#include "cli/thread_limit.h"
#include "machine/launch.h"
#include "run/devices.h"
#include "microbatch/fewest.h"
#include "price/decline.h"
#include "search/automatic.h"

/* ---- the session ------------------------------------------------------------------------ */

mtf_session *choose_session(const options *o, bool measure, int *status)
{
    uint64_t seed = 0, threads = 0, memory = 0, patience = 0;
    *status = STATUS_USAGE;
    if (!option_number(o, "seed", 0, UINT64_MAX, &seed) ||
        !option_number(o, "threads", 1, 1024, &threads) ||
        !option_number(o, "patience", 1, 1000000000, &patience) ||
        !option_bytes(o, "memory", &memory))
        return NULL;
    mtf_session *s =
        file_session(&(mtf_session_opts){.seed = seed,
                                         .threads = (int)threads,
                                         .device = option_nth(o, "device", 0),
                                         .memory = (size_t)memory,
                                         .mesh = option_nth(o, "mesh", 0),
                                         .layout = option_nth(o, "layout", 0),
                                         .state_layout = option_nth(o, "state-layout", 0),
                                         .machine = option_nth(o, "machine", 0),
                                         .patience = (int)patience,
                                         .tf32 = option_given(o, "tf32"),
                                         .measure = measure});
    *status = STATUS_FAILED;
    if (s) s->layout_starts = o->starts;
    if (!s || threads_suit(o, s)) return s;
    *status = close_session(s);
    return NULL;
}

mtf_session *planning_session(const options *o)
{
    return file_session(
        &(mtf_session_opts){.device = option_nth(o, "device", 0), .tf32 = option_given(o, "tf32")});
}

/* ---- fetches, mesh and layout ------------------------------------------------------------ */

int choose_fetches(const options *o, mtf_graph *g, mtf_tensor ***list)
{
    int n = 0;
    while (option_nth(o, "fetch", n)) n++;
    if (n == 0) return file_ends(g, list);
    *list = arena_array(&g->session->arena, mtf_tensor *, n);
    if (!*list) return -1;
    int kept = 0;
    for (int i = 0; i < n; i++) {
        mtf_tensor *x = file_find(g, option_nth(o, "fetch", i));
        if (!x) {
            option_blame(g->session, "fetch");
            return -1;
        }
        bool listed = false;
        for (int k = 0; k < kept; k++) listed |= (*list)[k] == x;
        if (!listed) (*list)[kept++] = x;
    }
    return kept;
}

/* Parses the texts, each of which may be NULL. */
static bool choice_parse(mtf_session *s, const char *m, const char *rules, const char *state,
                         choice *c)
{
    return mesh_parse(s, m ? m : "", &c->mesh) &&
           layout_parse(s, rules ? rules : "", &c->mesh, &c->layout) &&
           layout_parse_state(s, state, &c->layout);
}

/* Memory includes work space, as in a run, even where a command computes no prices. */
bool choose_mesh(const options *o, mtf_graph *g, int n, mtf_tensor *const *fetches,
                 const price_rates *r, choice *c)
{
    price_rates rates = *r;
    site        at;
    const char *m = option_nth(o, "mesh", 0), *rules = option_nth(o, "layout", 0),
               *state = option_nth(o, "state-layout", 0);
    automatic_answer found = {0};
    if (!rates.site) TRY(choose_site(o, g->session, &rates, &at));
    if (automatic_is_asked(m, rules, state)) {
        automatic_opts how = {.mesh = m,
                              .layout = rules,
                              .state_layout = state,
                              .whole_batch = o->whole_batch,
                              .rates = rates,
                              .limit = (int64_t)r->capacity,
                              .starts = o->starts};
        TRY(automatic_find(g, n, fetches, &how, &found));
        c->found = !rules || automatic_is_asked(NULL, rules, NULL);
        m = found.best[0].mesh_text;
        rules = found.best[0].layout_text;
        state = found.best[0].state_text;
    }
    estimate_opts how = {.mesh = &c->mesh, .rates = rates};
    TRY(choice_parse(g->session, m, rules, state, c));
    c->state = c->layout.state;
    c->nstate = c->layout.nstate;
    how.layout = &c->layout;
    if (g->batch.name && !g->parts)
        TRY(microbatch_fewest(g, n, fetches, &how, (int64_t)r->capacity));
    TRY(microbatch_graph(g, n, fetches, &c->planned));
    TRY(decline_state_rules(c->planned.graph, n, c->planned.fetches, &how, &c->layout));
    if (found.n && found.best[0].layout.ndeclined) {
        c->layout.declined = found.best[0].layout.declined;
        c->layout.ndeclined = found.best[0].layout.ndeclined;
    }
    return true;
}

bool choose_processor(const options *o, mtf_session *s, const mesh *m, int *number)
{
    const char *text = option_nth(o, "processor", 0);
    uint64_t    n = (uint64_t)*number;
    if (!text || !option_number(o, "processor", 0, MAX_PROCESSORS - 1, &n)) return !text;
    if (n >= (uint64_t)mesh_size(m))
        return fail(&s->fault, ERR_USAGE, "--processor %s: the mesh has processors 0 to %d", text,
                    mesh_size(m) - 1);
    *number = (int)n;
    return true;
}

bool choose_machine(const options *o, mtf_session *s, price_rates *r)
{
    const char *text = option_nth(o, "machine", 0);
    TRY(rates_default(s, r) && (!text || rates_choose(s, text, r)));
    rates_plan_for(r, s);
    return true;
}

bool choose_planned_machine(const options *o, mtf_session *s, price_rates *r)
{
    TRY(choose_machine(o, s, r));
    if (!r->gpu || option_given(o, "device")) return true;
    TRY(devices_use(s, "cuda"));
    rates_plan_for(r, s);
    return true;
}

bool choose_site(const options *o, mtf_session *s, price_rates *r, site *at)
{
    uint64_t    ranks = 0, hosts = 0;
    const char *text = option_nth(o, "mesh", 0);
    mesh        m;
    TRY(option_number(o, "ranks", 1, MAX_PROCESSORS, &ranks));
    TRY(option_number(o, "hosts", 1, MAX_PROCESSORS, &hosts));
    TRY(mesh_parse(s, text ? text : "", &m));
    int processors = mesh_size(&m), nodes = r->node ? (processors + r->node - 1) / r->node : 1;
    assert(nodes > 0);
    if (!hosts) hosts = (uint64_t)nodes;
    if (!ranks) ranks = (uint64_t)(nodes > 1 ? processors : launch_find().size);
    if (ranks && ranks < hosts && option_given(o, "ranks") && option_given(o, "hosts"))
        return fail(&s->fault, ERR_USAGE,
                    "%llu ranks cannot be on %llu hosts: each has one at least",
                    (unsigned long long)ranks, (unsigned long long)hosts);
    if (ranks < hosts) ranks = hosts;
    if (ranks > (uint64_t)processors)
        return fail(&s->fault, ERR_USAGE, "a mesh of %d processor%s has no use for %llu %s",
                    processors, processors == 1 ? "" : "s", (unsigned long long)ranks,
                    ranks == hosts ? "hosts" : "ranks");
    *at = devices_site(s, (int)((uint64_t)s->opts.threads * hosts / ranks));
    at->ranks = (int)ranks;
    at->hosts = (int)hosts;
    r->site = at;
    return true;
}
