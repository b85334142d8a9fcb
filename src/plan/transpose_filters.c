/* Filters of convolutions, copied as a library wants them.
 *
 * A filter of ours lies as [taps.., channel, output]; the device's library, which reads and writes
 * channels at once, wants [output, taps.., channel].  It is copied before a convolution and
 * before the gradient of its input, once for both if that takes no more memory; the gradient
 * of a filter is copied afterwards.
 */
#include "plan/passes.h"
#include "program/window_form.h"

static bool is_wanted(const program *p, const instr *i)
{
    const abilities *can = &p->session->can;
    return i->kind == INSTR_WINDOW && can->takes_window &&
           can->takes_window(i, can->least_window, p->session->opts.tf32);
}

static bool is_transposed_for_it(const program *p, const instr *i)
{
    return is_wanted(p, i) && !window_is_transposed(i);
}

/* Strides of a filter along its taps, channels and outputs. */
static access as_it_lies(const window_args *a, const access *w)
{
    access to = {.buffer = w->buffer, .type = w->type, .offset = w->offset};
    for (int d = 0; d < a->nspatial; d++) to.stride[d] = a->w_tap[d];
    to.stride[a->nspatial] = a->w_chan;
    to.stride[a->nspatial + 1] = a->w_out;
    return to;
}

static void transpose(window_args *a)
{
    int64_t step = a->chans;
    a->w_chan = 1;
    for (int d = a->nspatial - 1; d >= 0; d--) {
        a->w_tap[d] = step;
        step *= a->taps[d];
    }
    a->w_out = step;
}

static bool add_buffer(program *p, const instr *i, mtf_dtype type)
{
    const window_args *a = &i->window;
    int64_t            bytes = a->chans * a->outs * (int64_t)mtf_dtype_bytes(type);
    for (int d = 0; d < a->nspatial; d++) bytes *= a->taps[d];
    TRY(arena_push(&p->arena, p->buffers, p->nbuffers, p->buffers_room));
    p->buffers[p->nbuffers] = (buffer){
        .kind = BUFFER_TEMPORARY, .bytes = bytes, .cause = i->cause, .shares = p->nbuffers};
    p->nbuffers++;
    return true;
}

/* Lets the convolution work on a copy; `move` makes it, or copies it back. */
static bool transpose_filter(program *p, instr *i, instr *move)
{
    bool    result = i->window.kind == WINDOW_FILTER;
    access *ends = arena_array(&p->arena, access, 2);
    access *out = arena_array(&p->arena, access, 1), *in = arena_array(&p->arena, access, 2);
    TRY(ends && out && in && add_buffer(p, i, window_operands_of(i).w->type));
    access there = as_it_lies(&i->window, window_operands_of(i).w);
    transpose(&i->window);
    i->window.library = true;
    access copy = as_it_lies(&i->window, window_operands_of(i).w);
    copy.buffer = p->nbuffers - 1, copy.offset = 0;
    *out = i->out[0], in[0] = i->in[0], in[1] = i->in[1];
    access *w = result ? out : &in[1];
    w->buffer = copy.buffer, w->offset = 0;
    i->out = out, i->in = in;
    ends[0] = result ? there : copy, ends[1] = result ? copy : there;
    *move = (instr){.kind = INSTR_MOVE,
                    .nout = 1,
                    .nin = 1,
                    .out = &ends[0],
                    .in = &ends[1],
                    .nloops = i->window.nspatial + 2,
                    .cause = i->cause};
    for (int d = 0; d < i->window.nspatial; d++) move->size[d] = i->window.taps[d];
    move->size[i->window.nspatial] = i->window.chans;
    move->size[i->window.nspatial + 1] = i->window.outs;
    return true;
}

/* ---- copies that serve again ---- */

/* Copies of temporary buffers, which only live longer in another layout. */
typedef struct copies {
    const instr **moves;
    int           n;
} copies;

/* Lets the convolution read a copy that was made before, instead of the program's last buffer. */
static bool read_again(program *p, const copies *c, instr *i, const instr *move)
{
    for (int k = 0; k < c->n; k++) {
        const instr *m = c->moves[k];
        bool         same = m->nloops == move->nloops && access_same(m->in, move->in, m->nloops);
        for (int d = 0; d < m->nloops; d++) same = same && m->size[d] == move->size[d];
        if (!same) continue;
        i->in[1].buffer = m->out[0].buffer;
        p->nbuffers--;
        return true;
    }
    return false;
}

/* Forgets copies of what an instruction changes; a loop may change anything. */
static void forget(copies *c, const instr *i)
{
    int n = 0;
    for (int k = 0; k < c->n && !instr_is_control(i); k++)
        if (!instr_writes(i, c->moves[k]->in[0].buffer)) c->moves[n++] = c->moves[k];
    c->n = n;
}

/* ---- the pass ---- */

bool transpose_filters(program *p, arena *scratch)
{
    int    wanted = 0, n = 0;
    copies made = {0};
    for (int k = 0; k < p->ninstrs; k++) {
        instr *i = &p->instrs[k];
        if (is_transposed_for_it(p, i))
            wanted++;
        else if (is_wanted(p, i))
            i->window.library = true;
    }
    if (wanted == 0) return true;
    int    room = p->ninstrs + wanted + 1;
    instr *all = arena_array(&p->arena, instr, room);
    int   *now_at = arena_array(scratch, int, p->ninstrs + 1);
    made.moves = arena_array(scratch, const instr *, wanted);
    TRY(all && now_at && made.moves);
    for (int k = 0; k < p->ninstrs; k++) {
        instr i = p->instrs[k], move;
        bool  transposes = is_transposed_for_it(p, &i),
             after = transposes && i.window.kind == WINDOW_FILTER;
        if (transposes) TRY(transpose_filter(p, &i, &move));
        if (transposes && !after && !read_again(p, &made, &i, &move)) {
            if (p->buffers[move.in[0].buffer].kind == BUFFER_TEMPORARY)
                made.moves[made.n++] = &all[n];
            all[n++] = move;
        }
        forget(&made, &i);
        now_at[k] = n;
        all[n++] = i;
        if (after) all[n++] = move;
    }
    for (int k = 0; k < n; k++) /* LOOP, TEST and AGAIN refer to each other by number */
        if (instr_is_control(&all[k])) all[k].loop.other = now_at[all[k].loop.other];
    p->instrs = all;
    p->ninstrs = n;
    p->instrs_room = room;
    return true;
}
