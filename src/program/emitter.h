/* The emitter: what lowering knows while it emits. */
#ifndef PROGRAM_EMITTER_H
#define PROGRAM_EMITTER_H

#include "program/program.h"
#include "space/layout.h"

typedef struct emitter emitter;

/* A value assigned to a variable; it is stored at the end of the program. */
typedef struct pending_store {
    slice home, value;
} pending_store;

/* Inputs or variables by their tensor: an open-addressing hash table of their port numbers. */
typedef struct port_table {
    struct port_entry {
        const mtf_tensor *tensor; /* NULL: free */
        int               number;
        int               store; /* its pending store; -1: none */
    } * entries;
    int room;       /* capacity: a power of two */
    int ports_room; /* capacity of the program's list */
} port_table;

struct emitter {
    program          *program;
    const mtf_tensor *cause; /* the tensor that is being lowered */
    /* Set by the planner: lowers the nodes of a block; for ops that own blocks. */
    bool (*lower_block)(emitter *e, const void *block);
    /* The slice of a lowered tensor; for ops that own blocks. */
    slice *(*slice_of)(emitter *e, const mtf_tensor *x);
    /* Brings a tensor to the layout's placement: owed sums paid, finer parts gathered. */
    bool (*settle)(emitter *e, const mtf_tensor *x);
    /* x, in a block that is not lowered yet, is a term of a longer sum.  Returns whether its short
     * floats stay unrounded: if x is a sum itself and has no other reader. */
    bool (*keep_wide)(emitter *e, const mtf_tensor *x);
    /* The sum of an earlier loop with which a loop's sum y begins; NULL: it begins with 0. */
    const mtf_tensor *(*begins_with)(emitter *e, const mtf_tensor *y);
    /* Does a later loop's sum begin with y?  Then y stays unrounded. */
    bool (*goes_on)(emitter *e, const mtf_tensor *y);
    /* The number of readers of this tensor.  Unread outputs need not be computed. */
    int (*readers)(emitter *e, const mtf_tensor *x);
    void          *planner;
    const layout  *layout; /* NULL: one processor */
    mesh_point     here;
    pending_store *stores;
    int            nstores, stores_room;
    int            nesting; /* of loops around this instruction */
    port_table     inputs, variables;
    bool           exact; /* floating-point constants are operands, and are not folded */
};

#endif
