/* The load of experts over the steps of a run, as pictures. */
#ifndef PAGE_EXPERT_PICTURE_H
#define PAGE_EXPERT_PICTURE_H

#include "base/memory.h"
#include "base/textbuf.h"
#include "mtf_train.h"

typedef struct expert_layer expert_layer;

/* Consecutive steps share a column; a row is an expert, or several where there are many. */
typedef struct expert_picture {
    arena        *arena;
    expert_layer *layers;
    int           n;
    int           columns;
    int64_t       each;  /* steps in a column */
    int64_t       steps; /* in the last one */
    int64_t       first, last;
} expert_picture;

/* False: no memory.  The layers are those of the first call. */
bool expert_picture_add(expert_picture *p, const mtf_train_step *now);
/* Nothing where there are no experts. */
void expert_picture_write(const expert_picture *p, textbuf *t);

#endif
