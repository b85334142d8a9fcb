/* Epilogues: maps after products become part of them.
 *
 * If a product's result is read by one map only, and that map adds a bias or another
 * matrix, applies relu or gelu, or multiplies by the derivative of gelu, the product
 * does so itself, before it stores its result: a pass over memory is saved, and a
 * rounding.  The product then takes the map's place, where all operands are known.
 */
#include "plan/epilogues.h"

#include "base/dtype.h"
#include "plan/passes.h"
#include "program/map_form.h"

/* A product and the map that reads it. */
typedef struct match {
    const instr *map;
    int          result; /* the map's input that is the product's result */
    loop_parts   parts;
    instr        product; /* what takes the place of both */
    access       out, kept, add, bias, at;
    bool         has_kept, has_add, has_bias, has_at;
    scalar_fn    activation;
} match;

static bool has_ability(const program *p, unsigned epilogue)
{
    return (p->session->can.epilogues & epilogue) != 0;
}

/* ---- expressions ---- */

/* The register before roundings to the result's type, and casts that round nothing. */
static int unrounded(const match *m, int reg)
{
    const scalar_step *s;
    while ((s = map_register_step(m->map, reg)) && epilogue_may_skip(s, m->product.out[0].type))
        reg = s->a;
    return reg;
}

static bool lies_as_result(const match *m, const access *a)
{
    const instr *i = &m->product;
    bool         same = a->type == m->out.type;
    for (int d = 0; d < i->nloops; d++)
        same = same && (i->size[d] == 1 || a->stride[d] == m->out.stride[d]);
    return same;
}

static bool is_bias(const match *m, const access *a)
{
    const instr *i = &m->product;
    int          row = epilogue_row(i);
    bool         bias = a->type == m->out.type;
    for (int d = 0; d < i->nloops; d++)
        bias = bias && (i->size[d] == 1 || a->stride[d] == (d == row));
    return bias;
}

/* An input of the map besides the product's result, with the product's loops. */
static bool other_input(const match *m, int reg, access *to)
{
    reg = unrounded(m, reg);
    return reg < m->map->nin && reg != m->result &&
           epilogue_carry(&m->product, m->map, &m->parts, &m->map->in[reg], to);
}

static bool take_summand(match *m, int reg)
{
    access a;
    if (!other_input(m, reg, &a)) return false;
    if (!m->has_bias && is_bias(m, &a)) {
        m->bias = a;
        return m->has_bias = true;
    }
    if (m->has_add || !lies_as_result(m, &a)) return false;
    m->add = a;
    return m->has_add = true;
}

/* The product's result, plus a bias, plus a matrix, in any order. */
static bool take_sum(match *m, int reg)
{
    reg = unrounded(m, reg);
    if (reg == m->result) return true;
    const scalar_step *s = map_register_step(m->map, reg);
    if (!s || s->fn != FN_add) return false;
    match before = *m;
    if (take_summand(m, s->b) && take_sum(m, s->a)) return true;
    *m = before;
    return take_summand(m, s->a) && take_sum(m, s->b);
}

/* gelu_grad(x) of an input x that lies as the result does */
static bool take_slope(match *m, int reg)
{
    const scalar_step *s = map_register_step(m->map, unrounded(m, reg));
    if (!s || s->fn != FN_gelu_grad || !other_input(m, s->a, &m->at)) return false;
    m->activation = FN_gelu_grad;
    return m->has_at = lies_as_result(m, &m->at);
}

static bool take_result(match *m, int reg)
{
    reg = unrounded(m, reg);
    const scalar_step *s = map_register_step(m->map, reg);
    if (s && (s->fn == FN_gelu || s->fn == FN_relu)) {
        m->activation = s->fn;
        return take_sum(m, s->a);
    }
    if (s && s->fn == FN_multiply) {
        match before = *m;
        if (take_slope(m, s->b) && take_sum(m, s->a)) return true;
        *m = before;
        return take_slope(m, s->a) && take_sum(m, s->b);
    }
    return take_sum(m, reg);
}

/* Output o is what gelu is applied to. */
static bool take_other(match *m, int result, int o)
{
    const instr *map = m->map;
    int          reg = unrounded(m, map->map.results[o]);
    if (map_sums(map, o)) return false; /* the map adds up faster than the product would */
    const scalar_step *s = map_register_step(m->map, unrounded(m, result));
    if (m->has_kept || m->activation != FN_gelu || unrounded(m, s->a) != reg) return false;
    m->has_kept = epilogue_carry(&m->product, map, &m->parts, &map->out[o], &m->kept);
    return m->has_kept && lies_as_result(m, &m->kept);
}

/* The map's output o is the product's result. */
static bool take_outputs(match *m, int o)
{
    const instr *map = m->map;
    if (map_sums(map, o)) return false;
    if (!epilogue_carry(&m->product, map, &m->parts, &map->out[o], &m->out)) return false;
    if (m->out.type != m->product.out[0].type) return false;
    for (int d = 0; d < m->product.nloops; d++)
        if (m->product.size[d] > 1 && m->out.stride[d] != m->product.out[0].stride[d]) return false;
    if (!take_result(m, map->map.results[o])) return false;
    for (int other = 0; other < map->nout; other++)
        if (other != o && !take_other(m, map->map.results[o], other)) return false;
    return true;
}

/* ---- what the device can do ---- */

static bool is_possible(const program *p, const match *m)
{
    bool gelu = m->activation == FN_gelu || m->activation == FN_gelu_grad;
    if (m->has_at && (m->has_bias || m->has_add)) return false;
    return (!m->has_add || has_ability(p, EPILOGUE_ADD)) &&
           (!m->has_bias || has_ability(p, EPILOGUE_BIAS)) &&
           (m->activation != FN_relu || has_ability(p, EPILOGUE_RELU)) &&
           (m->activation != FN_gelu || has_ability(p, EPILOGUE_GELU)) &&
           (m->activation != FN_gelu_grad || has_ability(p, EPILOGUE_SLOPE)) &&
           (!gelu || dtype_is_short(m->out.type));
}

static bool write_back(program *p, match *m, instr *to)
{
    instr *i = &m->product;
    i->out = NULL, i->nout = 0; /* the result goes elsewhere now */
    TRY(epilogue_add_output(p, i, &m->out) >= 0);
    contract_args c = {.activation = m->activation};
    if (m->has_kept) TRY((c.kept = epilogue_add_output(p, i, &m->kept)) > 0);
    if (m->has_add) TRY((c.add = epilogue_add_input(p, i, &m->add)) > 0);
    if (m->has_bias) TRY((c.bias = epilogue_add_input(p, i, &m->bias)) > 0);
    if (m->has_at) TRY((c.at = epilogue_add_input(p, i, &m->at)) > 0);
    i->contract = c; /* its cause is still the product's: layouts are searched by who multiplies */
    *to = *i;
    return true;
}

/* ---- one product ---- */

/* The map that is the only reader of the product's result; -1: there is none. */
static int only_reader(const epilogue_pass *e, int k)
{
    const program *p = e->program;
    int            b = p->instrs[k].out[0].buffer;
    if (!readers_passing(&e->readers, p, b) || readers_count(&e->readers, b) != 1) return -1;
    int          at = readers_of(&e->readers, b)[0], times = 0;
    const instr *map = &p->instrs[at];
    for (int n = 0; n < map->nin; n++) times += map->in[n].buffer == b;
    bool fits = map->kind == INSTR_MAP && at > k && !e->gone[at] && times == 1 &&
                !map_folds_rows(map) && map->nout <= 2 && instr_elements(map) > 0 &&
                e->readers.stretch[at] == e->readers.stretch[k];
    return fits ? at : -1;
}

static bool find_match(const instr *product, const instr *map, match *m)
{
    *m = (match){.map = map, .product = *product};
    while (map->in[m->result].buffer != product->out[0].buffer) m->result++;
    if (!epilogue_align(product, &product->out[0], map, &map->in[m->result], &m->parts))
        return false;
    match begun = *m;
    for (int o = 0; o < map->nout; o++) {
        *m = begun;
        if (take_outputs(m, o)) return true;
    }
    return false;
}

static bool try_product(epilogue_pass *e, int k)
{
    program *p = e->program;
    instr   *i = &p->instrs[k];
    match    m;
    if (i->kind != INSTR_CONTRACT || !epilogue_may_have(p, i)) return true;
    int at = only_reader(e, k);
    if (at < 0 || !epilogue_undisturbed(e, i, k, at)) return true;
    if (!find_match(i, &p->instrs[at], &m) || !is_possible(p, &m)) return true;
    e->gone[k] = true;
    return write_back(p, &m, &p->instrs[at]);
}

static bool epilogues_of_maps(epilogue_pass *e)
{
    for (int k = 0; k < e->program->ninstrs; k++) TRY(try_product(e, k));
    return true;
}

/* ---- the pass ---- */

static bool find_epilogues(program *p, arena *scratch, bool (*kind)(epilogue_pass *))
{
    epilogue_pass e = {.program = p, .gone = arena_array(scratch, bool, p->ninstrs + 1)};
    int          *now_at = arena_array(scratch, int, p->ninstrs + 1);
    TRY(e.gone && now_at && readers_find(&e.readers, p, scratch) && kind(&e));
    program_remove(p, e.gone, now_at);
    return true;
}

bool fuse_epilogues(program *p, arena *scratch)
{
    if (!p->session->can.epilogues) return true;
    return find_epilogues(p, scratch, epilogues_into_sums) &&
           find_epilogues(p, scratch, epilogues_of_maps) &&
           find_epilogues(p, scratch, epilogues_of_sums);
}

bool fuse_totals(program *p, arena *scratch)
{
    if (!(p->session->can.epilogues & EPILOGUE_TOTAL)) return true;
    return find_epilogues(p, scratch, epilogues_of_folds);
}
