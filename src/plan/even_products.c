/* Products of even sizes.
 *
 * A library of matrix products has its fast kernels for sizes that are multiples of 8 bf16, or of 16 bytes:
 * with 50257 words the logits and the gradient of the layer before take seven times as long as with
 * 50264, however far apart the rows are.  Where a temporary matrix has room at the end of its rows, or can have
 * some rows more, a product runs over that as well.  The room is filled with zeros first, so that terms add
 * nothing, and results come to lie where nobody reads them.
 */
#include "base/dtype.h"
#include "base/whole.h"
#include "plan/passes.h"
#include "plan/row_strides.h"
#include "program/epilogue.h"

enum { LEAST_WORK = 1 << 30 }; /* multiplications: others take no longer than filling */
enum { FACTORS = 2 };

/* Room in a buffer. */
typedef struct room {
    int64_t size, even; /* elements of a row, or rows, without and with it; even 0: there is none */
    int64_t apart;      /* from row to row */
    bool    along;      /* it is behind each row, not behind the last */
    bool    zero;       /* it was filled, and nothing was written since */
} room;

typedef struct evener {
    program          *program;
    const row_stride *rows;
    room             *rooms; /* by buffer */
    int              *loop; /* by instruction: that which runs over the room of M, N, K; -1: none */
    int               fills; /* at most */
} evener;

/* ---- which sizes ---- */

enum { M, N, K };
/* The operands of each loop of a product, outputs first, and what loop each of them has besides. */
static const struct {
    int operand, other;
} matrices[3][FACTORS] = {{{0, N}, {1, K}}, {{0, M}, {2, K}}, {{1, M}, {2, N}}};

static access *matrix_of(const instr *i, int loop, int f)
{
    int k = matrices[loop][f].operand;
    return k == 0 ? &i->out[0] : &i->in[k - 1];
}

/* The room that one of the loop's matrices has or may have. */
static bool find_room(const evener *v, const instr *i, int loop, int f, room *r)
{
    const access     *a = matrix_of(i, loop, f);
    const buffer     *b = &v->program->buffers[a->buffer];
    const row_stride *rows = &v->rows[a->buffer];
    int64_t           size = i->size[loop], step = a->stride[loop], other = matrices[loop][f].other;
    int64_t           each = (int64_t)mtf_dtype_bytes(a->type),
            multiple = v->program->session->can.row_bytes / each;
    int64_t across = a->stride[other];
    *r = (room){size, round_up(size, multiple), max_of(step, across), step == 1, false};
    if (b->kind != BUFFER_TEMPORARY || a->offset != 0 || r->even == size) return false;
    if (r->along) return rows->length == size && across == rows->apart && r->even <= across;
    return across == 1 && !rows->length && i->size[other] == step && size * step * each == b->bytes;
}

static bool is_same(const room *a, const room *b)
{
    return a->size == b->size && a->even == b->even && a->apart == b->apart && a->along == b->along;
}

/* Lets the loop run over the room of both its matrices, if that of one is along it. */
static bool take_room(evener *v, instr *i, int loop)
{
    room  r[FACTORS];
    room *of[FACTORS];
    for (int f = 0; f < FACTORS; f++) {
        of[f] = &v->rooms[matrix_of(i, loop, f)->buffer];
        if (!find_room(v, i, loop, f, &r[f]) || (of[f]->even && !is_same(of[f], &r[f])))
            return false;
    }
    if (of[0] == of[1] || r[0].even != r[1].even || !(r[0].along || r[1].along)) return false;
    for (int f = 0; f < FACTORS; f++) *of[f] = r[f];
    v->fills += FACTORS;
    return true;
}

/* A product of floats and no more. */
static bool is_plain(const instr *i)
{
    return i->kind == INSTR_CONTRACT && i->nloops == 3 && i->nin == FACTORS && i->nout == 1 &&
           !epilogue_is_any(i) && dtype_is_float(i->in[0].type) && instr_elements(i) >= LEAST_WORK;
}

/* Sizes change after all products were looked at, and so do buffers. */
static void choose(evener *v)
{
    program *p = v->program;
    for (int k = 0; k < p->ninstrs; k++) {
        instr *i = &p->instrs[k];
        v->loop[k] = -1;
        for (int loop = M; loop <= K && v->loop[k] < 0 && is_plain(i); loop++)
            if (take_room(v, i, loop)) v->loop[k] = loop;
    }
    for (int k = 0; k < p->ninstrs; k++)
        if (v->loop[k] >= 0)
            p->instrs[k].size[v->loop[k]] =
                v->rooms[matrix_of(&p->instrs[k], v->loop[k], 0)->buffer].even;
    for (int b = 0; b < p->nbuffers; b++) {
        const room *r = &v->rooms[b];
        if (r->even && !r->along) p->buffers[b].bytes = p->buffers[b].bytes / r->size * r->even;
    }
}

/* ---- filling ---- */

/* The map that fills a matrix's room with zeros. */
static bool make_fill(const evener *v, const instr *i, const access *x, instr *fill)
{
    program     *p = v->program;
    const room  *r = &v->rooms[x->buffer];
    access      *out = arena_array(&p->arena, access, 1);
    scalar_step *step = arena_array(&p->arena, scalar_step, 1);
    int         *result = arena_array(&p->arena, int, 1);
    TRY(out && step && result);
    int64_t bytes = (int64_t)mtf_dtype_bytes(x->type), more = r->even - r->size;
    *out = (access){.buffer = x->buffer, .type = x->type, .stride = {r->along ? r->apart : 0, 1}};
    out->offset = r->along ? r->size : r->size * r->apart;
    *step = (scalar_step){
        .fn = FN_IMMEDIATE, .type = dtype_compute(x->type), .value = dtype_scalar(x->type, 0)};
    *fill = (instr){.kind = INSTR_MAP, .nout = 1, .out = out, .nloops = 2, .cause = i->cause};
    fill->size[0] = r->along ? p->buffers[x->buffer].bytes / bytes / r->apart : 1;
    fill->size[1] = r->along ? more : more * r->apart;
    fill->map = (map_args){.nsteps = 1, .steps = step, .results = result};
    return true;
}

/* After an instruction, or where a loop comes back. */
static void forget(evener *v, const instr *i)
{
    for (int b = 0; b < v->program->nbuffers && instr_is_control(i); b++) v->rooms[b].zero = false;
    for (int o = 0; o < i->nout; o++) v->rooms[i->out[o].buffer].zero = false;
}

static bool fill_rooms(evener *v, arena *scratch)
{
    program *p = v->program;
    int      n = 0, most = p->ninstrs + v->fills;
    instr   *all = arena_array(&p->arena, instr, most);
    int     *now_at = arena_array(scratch, int, p->ninstrs + 1);
    TRY(all && now_at);
    for (int k = 0; k < p->ninstrs; k++) {
        instr *i = &p->instrs[k];
        for (int f = 0; f < FACTORS && v->loop[k] >= 0; f++) {
            const access *x = matrix_of(i, v->loop[k], f);
            if (x == &i->out[0] || v->rooms[x->buffer].zero) continue;
            TRY(make_fill(v, i, x, &all[n++]));
            v->rooms[x->buffer].zero = true;
        }
        forget(v, i);
        now_at[k] = n;
        all[n++] = *i;
    }
    for (int k = 0; k < n; k++) /* LOOP, TEST and AGAIN refer to each other by number */
        if (instr_is_control(&all[k])) all[k].loop.other = now_at[all[k].loop.other];
    p->instrs = all;
    p->ninstrs = n;
    p->instrs_room = most;
    return true;
}

/* Gives products even sizes, where the rows of their matrices have room for it. */
static bool even_products(program *p, const row_stride *rows, arena *scratch)
{
    evener v = {.program = p, .rows = rows};
    if (!p->session->can.row_bytes) return true;
    v.rooms = arena_array(scratch, room, p->nbuffers + 1);
    v.loop = arena_array(scratch, int, p->ninstrs + 1);
    TRY(v.rooms && v.loop);
    choose(&v);
    return v.fills == 0 || fill_rooms(&v, scratch);
}

bool suit_products(program *p, arena *scratch)
{
    row_stride *rows = arena_array(scratch, row_stride, p->nbuffers + 1);
    return rows && stride_rows(p, rows) && even_products(p, rows, scratch);
}
