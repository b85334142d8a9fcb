/* One copy of each of many pieces of memory: programs of a mesh's processors are nearly alike. */
#ifndef VERIFY_SHARED_H
#define VERIFY_SHARED_H

#include "program/program.h"

typedef struct shared_piece shared_piece;

typedef struct shared {
    arena        *arena;
    shared_piece *pieces; /* open addressing; room is a power of two */
    int           n, room;
} shared;

/* A copy of these bytes, the same for equal ones; NULL after an error. */
const void *shared_copy(shared *s, const void *data, size_t bytes);
/* A copy of an instruction with everything that it points to. */
const instr *shared_instr(shared *s, const instr *i);

#endif
