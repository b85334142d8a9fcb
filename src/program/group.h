/* Groups: the processors that take part in a collective. */
#ifndef PROGRAM_GROUP_H
#define PROGRAM_GROUP_H

#include "space/mesh.h"

/* Processors that differ along some axes only, in ascending order. */
typedef struct group {
    axis_list  axes;
    mesh_point here;
    int        n, mine; /* number of members, and this processor's position among them */
} group;

group group_of(const mesh *m, int me, unsigned axes);
int   group_member(const mesh *m, const group *g, int k); /* its processor number */
/* Those of the axes that tell processors apart: their length is not 1. */
unsigned group_long_axes(const mesh *m, unsigned axes);

#endif
