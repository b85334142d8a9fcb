/* Meshes: grids of processors with named axes.
 *
 * Processors are numbered with the last axis fastest.  Part i of p of a
 * dimension of size n is [floor(i*n/p), floor((i+1)*n/p)): sizes differ by at
 * most one, and cutting along a second axis nests exactly.
 */
#ifndef SPACE_MESH_H
#define SPACE_MESH_H

#include "base/session.h"
#include "space/shape.h"

enum { MAX_AXES = 8, MAX_PROCESSORS = 1 << 20 };

typedef struct mesh {
    int         naxes;
    const char *name[MAX_AXES];
    int         size[MAX_AXES];
} mesh;

/* A processor: its coordinate along each axis. */
typedef struct mesh_point {
    int at[MAX_AXES];
} mesh_point;

/* The axes along which one dimension is cut, in order: the first is the coarsest. */
typedef struct axis_list {
    uint8_t n;
    uint8_t axis[MAX_AXES];
} axis_list;

/* Where a tensor's dimensions are cut; aligned with its shape. */
typedef struct placement {
    axis_list dim[MTF_SHAPE_ROOM];
} placement;

typedef struct span {
    int64_t begin, size;
} span;

bool       mesh_parse(mtf_session *s, const char *text,
                      mesh *m);      /* "rows:2,cols:4"; "" is one processor */
bool       mesh_asks(const mesh *m); /* "auto:64": the shape is still to be found */
int        mesh_size(const mesh *m);
mesh_point mesh_place(const mesh *m, int number);
int        mesh_number(const mesh *m, const mesh_point *p);
int        mesh_axis(const mesh *m, const char *name); /* -1 where absent */
void       mesh_write_place(const mesh *m, const mesh_point *p, char *text,
                            size_t room); /* rows=1,cols=0 */
/* "rows=1,cols=0 and rows=1,cols=1 and 7 more"; reads only the first PLACES_NAMED. */
enum { PLACES_NAMED = 4 };
void mesh_write_places(const mesh *m, int n, const int *numbers, char *text, size_t room);

int      cut_parts(const mesh *m, const axis_list *c);                     /* into how many parts */
int      cut_part(const mesh *m, const axis_list *c, const mesh_point *p); /* which one p has */
void     cut_set_part(const mesh *m, const axis_list *c, int part,
                      mesh_point *p);  /* moves p to the part */
unsigned cut_axes(const axis_list *c); /* as a set of bits */
bool     cut_equal(const axis_list *a, const axis_list *b);
bool     cut_refines(const axis_list *finer, const axis_list *c); /* begins as c does */
span     part_range(int64_t size, int parts, int part);
int      part_holding(int64_t size, int parts, int64_t element); /* which part has it */
span     cut_range(const mesh *m, const axis_list *c, const mesh_point *p, int64_t size);

unsigned placement_axes(const placement *p, int ndims);
/* p's own part of a tensor of this shape; sizes may be 0. */
mtf_shape placement_local(const mesh *m, const placement *where, const mesh_point *p,
                          const mtf_shape *shape);

#endif
