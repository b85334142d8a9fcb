/* Legs: the messages of an exchange between processes.
 *
 * The receiver's view decides: its regions are what each source sends it.  A
 * region that is one run of memory goes as it is; others are packed.
 */
#ifndef MACHINE_LEGS_H
#define MACHINE_LEGS_H

#include "machine/overlap.h"
#include "program/group.h"
#include "program/site.h"

/* One message: the other processor, and the region that goes. */
typedef struct leg {
    int    peer;
    region region;
} leg;

/* My next region, from whichever processor has it. */
bool next_in(const mesh *m, region_visit *v, leg *l);

/* What goes to other processes: a walk over those that may read my part, which differ from me only
 * along axes by which it is cut. */
typedef struct out_visit {
    group      group;
    int        next;
    mesh_point here;
    span       process; /* the processors of mine */
} out_visit;

out_visit out_start(const mesh *m, int me, span process, const exchange_args *how);
bool      next_out(const mesh *m, const exchange_args *how, out_visit *v, leg *l);

/* Does the region lie in one run of an array with these extents? */
bool is_run(const region *r, const int64_t *extent);
/* Readers that differ only where the new placement does not cut want the same: packed once. */
bool same_region(const region *a, const region *b);

#endif
