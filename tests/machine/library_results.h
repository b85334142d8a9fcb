/* What programs of the card's library give, and how far apart that is. */
#ifndef TESTS_MACHINE_LIBRARY_RESULTS_H
#define TESTS_MACHINE_LIBRARY_RESULTS_H

#include "ground.h"

enum { MOST_RESULTS = 8 };

typedef struct results {
    int     count;
    int64_t n[MOST_RESULTS];
    float  *values[MOST_RESULTS]; /* widened: exact */
} results;

static inline results results_of(mtf_program *p, int count, mtf_tensor *const *fetches)
{
    results r = {.count = count};
    for (int k = 0; k < count; k++) {
        r.n[k] = mtf_shape_size(mtf_shape_of_tensor(fetches[k]));
        r.values[k] = malloc((size_t)r.n[k] * sizeof *r.values[k]);
        assert_true(mtf_fetch(p, fetches[k], r.values[k]));
    }
    return r;
}

static inline void drop(results *r)
{
    for (int k = 0; k < r->count; k++) free(r->values[k]);
}

static inline bool is_same(const results *a, const results *b)
{
    for (int k = 0; k < a->count; k++)
        if (memcmp(a->values[k], b->values[k], (size_t)a->n[k] * sizeof(float)) != 0) return false;
    return true;
}

/* The length of the difference, relative to that of what is right; of nothing, the difference's. */
static inline double distance(const results *a, const results *right, int k)
{
    double apart = 0, whole = 0;
    for (int64_t e = 0; e < right->n[k]; e++) {
        double x = (double)a->values[k][e], y = (double)right->values[k][e];
        apart += (x - y) * (x - y), whole += y * y;
    }
    return sqrt(apart / (whole > 0 ? whole : 1));
}

#endif
