/* Maps each published weight to a variable of this library. */
#ifndef MODEL_WEIGHT_NAMES_H
#define MODEL_WEIGHT_NAMES_H

#include "checkpoint/contents.h"
#include "model/published/published.h"

/* One variable ("ours"), and the place of its elements in a published tensor ("theirs").  Ours is
 * [rows, columns]; its element (i, j) is theirs[i][part * columns + j], or theirs[j][i] where turned. */
typedef struct published_weight {
    const char *ours, *theirs;
    mtf_shape   shape, their_shape; /* theirs has no dimension names */
    int64_t     rows, columns;
    bool        turned;
    int         part, parts; /* theirs holds `parts` of ours side by side */
} published_weight;

/* All weights of a model, in the arena, with the names that the transformers library writes; weights
 * that share a published tensor are adjacent.  NULL after an error. */
const published_weight *published_weights(arena *a, const published_config *c, int *count);
/* The published tensor of this name in a file, which may omit the prefix; NULL where absent. */
kept_tensor *published_find(const published_config *c, const contents *file, const char *theirs);
/* Whether a tensor of this name is to be ignored: not a weight, or a copy of another. */
bool published_is_extra(const published_config *c, const char *name, fault *f);

#endif
