/* Collectives by their definition, over the memories of all lanes. */
#include "program/exchange.h"
#include "verify/lockstep.h"

static const instr *now(const lane *k)
{
    return k->code[k->at];
}

static operand_row operand_of(const lane *k, const access *a)
{
    int64_t step = (int64_t)mtf_dtype_bytes(a->type) / k->exact.unit;
    return (operand_row){k->exact.base[a->buffer] + a->offset * step, a->type, step};
}

/* The member of the group with the lowest number: processors that differ along these axes only. */
static mesh_point first_member(const lockstep *l, unsigned axes, int me)
{
    mesh_point p = l->lanes[me].here;
    for (int x = 0; x < l->mesh.naxes; x++)
        if (axes >> x & 1) p.at[x] = 0;
    return p;
}

/* Moves to the next member, in the order of numbers; false after the last. */
static bool next_member(const lockstep *l, unsigned axes, mesh_point *p)
{
    for (int x = l->mesh.naxes - 1; x >= 0; x--) {
        if (!(axes >> x & 1)) continue;
        if (++p->at[x] < l->mesh.size[x]) return true;
        p->at[x] = 0;
    }
    return false;
}

/* to[e] combined with from[e]; the first member begins. */
static void combine_row(const exact *x, fold_kind kind, bool begins, int64_t n,
                        const operand_row *to, const operand_row *from)
{
    if (begins)
        for (int64_t e = 0; e < n; e++) to->at[e * to->step] = from->at[e * from->step];
    else if (kind == FOLD_SUM && exact_is_real(to->type))
        for (int64_t e = 0; e < n; e++)
            to->at[e * to->step] = field_add(to->at[e * to->step], from->at[e * from->step]);
    else
        for (int64_t e = 0; e < n; e++)
            to->at[e * to->step] =
                exact_combine(x, kind, to->type, to->at[e * to->step], from->at[e * from->step]);
}

/* out[e] of `me` = in[first + e] combined over the group. */
static void reduce_for(lockstep *l, int me, fold_kind kind, unsigned axes, int64_t first,
                       int64_t count)
{
    exact      *x = &l->lanes[me].exact;
    operand_row out = l->taken[me];
    mesh_point  p = first_member(l, axes, me);
    bool        begins = true;
    do {
        operand_row in = l->given[mesh_number(&l->mesh, &p)];
        in.at += first * in.step;
        combine_row(x, kind, begins, count, &out, &in);
        begins = false;
    } while (next_member(l, axes, &p));
}

static int leader_of(const lockstep *l, int me, const instr *i)
{
    mesh_point lowest = first_member(l, i->reduce.axes, me);
    return mesh_number(&l->mesh, &lowest);
}

/* The first member of a group has combined; the others copy its result. */
static bool copy_reduced(lockstep *l, int me)
{
    const instr *i = now(&l->lanes[me]);
    int          leader = i->kind == INSTR_REDUCE ? leader_of(l, me, i) : me;
    if (leader == me) return true;
    operand_row from = l->taken[leader], to = l->taken[me];
    for (int64_t e = 0; e < instr_elements(i); e++) to.at[e * to.step] = from.at[e * from.step];
    return true;
}

/* Which processor has a wanted element of a dimension, and where in its part. */
typedef struct source {
    int64_t further;  /* its number minus that of the receiver, along this dimension's axes */
    int64_t at, size; /* the position in its part, and the part's size */
} source;

static source find_source(const mesh *m, const exchange_args *how, int d, int64_t index,
                          const mesh_point *here)
{
    int64_t    size = how->shape.dims[d].size;
    int        parts = cut_parts(m, &how->from.dim[d]), k = part_holding(size, parts, index);
    span       r = part_range(size, parts, k);
    mesh_point there = *here;
    cut_set_part(m, &how->from.dim[d], k, &there);
    return (source){mesh_number(m, &there) - mesh_number(m, here), index - r.begin, r.size};
}

/* Each element of the new part comes from the processor that has it and is like `me` otherwise. */
static bool exchange_for(lockstep *l, int me)
{
    const mesh          *m = &l->mesh;
    lane                *k = &l->lanes[me];
    const exchange_args *how = now(k)->exchange;
    operand_row          out = l->taken[me];
    instr                loops = {.nloops = how->shape.ndims};
    source              *of[MTF_SHAPE_ROOM];
    int64_t              total = 0, number = 0;
    for (int d = 0; d < loops.nloops; d++)
        total += loops.size[d] = exchange_wanted(m, how, d, &k->here).size;
    of[0] = (source *)(void *)exact_tile(&k->exact,
                                         (size_t)(total + 1) * sizeof(source) / sizeof(cell) + 1);
    TRY(of[0] != NULL);
    for (int d = 0; d < loops.nloops; d++) {
        int64_t begin = exchange_wanted(m, how, d, &k->here).begin;
        if (d > 0) of[d] = of[d - 1] + loops.size[d - 1];
        for (int64_t e = 0; e < loops.size[d]; e++)
            of[d][e] = find_source(m, how, d, begin + e, &k->here);
    }
    operand_row in = out;
    int64_t     of_in = -1; /* neighbours mostly come from the same processor */
    iterations  t = iterations_begin(&loops, 0, loops.nloops, NULL, NULL, NULL);
    for (; !t.done; iterations_next(&t)) {
        int64_t from = me, at = 0;
        for (int d = 0; d < loops.nloops; d++) {
            const source *s = &of[d][t.index[d]];
            from += s->further;
            at = at * s->size + s->at;
        }
        if (from != of_in) in = l->given[of_in = from];
        out.at[number++ * out.step] = in.at[at * in.step];
    }
    return true;
}

/* What one lane does, without reading what another does at the same time. */
static bool collective_for(lockstep *l, int n)
{
    const instr *i = now(&l->lanes[n]);
    if (i->kind == INSTR_EXCHANGE) return exchange_for(l, n);
    if (i->kind == INSTR_REDUCE) {
        if (leader_of(l, n, i) == n)
            reduce_for(l, n, i->reduce.kind, i->reduce.axes, 0, instr_elements(i));
        return true;
    }
    const scatter_args *how = &i->reduce_scatter;
    span                kept = scatter_kept(&l->mesh, how, &l->lanes[n].here);
    reduce_for(l, n, how->kind, scatter_axes(how), kept.begin, kept.size);
    return true;
}

bool lockstep_collective(lockstep *l)
{
    for (int n = 0; n < l->nlanes; n++) {
        const lane *k = &l->lanes[n];
        l->given[n] = operand_of(k, &now(k)->in[0]);
        l->taken[n] = operand_of(k, &now(k)->out[0]);
    }
    return lockstep_each(l, collective_for) && lockstep_each(l, copy_reduced);
}
