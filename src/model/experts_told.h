/* What the mixtures of experts of a training tell in each step. */
#ifndef MODEL_EXPERTS_TOLD_H
#define MODEL_EXPERTS_TOLD_H

#include "base/textbuf.h"
#include "model/events.h"
#include "mtf_train.h"

enum { EXPERTS_LOAD, EXPERTS_DROPPED, EXPERTS_ENTROPY, EXPERTS_LOSS, EXPERTS_TOLD };

typedef struct experts_told {
    int                n;       /* layers */
    mtf_train_experts *now;     /* of the last step */
    mtf_train_experts *sums;    /* over all steps of this run */
    mtf_tensor       **tensors; /* EXPERTS_TOLD for each layer; NULL: it has no such */
    mtf_program       *program;
    void              *room; /* for the loads of a layer */
    int64_t            steps;
} experts_told;

/* Finds the layers by the names that mtf_moe gives.  False after an error. */
bool experts_find(mtf_graph *g, experts_told *all);
/* Appends the tensors that steps must fetch. */
int experts_fetches(const experts_told *all, mtf_tensor **fetches);
/* Reads a step; every rank calls it.  With `events`: writes scalars, each expert's load if `each`. */
bool experts_step(experts_told *all, mtf_program *p, events *e, int64_t step, bool each);
/* A table of the means over all steps. */
void experts_write(const experts_told *all, textbuf *t);

#endif
