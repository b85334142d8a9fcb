/* Rows of matrices, put apart as a library of matrix products wants them.
 *
 * The library moves 16 bytes at once.  Where a vocabulary has 50257 words, most rows of the logits
 * begin in between, and each of the three products with them takes twice as long.  Rows of a temporary
 * matrix are therefore lengthened by a few elements that nobody reads.  That changes the strides of the
 * instructions that use it: loops along rows or across them, without any that runs over both, or along
 * dimensions that an instruction walks by itself.
 */
#include <string.h>

#include "base/whole.h"
#include "plan/passes.h"

enum {
    LINE = 128, /* bytes: rows of many lines begin with one, */
    MANY_LINES = 32,
    LITTLE = 16 /* others are lengthened by a part in so many at most */
};

typedef struct row_stride {
    int64_t length; /* elements; 0: the buffer stays as it is */
    int64_t apart;  /* elements between the beginnings of rows, when this is done */
    size_t  bytes;  /* of an element */
} row_stride;

typedef struct strider {
    program    *program;
    row_stride *rows; /* by buffer */
} strider;

/* ---- what products want ---- */

static row_stride lengthened(int64_t length, size_t bytes, int unit)
{
    int64_t long_enough = (int64_t)LINE * MANY_LINES / (int64_t)bytes;
    int64_t multiple = (length >= long_enough ? LINE : unit) / (int64_t)bytes;
    int64_t apart = round_up(length, multiple);
    return (row_stride){(apart - length) * LITTLE <= length ? length : 0, apart, bytes};
}

/* One of a product's matrices, with its loops. */
static void ask_for(strider *s, const instr *i, const access *a, int across, int along)
{
    int           first = i->nloops - 3;
    const buffer *b = &s->program->buffers[a->buffer];
    size_t        bytes = mtf_dtype_bytes(a->type);
    int64_t       length = max_of(a->stride[first + across], a->stride[first + along]);
    int64_t       row = length * (int64_t)bytes;
    bool          is_matrix = i->size[first + across] > 1 && i->size[first + along] > 1;
    int           unit = s->program->session->can.row_bytes;
    if (!is_matrix || b->kind != BUFFER_TEMPORARY || s->rows[a->buffer].length) return;
    if (row % unit == 0 || b->bytes % row != 0) return;
    s->rows[a->buffer] = lengthened(length, bytes, unit);
}

static void ask(strider *s, const instr *i)
{
    enum { M, N, K };
    if (i->kind != INSTR_CONTRACT) return;
    ask_for(s, i, &i->out[0], M, N);
    ask_for(s, i, &i->in[0], M, K);
    ask_for(s, i, &i->in[1], N, K);
}

/* ---- what is possible ---- */

/* Does every loop stay within a row or go from row to row? */
static bool goes_by_rows(const instr *i, const access *a, const row_stride *r)
{
    if (mtf_dtype_bytes(a->type) != r->bytes || a->offset < 0) return false;
    int64_t last = a->offset % r->length;
    for (int d = 0; d < i->nloops; d++) {
        int64_t stride = a->stride[d];
        if (i->size[d] <= 1 || stride % r->length == 0) continue;
        if (stride < 0 || stride > r->length || i->size[d] > r->length) return false;
        last += (i->size[d] - 1) * stride;
        if (last >= r->length) return false;
    }
    return true;
}

/* Do its loops reach all that it reads and writes? */
static bool has_only_loops(instr_kind kind)
{
    return kind == INSTR_MAP || kind == INSTR_MOVE || kind == INSTR_ADD_INTO ||
           kind == INSTR_FOLD || kind == INSTR_CONTRACT;
}

static access *operand(const instr *i, int k)
{
    return k < i->nout ? &i->out[k] : &i->in[k - i->nout];
}

/* Operands of a product that lie as its result does: all of them move, or none. */
static bool lies_as_result(const instr *i, int k)
{
    const contract_args *a = &i->contract;
    int                  in = k - i->nout;
    if (i->kind != INSTR_CONTRACT) return false;
    return k == 0 || (a->kept && k == a->kept) || (a->add && in == a->add) ||
           (a->at && in == a->at);
}

/* Forgets rows that this instruction cannot do with; whether there were any. */
static bool forget(strider *s, const instr *i)
{
    bool forgot = false, results_move = true;
    for (int k = 0; k < i->nout + i->nin; k++) {
        const access *a = operand(i, k);
        row_stride   *r = &s->rows[a->buffer];
        if (r->length && !(has_only_loops(i->kind) && goes_by_rows(i, a, r)))
            r->length = 0, forgot = true;
        if (lies_as_result(i, k))
            results_move = results_move && r->length == s->rows[i->out[0].buffer].length;
    }
    for (int k = 0; k < i->nout + i->nin && !results_move; k++) {
        row_stride *r = &s->rows[operand(i, k)->buffer];
        if (lies_as_result(i, k) && r->length) r->length = 0, forgot = true;
    }
    return forgot;
}

/* ---- doing it ---- */

static int64_t moved(int64_t elements, const row_stride *r)
{
    return elements / r->length * r->apart + elements % r->length;
}

static void move_rows(access *a, int nloops, const row_stride *r)
{
    if (!r->length) return;
    a->offset = moved(a->offset, r);
    for (int d = 0; d < nloops; d++) a->stride[d] = moved(a->stride[d], r);
}

static access *copied(program *p, const access *from, int n)
{
    access *to = arena_array(&p->arena, access, n + 1);
    if (to) memcpy(to, from, sizeof *to * (size_t)n);
    return to;
}

/* Instructions may share their lists of operands. */
static bool rewrite(strider *s, instr *i)
{
    bool touched = false;
    for (int k = 0; k < i->nout + i->nin; k++)
        touched = touched || s->rows[operand(i, k)->buffer].length;
    if (!touched) return true;
    i->out = copied(s->program, i->out, i->nout);
    i->in = copied(s->program, i->in, i->nin);
    TRY(i->out && i->in);
    for (int k = 0; k < i->nout + i->nin; k++)
        move_rows(operand(i, k), i->nloops, &s->rows[operand(i, k)->buffer]);
    return true;
}

bool stride_rows(program *p, arena *scratch)
{
    strider s = {p, arena_array(scratch, row_stride, p->nbuffers + 1)};
    TRY(s.rows != NULL);
    if (!p->session->can.row_bytes) return true;
    for (int k = 0; k < p->ninstrs; k++) ask(&s, &p->instrs[k]);
    for (bool again = true; again;) {
        again = false;
        for (int k = 0; k < p->ninstrs; k++) again = forget(&s, &p->instrs[k]) || again;
    }
    for (int k = 0; k < p->ninstrs; k++) TRY(rewrite(&s, &p->instrs[k]));
    for (int b = 0; b < p->nbuffers; b++) {
        const row_stride *r = &s.rows[b];
        if (r->length) p->buffers[b].bytes = p->buffers[b].bytes / r->length * r->apart;
    }
    return true;
}
