/* Products with few columns, as kernels.
 *
 * c[m, n] = sum over k of w[m, k] x[k, n], n small.  Where elements of w are adjacent along
 * m, threads of a block, or of a few, have some of the terms of the same results; where they
 * are adjacent along k, a warp or a block has whole rows.  Sums are added up in an order that
 * follows from the sizes.
 */
#include "machine/cuda/slim.h"

#include <stdio.h>

#include "machine/cuda/kernel_text.h"
#include "machine/cuda/map_text.h"
#include "program/epilogue.h"

enum {
    MOST_SHORT = 4, /* columns; tensor cores make more of them faster */
    MOST_F32 = 8,
    LEAST_BYTES = 4,      /* that a thread reads at once */
    LEAST_WORK = 1 << 14, /* elements of the matrix */
    PROCESSORS = 132,
    SHARED_FLOATS = 6144, /* of partial sums in a block */
    ROWS = 4,             /* of a warp, where terms are adjacent */
    THREADS = 512,        /* of a block, whatever it computes: so sums do not depend on the group */
    TOGETHER = 2,         /* blocks that share a processor of the card */
    AHEAD = 8,            /* pieces that a thread reads before it uses them */
    LINE_BYTES = 128,     /* of memory, that are read together */
    BLOCK_BYTES =
        104000, /* of the matrix that a block reads, at most, where several share its rows */
    ENOUGH_BLOCKS = 100,
    LEAST_TURNS = 3 /* pieces of a thread, where several blocks share rows */
};

/* The loops of a product: w has `big` and k, x has k and `slim`. */
typedef struct slim_form {
    const access *w, *x, *c;
    int           big, slim, k; /* loops */
    int64_t       batches;
    bool          adjacent_terms; /* of w along k; else along `big` */
    int           vector;         /* elements of w that are read at once */
} slim_form;

static int64_t magnitude(int64_t v)
{
    return v < 0 ? -v : v;
}

/* Elements that can be read at once, as far as offset and strides allow it. */
static int widest(const instr *i, const access *a, int along)
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

static slim_form form_of(const instr *i)
{
    int       m = i->nloops - 3, n = m + 1;
    int       turned = slim_matrix(i);
    slim_form f = {.w = &i->in[turned], .x = &i->in[!turned], .c = &i->out[0], .k = m + 2};
    f.big = turned ? n : m;
    f.slim = turned ? m : n;
    f.batches = 1;
    for (int l = 0; l < m; l++) f.batches *= i->size[l];
    int across = widest(i, f.w, f.big), down = widest(i, f.w, f.k);
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
    return type == MTF_F32 || type == MTF_BF16 || type == MTF_F16;
}

bool slim_suits(const instr *i)
{
    const int64_t most = INT32_MAX / 4;
    if (i->kind != INSTR_CONTRACT || instr_elements(i) == 0) return false;
    if (epilogue_is_any(i) || i->contract.add) return false;
    if (!is_short_or_f32(i->in[0].type) || i->in[0].type != i->in[1].type ||
        !is_short_or_f32(i->out[0].type))
        return false;
    slim_form f = form_of(i);
    int64_t   columns = i->size[f.slim], rows = i->size[f.big], terms = i->size[f.k];
    bool      adjacent = f.w->stride[f.k] == 1 || f.w->stride[f.big] == 1;
    return adjacent && columns <= (f.w->type == MTF_F32 ? MOST_F32 : MOST_SHORT) &&
           rows >= WARP_SIZE && terms >= WARP_SIZE && rows < most && terms < most &&
           rows * terms >= LEAST_WORK && f.vector * (int)mtf_dtype_bytes(f.w->type) >= LEAST_BYTES;
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

/* ---- operands ---- */

instr slim_operands(arena *a, int n, const slim_member *members)
{
    instr all = {.kind = INSTR_CONTRACT, .nloops = 0};
    int   most = 0;
    for (int k = 0; k < n; k++) {
        most += 2;
        for (int j = 0; j < members[k].nmaps; j++) most += members[k].map[j]->nin - 1;
        most += members[k].scatter != NULL;
    }
    all.out = arena_array(a, access, n);
    all.in = arena_array(a, access, most);
    if (!all.out || !all.in) return (instr){0};
    for (int k = 0; k < n; k++) {
        const slim_member *m = &members[k];
        all.out[all.nout++] = (m->scatter ? m->scatter : slim_last(m))->out[0];
        for (int o = 0; o < 2; o++) all.in[all.nin++] = m->product->in[o];
        for (int j = 0; j < m->nmaps; j++)
            for (int o = 0; o < m->map[j]->nin; o++)
                if (o != m->value[j]) all.in[all.nin++] = m->map[j]->in[o];
        if (m->scatter) all.in[all.nin++] = m->scatter->in[1];
    }
    return all;
}

/* ---- text ---- */

typedef struct slim_text {
    kernel_text  k;
    const instr *product;
    slim_form    f;
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

/* One element of a map: value0, value1, ... */
static void say_map(slim_text *w, const instr *map, int value, int number, int first_input,
                    bool last, const char *out)
{
    kernel_source *s = w->k.source;
    map_text       m = map_text_of(s, map);
    char           at[20], array[20];
    m.nest = nest_of(map, loops_between(0, map->nloops), &map->in[value], map_indexed_loops(map));
    m.indent = 4;
    m.wide = true;
    map_line(&m, "f32 value%d;", number + 1);
    map_line(&m, "{");
    map_add_index(&m, &m.nest, "l", "at", 1);
    for (int k = 0; k < map->nin; k++) {
        if (k == value) {
            map_line(&m, "f32 r%d = value%d;", k, number);
            continue;
        }
        snprintf(at, sizeof at, "in%d", first_input++);
        snprintf(array, sizeof array, "a%d", k);
        map_line(&m, "%s a%d[1];", kernel_type(map->in[k].type), k);
        map_load(&m, &map->in[k], at, array);
        map_line(&m, "%s r%d = widen(a%d[0]);", kernel_type(m.type[k]), k, k);
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
        map_line(&m, "%s y[1] = {narrow_%s(%s)};", type, type, result);
        map_store(&m, &map->out[0], out, "y");
        map_line(&m, "value%d = 0;", number + 1);
    } else {
        map_line(&m, "value%d = widen(narrow_%s(%s));", number + 1, type, result);
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

/* w is adjacent along `row`: a thread has `vector` rows and every G-th term of its block's. */
static void say_across(slim_text *w)
{
    kernel_say(
        &w->k,
        "        i64 first = tile / $S * $WIDE, mine = first + THREAD % $L * $V;\n"
        "        const i32 from = tile % $S * $EACH, end = SMALLER(from + $EACH, $K);\n"
        "        const i32 begin = from + THREAD / $L;\n"
        "        f32 sum[$N][$V] = {};\n"
        "        pack<u32, $WORDS> v[$AHEAD];\n"
        "        auto take = [&](i32 k) {\n"
        "            UNROLL for (int u = 0; u < $AHEAD; u++)\n"
        "                if (mine < $ROWS && k + u * $G < end)\n"
        "                    v[u] = load_pack<$WORDS>((const u32 *)(w + mine + (i64)(k + u * $G) * "
        "($WK)));\n"
        "        };\n"
        "        if ($FIXED) {\n"
        "            take(begin);\n"
        "            if (mine < $ROWS && THREAD % $L % $SECTOR == 0)\n"
        "                for (i32 k = begin + $G * $AHEAD; k < end; k += $G) fetch_early(w + mine "
        "+ "
        "(i64)k * ($WK));\n"
        "        }\n"
        "        wait_for_turn();\n"
        "        for (i32 k = begin; k < end; k += $G * $AHEAD) {\n"
        "            if (!$FIXED || k != begin) take(k);\n"
        "            UNROLL for (int u = 0; u < $AHEAD; u++)\n"
        "                if (mine < $ROWS && k + u * $G < end) UNROLL for (int n = 0; n < $N; n++) "
        "{\n"
        "                    f32 y = load(x + (i64)(k + u * $G) * ($XK) + n * ($XN));\n"
        "                    UNROLL for (int e = 0; e < $V; e++)\n"
        "                        sum[n][e] = fused(element_of<$T>(v[u].at, e), y, sum[n][e]);\n"
        "                }\n"
        "        }\n"
        "        UNROLL for (int n = 0; n < $N; n++)\n"
        "            UNROLL for (int e = 0; e < $V; e++) {\n"
        "                UNROLL for (int mask = 16; mask >= $L; mask /= 2)\n"
        "                    sum[n][e] = ADD(sum[n][e], shuffle_xor(sum[n][e], mask));\n"
        "                if (LANE < $L) part[(WARP_OF_BLOCK * $N + n) * $WIDE + LANE * $V + e] = "
        "sum[n][e];\n"
        "            }\n"
        "        SYNC();\n"
        "        for (int r = THREAD; r < $N * $WIDE; r += $THREADS) {\n"
        "            f32 total = 0;\n"
        "            for (int j = 0; j < $WARPS; j++) total = ADD(total, part[j * $N * $WIDE + "
        "r]);\n"
        "            sums[r] = total;\n"
        "        }\n"
        "        cluster_meet<$S>(sums, $N * $WIDE);\n"
        "        for (int r = THREAD; tile % $S == $S - 1 && r < $N * $WIDE; r += $THREADS) {\n"
        "            f32 total = 0, of[$S];\n"
        "            cluster_values<$S>(sums, r, of);\n"
        "            UNROLL for (int s = 0; s < $S; s++) total = ADD(total, of[s]);\n"
        "            i64 row = first + r % $WIDE, column = r / $WIDE;\n"
        "            if (row < $ROWS) {\n");
}

/* w is adjacent along k: $GROUP threads go along $R rows. */
static void say_along(slim_text *w, bool packed)
{
    kernel_say(&w->k, "        i64 first = (tile * $GROUPS + THREAD / $GROUP) * $R;\n"
                      "        i32 begin = THREAD % $GROUP * $V;\n"
                      "        f32 sum[$R][$N] = {};\n"
                      "        pack<u32, $WORDS> v[$R];\n"
                      "        auto take = [&](i32 k) {\n"
                      "            UNROLL for (int r = 0; r < $R; r++)\n"
                      "                if (first + r < $ROWS) v[r] = load_pack<$WORDS>((const u32 "
                      "*)(w + (first + r) * ($WB) + k));\n"
                      "        };\n"
                      "        if ($FIXED && begin < $K) take(begin);\n"
                      "        wait_for_turn();\n"
                      "        for (i32 k = begin; k < $K; k += $GROUP * $V) {\n"
                      "            if (!$FIXED || k != begin) take(k);\n"
                      "            UNROLL for (int n = 0; n < $N; n++) {\n"
                      "                $T y[$V];\n");
    kernel_say(&w->k, packed ? "                load_packs<$XV>(y, x + k + n * ($XN));\n"
                             : "                UNROLL for (int e = 0; e < $V; e++) "
                               "y[e] = x[(i64)(k + e) * ($XK) + n * ($XN)];\n");
    kernel_say(&w->k,
               "                UNROLL for (int r = 0; r < $R; r++)\n"
               "                    if (first + r < $ROWS) UNROLL for (int e = 0; e < $V; e++)\n"
               "                        sum[r][n] = fused(element_of<$T>(v[r].at, e), widen(y[e]), "
               "sum[r][n]);\n"
               "            }\n"
               "        }\n"
               "        int mine = THREAD % $GROUP;\n"
               "        f32 total = 0;\n"
               "        UNROLL for (int r = 0; r < $R; r++)\n"
               "            UNROLL for (int n = 0; n < $N; n++) {\n"
               "                f32 all = group_sum<$GROUP>(sum[r][n]);\n"
               "                if (mine == r * $N + n) total = all;\n"
               "            }\n"
               "        if (mine < $R * $N) {\n"
               "            i64 row = first + mine / $N, column = mine % $N;\n"
               "            if (row < $ROWS) {\n");
}

/* ---- sizes ---- */

/* How a product is spread over blocks. */
typedef struct slim_tiles {
    int     lanes;       /* across: threads side by side */
    int     shared;      /* blocks that share rows, a cluster */
    int     group, rows; /* along: threads of a row, rows of such a group */
    int64_t tiles;       /* blocks of a batch */
} slim_tiles;

/* Whole lines of memory for a block, and few terms, so that many are under way at once. */
static slim_tiles shared_tiles(const instr *i, const slim_form *f, int most)
{
    int64_t    rows = i->size[f->big], terms = i->size[f->k];
    int64_t    bytes = (int64_t)mtf_dtype_bytes(f->w->type);
    slim_tiles t = {.lanes = LINE_BYTES / (int)(f->vector * bytes),
                    .shared = 1,
                    .group = WARP_SIZE,
                    .rows = ROWS};
    int64_t    wide = (int64_t)t.lanes * f->vector, tiles = kernel_parts(rows, wide);
    int64_t    turns = terms / (THREADS / t.lanes);
    while (2 * t.shared <= most && turns / (2 * t.shared) >= LEAST_TURNS &&
           (f->batches * tiles * t.shared < ENOUGH_BLOCKS ||
            wide * terms * bytes > BLOCK_BYTES * t.shared))
        t.shared *= 2;
    t.tiles = tiles * t.shared;
    return t;
}

static slim_tiles tiles_of(const instr *i, const slim_form *f, int most_shared)
{
    int64_t    rows = i->size[f->big], columns = i->size[f->slim];
    slim_tiles t = {.lanes = 2, .shared = 1, .group = WARP_SIZE, .rows = ROWS};
    if (f->adjacent_terms) {
        while (t.rows > 1 && (t.rows * columns > WARP_SIZE || columns > 2)) t.rows /= 2;
        bool few = f->batches * rows < (int64_t)PROCESSORS * THREADS / WARP_SIZE;
        if (few) t.group = THREADS, t.rows = 1;
        t.tiles = kernel_parts(rows, (int64_t)(THREADS / t.group) * t.rows);
        return t;
    }
    int64_t    each = (int64_t)f->vector * columns * (THREADS / WARP_SIZE); /* floats of a lane */
    slim_tiles wider = shared_tiles(i, f, most_shared);
    if (wider.shared > 1 && wider.lanes <= WARP_SIZE && wider.lanes * each <= SHARED_FLOATS)
        return wider;
    for (int more = 4; more <= WARP_SIZE; more *= 2) {
        int64_t wide = (int64_t)more * f->vector;
        bool    enough = f->batches * (rows / wide) >= PROCESSORS;
        bool    narrow =
            wide * (int64_t)mtf_dtype_bytes(f->w->type) <= WARP_SIZE; /* bytes of a sector */
        if ((enough || narrow) && more * each <= SHARED_FLOATS) t.lanes = more;
    }
    t.tiles = kernel_parts(rows, (int64_t)t.lanes * f->vector);
    return t;
}

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
    int              xv = widest(i, f->x, f->k);
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
                   {"THREADS", THREADS},
                   {"WARPS", THREADS / WARP_SIZE},
                   {"L", t->lanes},
                   {"G", THREADS / t->lanes},
                   {"WIDE", (int64_t)t->lanes * f->vector},
                   {"S", t->shared},
                   {"EACH", kernel_parts(i->size[f->k], t->shared)},
                   {"SECTOR", sector_lanes(f)},
                   {"GROUP", t->group},
                   {"GROUPS", THREADS / t->group},
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
    w->f = form_of(m->product);
    slim_tiles t = tiles_of(m->product, &w->f, w->k.source->cluster);
    t.tiles = kernel_parts(t.tiles, w->cluster) * w->cluster;
    bool    turned = w->f.w == &m->product->in[1], packed = widest(m->product, w->f.x, w->f.k) > 1;
    int64_t end = begin + w->f.batches * t.tiles;
    set_sizes(w, &t);
    kernel_set_number(&w->k, "FIXED", m->fixed);
    kernel_set_number(&w->k, "BEGIN", begin);
    kernel_set_number(&w->k, "END", end);
    kernel_set_number(&w->k, "W", first_input + turned);
    kernel_set_number(&w->k, "X", first_input + !turned);
    kernel_say(&w->k, "    if (BLOCK >= $BEGIN && BLOCK < $END) {\n"
                      "        i64 rest = (BLOCK - $BEGIN) / $TILES, tile = (BLOCK - $BEGIN) % "
                      "$TILES, batch = 0;\n"
                      "        const $T *w = in$W, *x = in$X;\n");
    say_batch(w);
    if (w->f.adjacent_terms)
        say_along(w, packed);
    else
        say_across(w);
    say_finish(w, m, output, first_input + 2);
    kernel_say(&w->k, "            }\n        }\n");
    if (t.shared > 1) kernel_say(&w->k, "        cluster_leave<$S>();\n");
    kernel_say(&w->k, "    }\n");
    return end;
}

/* Partial sums of all members are in the same place: a block belongs to one of them. */
static void say_room(slim_text *w, int n, const slim_member *members)
{
    int64_t most = 0;
    for (int k = 0; k < n; k++) {
        slim_form  f = form_of(members[k].product);
        slim_tiles t = tiles_of(members[k].product, &f, w->k.source->cluster);
        int64_t    sums =
            f.adjacent_terms ? 0 : (int64_t)t.lanes * f.vector * members[k].product->size[f.slim];
        if (sums > most) most = sums;
        if (t.shared > w->cluster) w->cluster = t.shared;
    }
    kernel_set_number(&w->k, "SUMS", most);
    kernel_set_number(&w->k, "WARPS", THREADS / WARP_SIZE);
    if (most) kernel_say(&w->k, "    SHARED f32 part[$WARPS * $SUMS], sums[$SUMS];\n");
}

bool write_slim(kernel_source *s, const instr *whole, int n, const slim_member *members,
                kernel_plan *plan)
{
    slim_text w = {.k = kernel_text_of(s, members[0].product, 0), .cluster = 1};
    int64_t   blocks = 0;
    int       input = 0;
    w.k.i = whole;
    say_room(&w, n, members);
    for (int k = 0; k < n; k++) {
        blocks = say_member(&w, &members[k], k, input, blocks);
        input += 2;
        for (int j = 0; j < members[k].nmaps; j++) input += members[k].map[j]->nin - 1;
        input += members[k].scatter != NULL;
    }
    const char  *body = text_done(&w.k.t);
    kernel_shape shape = {.threads = THREADS, .together = TOGETHER, .cluster = w.cluster};
    return body && kernel_add_shaped(s, plan, whole, body, blocks, &shape);
}
