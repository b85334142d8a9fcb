/* Audits: compares a program's price with what its steps did. */
#include "run/audit.h"

#include <string.h>

#include "base/saturate.h"
#include "price/price.h"
#include "run/compiled.h"

/* The price counts one iteration of a loop that ends by a condition; the real number is known
 * now. */
static int64_t executions_of(const price_line *line, const mtf_measured *m, int k)
{
    return line->open_ended ? m->executions[k] : saturate_times(line->executions, m->steps);
}

static void add_executions(int64_t *sum, int64_t all_executions, int64_t executions, int64_t done)
{
    *sum =
        saturate_plus(*sum, saturate_times(all_executions / (executions ? executions : 1), done));
}

static void raise(int64_t *most, int64_t bytes)
{
    if (bytes > *most) *most = bytes;
}

static void raise_memory(account *x, int64_t memory, int64_t scratch, int64_t buffers)
{
    raise(&x->memory, memory);
    raise(&x->scratch, scratch);
    raise(&x->wire, buffers);
    raise(&x->all, memory + scratch + buffers);
}

/* Adds up the price of the steps that processor `number` has done. */
static bool promise(const mtf_program *p, int number, const mtf_measured *m, audit *a)
{
    const store *s = p->store;
    program     *q = p->processors[number].program;
    arena_mark   mark = arena_here(&q->arena);
    account     *x = &a->planned;
    price        cost = {.program = q,
                         .mesh = &s->mesh,
                         .layout = &s->layout,
                         .here = mesh_place(&s->mesh, number),
                         .rates = PRICE_RATES};
    cost.rates.site = &s->site;
    TRY(price_program(&cost, &q->arena));
    for (int k = 0; k < q->ninstrs; k++) {
        const price_line *line = &cost.lines[k];
        int64_t           done = executions_of(line, m, k);
        add_executions(&x->flops, line->flops, line->executions, done);
        add_executions(&x->read, line->received_bytes - line->in_messages, line->executions, done);
        add_executions(&x->received, line->in_messages, line->executions, done);
        add_executions(&x->sent, line->out_messages, line->executions, done);
        add_executions(&x->received_outside, line->in_outside, line->executions, done);
        add_executions(&x->sent_outside, line->out_outside, line->executions, done);
        if (line->collective) x->collectives += done;
    }
    const price_memory *y = &cost.memory;
    raise_memory(x, y->peak - y->scratch - y->wire, y->scratch, y->wire);
    a->open_ended = a->open_ended || cost.open_ended;
    arena_back(&q->arena, mark);
    return true;
}

static void find_account(const mtf_measured *m, const wire_moved *moved, account *x)
{
    x->flops += m->flops;
    x->collectives += m->collectives;
    x->read += m->read_bytes;
    x->received += m->received_messages;
    x->sent += m->sent_messages;
    x->received_outside += moved->received_outside;
    x->sent_outside += moved->sent_outside;
    raise_memory(x, m->peak_bytes, m->scratch_bytes, m->wire_bytes);
}

/* ---- all processes ---- */

static void merge(account *x, const account *y)
{
    x->flops = saturate_plus(x->flops, y->flops);
    x->collectives += y->collectives;
    x->read = saturate_plus(x->read, y->read);
    x->received = saturate_plus(x->received, y->received);
    x->sent = saturate_plus(x->sent, y->sent);
    x->received_outside = saturate_plus(x->received_outside, y->received_outside);
    x->sent_outside = saturate_plus(x->sent_outside, y->sent_outside);
    raise(&x->memory, y->memory);
    raise(&x->scratch, y->scratch);
    raise(&x->wire, y->wire);
    raise(&x->all, y->all);
}

static bool merge_ranks(store *s, audit *a)
{
    if (!s->ranks) return true;
    arena_mark mark = arena_here(&s->session->arena);
    int        count = ranks_count(s->ranks), mine = ranks_number(s->ranks);
    audit     *all = arena_array(&s->session->arena, audit, count);
    TRY(all && ranks_gather(s->ranks, "comparing with the plan", a, all, (int)sizeof *a));
    for (int k = 0; k < count; k++) {
        if (k == mine) continue;
        merge(&a->planned, &all[k].planned);
        merge(&a->measured, &all[k].measured);
        a->processors += all[k].processors;
        a->open_ended = a->open_ended || all[k].open_ended;
    }
    arena_back(&s->session->arena, mark);
    return true;
}

bool audit_program(mtf_program *p, audit *a)
{
    memset(a, 0, sizeof *a); /* it is sent as bytes */
    for (int k = p->store->first; k < p->store->end; k++) {
        mtf_measured m = mtf_program_measured(p, k);
        if (!m.steps) continue;
        a->processors++;
        a->steps = m.steps;
        find_account(&m, &p->processors[k].counts.moved, &a->measured);
        TRY(promise(p, k, &m, a));
    }
    return merge_ranks(p->store, a);
}

/* ---- the comparison ---- */

void audit_rows(const audit *a, audit_row rows[AUDIT_ROWS])
{
    const account  *x = &a->planned, *y = &a->measured;
    const audit_row all[AUDIT_ROWS] = {
        {"flops", "flops", x->flops, y->flops},
        {"collectives", "collectives", x->collectives, y->collectives},
        {"bytes sent", "sent_bytes", x->read + x->received, y->read + y->received},
        {"bytes read in shared memory", "read_bytes", x->read, y->read},
        {"bytes received in messages", "received_messages", x->received, y->received},
        {"bytes sent in messages", "sent_messages", x->sent, y->sent},
        {"bytes from other hosts", "received_outside", x->received_outside, y->received_outside},
        {"bytes to other hosts", "sent_outside", x->sent_outside, y->sent_outside},
        {"bytes of variables and slab", "slab_bytes", x->memory, y->memory},
        {"bytes of scratch", "scratch_bytes", x->scratch, y->scratch},
        {"bytes of wire buffers", "wire_bytes", x->wire, y->wire},
        {"bytes of memory", "peak_bytes", x->all, y->all}};
    memcpy(rows, all, sizeof all);
}

bool audit_agrees(mtf_session *s, const audit *a)
{
    audit_row rows[AUDIT_ROWS];
    audit_rows(a, rows);
    for (int i = 0; i < AUDIT_ROWS; i++)
        if (rows[i].planned != rows[i].measured)
            return fail(&s->fault, ERR_INTERNAL, "the plan promised %lld %s, the run counted %lld",
                        (long long)rows[i].planned, rows[i].what, (long long)rows[i].measured);
    return true;
}
