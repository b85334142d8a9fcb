/* Data that ranks exchange outside of steps. */
#include "run/share.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/dtype.h"
#include "base/saturate.h"

/* ---- parts of a tensor ---- */

/* The processor with index 0 along the axes that do not cut the tensor. */
int share_speaker(const store *s, int processor, const mtf_shape *shape, const placement *where)
{
    unsigned   axes = placement_axes(where, shape->ndims);
    mesh_point p = mesh_place(&s->mesh, processor);
    for (int a = 0; a < s->mesh.naxes; a++)
        if (!(axes >> a & 1)) p.at[a] = 0;
    return mesh_number(&s->mesh, &p);
}

static int rank_of(const store *s, int processor)
{
    return (int)(((processor + 1) * (int64_t)ranks_count(s->ranks) - 1) / s->processors);
}

/* Scalars are treated as arrays of one element. */
static bool block_of(const store *s, const mesh_point *p, mtf_dtype type, const mtf_shape *shape,
                     const placement *where, rank_block *b)
{
    *b = (rank_block){.ndims = shape->ndims, .bytes = (int)mtf_dtype_bytes(type)};
    for (int d = 0; d < shape->ndims; d++) {
        span r = cut_range(&s->mesh, &where->dim[d], p, shape->dims[d].size);
        if (r.size == 0) return false;
        b->whole[d] = (int)shape->dims[d].size;
        b->begin[d] = (int)r.begin;
        b->size[d] = (int)r.size;
    }
    return true;
}

bool share_parts(store *s, const char *name, mtf_dtype type, const mtf_shape *shape,
                 const placement *where, char *data)
{
    unsigned axes = placement_axes(where, shape->ndims);
    char     what[200];
    if (!s->ranks || axes == 0) return true; /* every rank has the whole */
    snprintf(what, sizeof what, "reading \"%.150s\"", name);
    for (int d = 0; d < shape->ndims; d++)
        if (shape->dims[d].size > INT_MAX)
            return fail(&s->session->fault, ERR_SHAPE,
                        "dimension \"%s\" of \"%s\" is too large to read over MPI",
                        shape->dims[d].name, name);
    for (int k = 0; k < s->processors; k++) {
        mesh_point p = mesh_place(&s->mesh, k);
        rank_block b;
        if (share_speaker(s, k, shape, where) != k || !block_of(s, &p, type, shape, where, &b))
            continue;
        TRY(ranks_spread(s->ranks, what, rank_of(s, k), &b, data));
    }
    return true;
}

/* ---- options and texts ---- */

bool share_agrees(mtf_session *s, ranks *r, const char *what, bool answer)
{
    arena_mark mark = arena_here(&s->arena);
    bool      *all = arena_array(&s->arena, bool, ranks_count(r));
    TRY(all && ranks_gather(r, "compiling", &answer, all, (int)sizeof answer));
    for (int k = 1; k < ranks_count(r); k++)
        if (all[k] != all[0])
            return fail(&s->fault, ERR_USAGE, "ranks 0 and %d were started with different %s", k,
                        what);
    arena_back(&s->arena, mark);
    return true;
}

bool share_bytes(ranks *r, const char *what, int n, void *bytes)
{
    rank_block all = {.ndims = 1, .whole = {n}, .size = {n}, .bytes = 1};
    return ranks_spread(r, what, 0, &all, bytes);
}

bool share_text(mtf_session *s, ranks *r, const char *what, const char **text)
{
    bool first = ranks_number(r) == 0;
    int  room = first ? (int)strlen(*text) + 1 : 0;
    TRY(share_bytes(r, what, (int)sizeof room, &room));
    char *copy = arena_array(&s->arena, char, room);
    TRY(copy != NULL);
    if (first) memcpy(copy, *text, (size_t)room);
    *text = copy;
    return share_bytes(r, what, room, copy);
}

/* ---- schedules ---- */

/* A summary of a rank's program; plain numbers, so that it can be compared as bytes. */
typedef struct summary {
    uint64_t machine, schedule; /* hashes */
    int64_t  collectives, peak;
} summary;

static uint64_t hash_number(uint64_t hash, int64_t n)
{
    return hash_bytes(hash, &n, sizeof n);
}

static uint64_t hash_word(uint64_t hash, const char *text)
{
    return text ? hash_bytes(hash, text, strlen(text) + 1) : hash;
}

static uint64_t hash_cut(uint64_t hash, const axis_list *c)
{
    hash = hash_number(hash, c->n);
    for (int i = 0; i < c->n; i++) hash = hash_number(hash, c->axis[i]);
    return hash;
}

static uint64_t hash_map(uint64_t hash, const span_map *map)
{
    hash = hash_number(hash_cut(hash, &map->cut), map->size);
    hash = hash_number(hash_number(hash, map->mult), map->div);
    return hash_number(hash_number(hash, map->low), map->high);
}

/* Hashes all that must be the same on every processor; the sizes of its own parts may differ. */
static uint64_t hash_collective(uint64_t hash, const instr *i)
{
    hash = hash_word(hash, mtf_name_of_tensor(i->cause));
    hash = hash_number(hash_number(hash, i->kind), i->out[0].type);
    if (i->kind == INSTR_REDUCE)
        return hash_number(hash_number(hash, i->reduce.kind), i->reduce.axes);
    if (i->kind == INSTR_REDUCE_SCATTER) {
        const scatter_args *sum = &i->reduce_scatter;
        hash = hash_number(hash_number(hash, sum->kind), sum->size);
        return hash_cut(hash_cut(hash, &sum->from), &sum->to);
    }
    const exchange_args *how = i->exchange;
    for (int d = 0; d < how->shape.ndims; d++) {
        hash = hash_number(hash_word(hash, how->shape.dims[d].name), how->shape.dims[d].size);
        hash = hash_cut(hash_cut(hash, &how->from.dim[d]), &how->to.dim[d]);
        if (how->mapped >> d & 1) hash = hash_map(hash, &how->map[d]);
    }
    return hash_number(hash, how->mapped);
}

static uint64_t hash_machine(const store *s)
{
    uint64_t hash = 1;
    for (int a = 0; a < s->mesh.naxes; a++)
        hash = hash_number(hash_word(hash, s->mesh.name[a]), s->mesh.size[a]);
    for (int r = 0; r < s->layout.nrules; r++)
        hash = hash_cut(hash_word(hash, s->layout.rules[r].dim), &s->layout.rules[r].cut);
    for (int r = 0; r < s->layout.nstate; r++)
        hash = hash_cut(hash_word(hash, s->layout.state[r].dim), &s->layout.state[r].cut);
    return hash;
}

static summary summarise(const store *s, const program *p, int64_t peak)
{
    summary mine = {.machine = hash_machine(s), .schedule = 1, .peak = peak};
    for (int k = 0; k < p->ninstrs; k++) {
        if (!instr_is_collective(&p->instrs[k])) continue;
        mine.schedule = hash_collective(mine.schedule, &p->instrs[k]);
        mine.collectives++;
    }
    return mine;
}

/* This rank's n-th collective, as a hash and as text. */
typedef struct told {
    uint64_t hash;
    char     text[120];
} told;

static void tell(const program *p, int64_t n, told *t)
{
    memset(t, 0, sizeof *t);
    snprintf(t->text, sizeof t->text, "the end");
    for (int k = 0; k < p->ninstrs; k++) {
        const instr *i = &p->instrs[k];
        if (!instr_is_collective(i) || n-- > 0) continue;
        t->hash = hash_collective(1, i);
        snprintf(t->text, sizeof t->text, "%s of \"%.90s\"", instr_name(i->kind),
                 mtf_name_of_tensor(i->cause));
        return;
    }
}

/* Compares the collectives one by one until two ranks differ: slow, but it runs only after an
 * error. */
static bool explain(store *s, const program *p, int64_t most)
{
    int   count = ranks_count(s->ranks);
    told *all = arena_array(&s->session->arena, told, count), mine;
    TRY(all != NULL);
    for (int64_t n = 0; n <= most; n++) {
        tell(p, n, &mine);
        TRY(ranks_gather(s->ranks, "comparing programs", &mine, all, (int)sizeof mine));
        for (int k = 1; k < count; k++)
            if (memcmp(&all[k], &all[0], sizeof *all) != 0)
                return fail(
                    &s->session->fault, ERR_INTERNAL,
                    "ranks 0 and %d run different programs: collective %lld is %s against %s", k,
                    (long long)n, all[0].text, all[k].text);
    }
    return fail(&s->session->fault, ERR_INTERNAL, "the ranks run different programs");
}

bool share_schedule(store *s, const program *p, int64_t *peak)
{
    if (!s->ranks) return true;
    int        count = ranks_count(s->ranks);
    int64_t    most = 0;
    bool       same = true;
    arena_mark mark = arena_here(&s->session->arena);
    summary mine = summarise(s, p, *peak), *all = arena_array(&s->session->arena, summary, count);
    TRY(all && ranks_gather(s->ranks, "compiling", &mine, all, (int)sizeof mine));
    for (int k = 0; k < count; k++) {
        if (all[k].machine != mine.machine)
            return fail(&s->session->fault, ERR_USAGE,
                        "ranks %d and %d were started with different meshes or layouts",
                        ranks_number(s->ranks), k);
        same = same && all[k].schedule == mine.schedule && all[k].collectives == mine.collectives;
        if (all[k].collectives > most) most = all[k].collectives;
        if (all[k].peak > *peak) *peak = all[k].peak;
    }
    if (!same) return explain(s, p, most);
    arena_back(&s->session->arena, mark);
    return true;
}

/* ---- sums ---- */

bool share_sums(store *s, int n, int64_t *numbers)
{
    if (!s->ranks || n == 0) return true;
    int        count = ranks_count(s->ranks), mine = ranks_number(s->ranks);
    arena_mark mark = arena_here(&s->session->arena);
    int64_t   *all = arena_array(&s->session->arena, int64_t, (int64_t)count * n);
    TRY(all && ranks_gather(s->ranks, "compiling", numbers, all, n * (int)sizeof *numbers));
    for (int r = 0; r < count; r++)
        for (int i = 0; i < n && r != mine; i++)
            numbers[i] = saturate_plus(numbers[i], all[(int64_t)r * n + i]);
    arena_back(&s->session->arena, mark);
    return true;
}
