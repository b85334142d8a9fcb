/* Runs a case on meshes under their legal layouts and compares with one processor. */
#ifndef HARNESS_MESH_H
#define HARNESS_MESH_H

#include "harness_run.h"

enum { MESH_VALUES = 64, MESH_DIMS = 31 };

/* What came out of a run: expected tensors, then gradients. */
typedef struct outcome {
    int     n;
    fetched values[MESH_VALUES];
    char    names[MESH_VALUES][80];
    char    error[ERROR_ROOM];
} outcome;

/* The dimensions of a case's graph, gradients included. */
typedef struct case_dims {
    int  n;
    char names[MESH_DIMS][64];
    bool together[MESH_DIMS][MESH_DIMS]; /* some tensor has both */
} case_dims;

/* How far a number was from that of one processor, of its tensor's magnitude. */
typedef struct farthest {
    double by;
    char   in[120];
} farthest;

/* A case, what it gives on one processor, and how far a mesh may be from that. */
typedef struct mesh_trials {
    const test_case *c;
    double           f64, f32; /* of a tensor's magnitude */
    int              limit;    /* layouts of one mesh; more: a fixed choice */
    const char      *must;     /* a dimension that every layout cuts; NULL: none */
    const char      *device;   /* of meshes; NULL: cpu, and now and then check */
    int              more;     /* steps, besides those of the case */
    outcome          one;
    case_dims        dims;
    bool             apart[MESH_DIMS][MESH_DIMS]; /* no axis may cut both */
    int              passed, failed, illegal;
    farthest         f32_seen, f8_seen; /* of f32, in cases without f8 and in those with f8 */
} mesh_trials;

/* Where a case runs: any of these may be NULL. */
typedef struct stage {
    const char *mesh, *layout, *state_layout, *device;
    int         more;       /* steps, besides those of the case */
    bool        unmeasured; /* a device that records steps does */
    bool        unproved;   /* not compared with the graph on residues */
} stage;

/* Runs the case.  Free the outcome in either case. */
bool run_on(const test_case *c, const stage *where, outcome *o);
void outcome_free(outcome *o);
/* false: it could not be read, which a run says better */
bool case_dims_of(const test_case *c, case_dims *d);

/* The run on one processor, and which dimensions exclude each other; false: the case is counted
 * as failed.  End what was begun. */
bool trials_begin(mesh_trials *t);
/* Every legal layout of a mesh whose axes are x, y, z; or `limit` of them. */
void trials_on(mesh_trials *t, const char *mesh);
void trials_end(mesh_trials *t);
/* A line for each of f32_seen and f8_seen, where results differed at all. */
void trials_print_farthest(const mesh_trials *t);

/* What trials_begin, trials_on, trials_end do, on meshes of up to four processors of one GPU; of an
 * emulated one, which is slow, on two of them. */
void trials_on_gpu(mesh_trials *t);

#endif
