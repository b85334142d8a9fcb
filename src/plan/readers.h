/* Which instructions read a buffer. */
#ifndef PLAN_READERS_H
#define PLAN_READERS_H

#include "program/program.h"

typedef struct readers {
    int *writers;      /* by buffer: the number of operands */
    int *first, *list; /* by buffer: where its readers begin in the list, in program order */
    int *stretch;      /* by instruction: which run without loop boundaries it is in */
} readers;

bool readers_find(readers *r, const program *p, arena *scratch);
/* By buffer: the first instruction that writes it; never: the number of instructions. */
void readers_first_writes(const program *p, int *first);

static inline int readers_count(const readers *r, int b)
{
    return r->first[b + 1] - r->first[b];
}

static inline const int *readers_of(const readers *r, int b)
{
    return &r->list[r->first[b]];
}

static inline int readers_last(const readers *r, int b)
{
    return readers_count(r, b) ? r->list[r->first[b + 1] - 1] : -1;
}

/* Is it written once in a step, and not needed after its last use? */
static inline bool readers_passing(const readers *r, const program *p, int b)
{
    return p->buffers[b].kind == BUFFER_TEMPORARY && r->writers[b] == 1;
}

#endif
