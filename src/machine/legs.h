/* Legs: the messages of an exchange between processes.
 *
 * The receiver's regions determine what each source sends.  A region that is
 * contiguous in memory is sent in place; other regions are packed first.
 */
#ifndef MACHINE_LEGS_H
#define MACHINE_LEGS_H

#include "machine/overlap.h"
#include "program/group.h"
#include "program/site.h"

/* One message: the other processor, and the region that is sent. */
typedef struct leg {
    int    peer;
    region region;
} leg;

/* This processor's next region, and the processor that has it. */
bool next_in(const mesh *m, region_visit *v, leg *l);

/* The region that `reader` needs from `source`; false where there is none. */
bool leg_region(const mesh *m, const exchange_args *how, const mesh_point *source,
                const mesh_point *reader, region *r);

/* What this processor sends to other processes: visits the processors that may need its part, which
 * differ from it only along axes by which the part is cut. */
typedef struct out_visit {
    group      group;
    int        next;
    mesh_point here;
    span       process; /* the processors of this process */
} out_visit;

out_visit out_start(const mesh *m, int me, span process, const exchange_args *how);
bool      next_out(const mesh *m, const exchange_args *how, out_visit *v, leg *l);

/* Is the region contiguous in an array with these extents? */
bool is_run(const region *r, const int64_t *extent);
/* The element at which it begins there. */
int64_t run_offset(const region *r, const int64_t *begin, const int64_t *extent);
/* The same region, copied to memory that holds nothing else, or from it. */
region packed_to(const region *r);
region packed_from(const region *r);
/* Readers that differ only along axes that do not cut the new placement need the same region, which
 * is packed once. */
bool same_region(const region *a, const region *b);

#endif
