/* The worst order that captured work may be done in.
 *
 * Work of one stream is done in its order, and after what it waits for; all else is open.
 * So that a missing wait shows, the streams beside the first one, or those with a priority,
 * are as late or as early as that allows.
 */
#include <stdlib.h>

#include "host_work.h"

typedef struct lane {
    CUstream stream;
    work   **works; /* in its order */
    size_t   n, done;
} lane;

typedef struct ordering {
    lane   lanes[MOST_JOINED + 1];
    int    nlanes;
    work **order;
    size_t n;
} ordering;

static lane *lane_of(ordering *o, CUstream stream)
{
    for (int k = 0; k < o->nlanes; k++)
        if (o->lanes[k].stream == stream) return &o->lanes[k];
    return NULL;
}

/* Does so much of a stream's work, after what that waits for. */
static void advance(ordering *o, lane *l, size_t position)
{
    while (l->done < position && l->done < l->n) {
        work *w = l->works[l->done];
        if (w->kind == WORK_WAIT) advance(o, lane_of(o, w->awaited), (size_t)w->position);
        o->order[o->n++] = w;
        l->done++;
    }
}

static void add_lane(ordering *o, CUstream stream, size_t room)
{
    o->lanes[o->nlanes++] = (lane){.stream = stream, .works = calloc(room + 1, sizeof(work *))};
}

work **host_order(CUgraph graph, lateness how, size_t *n)
{
    ordering o = {.n = 0};
    size_t   all = 0;
    for (work *w = graph->first; w; w = w->next) all++;
    o.order = calloc(all + 1, sizeof *o.order);
    add_lane(&o, graph->origin, all);
    for (int k = 0; k < graph->njoined; k++) add_lane(&o, graph->joined[k], all);
    for (work *w = graph->first; w; w = w->next) {
        lane *l = lane_of(&o, w->stream);
        l->works[l->n++] = w;
        if (how == LATE_NONE) o.order[o.n++] = w;
    }
    for (int k = 0; how == LATE_FIRST && k < o.nlanes; k++)
        if (o.lanes[k].stream->second) advance(&o, &o.lanes[k], o.lanes[k].n);
    if (how != LATE_NONE) advance(&o, &o.lanes[0], o.lanes[0].n);
    for (int k = 0; k < o.nlanes; k++) free(o.lanes[k].works);
    *n = o.n;
    if (o.n == all) return o.order;
    free(o.order);
    return NULL;
}
