/* Shares of operands and results, through the memory of a host.
 *
 * A member's share is one span of the operand or result, or one for each host of its group
 * (program/stages.h).  Rounds take as much of every share as mailboxes have room for.
 */
#include "base/whole.h"
#include "machine/wire.h"
#include "mtf_build.h"

#if MTF_HAVE_MPI

#include <string.h>

#include "base/dtype.h"
#include "machine/wire_mpi.h"

typedef struct share_plan {
    const mesh   *mesh;
    const instr  *i;
    const stages *stages;
    int64_t       bytes;        /* of one element */
    int64_t       step, rounds; /* elements of each share in a round */
} share_plan;

/* `room`: elements of each share that fit in a round. */
static share_plan plan_shares(const participant *g, const instr *i, const stages *t, int64_t room)
{
    share_plan p = {
        .mesh = g->mesh, .i = i, .stages = t, .bytes = (int64_t)mtf_dtype_bytes(i->out[0].type)};
    int64_t line = CACHE_LINE / p.bytes, most = 0;
    for (int k = 0; k < g->group.n; k++) {
        int64_t size = stages_shares(t, g->mesh, i, k);
        if (size > most) most = size;
    }
    p.step = round_up(most, line);
    if (p.step > room) p.step = room;
    p.rounds = most ? ceil_div(most, p.step) : 0;
    return p;
}

/* ---- pieces ---- */

/* The piece of a member's share that one round takes: visits its contiguous stretches. */
typedef struct piece {
    const share_plan *plan;
    int               place, host; /* whose it is; the host whose span is next */
    int64_t           begin;       /* in the share */
    int64_t           passed;      /* elements of the share in the spans before */
} piece;

typedef struct stretch {
    int64_t at;    /* where it begins in the piece, */
    span    whole; /* and its elements of the operand or result */
} stretch;

static piece piece_of(const share_plan *p, int place, int64_t which)
{
    return (piece){.plan = p, .place = place, .begin = which * p->step};
}

static bool next_stretch(piece *v, stretch *s)
{
    const share_plan *p = v->plan;
    while (v->host < p->stages->across.n) {
        span    part = stages_share(p->stages, p->mesh, p->i, v->host++, v->place);
        int64_t first = v->passed, end = first + part.size, limit = v->begin + p->step;
        int64_t from = first > v->begin ? first : v->begin, to = end < limit ? end : limit;
        v->passed = end;
        if (from >= to) continue;
        *s = (stretch){from - v->begin, {part.begin + from - first, to - from}};
        return true;
    }
    return false;
}

/* ---- combining ---- */

/* Where the pieces for member k, or its result, lie in a mailbox. */
static char *slot(const share_plan *p, mailbox *of, const mail_round *r, int k, int64_t at)
{
    return mailbox_half(of, r->half) + (k * p->step + at) * p->bytes;
}

/* Copies the other members' pieces of the operand into the mailbox and combines this one's. */
static bool combine_round(participant *g, const share_plan *p, int64_t which, char *to,
                          mail_round *r)
{
    int here = g->group.mine;
    TRY(round_begin(g, p->i, which, r));
    for (int k = 0; k < g->group.n; k++) {
        piece others = piece_of(p, k, which);
        for (stretch s; k != here && next_stretch(&others, &s);)
            memcpy(slot(p, g->theirs[here], r, k, s.at), g->in + s.whole.begin * p->bytes,
                   (size_t)(s.whole.size * p->bytes));
    }
    TRY(round_swap(g, p->i, r));
    piece own = piece_of(p, here, which);
    for (stretch s; next_stretch(&own, &s);) {
        char *out = to ? to + (own.begin + s.at) * p->bytes : g->out + s.whole.begin * p->bytes;
        for (int k = 0; k < g->group.n; k++)
            g->parts[k] =
                k == here ? g->in + s.whole.begin * p->bytes : slot(p, g->theirs[k], r, here, s.at);
        participant_combine(g, g->group.n, g->group.n - 1, p->i, out, s.whole.size);
        if (!to)
            memcpy(slot(p, g->theirs[here], r, here, s.at), out, (size_t)(s.whole.size * p->bytes));
    }
    return true;
}

/* Copies the pieces that the other members have combined. */
static bool collect_round(participant *g, const share_plan *p, int64_t which, mail_round *r)
{
    TRY(round_swap(g, p->i, r));
    for (int k = 0; k < g->group.n; k++) {
        piece others = piece_of(p, k, which);
        for (stretch s; k != g->group.mine && next_stretch(&others, &s);)
            participant_read(g, g->out + s.whole.begin * p->bytes,
                             slot(p, g->theirs[k], r, k, s.at), s.whole.size * p->bytes);
    }
    return true;
}

bool shared_combine(participant *g, const instr *i, const stages *t, char *to, int64_t *rounds)
{
    int64_t    line = CACHE_LINE / (int64_t)mtf_dtype_bytes(i->out[0].type);
    share_plan p = plan_shares(g, i, t, MAILBOX_BYTES / CACHE_LINE / g->group.n * line);
    mail_round r = {0};
    *rounds = p.rounds;
    for (int64_t which = 0; which < p.rounds; which++) {
        TRY(combine_round(g, &p, which, to, &r));
        if (!to) TRY(collect_round(g, &p, which, &r));
    }
    return p.rounds == 0 || round_end(g, &r);
}

/* ---- gathering ---- */

static bool gather_round(participant *g, const share_plan *p, int64_t which, mail_round *r)
{
    piece own = piece_of(p, g->group.mine, which);
    for (stretch s; next_stretch(&own, &s);)
        memcpy(slot(p, participant_mailbox(g), r, 0, s.at), g->out + s.whole.begin * p->bytes,
               (size_t)(s.whole.size * p->bytes));
    TRY(round_swap(g, p->i, r));
    for (int k = 0; k < g->group.n; k++) {
        piece others = piece_of(p, k, which);
        for (stretch s; k != g->group.mine && next_stretch(&others, &s);)
            participant_read(g, g->out + s.whole.begin * p->bytes,
                             slot(p, g->theirs[k], r, 0, s.at), s.whole.size * p->bytes);
    }
    return true;
}

bool shared_gather(participant *g, const instr *i, const stages *t, int64_t first)
{
    share_plan p = plan_shares(g, i, t, MAILBOX_BYTES / (int64_t)mtf_dtype_bytes(i->out[0].type));
    mail_round r = {0};
    for (int64_t which = 0; which < p.rounds; which++) {
        TRY(round_begin(g, i, first + which, &r));
        TRY(gather_round(g, &p, which, &r));
    }
    return p.rounds == 0 || round_end(g, &r);
}

#endif
