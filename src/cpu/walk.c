/* Walks through parts of loop nests. */
#include "cpu/walk.h"

/* Whole rows if the walk is at the start of one, else the rest of the current row. */
static void find_block(walk *w)
{
    const nest *n = w->nest;
    int         last = n->nloops - 1;
    int64_t     inner = nest_inner(n), at = last >= 0 ? w->index[last] : 0;
    w->rows = 1;
    w->count = inner - at;
    if (w->count > w->left) w->count = w->left;
    if (at == 0 && last > 0 && w->left >= 2 * inner) {
        int64_t whole = w->left / inner, room = n->size[last - 1] - w->index[last - 1];
        w->rows = whole < room ? whole : room;
    }
}

walk walk_at(const nest *n, int64_t first, int64_t elements)
{
    walk w;
    w.nest = n;
    w.left = elements;
    for (int k = n->nloops - 1; k > 0; k--) {
        w.index[k] = first % n->size[k];
        first /= n->size[k];
    }
    w.index[0] = first;
    if (elements > 0) find_block(&w);
    return w;
}

void walk_on(walk *w)
{
    const nest *n = w->nest;
    int         last = n->nloops - 1;
    w->left -= w->rows * w->count;
    if (w->left <= 0) return;
    if (w->rows > 1) {
        w->index[last - 1] += w->rows;
        last--;
    } else {
        w->index[last] += w->count;
    }
    for (int k = last; k > 0 && w->index[k] == n->size[k]; k--) {
        w->index[k] = 0;
        w->index[k - 1]++;
    }
    find_block(w);
}
