/* Attributes: what a node has besides its inputs.
 *
 * An op lists its attributes as data; parsing, printing, comparing, hashing
 * and the manual follow from that list.  No op writes any of these itself.
 */
#ifndef GRAPH_ATTR_H
#define GRAPH_ATTR_H

#include "base/dtype.h"
#include "base/memory.h"
#include "base/textbuf.h"
#include "mtf.h"

typedef enum attr_kind {
    ATTR_INT,   /* 3              */
    ATTR_REAL,  /* 0.5            */
    ATTR_BOOL,  /* true, false    */
    ATTR_WORD,  /* a bare word: dimension name, mode */
    ATTR_TEXT,  /* "any text"     */
    ATTR_INTS,  /* (1, 2, 3)      */
    ATTR_NAMES, /* (rows, cols): dimension names */
    ATTR_DIM,   /* classes=10     */
    ATTR_TYPE,  /* f32            */
    ATTR_SHAPE, /* f32[...]'s shape: the annotation of the node's line; never printed as attribute */
    ATTR_DATA,  /* {1, 2, 3}: the elements of a constant, of the node's type and shape */
    ATTR_NUMBER /* 0.5, or 9007199254740993: what may be an element of any type */
} attr_kind;

typedef struct attr_spec {
    const char *name;
    attr_kind   kind;
    const char *otherwise; /* the default, as text; NULL: must be given */
    const char *says;      /* for the manual */
} attr_spec;

typedef struct attr_ints {
    int            n;
    const int64_t *v;
} attr_ints;

typedef struct attr_names {
    int                n;
    const char *const *v;
} attr_names;

typedef struct attr_data {
    size_t      bytes;
    const void *v;
} attr_data;

/* A number that may become an element of any type. */
typedef struct attr_number {
    double  r;     /* the nearest double */
    int64_t i;     /* the number itself, where r is not exact */
    bool    whole; /* then true: i counts, not r */
} attr_number;

attr_number number_of_whole(int64_t i);
scalar      number_as(mtf_dtype type, attr_number x); /* rounded, saturating */
/* NULL where the type can hold it; else a sentence in `text` that says why it cannot. */
const char *number_refused(mtf_dtype type, attr_number x, char text[DTYPE_REFUSAL]);

/* A value; the op's attr_spec says which member holds it. */
typedef union attr {
    int64_t          i;
    double           r;
    attr_number      number;
    bool             b;
    const char      *text; /* WORD, TEXT */
    attr_ints        ints;
    attr_names       names;
    mtf_dim          dim;
    mtf_dtype        type;
    const mtf_shape *shape;
    attr_data        data;
} attr;

bool     attr_equal(attr_kind kind, const attr *a, const attr *b);
uint64_t attr_hash(attr_kind kind, const attr *a, uint64_t seed);
/* As .mtf text has it; DATA needs the element type and is written by graph/print. */
void attr_write(attr_kind kind, const attr *a, textbuf *t);
/* A copy whose strings and lists live in the arena; false where memory ran out. */
bool attr_keep(attr_kind kind, attr *a, arena *where);

#endif
