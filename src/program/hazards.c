/* Which instructions must wait for collectives that run beside them. */
#include "program/hazards.h"

/* Collectives that may be under way: more would only take longer to compare. */
enum { MOST_UNDER_WAY = 256 };

typedef struct search {
    const program *program;
    int           *until;  /* by collective: the first instruction that must wait for it */
    int           *reads;  /* by buffer: the last collective under way that reads it; -1: none */
    int           *writes; /* the same for results */
    int           *list;   /* collectives under way, in their order */
    int            n;
} search;

/* ---- what an instruction touches ---- */

static bool meets_collective(const program *p, const buffer *x, const instr *i)
{
    for (int o = 0; o < i->nout; o++)
        if (buffers_meet(x, &p->buffers[i->out[o].buffer])) return true;
    for (int o = 0; o < i->nin; o++)
        if (buffers_meet(x, &p->buffers[i->in[o].buffer])) return true;
    return false;
}

/* Instruction k must wait for collective c, and so for all before it. */
static void must_wait(search *s, int c, int k)
{
    if (c >= 0 && k < s->until[c]) s->until[c] = k;
}

/* A buffer that is in use when a collective begins does not share a byte with its operands; so only
 * those that begin later may lie where its operands are. */
static void check_place(search *s, int b, int k)
{
    const program *p = s->program;
    if (p->buffers[b].first != k) return;
    for (int c = 0; c < s->n; c++)
        if (meets_collective(p, &p->buffers[b], &p->instrs[s->list[c]]))
            must_wait(s, s->list[c], k);
}

static void check_operands(search *s, int k)
{
    const instr *i = &s->program->instrs[k];
    for (int o = 0; o < i->nout; o++) {
        int b = i->out[o].buffer;
        must_wait(s, s->reads[b], k);
        must_wait(s, s->writes[b], k);
        check_place(s, b, k);
    }
    for (int o = 0; o < i->nin; o++) {
        must_wait(s, s->writes[i->in[o].buffer], k);
        check_place(s, i->in[o].buffer, k); /* an empty part is read without having been written */
    }
}

/* ---- the two passes ---- */

static void begin_collective(search *s, int k)
{
    const instr *i = &s->program->instrs[k];
    for (int o = 0; o < i->nin; o++) s->reads[i->in[o].buffer] = k;
    for (int o = 0; o < i->nout; o++) s->writes[i->out[o].buffer] = k;
    s->until[k] = s->program->ninstrs;
    s->list[s->n++] = k;
}

/* Where a loop begins, goes on or is tested, nothing is under way: what follows may be its beginning. */
static void end_all(search *s, int k)
{
    for (int c = 0; c < s->n; c++) must_wait(s, s->list[c], k);
}

static void drop_ended(search *s, int k)
{
    int kept = 0;
    for (int c = 0; c < s->n; c++)
        if (s->until[s->list[c]] > k) s->list[kept++] = s->list[c];
    s->n = kept;
}

static void find_ends(search *s)
{
    const program *p = s->program;
    for (int k = 0; k < p->ninstrs; k++) {
        const instr *i = &p->instrs[k];
        if (instr_is_collective(i)) {
            begin_collective(s, k);
            continue;
        }
        if (instr_is_control(i) || s->n >= MOST_UNDER_WAY)
            end_all(s, k);
        else
            check_operands(s, k);
        drop_ended(s, k);
    }
}

/* Is there work to do meanwhile? */
static bool has_company(const program *p, int k, int until)
{
    for (k++; k < until; k++)
        if (!instr_is_collective(&p->instrs[k]) && instr_elements(&p->instrs[k]) > 0) return true;
    return false;
}

/* Collectives run in their order, whatever their queues: so one that runs on the first waits for those
 * on the second. */
static void find_waits(const search *s, hazards *h)
{
    const program *p = s->program;
    int            last = -1, ended = -1;
    for (int k = 0; k <= p->ninstrs; k++) h->awaits[k] = -1;
    for (int k = 0; k < p->ninstrs; k++) {
        h->beside[k] = instr_is_collective(&p->instrs[k]) && has_company(p, k, s->until[k]);
        if (h->beside[k] && k > h->awaits[s->until[k]]) h->awaits[s->until[k]] = k;
    }
    for (int k = 0; k <= p->ninstrs; k++) {
        bool collective = k < p->ninstrs && instr_is_collective(&p->instrs[k]);
        if (collective && h->beside[k]) {
            last = k;
            continue;
        }
        int need = collective || k == p->ninstrs ? last : h->awaits[k];
        h->awaits[k] = need > ended ? need : -1;
        if (need > ended) ended = need;
    }
}

bool hazards_find(const program *p, arena *a, hazards *h)
{
    search s = {.program = p,
                .until = arena_array(a, int, p->ninstrs + 1),
                .reads = arena_array(a, int, p->nbuffers + 1),
                .writes = arena_array(a, int, p->nbuffers + 1),
                .list = arena_array(a, int, p->ninstrs + 1)};
    h->beside = arena_array(a, bool, p->ninstrs + 1);
    h->awaits = arena_array(a, int, p->ninstrs + 1);
    TRY(s.until && s.reads && s.writes && s.list && h->beside && h->awaits);
    for (int b = 0; b < p->nbuffers; b++) s.reads[b] = s.writes[b] = -1;
    find_ends(&s);
    find_waits(&s, h);
    return true;
}
