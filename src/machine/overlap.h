/* Regions: the old parts that make up a new part.
 *
 * The general exchange by intersection of index ranges: gathers, slices and
 * all-to-alls are special cases of it, with uneven parts as well.
 */
#ifndef MACHINE_OVERLAP_H
#define MACHINE_OVERLAP_H

#include "program/instr.h"

/* A block of elements: where it lies in the source's part and in this processor's new part. */
typedef struct region {
    mesh_point source; /* the processor that has it */
    int        ndims;
    int64_t    size[MTF_SHAPE_ROOM];
    int64_t    from_begin[MTF_SHAPE_ROOM],
        from_size[MTF_SHAPE_ROOM]; /* in the source's part, and that part's sizes */
    int64_t to_begin[MTF_SHAPE_ROOM], to_size[MTF_SHAPE_ROOM];
} region;

typedef struct region_visit {
    const mesh          *mesh;
    const exchange_args *how;
    mesh_point           here;
    int                  first[MTF_SHAPE_ROOM], last[MTF_SHAPE_ROOM]; /* parts of each dimension, */
    int                  at[MTF_SHAPE_ROOM];                          /* and the current one */
    bool                 done;
} region_visit;

region_visit region_start(const mesh *m, const exchange_args *how, const mesh_point *here);
bool         region_next(region_visit *v, region *r);
void         region_copy(const region *r, const char *from, char *to, int64_t bytes);
int64_t      region_elements(const region *r);

#endif
