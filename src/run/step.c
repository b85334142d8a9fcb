/* Steps: every processor runs its program. */

#include "base/dtype.h"
#include "machine/device_peers.h"
#include "run/compiled.h"
#include "run/say.h"

static bool all_fed(const mtf_program *p)
{
    for (int i = 0; i < first_program(p)->ninputs; i++) {
        const mtf_tensor *x = first_program(p)->inputs[i].tensor;
        char              text[SHAPE_TEXT];
        if (!p->fed[i])
            return fail(&p->session->fault, ERR_USAGE, "input \"%s\" %s%s was not fed",
                        tensor_name(x), mtf_dtype_name(x->type), shape_text(&x->shape, text));
    }
    return true;
}

static const void *flag_of(const processor *k, const instr *test)
{
    return (const char *)k->base[test->in[0].buffer] + test->in[0].offset;
}

static bool flag_is_set(mtf_program *p, const processor *k, const instr *test)
{
    uint8_t flag = 0;
    p->device->read(k->context, &flag, flag_of(k, test), 1);
    return flag != 0;
}

/* The loops around an instruction. */
typedef struct loops {
    int64_t iterations[MAX_NESTING];
    int     depth;
} loops;

/* Is one iteration of the loop queued, which the device repeats by itself? */
static bool is_rolled(const mtf_program *p, const instr *loop)
{
    return p->step.captured && p->step.rolled && loop->loop.trips >= 0;
}

/* Goes into a loop, or leaves it: sets the instruction before the next one.  A loop that is captured
 * decides twice: before its first iteration, and at the end of it. */
static bool pass_loop(mtf_program *p, const processor *me, int *k, loops *l)
{
    const program *q = me->program;
    const instr *i = &q->instrs[*k], *loop = i->kind == INSTR_AGAIN ? &q->instrs[i->loop.other] : i;
    const device_recorder *d = p->device->recorder;
    if (i->kind == INSTR_LOOP) {
        l->iterations[l->depth++] = 0;
        return !is_rolled(p, i) || d->loop_begins(me->context, NULL);
    }
    if (i->kind == INSTR_TEST) {
        if (p->step.captured && l->iterations[l->depth - 1] == 0)
            return d->loop_begins(me->context, flag_of(me, i));
        if (p->step.captured)
            TRY(d->loop_ends(me->context, flag_of(me, i), 0));
        else if (flag_is_set(p, me, i))
            return true;
        *k = i->loop.other;
        l->depth--;
        return true;
    }
    int64_t trips = loop->loop.trips, iterations = ++l->iterations[l->depth - 1];
    if (is_rolled(p, loop)) {
        l->depth--;
        return d->loop_ends(me->context, NULL, trips);
    }
    if (trips < 0 || iterations < trips)
        *k = i->loop.other;
    else
        l->depth--;
    return true;
}

/* The time of queued work is known only when it is done. */
static void count(processor *me, int k)
{
    const device *d = me->context->device;
    if (me->counts.on) d->wait(me->context);
    count_instr(&me->counts, k);
}

/* Measured instructions run one after the other. */
static bool runs_beside(const processor *me)
{
    return device_orders(me->context->device) && !me->counts.program;
}

static bool collect(mtf_program *p, int number, int k)
{
    processor   *me = &p->processors[number];
    const instr *i = &me->program->instrs[k];
    TRY(p->store->wire->run(p->store->wire, number, i, me->base));
    return !runs_beside(me) ||
           me->context->device->peers->collected(me->context, me->program, k, &me->state);
}

static bool walk(mtf_program *p, int number)
{
    processor     *me = &p->processors[number];
    const program *q = me->program;
    loops          l = {.depth = 0};
    for (int k = 0; k < q->ninstrs; k++) {
        const instr *i = &q->instrs[k];
        count(me, k);
        if (runs_beside(me)) TRY(p->device->peers->order(me->context, q, k, &me->state));
        switch (i->kind) {
        case INSTR_LOOP:
        case INSTR_TEST:
        case INSTR_AGAIN: TRY(pass_loop(p, me, &k, &l)); break;
        case INSTR_SAY:
            if (number == 0) say_value(p->session, me->context, i, me->base);
            break;
        case INSTR_REDUCE:
        case INSTR_REDUCE_SCATTER:
        case INSTR_EXCHANGE: TRY(collect(p, number, k)); break;
        default:
            if (instr_elements(i) > 0) TRY(p->device->run(me->context, q, k, &me->state));
        }
    }
    count(me, -1);
    return true;
}

static void step_one(void *context, int index)
{
    mtf_program *p = context;
    int          number = p->store->first + index;
    processor   *me = &p->processors[number];
    wire        *w = p->store->wire;
    count_begin(&me->counts, w, number);
    bool ok = p->device->begin(me->context, me->program, &me->state) && walk(p, number) &&
              p->device->end(me->context, me->program, &me->state);
    count_end(&me->counts, w, number);
    if (!ok && w) w->abort(w, number);
    me->state.step++;
}

/* Adds the failed processor to the error, and sends it to the other processes. */
static void report_failure(store *s)
{
    if (!s->wire) return;
    bool apart = device_connects(
        s->device); /* each rank has its own device, which may be the one to look at */
    store_name(s, s->wire->failed >= 0 ? s->wire->failed : s->first, apart);
    if (s->ranks && !ranks_foreign(s->ranks)) ranks_tell(s->ranks);
}

bool mtf_step(mtf_program *p)
{
    if (!alive(p)) return false;
    TRY((p->stepped || session_knows_options(p->session)) && all_fed(p));
    if (p->store->wire) p->store->wire->reset(p->store->wire);
    p->device->enter(p->device);
    if (p->device->recorder) p->device->recorder->enter(p->device, &p->step);
    if (p->step.replayed) {
        for (int k = p->store->first; k < p->store->end; k++) p->processors[k].state.step++;
    } else if (mtf_ok(p->session)) {
        p->session->stepping = true;
        thread_pool_run(p->store->thread_pool, step_one, p);
        p->session->stepping = false;
    }
    if (p->device->recorder) p->device->recorder->leave(p->device, &p->step);
    p->device->leave(p->device);
    p->stepped = true;
    if (!mtf_ok(p->session)) report_failure(p->store);
    return mtf_ok(p->session);
}

int64_t mtf_program_step(const mtf_program *p)
{
    return p && !p->closed ? p->processors[p->store->first].state.step : 0;
}

bool mtf_program_set_step(mtf_program *p, int64_t step)
{
    if (!alive(p)) return false;
    if (step < 0 || step > UINT32_MAX)
        return fail(&p->session->fault, ERR_VALUE,
                    "steps are numbered from 0 to 2^32 - 1, not %lld", (long long)step);
    for (int k = p->store->first; k < p->store->end; k++)
        p->processors[k].state.step = (uint32_t)step;
    return true;
}
