/* Epilogues of products: what they do, as plain instructions. */
#include "program/epilogue.h"

#include "base/dtype.h"
#include "program/scalar.h"

int epilogue_row(const instr *i)
{
    int  m = i->nloops - 3, n = m + 1;
    bool along_m = i->out[0].stride[m] == 1 && i->size[m] > 1;
    return along_m || i->size[n] == 1 ? m : n;
}

/* ---- parts ---- */

static access *new_operands(epilogue_parts *to, int *used, int n)
{
    access *first = &to->operands[*used];
    *used += n;
    return first;
}

/* The product, with the matrix it adds. */
static void add_product(const instr *i, epilogue_parts *to, int *used)
{
    instr *p = &to->part[to->n++];
    int    add = i->contract.add;
    *p = *i;
    p->nout = 1, p->nin = add ? 3 : 2;
    p->out = new_operands(to, used, 1);
    p->in = new_operands(to, used, p->nin);
    p->out[0] = i->out[0], p->in[0] = i->in[0], p->in[1] = i->in[1];
    if (add) p->in[2] = i->in[add];
    p->contract = (contract_args){.add = add ? 2 : 0};
}

/* ---- maps ---- */

/* The product's loops but k, with the one along which elements are adjacent innermost. */
static void set_loops(const instr *i, instr *map)
{
    map->nloops = i->nloops - 1;
    for (int d = 0; d < map->nloops; d++) map->size[d] = i->size[d];
    if (epilogue_row(i) == i->nloops - 2) return;
    map->size[map->nloops - 1] = i->size[i->nloops - 3];
    map->size[map->nloops - 2] = i->size[i->nloops - 2];
}

static access in_map(const instr *i, const access *a)
{
    access b = *a;
    int    m = i->nloops - 3, n = m + 1;
    if (epilogue_row(i) == m) b.stride[m] = a->stride[n], b.stride[n] = a->stride[m];
    return b;
}

typedef struct map_writing {
    instr          *map;
    epilogue_parts *to;
    mtf_dtype       type;
    int             nsteps;
} map_writing;

static int add_step(map_writing *w, scalar_fn fn, int a, int b)
{
    w->to->steps[w->nsteps] =
        (scalar_step){.fn = fn, .type = w->type, .from = w->type, .a = a, .b = b};
    return w->map->nin + w->nsteps++;
}

/* In place: it reads and writes the product's result. */
static void add_map(const instr *i, epilogue_parts *to, int *used)
{
    const contract_args *c = &i->contract;
    instr               *p = &to->part[to->n++];
    int                  bias = 0, at = 0;
    *p = (instr){.kind = INSTR_MAP, .cause = i->cause};
    set_loops(i, p);
    p->out = new_operands(to, used, c->kept ? 2 : 1);
    p->out[p->nout++] = in_map(i, &i->out[0]);
    if (c->kept) p->out[p->nout++] = in_map(i, &i->out[c->kept]);
    p->in = new_operands(to, used, 1 + (c->bias > 0) + (c->at > 0));
    p->in[p->nin++] = in_map(i, &i->out[0]);
    if (c->bias) p->in[bias = p->nin++] = in_map(i, &i->in[c->bias]);
    if (c->at) p->in[at = p->nin++] = in_map(i, &i->in[c->at]);
    map_writing w = {.map = p, .to = to, .type = dtype_compute(i->out[0].type)};
    int         v = bias ? add_step(&w, FN_add, 0, bias) : 0, result = v;
    if (c->activation && at)
        result = add_step(&w, FN_multiply, v, add_step(&w, c->activation, at, 0));
    else if (c->activation)
        result = add_step(&w, c->activation, v, 0);
    to->results[0] = result, to->results[1] = v;
    p->map = (map_args){.nsteps = w.nsteps, .steps = to->steps, .results = to->results};
}

bool epilogue_again(const instr *i, epilogue_map *to)
{
    if (i->kind != INSTR_CONTRACT || !i->contract.kept || !i->contract.activation) return false;
    mtf_dtype type = dtype_compute(i->out[0].type); /* others may have no outputs */
    to->map = (instr){.kind = INSTR_MAP, .cause = i->cause, .nout = 1, .nin = 1};
    set_loops(i, &to->map);
    to->operands[0] = in_map(i, &i->out[0]);
    to->operands[1] = in_map(i, &i->out[i->contract.kept]);
    to->step = (scalar_step){.fn = i->contract.activation, .type = type, .from = type};
    to->result = 1;
    to->map.out = &to->operands[0], to->map.in = &to->operands[1];
    to->map.map = (map_args){.nsteps = 1, .steps = &to->step, .results = &to->result};
    return true;
}

/* ---- sums ---- */

static void set_loop(const instr *i, instr *fold, int to, int from, const access *in,
                     const access *out)
{
    fold->size[to] = i->size[from];
    fold->in[0].stride[to] = in->stride[from];
    fold->out[0].stride[to] = to == 0 ? out->stride[from] : 0;
}

static void add_fold(const instr *i, epilogue_parts *to, int *used)
{
    const contract_args *c = &i->contract;
    const access        *out = &i->out[c->total];
    const access *in = c->total_of == TOTAL_OF_C ? &i->out[0] : &i->in[c->total_of == TOTAL_OF_B];
    int           m = i->nloops - 3, n = m + 1, k = m + 2, row = epilogue_row(i);
    instr        *p = &to->part[to->n++];
    int           keep = c->total_of == TOTAL_OF_C ? row : c->total_of == TOTAL_OF_A ? m : n;
    int           reduce = c->total_of != TOTAL_OF_C ? k : row == m ? n : m;
    *p = (instr){.kind = INSTR_FOLD, .cause = i->cause, .nloops = 2, .nin = 1, .nout = 1};
    p->fold = (fold_args){.kind = FOLD_SUM, .nkept = 1};
    p->out = new_operands(to, used, 1);
    p->in = new_operands(to, used, 1);
    p->out[0] = (access){.buffer = out->buffer, .type = out->type, .offset = out->offset};
    p->in[0] = (access){.buffer = in->buffer, .type = in->type, .offset = in->offset};
    set_loop(i, p, 0, keep, in, out);
    set_loop(i, p, 1, reduce, in, out);
}

void epilogue_split(const instr *i, epilogue_parts *to)
{
    const contract_args *c = &i->contract;
    int                  used = 0;
    to->n = 0;
    add_product(i, to, &used);
    if (c->bias || c->activation || c->kept) add_map(i, to, &used);
    if (c->total) add_fold(i, to, &used);
}

/* ---- text ---- */

void epilogue_write(const instr *i, textbuf *t)
{
    static const char *const totals[] = {
        [TOTAL_OF_C] = "c", [TOTAL_OF_A] = "a", [TOTAL_OF_B] = "b"};
    const contract_args *c = &i->contract;
    if (c->add) text_add(t, " add");
    if (c->bias) text_add(t, " bias");
    if (c->kept) text_add(t, " kept");
    if (c->activation) text_add(t, " %s", scalar_infos[c->activation].name);
    if (c->total) text_add(t, " total of %s", totals[c->total_of]);
}
