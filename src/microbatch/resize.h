/* Copies of a graph in which dimensions have other sizes. */
#ifndef MICROBATCH_RESIZE_H
#define MICROBATCH_RESIZE_H

#include "graph/node.h"

/* Wherever a dimension of this name has size `from`, it gets size `to`. */
typedef struct resize_rule {
    const char *name;
    int64_t     from, to;
} resize_rule;

typedef struct resize_rules {
    resize_rule *list; /* one for each name and size that the graph has */
    int          n, room;
    bool         retypes; /* and f32 becomes `type` */
    mtf_dtype    type;
    const bool  *kept; /* by tensor id, not in blocks: f32 stays f32; NULL: none */
} resize_rules;

/* The rules that change nothing; false: no memory. */
bool    resize_list(const mtf_graph *g, arena *a, resize_rules *r);
int64_t resize_of(const resize_rules *r, const char *name, int64_t size);
/* The attributes of n with other sizes, in the arena of `to`; NULL: no memory. */
attr *resize_attrs(const resize_rules *r, mtf_graph *to, const node *n);
/* Copies g's nodes into `to`, without those whose results have images already; with `names`, copies
 * names too.  False after an error, such as sizes that an operation cannot take. */
bool resize_graph(const mtf_graph *g, const resize_rules *r, bool names, mtf_graph *to, images *m);

#endif
