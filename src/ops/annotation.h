/* The left side of a line: names, types and shapes. */
#ifndef OPS_ANNOTATION_H
#define OPS_ANNOTATION_H

#include "ops/parser.h"

/* A dimension as it is written. */
typedef struct dim_wish {
    token   name;
    int64_t size; /* 0: follows from the line's inputs or a line `dim name = size` */
} dim_wish;

/* One result of a line: its name and what the line says of it. */
typedef struct target {
    token     name;
    bool      dropped; /* _ */
    bool      has_type, has_shape;
    mtf_dtype type;
    int       ndims;
    dim_wish *dims;
    mtf_shape shape; /* once resolved */
} target;

bool dim_read(parser *p, dim_wish *wish); /* name or name=size */
bool dim_resolve(parser *p, const dim_wish *wish, mtf_dim *dim);
bool dim_declare(parser *p); /* a line `dim name = size` */
/* From here on the line may name x's dimensions without their sizes. */
bool dims_note(parser *p, const mtf_tensor *x);

bool type_read(parser *p, mtf_dtype *type);

/* The names up to the sign "=", in the parser's work arena. */
bool targets_read(parser *p, int *n, target **targets);
bool targets_resolve(parser *p, int n, target *targets);
bool target_check(parser *p, const target *t, const mtf_tensor *x);

#endif
