/* Participants: processors that take part in collectives through mailboxes.
 *
 * A participant waits only for the members of its group in the current collective.  All
 * processors take part in the same collectives in the same order, so each can compute the
 * numbers of all posts by counting.
 */
#ifndef MACHINE_PARTICIPANT_H
#define MACHINE_PARTICIPANT_H

#include "machine/mailbox.h"
#include "machine/overlap.h"
#include "machine/wire.h"

typedef struct participant participant;

/* The condition that a participant waits for: all members of its group have posted a number. */
typedef struct post_condition {
    bool (*lacks)(const mailbox *s, uint64_t number);
    uint64_t number;
} post_condition;

/* One processor. */
struct participant {
    const mesh     *mesh;
    const mesh     *grid; /* the same processors, by the axes of groups: `mesh`, or a host_mesh */
    int             me;
    mailbox *const *mailboxes; /* by processor; NULL: not reachable */
    mailbox_use    *used;
    device_context *context; /* whose queue copies and sums go to; NULL: the host does them */
    const char     *in;      /* operands of the current collective */
    char           *out;
    void           *wire;
    /* How this wire waits; false if a processor failed. */
    bool (*wait)(participant *g, const instr *i, const post_condition *what);
    void (*posted)(participant *g); /* called after a post; NULL: no wake-up needed */
    /* Its group in the current collective. */
    unsigned     axes; /* along which the members differ */
    group        group;
    bool         complete; /* the mailboxes of all members are reachable */
    int          room;     /* capacity, in members */
    int         *members;  /* their processors */
    mailbox    **theirs;   /* their mailboxes */
    const char **parts;    /* their operands */
    char       **outs;     /* their results */
    wire_moved   moved;
};

bool participant_make_room(participant *g, mtf_session *s, int members); /* false after an error */
void participant_leave(participant *g, mtf_session *s);

/* Begins a collective with the processors that differ from this one along these axes of `grid` only;
 * false if one of their mailboxes is not reachable. */
bool participant_join(participant *g, unsigned axes);

/* Posts a step of the current collective, counted from 1; waits until the group has posted it; does
 * both. */
void participant_post(participant *g, uint64_t step);
bool participant_await(participant *g, const instr *i, uint64_t step);
bool participant_swap(participant *g, const instr *i, uint64_t step);
/* Publishes that all posts of the other members have been read; another post would imply it. */
void     participant_finish(participant *g, uint64_t step);
bool     participant_wait_until_done(participant *g, const instr *i, uint64_t number);
uint64_t participant_number(const participant *g, uint64_t step);
/* Has member k not posted? */
bool participant_lacks(const participant *g, const post_condition *what, int k);
bool participant_has_all(const participant *g, const post_condition *what);

/* Copies, in general and from the memory of another participant. */
bool participant_copy(participant *g, void *to, const void *from, int64_t bytes);
bool participant_copy_region(participant *g, const region *r, const char *from, char *to,
                             int64_t element);
bool participant_read(participant *g, void *to, const void *from, int64_t bytes);
/* Combines elements of `parts` operands, of which `others` lie in the memory of others. */
bool participant_combine(participant *g, int parts, int others, const instr *i, void *out,
                         int64_t elements);

/* The same for the results of all members, whose memory it writes to; `received` bytes are written here
 * by others.  participant_combines_all: it can. */
bool participant_combines_all(const participant *g);
bool participant_combine_all(participant *g, const instr *i, int64_t elements, int64_t received);

static inline mailbox *participant_mailbox(const participant *g)
{
    return g->mailboxes[g->me];
}

#endif
