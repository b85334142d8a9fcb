/* Statistics of tensors, selected by name, in each step. */
#include "model/statistics.h"

#include "base/dtype.h"
#include "base/pattern.h"

const char *const statistic_names[STATISTICS] = {"mean", "stddev", "min", "max", "nonfinite"};

/* x - x is 0 for a finite x, and NaN for an infinity or a NaN. */
static mtf_tensor *count_nonfinite(mtf_tensor *x)
{
    mtf_tensor *strange = mtf_isnan(mtf_sub(x, x));
    return mtf_cast(mtf_reduce_sum(mtf_cast(strange, MTF_I64), MTF_ALL), MTF_F64);
}

static void add_five(mtf_tensor *x, mtf_tensor **values)
{
    if (x->type != MTF_F64) x = mtf_cast(x, MTF_F32);
    mtf_tensor *mean = mtf_reduce_mean(x, MTF_ALL);
    values[0] = mean;
    values[1] = mtf_sqrt(mtf_reduce_mean(mtf_square(mtf_sub(x, mean)), MTF_ALL));
    values[2] = mtf_reduce_min(x, MTF_ALL);
    values[3] = mtf_reduce_max(x, MTF_ALL);
    values[4] = count_nonfinite(x);
}

static bool is_watchable(const mtf_tensor *x)
{
    return x->node->home == &x->node->graph->root && !x->hidden && mtf_shape_size(x->shape) > 0;
}

static bool nothing_to_watch(mtf_graph *g, const char *pattern)
{
    nearest near = {.wanted = pattern};
    char    hint[120];
    for (int i = 0; i < g->ntensors; i++)
        if (is_watchable(g->all[i])) nearest_offer(&near, tensor_name(g->all[i]));
    return fail(&g->session->fault, ERR_USAGE,
                "no tensor's name matches \"%s\", which is to be watched%s", pattern,
                nearest_hint(&near, hint, sizeof hint));
}

bool statistics_add(mtf_graph *g, const char *pattern, statistics *all)
{
    int    before = g->ntensors;
    fault *f = &g->session->fault;
    *all = (statistics){.names = arena_array(&g->arena, const char *, before),
                        .values = arena_array(&g->arena, mtf_tensor *, before * STATISTICS)};
    TRY(all->names && all->values);
    for (int i = 0; i < before; i++) {
        mtf_tensor *x = g->all[i];
        if (!is_watchable(x) || !pattern_matches(pattern, tensor_name(x), f)) continue;
        all->names[all->count] = tensor_name(x);
        add_five(x, all->values + all->count++ * STATISTICS);
    }
    return mtf_ok(g->session) && (all->count > 0 || nothing_to_watch(g, pattern));
}
