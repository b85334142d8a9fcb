/* As few micro-batches as fit the memory. */
#include "microbatch/fewest.h"

#include <string.h>

typedef struct trial {
    mtf_graph           *graph;
    int                  nfetches;
    mtf_tensor *const   *fetches;
    const estimate_opts *opts;
} trial;

static bool peak_of(const trial *t, int64_t parts, int64_t *peak)
{
    microbatched m;
    t->graph->parts = parts;
    return microbatch_graph(t->graph, t->nfetches, t->fetches, &m) &&
           estimate_peak(m.graph, m.nfetches, m.fetches, t->opts, peak);
}

/* The examples of one processor: parts that divide them are equal. */
static int64_t own_examples(const mtf_graph *g, const layout *l)
{
    const layout_rule *rule = l ? layout_find(l, g->batch.name) : NULL;
    int64_t            cuts = 1;
    for (int k = 0; rule && k < rule->cut.n; k++) cuts *= l->mesh->size[rule->cut.axis[k]];
    return g->batch.size % cuts == 0 ? g->batch.size / cuts : g->batch.size;
}

/* Parts beyond these would only show that a batch is absurd. */
enum { MOST_PARTS = 1 << 20 };

/* The divisors of n that may be numbers of parts, ascending. */
static int64_t *divisors_of(int64_t n, arena *a, int *count)
{
    int64_t *list = NULL;
    int      room = 0;
    *count = 0;
    for (int64_t d = 1; d <= n && d <= MOST_PARTS; d++) {
        if (n % d) continue;
        if (!arena_push(a, list, *count, room)) return NULL;
        list[(*count)++] = d;
    }
    return list;
}

/* More parts need less memory, so the fewest that fit are found by halving. */
static bool find_fewest(const trial *t, int64_t limit, const int64_t *list, int n)
{
    int     low = 0, high = n - 1;
    int64_t whole, peak;
    TRY(peak_of(t, list[0], &whole));
    if (whole <= limit) return true;
    TRY(peak_of(t, list[high], &peak));
    if (peak > limit) {
        t->graph->parts = peak < whole ? list[high] : list[0];
        return true;
    }
    while (high - low > 1) {
        int middle = (low + high) / 2;
        TRY(peak_of(t, list[middle], &peak));
        *(peak <= limit ? &high : &low) = middle;
    }
    t->graph->parts = list[high];
    return true;
}

bool microbatch_fewest(mtf_graph *g, int nfetches, mtf_tensor *const *fetches,
                       const estimate_opts *o, int64_t limit)
{
    trial t = {g, nfetches, fetches, o};
    bool  divides;
    int   n;
    g->parts = 1;
    if (!limit) return true;
    TRY(microbatch_divides(g, nfetches, fetches, &divides));
    if (!divides) return true;
    arena    scratch = arena_make(&g->session->allocator, &g->session->fault);
    int64_t *list = divisors_of(own_examples(g, o->layout), &scratch, &n);
    bool     ok = list && find_fewest(&t, limit, list, n);
    arena_free(&scratch);
    return ok;
}

bool microbatch_undivided_peak(mtf_graph *g, int nfetches, mtf_tensor *const *fetches,
                               const estimate_opts *o, int64_t *peak)
{
    trial   t = {g, nfetches, fetches, o};
    int64_t parts = g->parts;
    *peak = 0;
    if (!g->batch.name || parts <= 1) return true;
    bool ok = peak_of(&t, 1, peak);
    g->parts = parts;
    return ok;
}
