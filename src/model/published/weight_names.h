/* Maps each published weight to a variable of this library. */
#ifndef MODEL_WEIGHT_NAMES_H
#define MODEL_WEIGHT_NAMES_H

#include "checkpoint/contents.h"
#include "model/published/published.h"

/* One variable ("ours"), or one piece of it, and the place of its elements in a published tensor ("theirs").
 * Ours, or the piece, is [rows, columns]; its element (i, j) is theirs[i][part * columns + j], or theirs[j][i]
 * where transposed. */
typedef struct published_weight {
    const char *ours, *theirs;
    mtf_shape   shape, their_shape; /* theirs has no dimension names */
    int64_t     rows, columns;
    bool        transposed;
    int         part, parts;   /* theirs holds `parts` of ours side by side */
    int         piece, pieces; /* ours is `pieces` of theirs, one after the other */
} published_weight;

/* All weights of a model, in the arena, with the names that the transformers library writes; weights
 * that share a published tensor are adjacent, and so are pieces of one variable.  NULL after an error. */
const published_weight *published_weights(arena *a, const published_config *c, int *count);
/* The published tensor of this name in a file, which may omit the prefix; NULL where absent. */
kept_tensor *published_find(const published_config *c, const contents *file, const char *theirs);
/* The names of the logits' own weights and of the embedding, which stands for them where they are tied. */
typedef struct published_logits {
    const char *their_head, *our_head, *their_table;
} published_logits;
published_logits published_logits_of(const published_config *c);

/* A tensor of a file that no variable needs, and why: a copy of another tensor, if it has the same
 * elements, or something that is not a weight. */
typedef struct published_spare {
    const char *pattern;
    const char *copy_of, *why; /* one of them is NULL */
} published_spare;
/* The spare tensor of this name; NULL where there is none, or after an error. */
const published_spare *published_find_spare(const published_config *c, const char *name, fault *f);

#endif
