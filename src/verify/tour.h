/* Walks over all indices of named dimensions, in several tensors at once. */
#ifndef VERIFY_TOUR_H
#define VERIFY_TOUR_H

#include "space/shape.h"

enum { TOUR_TRACKS = 6, TOUR_DIMS = TOUR_TRACKS * MTF_SHAPE_ROOM };

/* The last dimension is the fastest.  A track is the place in a tensor: what an iteration along each
 * dimension adds to it, 0 along those that the tensor lacks. */
typedef struct tour {
    int         n, ntracks;
    const char *name[TOUR_DIMS];
    int64_t     size[TOUR_DIMS], index[TOUR_DIMS];
    int64_t     step[TOUR_TRACKS][TOUR_DIMS];
    int64_t     at[TOUR_TRACKS];
    int64_t     count; /* of all indices */
} tour;

tour    tour_over(const mtf_shape *s);
void    tour_join(tour *w, const mtf_shape *s);           /* dimensions that it lacks come last */
int     tour_track(tour *w, const mtf_shape *s);          /* adds a track, after all dimensions */
int     tour_find(const tour *w, const char *dim);        /* -1 where absent */
int64_t tour_stride(const mtf_shape *s, const char *dim); /* row-major; 0 where absent */

/* Moves on along the first n dimensions.  False after the last, and begins again. */
static inline bool tour_next_of(tour *w, int n)
{
    for (int d = n - 1; d >= 0; d--) {
        if (++w->index[d] < w->size[d]) {
            for (int t = 0; t < w->ntracks; t++) w->at[t] += w->step[t][d];
            return true;
        }
        w->index[d] = 0;
        for (int t = 0; t < w->ntracks; t++) w->at[t] -= (w->size[d] - 1) * w->step[t][d];
    }
    return false;
}

static inline bool tour_next(tour *w)
{
    return tour_next_of(w, w->n);
}

/* A tour by rows, which go along the last dimension: how long they are, what each index adds to a track,
 * and the next one. */
static inline int64_t tour_row(const tour *w)
{
    return w->n ? w->size[w->n - 1] : 1;
}

static inline int64_t tour_row_step(const tour *w, int track)
{
    return w->n ? w->step[track][w->n - 1] : 0;
}

static inline bool tour_next_row(tour *w)
{
    return tour_next_of(w, w->n - 1);
}

#endif
