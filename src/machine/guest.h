/* Guests: processors that meet by what they note in their mailboxes.
 *
 * A processor meets only those with whom it has to do: its company are the
 * members of the group in the current collective.  All processors take part in
 * the same collectives, so numbers follow from counting.
 */
#ifndef MACHINE_GUEST_H
#define MACHINE_GUEST_H

#include "machine/mailbox.h"
#include "machine/wire.h"

typedef struct guest guest;

/* What a guest waits for: that all of its company have noted a number. */
typedef struct post_condition {
    bool (*lacks)(const mailbox *s, uint64_t number);
    uint64_t number;
} post_condition;

/* One processor. */
struct guest {
    const mesh     *mesh;
    int             me;
    mailbox *const *mailboxes; /* by processor; NULL: out of reach */
    mailbox_use    *turn;
    const char     *in; /* operands of the current collective */
    char           *out;
    void           *wire;
    /* How this wire waits; false where somebody failed. */
    bool (*wait)(guest *g, const instr *i, const post_condition *what);
    void (*told)(guest *g); /* after something was noted; NULL: nobody sleeps */
    /* Its company in the current collective. */
    unsigned     axes; /* along which they differ */
    group        group;
    bool         complete; /* the mailboxes of all are in reach */
    int          room;     /* for so many of them */
    int         *members;  /* their processors */
    mailbox    **theirs;   /* their mailboxes */
    const char **parts;    /* what they bring, for working with */
    wire_moved   moved;
};

bool guest_make_room(guest *g, mtf_session *s, int members); /* false after an error */
void guest_leave(guest *g, mtf_session *s);

/* Begins a collective with those who differ from this one along these axes only; false where
 * somebody's mailbox is out of reach. */
bool guest_joins(guest *g, unsigned axes);

/* Posts a step of the current collective, counted from 1; waits until its company have; both. */
void guest_post(guest *g, uint64_t step);
bool guest_await(guest *g, const instr *i, uint64_t step);
bool guest_swap(guest *g, const instr *i, uint64_t step);
/* Notes that what the others have posted for it is read; whoever posts more need not. */
void     guest_finish(guest *g, uint64_t step);
bool     guest_wait_until_done(guest *g, const instr *i, uint64_t number);
uint64_t guest_number(const guest *g, uint64_t step);
bool     guest_lacks(const guest *g, const post_condition *what,
                     int k); /* has that of member k not come? */
bool     guest_has_all(const guest *g, const post_condition *what);

/* Copies from another's memory. */
void guest_read(guest *g, void *to, const void *from, int64_t bytes);
/* Combines elements of so many parts, of which `others` lie in memory of others. */
void guest_combine(guest *g, int parts, int others, const instr *i, void *out, int64_t elements);

static inline mailbox *guest_mailbox(const guest *g)
{
    return g->mailboxes[g->me];
}

#endif
