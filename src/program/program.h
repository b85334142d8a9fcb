/* Programs: instructions, buffers, and their places in memory. */
#ifndef PROGRAM_PROGRAM_H
#define PROGRAM_PROGRAM_H

#include "base/session.h"
#include "program/slice.h"

typedef enum buffer_kind {
    BUFFER_TEMPORARY, /* lives from its first to its last use              */
    BUFFER_INPUT,     /* written by feeds, kept across steps               */
    BUFFER_FETCH,     /* kept after the step for reading                   */
    BUFFER_CONSTANT,  /* filled once from `data`                           */
    BUFFER_VARIABLE   /* belongs to the session, outside the slab          */
} buffer_kind;

typedef struct buffer {
    buffer_kind       kind;
    int64_t           bytes;
    int64_t           offset;      /* in the slab; VARIABLE: unused */
    int               first, last; /* first and last instruction that use it, loops included */
    const mtf_tensor *cause;       /* the tensor for which it was created */
    const void       *data;        /* CONSTANT */
    int               shares;      /* the buffer whose place it reuses, or itself */
} buffer;

/* Do two buffers have bytes of the slab in common?  Those that are not alive at one time may. */
bool buffers_meet(const buffer *a, const buffer *b);

/* An input, a variable or a fetch: the tensor and its slice. */
typedef struct port {
    const mtf_tensor *tensor;
    slice             slice;
} port;

typedef struct program {
    mtf_session *session;
    arena        arena;
    instr       *instrs;
    int          ninstrs, instrs_room;
    buffer      *buffers;
    int          nbuffers, buffers_room;
    port        *inputs, *variables, *fetches;
    int          ninputs, nvariables, nfetches;
    int64_t      slab_bytes; /* inputs, fetches, constants, temporaries */
    int64_t      live_bytes; /* the most bytes alive at one time: a lower bound for slab_bytes */
    mtf_cost     cost;
    mtf_counter *counters; /* of all processors together, by name; if requested */
    int          ncounters;
} program;

program *program_new(mtf_session *s, const mtf_allocator *from); /* NULL: the session's */
void     program_free(program *p);
/* Checks that instructions are sound: operands inside their buffers, types, loops.  An error here
 * is a bug of mtf; `pass` names the pass that caused it. */
bool program_verify(const program *p, const char *pass);
/* Removes marked instructions; now_at, of that many numbers, says where the others are. */
void program_remove(program *p, const bool *gone, int *now_at);
void program_price(program *p); /* fills in flops, bytes, cost */
/* How a device carries out an instruction, in a word; NULL: there is only one way. */
typedef const char *instr_way(const instr *i);
/* One line per instruction, with price; `way` may be NULL. */
void program_write(const program *p, instr_way *way, textbuf *t);

#endif
