/* Products with few columns, as kernels.
 *
 * c[m, n] = sum over k of w[m, k] x[k, n], n small.  Where elements of w are adjacent along
 * m, threads of a block, or of a few, have some of the terms of the same results; where they
 * are adjacent along k, a warp or a block has whole rows.  Sums are added up in an order that
 * follows from the sizes.
 */
#include "cuda/write/slim_form.h"

#include <stdio.h>

#include "cuda/write/kernel_text.h"
#include "cuda/write/prelude_assets.h"
#include "cuda/write/write_map.h"

static const kernel_patterns patterns = {asset_slim, &asset_slim_bytes};

enum {
    TOGETHER = 2, /* blocks that share a processor of the GPU */
    AHEAD = 8     /* pieces that a thread reads before it uses them */
};

/* ---- text ---- */

typedef struct slim_text {
    kernel_text  k;
    const instr *product;
    slim_form    f;
    const instr *row;     /* the map that gives x */
    int          cluster; /* blocks of the kernel's clusters */
} slim_text;

/* Moves the pointers to a batch, whose number is `rest`. */
static void say_batch(slim_text *w)
{
    const instr *i = w->product;
    for (int l = w->f.big < w->f.slim ? w->f.big - 1 : w->f.slim - 1; l >= 0; l--) {
        if (i->size[l] == 1) continue;
        kernel_set_number(&w->k, "SIZE", i->size[l]);
        kernel_set_number(&w->k, "WL", w->f.w->stride[l]);
        kernel_set_number(&w->k, "XL", w->f.x->stride[l]);
        kernel_set_number(&w->k, "CL", w->f.c->stride[l]);
        kernel_say(&w->k,
                   "        { i64 l = rest % $SIZE; rest /= $SIZE; w += l * ($WL); x += l * ($XL); "
                   "batch += l * ($CL); }\n");
    }
}

/* One element of a map: value0, value1, ..., each of which stands at `at` among its kind. */
static void say_map(slim_text *w, const instr *map, int value, int number, int first_input,
                    bool last, const char *out)
{
    kernel_source *s = w->k.source;
    map_text       m = map_text_of(s, map);
    char           at[20], array[20];
    m.nest = nest_of(map, loops_between(0, map->nloops), &map->in[value], map_indexed_loops(map));
    m.indent = 4;
    m.wide = true;
    const char *computed = map_computed(&map->out[0]);
    map_line(&m, "%s value%d;", computed, number + 1);
    map_line(&m, "{");
    map_add_index(&m, &m.nest, "l", "at", 1);
    for (int k = 0; k < map->nin; k++) {
        if (k == value) {
            map_line(&m, "%s r%d = value%d;", kernel_type(m.type[k]), k, number);
            continue;
        }
        snprintf(at, sizeof at, "in%d", first_input++);
        snprintf(array, sizeof array, "a%d", k);
        map_declare(&m, &map->in[k], array, 1);
        map_load(&m, &map->in[k], at, array);
        map_line(&m, "%s r%d = a%d[0];", kernel_type(m.type[k]), k, k);
    }
    for (int step = 0; step < map->map.nsteps; step++) {
        int reg = map->nin + step;
        if (map_is_constant(&m, reg)) continue;
        text_add(&m.t, "%*s%s r%d = ", 4 * m.indent, "", kernel_type(m.type[reg]), reg);
        map_add_value(&m, step);
        text_add(&m.t, ";\n");
    }
    const char *type = kernel_type(map->out[0].type), *result = m.name[map->map.results[0]];
    if (last) {
        map_line(&m, "%s y[1] = {%s};", computed, result);
        map_store(&m, &map->out[0], out, "y");
        map_line(&m, "value%d = 0;", number + 1);
    } else {
        map_line(&m, "value%d = widen(narrow_%s(%s));", number + 1, type, result);
        text_add(&m.t, "%*sat = ", 4 * m.indent, "");
        map_add_offset(&m, &m.nest, "l", &map->out[0]);
        text_add(&m.t, ";\n");
    }
    map_line(&m, "}");
    const char *text = text_done(&m.t);
    if (text) text_add(&w->k.t, "%s", text);
}

/* Stores value number `number` where the index says. */
static void say_scatter(slim_text *w, const instr *i, int number, int input)
{
    nest all = nest_of(i, loops_between(0, i->nloops), &i->in[0], 0);
    kernel_set_loops(&w->k, "LOOPS", &all, 'l', "at", 1);
    kernel_set_offset(&w->k, "TO", &all, 'l', &i->out[0]);
    kernel_set_offset(&w->k, "FROM", &all, 'l', &i->in[1]);
    kernel_set_number(&w->k, "NUMBER", number);
    kernel_set_number(&w->k, "INDEX", input);
    kernel_set_number(&w->k, "ALONG", i->gather.along);
    kernel_set_number(&w->k, "STRIDE", i->gather.along_stride);
    kernel_say(
        &w->k,
        "                $LOOPS\n"
        "                i64 index = in$INDEX[$FROM];\n"
        "                if ((u64)index < $ALONGull) store($OUT + ($TO + index * ($STRIDE)), "
        "value$NUMBER);\n");
}

/* What is done with `total`, the result in row `row` and column `column`. */
static void say_finish(slim_text *w, const slim_member *m, int output, int first_input)
{
    char out[20];
    snprintf(out, sizeof out, "out%d", output);
    kernel_set_number(&w->k, "CB", w->f.c->stride[w->f.big]);
    kernel_set_number(&w->k, "CN", w->f.c->stride[w->f.slim]);
    kernel_set(&w->k, "OUT", "%s", out);
    kernel_set(&w->k, "C", "%s", kernel_type(w->f.c->type));
    kernel_say(&w->k, "                i64 at = batch + row * ($CB) + column * ($CN);\n");
    if (!m->nmaps && !m->scatter) {
        kernel_say(&w->k, "                store($OUT + at, total);\n");
        return;
    }
    kernel_say(&w->k, "                f32 value0 = widen(narrow_$C(total));\n");
    for (int k = 0; k < m->nmaps; k++) {
        bool last = k == m->nmaps - 1 && !m->scatter;
        say_map(w, m->map[k], m->value[k], k, first_input, last, out);
        first_input += m->map[k]->nin - 1;
    }
    if (m->scatter) say_scatter(w, m->scatter, m->nmaps, first_input);
}

/* ---- sizes ---- */

/* Threads side by side whose pieces are fetched together. */
static int64_t sector_lanes(const slim_form *f)
{
    enum { SECTOR_BYTES = 32 };
    int64_t bytes = f->vector * (int64_t)mtf_dtype_bytes(f->w->type);
    return bytes < SECTOR_BYTES ? SECTOR_BYTES / bytes : 1;
}

static void set_sizes(slim_text *w, const slim_tiles *t)
{
    const instr     *i = w->product;
    const slim_form *f = &w->f;
    int              xv = slim_widest(i, f->x, f->k);
    const struct {
        const char *name;
        int64_t     value;
    } numbers[] = {{"N", i->size[f->slim]},
                   {"ROWS", i->size[f->big]},
                   {"K", i->size[f->k]},
                   {"V", f->vector},
                   {"WORDS", f->vector * (int64_t)mtf_dtype_bytes(f->w->type) / 4},
                   {"XV", xv < f->vector ? xv : f->vector},
                   {"WK", f->w->stride[f->k]},
                   {"WB", f->w->stride[f->big]},
                   {"XK", f->x->stride[f->k]},
                   {"XN", f->x->stride[f->slim]},
                   {"THREADS", SLIM_BLOCK},
                   {"WARPS", SLIM_BLOCK / WARP_SIZE},
                   {"L", t->lanes},
                   {"G", SLIM_BLOCK / t->lanes},
                   {"WIDE", (int64_t)t->lanes * f->vector},
                   {"S", t->shared},
                   {"EACH", kernel_parts(i->size[f->k], t->shared)},
                   {"SECTOR", sector_lanes(f)},
                   {"GROUP", t->group},
                   {"GROUPS", SLIM_BLOCK / t->group},
                   {"R", t->rows},
                   {"AHEAD", i->size[f->slim] == 1 ? AHEAD : AHEAD / 2},
                   {"TILES", t->tiles}};
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
        kernel_set_number(&w->k, numbers[k].name, numbers[k].value);
    kernel_set(&w->k, "T", "%s", kernel_type(f->w->type));
}

/* One member, whose blocks begin with number `begin`.  Clusters have blocks of one batch only: some may
 * lie beyond the last row. */
static int64_t say_member(slim_text *w, const slim_member *m, int output, int first_input,
                          int64_t begin)
{
    w->product = m->product;
    w->f = slim_form_of(m->product);
    slim_tiles t = slim_tiles_of(w->k.source, m->product, &w->f);
    t.tiles = kernel_parts(t.tiles, w->cluster) * w->cluster;
    bool flipped = w->f.w == &m->product->in[1],
         packed = slim_widest(m->product, w->f.x, w->f.k) > 1;
    int64_t end = begin + w->f.batches * t.tiles;
    set_sizes(w, &t);
    kernel_set_number(&w->k, "FIXED", m->fixed);
    kernel_set_number(&w->k, "BEGIN", begin);
    kernel_set_number(&w->k, "END", end);
    kernel_set_number(&w->k, "W", first_input + flipped);
    kernel_set(&w->k, "X", w->row ? "given" : "in%d", first_input + !flipped);
    kernel_say(&w->k, "    if (BLOCK >= $BEGIN && BLOCK < $END) {\n"
                      "        i64 rest = (BLOCK - $BEGIN) / $TILES, tile = (BLOCK - $BEGIN) % "
                      "$TILES, batch = 0;\n"
                      "        const $T *w = in$W, *x = $X;\n");
    say_batch(w);
    kernel_set_pattern(
        &w->k, "TAKEX",
        packed ? "load_packs<$XV>(y, x + k + n * ($XN));"
               : "UNROLL for (int e = 0; e < $V; e++) y[e] = x[(i64)(k + e) * ($XK) + n * ($XN)];");
    kernel_say_from(&w->k, &patterns, w->f.adjacent_terms ? "along" : "across");
    say_finish(w, m, output, first_input + 2);
    kernel_say(&w->k, "            }\n        }\n");
    if (t.shared > 1) kernel_say(&w->k, "        cluster_leave<$S>();\n");
    kernel_say(&w->k, "    }\n");
    return end;
}

/* Partial sums of all members are in the same place: a block belongs to one of them. */
static void say_room(slim_text *w, const slim_group *g)
{
    int64_t most = 0;
    for (int k = 0; k < g->n; k++) {
        const instr *product = g->members[k].product;
        slim_form    f = slim_form_of(product);
        slim_tiles   t = slim_tiles_of(w->k.source, product, &f);
        int64_t sums = f.adjacent_terms ? 0 : (int64_t)t.lanes * f.vector * product->size[f.slim];
        if (sums > most) most = sums;
        if (t.shared > w->cluster) w->cluster = t.shared;
    }
    kernel_set_number(&w->k, "SUMS", most);
    kernel_set_number(&w->k, "WARPS", SLIM_BLOCK / WARP_SIZE);
    if (most) kernel_say(&w->k, "    SHARED f32 part[$WARPS * $SUMS], sums[$SUMS];\n");
}

/* The map that gives x, as a function of its operands.  A block calls it as soon as they are there. */
static bool say_row(slim_text *w, const instr *whole)
{
    const instr *row = w->row;
    textbuf     *t = &w->k.t, call = {.arena = t->arena};
    kernel_set(&w->k, "FILL", "%s", "");
    if (!row) return true;
    const char *body = map_row_text(w->k.source, row, SLIM_BLOCK),
               *type = kernel_type(row->out[0].type);
    TRY(body != NULL);
    text_add(t, "    alignas(16) SHARED %s given[%lld];\n", type, (long long)instr_elements(row));
    text_add(t, "    auto fill = [](%s *out0", type);
    text_add(&call, "fill(given");
    for (int k = 0; k < row->nin; k++) {
        text_add(t, ", const %s *in%d", kernel_type(row->in[k].type), k);
        text_add(&call, ", in%d", whole->nin - row->nin + k);
    }
    text_add(t, ") {\n%s    };\n", body);
    text_add(&call, "); SYNC();");
    const char *said = text_done(&call);
    TRY(said != NULL);
    kernel_set_pattern(&w->k, "FILL", said);
    return true;
}

bool write_slim(kernel_source *s, const instr *whole, const slim_group *g, kernel_plan *plan)
{
    slim_text w = {.k = kernel_text_of(s, g->members[0].product, 0), .row = g->row, .cluster = 1};
    int64_t   blocks = 0;
    int       input = 0;
    w.k.i = whole;
    w.k.wide = true; /* maps and scatters may reach farther than products */
    say_room(&w, g);
    TRY(say_row(&w, whole));
    for (int k = 0; k < g->n; k++) {
        const slim_member *m = &g->members[k];
        blocks = say_member(&w, m, k, input, blocks);
        input += 2;
        for (int j = 0; j < m->nmaps; j++) input += m->map[j]->nin - 1;
        input += m->scatter != NULL;
    }
    const char  *body = text_done(&w.k.t);
    kernel_shape shape = {.threads = SLIM_BLOCK, .together = TOGETHER, .cluster = w.cluster};
    return body && kernel_add_shaped(s, plan, whole, body, blocks, &shape);
}
