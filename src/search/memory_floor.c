/* Why nothing fits: variables and working space are the same for every batch, the rest is not. */
#include "search/memory_floor.h"

/* Variables that processors store alike can be cut further. */
static void write_variables(const price_memory *m, const estimate_opts *how, textbuf *t)
{
    bool cut = how->layout->nstate > 0 || mesh_size(how->mesh) == 1;
    text_add(t, "variables alone take %lld: use %smore processors",
             (long long)(m->parameters + m->state), cut ? "" : "--state-layout auto or ");
}

static void write_space(const price_memory *m, textbuf *t)
{
    text_add(t,
             "variables take %lld of these, and the working space of kernels and collectives %lld, "
             "which no smaller batch lessens",
             (long long)(m->parameters + m->state), (long long)(m->scratch + m->wire));
}

/* Inputs, constants and activations. */
static void write_rest(const mtf_graph *g, textbuf *t)
{
    bool divided = !g->batch.name || 2 * g->parts > g->batch.size;
    if (!divided)
        text_add(t, "make the batch smaller, or recompute");
    else if (g->batch.name && g->parts > 1)
        text_add(t, "the batch comes in %lld parts already: recompute, or use more processors",
                 (long long)g->parts);
    else
        text_add(t, "recompute, or use more processors");
}

bool memory_floor_write(const mtf_graph *g, mtf_graph *planned, int nfetches,
                        mtf_tensor *const *fetches, const estimate_opts *how, int64_t limit,
                        textbuf *t)
{
    estimate *e = estimate_graph(planned, nfetches, fetches, how);
    TRY(e != NULL);
    price_memory m = e->memory;
    estimate_free(e);
    if (m.parameters + m.state > limit)
        write_variables(&m, how, t);
    else if (m.parameters + m.state + m.scratch + m.wire > limit)
        write_space(&m, t);
    else
        write_rest(g, t);
    return true;
}
