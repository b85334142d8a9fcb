/* Walks over all indices of named dimensions, in several tensors at once. */
#include "verify/tour.h"

#include <string.h>

/* Names of one graph are mostly the same pointer. */
int tour_find(const tour *w, const char *dim)
{
    for (int d = 0; d < w->n; d++)
        if (w->name[d] == dim) return d;
    for (int d = 0; d < w->n; d++)
        if (strcmp(w->name[d], dim) == 0) return d;
    return -1;
}

void tour_join(tour *w, const mtf_shape *s)
{
    for (int d = 0; d < s->ndims && w->n < TOUR_DIMS; d++) {
        if (tour_find(w, s->dims[d].name) >= 0) continue;
        w->name[w->n] = s->dims[d].name;
        w->size[w->n] = s->dims[d].size;
        w->index[w->n++] = 0;
        w->count *= s->dims[d].size;
    }
}

tour tour_over(const mtf_shape *s)
{
    tour w;
    w.n = w.ntracks = 0;
    w.count = 1;
    tour_join(&w, s);
    return w;
}

int64_t tour_stride(const mtf_shape *s, const char *dim)
{
    int64_t stride = 1;
    for (int d = s->ndims - 1; d >= 0; d--) {
        if (strcmp(s->dims[d].name, dim) == 0) return stride;
        stride *= s->dims[d].size;
    }
    return 0;
}

int tour_track(tour *w, const mtf_shape *s)
{
    int t = w->ntracks++;
    w->at[t] = 0;
    for (int d = 0; d < w->n; d++) w->step[t][d] = tour_stride(s, w->name[d]);
    return t;
}
