/* Neighbouring instructions that one kernel carries out together. */
#ifndef MACHINE_CUDA_SLIM_GROUPS_H
#define MACHINE_CUDA_SLIM_GROUPS_H

#include "machine/cuda/slim.h"
#include "program/program.h"

/* Products with few columns and the maps that follow them, from instruction `first` on. */
typedef struct slim_group {
    int         n; /* 0: the first one is no such product */
    slim_member members[SLIM_MEMBERS];
    int         end; /* the first instruction that does not belong to it */
} slim_group;

slim_group slim_group_at(const program *p, int first);

#endif
