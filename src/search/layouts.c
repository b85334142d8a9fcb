/* The public call: the best layouts of a graph. */
#include "search/automatic.h"

int mtf_layout_find(mtf_graph *g, int n, mtf_tensor *const *fetches, const mtf_layout_opts *opts,
                    int room, mtf_layout_found *found)
{
    static const mtf_layout_opts none = {0};
    if (!g || !mtf_ok(g->session) || room < 1) return 0;
    for (int i = 0; i < n; i++)
        if (!fetches[i]) return 0;
    if (!opts) opts = &none;
    automatic_opts   how = {.mesh = opts->mesh,
                            .layout = opts->layout ? opts->layout : "auto",
                            .state_layout = opts->state_layout,
                            .smallest = opts->objective == MTF_SMALLEST,
                            .limit = (int64_t)opts->memory,
                            .most_axes = opts->most_axes,
                            .want = room,
                            .seconds = opts->seconds};
    automatic_answer answer;
    abilities        here = g->session->can;
    if (!rates_default(g->session, &how.rates)) return 0;
    if (opts->machine && !rates_choose(g->session, opts->machine, &how.rates)) return 0;
    if (!how.limit) how.limit = (int64_t)how.rates.capacity;
    rates_plan_for(&how.rates, g->session);
    bool ok = automatic_find(g, n, fetches, &how, &answer);
    g->session->can = here;
    if (!ok) return 0;
    for (int k = 0; k < answer.n; k++) {
        const found_layout *x = &answer.best[k];
        found[k] = (mtf_layout_found){.mesh = x->mesh_text,
                                      .layout = x->layout_text,
                                      .state_layout = x->state_text,
                                      .seconds = x->cost.seconds,
                                      .peak_bytes = x->cost.peak,
                                      .sent_bytes = x->cost.sent,
                                      .gap = answer.search.gap};
    }
    return answer.n;
}
