/* Which variable of this library each published weight is. */
#ifndef MODEL_WEIGHT_NAMES_H
#define MODEL_WEIGHT_NAMES_H

#include "checkpoint/contents.h"
#include "model/published/published.h"

/* One variable, and where its elements lie in a published tensor.  Of ours, [rows, columns], element
 * (i, j) is theirs[i][part * columns + j], or where turned theirs[j][i]. */
typedef struct published_weight {
    const char *ours, *theirs;
    mtf_shape   shape, their_shape; /* theirs has no names of dimensions */
    int64_t     rows, columns;
    bool        turned;
    int         part, parts; /* theirs holds so many of ours side by side */
} published_weight;

/* All weights of a model, in the arena; theirs are called as the transformers library writes them, and
 * those that are in one tensor follow each other.  NULL after an error. */
const published_weight *published_weights(arena *a, const published_config *c, int *count);
/* Their tensor in a file, which may leave out the first word of names; NULL where absent. */
kept_tensor *published_find(const published_config *c, const contents *file, const char *theirs);
/* Do files have tensors of this name that are no weights, or copies of others? */
bool published_is_extra(const published_config *c, const char *name, fault *f);

#endif
