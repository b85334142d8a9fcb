/* Shapes: ordered sets of named dimensions.
 *
 * The public functions of mtf.h work on values; these are the ones that
 * the library itself needs besides, on shapes that are known to be valid.
 */
#ifndef SPACE_SHAPE_H
#define SPACE_SHAPE_H

#include "base/fault.h"
#include "base/textbuf.h"
#include "mtf.h"

/* Why a shape could not be made: mtf_shape values with ndims < 0.  Where the name or the size
 * of one dimension is wrong, it is the first of dims. */
enum {
    SHAPE_TOO_MANY = -1,
    SHAPE_DUPLICATE = -2,
    SHAPE_BAD_SIZE = -3,
    SHAPE_BAD_NAME = -4,
    SHAPE_SYNTAX = -5,
    SHAPE_MISSING = -6,
    SHAPE_TOO_LARGE = -7
};

/* As mtf_shape_of, but accepts internal dimensions; so does mtf_shape(...) inside the library. */
mtf_shape shape_of(int ndims, const mtf_dim *dims);
#undef mtf_shape
#define mtf_shape(...)                                                                             \
    shape_of((int)(sizeof((mtf_dim[]){{0, 0}, __VA_ARGS__}) / sizeof(mtf_dim)) - 1,                \
             (const mtf_dim[]){{0, 0}, __VA_ARGS__} + 1)

/* Fails where `s` is not a valid shape; the message names `what` (an op or a tensor). */
bool    shape_check(const mtf_shape *s, const char *what, fault *f);
int     shape_find(const mtf_shape *s, const char *name);  /* its place, -1: absent */
int64_t shape_size(const mtf_shape *s);                    /* elements */
void    shape_join(mtf_shape *all, const mtf_shape *more); /* all becomes mtf_shape_plus of both */
bool    shape_within(const mtf_shape *part, const mtf_shape *whole); /* by name */
bool    shape_same_set(const mtf_shape *a, const mtf_shape *b);
bool    shape_is_subsequence(const mtf_shape *part, const mtf_shape *whole);
bool    name_is_legal(const char *name); /* no space, none of , . ; : + ? = ( ) [ ] { } " # */
/* of a dimension that no user can name: space/internal.h */
bool name_is_internal(const char *name);
void shape_write(const mtf_shape *s, textbuf *t); /* [batch=100, hidden=8] */

/* The shape as messages print it, "[batch=100, hidden=8]", in a buffer of the caller. */
enum { SHAPE_TEXT = 400 };
const char *shape_text(const mtf_shape *s, char text[SHAPE_TEXT]);

#endif
