/* Audits: compares a program's price with what its steps did.
 *
 * The price is that of the program that ran.  The measured values are counted
 * by kernels, by the wire and by the allocator, none of which reads the price.
 */
#ifndef RUN_AUDIT_H
#define RUN_AUDIT_H

#include "base/session.h"

/* Sums over all processors and steps; for memory, the maximum over processors. */
typedef struct account {
    int64_t flops, collectives;
    int64_t read, received, sent;           /* bytes: in shared memory, and in messages; */
    int64_t received_outside, sent_outside; /* of these, from and to other hosts */
    int64_t memory;                         /* variables and slab */
    int64_t scratch, wire;
    int64_t all; /* the largest sum of memory, scratch and wire of one processor */
} account;

typedef struct audit {
    account planned, measured;
    int64_t steps;
    int     processors;
    bool    open_ended; /* the length of some loop was known only when it ran */
} audit;

/* One quantity that is compared. */
typedef struct audit_row {
    const char *what, *key;
    int64_t     planned, measured;
} audit_row;
enum { AUDIT_ROWS = 12 };

/* Sums over all processes of the mesh, which call it together.  False after an error. */
bool audit_program(mtf_program *p, audit *a);
void audit_rows(const audit *a, audit_row rows[AUDIT_ROWS]);
/* Are all quantities equal?  The first difference is recorded as an error. */
bool audit_agrees(mtf_session *s, const audit *a);

#endif
