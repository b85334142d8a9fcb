/* Products with few columns: which they are, and what may follow them. */
#include "cuda/write/slim_form.h"

#include "cuda/write/kernel_text.h"
#include "program/epilogue.h"
#include "program/map_form.h"

enum {
    MOST_SHORT = 4,  /* columns of bf16 and f16; with more, tensor cores are faster */
    MOST_F32 = 8,    /* columns of f32 */
    LEAST_BYTES = 4, /* that a thread reads at once */
    /* Factors of a row, where its terms are not adjacent: a block reads all of them. */
    MOST_ACROSS = 1 << 16,
    MOST_STRIDED = 1 << 14, /* results, where each reads factors that are not adjacent */
    LEAST_WORK = 1 << 14    /* elements of the matrix */
};

static int64_t magnitude(int64_t v)
{
    return v < 0 ? -v : v;
}

int slim_widest(const instr *i, const access *a, int along)
{
    int most = PACK_BYTES / (int)mtf_dtype_bytes(a->type);
    if (a->stride[along] != 1) return 1;
    for (; most > 1; most /= 2) {
        bool fits = a->offset % most == 0 && i->size[along] % most == 0;
        for (int l = 0; l < i->nloops; l++)
            fits = fits && (l == along || i->size[l] == 1 || magnitude(a->stride[l]) % most == 0);
        if (fits) break;
    }
    return most;
}

slim_form slim_form_of(const instr *i)
{
    int       m = i->nloops - 3, n = m + 1;
    int       flipped = slim_matrix(i);
    slim_form f = {.w = &i->in[flipped], .x = &i->in[!flipped], .c = &i->out[0], .k = m + 2};
    f.big = flipped ? n : m;
    f.slim = flipped ? m : n;
    f.batches = 1;
    for (int l = 0; l < m; l++) f.batches *= i->size[l];
    int across = slim_widest(i, f.w, f.big), down = slim_widest(i, f.w, f.k);
    f.adjacent_terms = f.w->stride[f.k] == 1 && (f.w->stride[f.big] != 1 || down > across);
    f.vector = f.adjacent_terms ? down : across;
    return f;
}

int slim_matrix(const instr *i)
{
    return i->size[i->nloops - 3] < i->size[i->nloops - 2];
}

static bool is_short_or_f32(mtf_dtype type)
{
    return type == MTF_F32 || dtype_is_short(type);
}

bool slim_suits(const instr *i)
{
    const int64_t most = INT32_MAX / 4;
    if (i->kind != INSTR_CONTRACT || instr_elements(i) == 0) return false;
    if (epilogue_is_any(i) || i->contract.add) return false;
    if (!is_short_or_f32(i->in[0].type) || i->in[0].type != i->in[1].type ||
        !is_short_or_f32(i->out[0].type))
        return false;
    slim_form f = slim_form_of(i);
    int64_t   columns = i->size[f.slim], rows = i->size[f.big], terms = i->size[f.k];
    bool      adjacent = f.w->stride[f.k] == 1 || f.w->stride[f.big] == 1;
    bool      long_sum = !f.adjacent_terms && terms * columns > MOST_ACROSS;
    bool      strided =
        f.adjacent_terms && columns > 2 && f.x->stride[f.k] != 1 && rows * columns > MOST_STRIDED;
    return adjacent && !long_sum && !strided &&
           columns <= (f.w->type == MTF_F32 ? MOST_F32 : MOST_SHORT) && rows >= WARP_SIZE &&
           terms >= WARP_SIZE && rows < most && terms < most && rows * terms >= LEAST_WORK &&
           f.vector * (int)mtf_dtype_bytes(f.w->type) >= LEAST_BYTES;
}

/* ---- the maps that follow ---- */

/* Are elements numbered without gaps, each once? */
static bool is_dense(int nloops, const int64_t *size, const int64_t *stride)
{
    int64_t next = 1;
    for (int found = 0; found >= 0;) {
        found = -1;
        for (int l = 0; l < nloops; l++)
            if (size[l] > 1 && stride[l] == next) found = l;
        if (found >= 0) next *= size[found];
    }
    int64_t all = 1;
    for (int l = 0; l < nloops; l++) all *= size[l];
    return next == all;
}

/* A product has no stride along k. */
static bool results_are_dense(const instr *product)
{
    return is_dense(product->nloops - 1, product->size, product->out[0].stride);
}

const instr *slim_last(const slim_member *m)
{
    return m->nmaps ? m->map[m->nmaps - 1] : m->product;
}

/* Does an instruction read each result of a member once? */
static bool reads_each(const slim_member *m, const instr *i, int value)
{
    const instr  *before = slim_last(m);
    const access *in = &i->in[value], *out = &before->out[0];
    int64_t       results = instr_elements(m->product) / m->product->size[m->product->nloops - 1];
    bool          each =
        m->nmaps ? is_dense(before->nloops, before->size, out->stride) : results_are_dense(before);
    return each && in->offset == out->offset && in->type == out->type &&
           instr_elements(i) == results && is_dense(i->nloops, i->size, in->stride);
}

bool slim_scatters(const slim_member *m, const instr *scatter)
{
    int64_t size[MAX_LOOPS + 1], stride[MAX_LOOPS + 1];
    int     n = 0;
    if (scatter->kind != INSTR_SCATTER || !scatter->gather.set || !reads_each(m, scatter, 0))
        return false;
    size[n] = scatter->gather.along;
    stride[n++] = scatter->gather.along_stride;
    for (int l = 0; l < scatter->nloops; l++) {
        if (scatter->size[l] == 1) continue;
        size[n] = scatter->size[l];
        stride[n++] = scatter->out[0].stride[l];
    }
    return nest_distinct(n, size, stride);
}

bool slim_takes(const slim_member *m, const instr *map, int value)
{
    if (m->nmaps == SLIM_MAPS || map->kind != INSTR_MAP || map->nout != 1 || map_folds_rows(map) ||
        map_is_row(map, &map->out[0]))
        return false;
    for (int l = 0; l < map->nloops; l++)
        if (map->size[l] > 1 && map->out[0].stride[l] == 0) return false;
    return reads_each(m, map, value);
}

/* ---- the map before ---- */

bool slim_is_row(const instr *map)
{
    enum { MOST_BYTES = 16384 };
    if (map->kind != INSTR_MAP || !map_folds_rows(map) || map->nout != 1 || map->map.sums)
        return false;
    const access *out = &map->out[0];
    int64_t       n = instr_elements(map);
    return n > 0 && n == map_row(map) && !map_is_row(map, out) &&
           n * (int64_t)mtf_dtype_bytes(out->type) <= MOST_BYTES &&
           is_dense(map->nloops, map->size, out->stride);
}

bool slim_reads_row(const instr *product, const instr *map)
{
    slim_form     f = slim_form_of(product);
    const access *x = f.x, *out = &map->out[0];
    bool alike = x->buffer == out->buffer && x->offset == out->offset && x->type == out->type;
    for (int l = 0; l < product->nloops; l++)
        alike = alike && (l == f.k || product->size[l] == 1 || x->stride[l] == 0);
    return alike && product->size[f.slim] == 1 && x->stride[f.k] == 1 &&
           product->size[f.k] == instr_elements(map);
}

/* ---- operands ---- */

static int count_inputs(const slim_group *g)
{
    int n = g->row ? g->row->nin : 0;
    for (int k = 0; k < g->n; k++) {
        n += 2;
        for (int j = 0; j < g->members[k].nmaps; j++) n += g->members[k].map[j]->nin - 1;
        n += g->members[k].scatter != NULL;
    }
    return n;
}

instr slim_operands(arena *a, const slim_group *g)
{
    instr all = {.kind = INSTR_CONTRACT, .nloops = 0};
    all.out = arena_array(a, access, g->n);
    all.in = arena_array(a, access, count_inputs(g));
    if (!all.out || !all.in) return (instr){0};
    for (int k = 0; k < g->n; k++) {
        const slim_member *m = &g->members[k];
        all.out[all.nout++] = (m->scatter ? m->scatter : slim_last(m))->out[0];
        for (int o = 0; o < 2; o++) all.in[all.nin++] = m->product->in[o];
        for (int j = 0; j < m->nmaps; j++)
            for (int o = 0; o < m->map[j]->nin; o++)
                if (o != m->value[j]) all.in[all.nin++] = m->map[j]->in[o];
        if (m->scatter) all.in[all.nin++] = m->scatter->in[1];
    }
    for (int o = 0; g->row && o < g->row->nin; o++) all.in[all.nin++] = g->row->in[o];
    return all;
}
