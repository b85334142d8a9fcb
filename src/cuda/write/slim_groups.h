/* Neighbouring instructions that one kernel carries out together. */
#ifndef CUDA_WRITE_SLIM_GROUPS_H
#define CUDA_WRITE_SLIM_GROUPS_H

#include "cuda/write/slim.h"
#include "program/program.h"

/* Products with few columns and the maps that follow them, from instruction `first` on, which may be the map
 * that gives their vector. */
slim_group slim_group_at(const program *p, int first);

#endif
