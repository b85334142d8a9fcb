/* Gradients of attention that read what attention gave.
 *
 * They need, for each row, delta: the sum of dy y, less the gradient of the sum of
 * exponentials.  Libraries compute delta by themselves, from dy and y.  If a map computes
 * delta as the sum of dy y alone, y becomes one more input.  The map stays: kernels that
 * are not the library's read delta.
 */
#include "plan/passes.h"
#include "program/attention_cost.h"
#include "program/map_form.h"

/* The instruction before `at`, in the same run without loop boundaries, that wrote a buffer; -1: none. */
static int writer_of(const program *p, int at, int b)
{
    for (int k = at - 1; k >= 0 && !instr_is_control(&p->instrs[k]); k--)
        if (instr_writes(&p->instrs[k], b)) return k;
    return -1;
}

/* Does each loop of the gradient have one of the map, with the same strides of delta and dy?  Sets y's
 * strides. */
static bool match_loops(const instr *grad, const instr *map, const access *delta, const access *dy,
                        const access *y, access *to)
{
    const attention_args *a = grad->attention;
    const access         *own_delta = &grad->in[a->at[ATTENTION_DELTA]],
                 *own_dy = &grad->in[a->at[ATTENTION_DY]];
    int     last = map->nloops - 1;
    int64_t rows = 1;
    *to = (access){.buffer = y->buffer, .type = y->type, .offset = y->offset};
    for (int l = 0; l < grad->nloops; l++) {
        int m = 0;
        if (grad->size[l] == 1) continue;
        while (m < last &&
               (map->size[m] != grad->size[l] || delta->stride[m] != own_delta->stride[l] ||
                dy->stride[m] != own_dy->stride[l]))
            m++;
        if (m == last) return false;
        to->stride[l] = y->stride[m];
        rows *= map->size[m];
    }
    return own_delta->offset == delta->offset && own_dy->offset == dy->offset &&
           rows * map->size[last] == instr_elements(map);
}

/* The input or the output of the map that holds a register's value in memory; NULL: none does. */
static const access *access_of(const instr *map, int reg)
{
    if (reg < map->nin) return &map->in[reg];
    const scalar_step *s = &map->map.steps[reg - map->nin];
    for (int o = 0; o < map->nout; o++) {
        bool rounds =
            s->fn == FN_CAST && s->type == map->out[o].type && s->a == map->map.results[o];
        if ((map->map.results[o] == reg || rounds) && !map_sums(map, o)) return &map->out[o];
    }
    return NULL;
}

/* Is the map's output o the sum of dy y along its last loop?  Then y is what it reads besides dy. */
static bool find_y(const instr *grad, const instr *map, int o, access *y)
{
    const attention_args *a = grad->attention;
    const access         *own_dy = &grad->in[a->at[ATTENTION_DY]];
    int                   last = map->nloops - 1, reg = map->map.results[o] - map->nin;
    if (map->map.nrow != 1 || map->size[last] != a->value || reg < 0) return false;
    const scalar_step *sum = &map->map.steps[reg];
    if (sum->fn != FN_ROW_SUM || sum->a < map->nin) return false;
    const scalar_step *product = &map->map.steps[sum->a - map->nin];
    if (product->fn != FN_multiply) return false;
    for (int k = 0; k < 2; k++) {
        const access *dy = access_of(map, k ? product->b : product->a);
        const access *other = access_of(map, k ? product->a : product->b);
        if (dy && other && dy->buffer == own_dy->buffer && dy->stride[last] == 1 &&
            other->stride[last] == 1 && other->type == dy->type &&
            match_loops(grad, map, &map->out[o], dy, other, y))
            return true;
    }
    return false;
}

static bool is_kept(const program *p, int from, int to, int b)
{
    for (int k = from + 1; k < to; k++)
        if (instr_writes(&p->instrs[k], b)) return false;
    return true;
}

static bool add_y(program *p, instr *grad, const access *y)
{
    attention_args *how = arena_copy(&p->arena, grad->attention, sizeof *how);
    access         *in = arena_array(&p->arena, access, grad->nin + 1);
    TRY(how && in);
    for (int k = 0; k < grad->nin; k++) in[k] = grad->in[k];
    in[grad->nin] = *y;
    how->at[ATTENTION_Y] = grad->nin++;
    how->first_iteration = grad->nin;
    grad->in = in;
    grad->attention = how;
    return true;
}

bool read_attention(program *p)
{
    if (!p->session->can.attends) return true;
    for (int at = 0; at < p->ninstrs; at++) {
        instr *grad = &p->instrs[at];
        access y;
        if (grad->kind != INSTR_ATTENTION_GRAD || !attention_is_plain(grad) ||
            !dtype_is_short(grad->in[0].type))
            continue;
        int b = grad->in[grad->attention->at[ATTENTION_DELTA]].buffer, from = writer_of(p, at, b);
        if (from < 0 || p->instrs[from].kind != INSTR_MAP) continue;
        const instr *map = &p->instrs[from];
        for (int o = 0; o < map->nout; o++)
            if (map->out[o].buffer == b && find_y(grad, map, o, &y) &&
                is_kept(p, from, at, y.buffer)) {
                TRY(add_y(p, grad, &y));
                break;
            }
    }
    return true;
}
