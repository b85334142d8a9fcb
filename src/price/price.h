/* Prices: what a program costs its processor.
 *
 * Flops, bytes and memory are exact, computed from the instructions alone;
 * nothing is run.  Only the seconds depend on a description of the machine.
 */
#ifndef PRICE_PRICE_H
#define PRICE_PRICE_H

#include "graph/node.h"
#include "price/rates.h"
#include "program/hazards.h"
#include "program/site.h"
#include "space/layout.h"

/* One instruction; flops, bytes and seconds are of all its executions in a step. */
typedef struct price_line {
    int64_t           executions; /* of the instruction, in a step */
    bool              open_ended; /* in a loop that a test ends: given for one iteration of it */
    int64_t           flops, bytes;
    double            seconds;
    double            spare;      /* the part of seconds that depends on the rest of the program,
                                   * through waiting times and cache contents */
    unsigned          duplicate;  /* axes along which all processors compute the same */
    const mtf_tensor *tensor;     /* the tensor that is computed, combined or moved */
    const char       *collective; /* its kind; NULL: none.  What follows is for collectives */
    unsigned          axes;
    int               group; /* number of processors in the group */
    int64_t           sent_elements, received_elements, sent_bytes, received_bytes;
    int64_t           out_messages, in_messages; /* of these bytes: those in messages, */
    int64_t           out_outside, in_outside;   /* and of those: to and from other hosts */
    const char       *cause; /* the layout rules that cause it: "batch:rows, hidden:cols" */
} price_line;

typedef struct price_memory {
    int64_t           parameters, state; /* variables that optimizers change, and the others */
    int64_t           inputs, constants;
    int64_t           activations;   /* the rest of the slab: temporaries and fetches */
    int64_t           scratch, wire; /* working space of kernels and of the wire */
    int64_t           peak;          /* all together */
    int64_t           alive;         /* the most bytes of the slab in use at one time */
    int64_t           bound; /* all but the slab, plus `alive`: a lower bound for any placement */
    const mtf_tensor *at;    /* what is computed when most bytes are alive; NULL: nothing */
    instr_kind        doing;
} price_memory;

typedef struct price {
    const program *program;
    const mesh    *mesh;
    const layout  *layout; /* NULL: nothing is cut */
    mesh_point     here;
    price_rates    rates;
    bool           brief;  /* without memory and the causes of collectives */
    double         beyond; /* bytes that a step accesses besides, in parts left out here */
    price_line    *lines;  /* by instruction */
    int64_t        flops, bytes, sent_bytes, received_bytes, out_messages, in_messages;
    int64_t        out_outside, in_outside;
    int64_t        wire_flops; /* the part of `flops` that collectives combine */
    int64_t        collectives;
    bool           open_ended;            /* some loop's length is unknown */
    double         seconds, wire_seconds; /* of a step, and of it in collectives alone */
    double         hidden_seconds; /* of collectives beside other work, not in either of them */
    double         end_seconds;    /* of `seconds`: waiting for the last processor of the step */
    price_memory   memory;
    const hazards *beside; /* NULL: the device does not run collectives beside other work */
    double        *ended;  /* used by price_hidden */
} price;

/* Fills in everything after `beyond`; lines live in the arena, texts there or with the layout.
 * False: no memory. */
bool price_program(price *p, arena *a);

/* Finds what runs beside other work, and takes it from the seconds.  False: no memory. */
bool price_beside(price *p, arena *a);
/* Seconds of collectives that pass beside other work, if each line takes so many times as long; NULL:
 * once. */
double price_hidden(const price *p, const double *times);
/* By instruction, with the same factors: seconds that depend on the rest of the program; of a collective
 * beside other work as many as there is work before something waits for it.  The step takes at least the
 * sum of what is left of each line. */
void price_spare(const price *p, const double *times, double *spare);

/* The mean work of processors as a fraction of the work of the one with the largest parts. */
double price_share(const price *p, const instr *i);

/* Flops per second that a grouped product reaches at most, however it is cut. */
double price_best_grouped(const price_rates *r, const instr *i);

/* Bytes of the program's memory: variables, slab and working space. */
int64_t price_peak(const program *p, const site *s, const mesh *m, int processor);

bool price_is_trained(const mtf_tensor *variable); /* may optimizers change it? */

/* A set of axes by their names. */
void price_write_axes(const mesh *m, unsigned axes, textbuf *t); /* rows+cols */

#endif
