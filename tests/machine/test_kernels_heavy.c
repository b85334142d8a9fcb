/* Products and convolutions against plain loops, case by random case.
 *
 * Operands are permuted, padded, repeated or reversed.  Floats are compared
 * with sums in double, integers and flags exactly.
 */
#include "machine/trial.h"

#include <cblas.h>

#include "asked.h"
#include "cpu/matrix.h"
#include "mtf_build.h"

/* ---- contract ----------------------------------------------------------------------------- */

/* `before`: what the result held, if the product adds to it. */
static void try_contract(trial *t, const void *before)
{
    const access *c = &t->operands[0], *a = &t->operands[1], *b = &t->operands[2];
    int           k = t->i.nloops - 1;
    int64_t       results = iterations_of(t) / t->i.size[k];
    run_trial(t, kernel_contract, 1);
    for (int64_t r = 0; r < results; r++) {
        double  held = before ? dtype_load(c->type, before, offset_at(t, c, 1, r)) : 0;
        total   s = {.sum = held, .magnitude = fabs(held)};
        int64_t left = offset_at(t, a, 1, r), right = offset_at(t, b, 1, r);
        for (int64_t j = 0; j < t->i.size[k]; j++)
            add_product(&s, c->type, t->memory[1], left + j * a->stride[k], t->memory[2],
                        right + j * b->stride[k]);
        assert_total(c->type, t->memory[0], offset_at(t, c, 1, r), &s);
    }
}

static void check_contract(trial *t)
{
    try_contract(t, NULL);
    if (t->operands[0].type == MTF_F32 || t->operands[0].type == MTF_F64) {
        void *before = add_into_result(t);
        try_contract(t, before);
        free(before);
    }
    trial_free(t);
}

/* One operand over the batch loops and two of m, n, k; `transposed`: the first of the two innermost. */
static void contract_operand(trial *t, mtf_dtype type, int p, int q, bool transposed, bool out)
{
    int     nbatch = t->i.nloops - 3, n = nbatch + 2, order[MAX_LOOPS], loops[MAX_LOOPS];
    int64_t size[MAX_LOOPS], stride[MAX_LOOPS];
    bool    repeated[MAX_LOOPS] = {0};
    shuffle(nbatch, order);
    for (int l = 0; l < nbatch; l++) {
        loops[l] = l;
        repeated[l] = !out && chance(4);
        size[l] = repeated[l] ? 1 : t->i.size[l];
    }
    loops[nbatch] = nbatch + p;
    loops[nbatch + 1] = nbatch + q;
    size[nbatch] = t->i.size[nbatch + p];
    size[nbatch + 1] = t->i.size[nbatch + q];
    order[nbatch] = transposed ? nbatch + 1 : nbatch;
    order[nbatch + 1] = transposed ? nbatch : nbatch + 1;
    int64_t count = lay_out(n, order, size, chance(2) ? pick(1, 5) : 0, stride);
    access *a = add_operand(t, type, count, out);
    for (int k = 0; k < n; k++) a->stride[loops[k]] = k < nbatch && repeated[k] ? 0 : stride[k];
}

static void test_contract(void **state)
{
    (void)state;
    static const int64_t sizes[] = {1, 1, 2, 3, 5, 7, 8, 13, 17, 31, 37, 64, 67};
    seed_state = 1;
    for (int round = 0; round < 1600; round++) {
        mtf_dtype type = round < 800 ? all_types[round / 8 % 2] : all_types[round / 8 % 7];
        int       nbatch = (int)pick(0, 2);
        int64_t   size[5];
        for (int l = 0; l < nbatch; l++) size[l] = pick(1, 4);
        for (int l = 0; l < 3; l++) size[nbatch + l] = sizes[pick(0, 12)];
        if (round % 100 == 99) size[nbatch + pick(0, 1)] = pick(130, 400); /* several pieces */
        if (round % 100 == 98 && nbatch > 0) size[0] = 33;
        trial t = trial_of(INSTR_CONTRACT, nbatch + 3, size);
        contract_operand(&t, type, 0, 1, round & 1, true);
        contract_operand(&t, type, 0, 2, round & 2, false);
        contract_operand(&t, type, 2, 1, round & 4, false);
        check_contract(&t);
    }
}

/* Strides that BLAS cannot express: repeated, overlapping, reversed. */
static void test_contract_odd_strides(void **state)
{
    (void)state;
    seed_state = 2;
    for (int kind = 0; kind < 4; kind++)
        for (int round = 0; round < 14; round++) {
            mtf_dtype type = all_types[round % 7];
            int64_t   size[3] = {pick(2, 70), pick(2, 70), pick(2, 70)};
            trial     t = trial_of(INSTR_CONTRACT, 3, size);
            contract_operand(&t, type, 0, 1, round & 1, true);
            access *a = add_operand(&t, type, size[0] * size[2], false);
            a->stride[0] = kind == 0 ? 0 : kind == 2 ? -size[2] : kind == 3 ? size[2] : 1;
            a->stride[2] = kind == 3 ? 0 : 1;
            if (kind == 2) a->offset = (size[0] - 1) * size[2];
            contract_operand(&t, type, 2, 1, round & 2, false);
            check_contract(&t);
        }
}

/* Makes an operand's elements thirds, so that sums of their products must be rounded. */
static void make_thirds(trial *t, int operand)
{
    mtf_dtype type = t->operands[operand].type;
    for (int64_t k = 0; k < t->count[operand]; k++)
        dtype_store(type, t->memory[operand], k, dtype_load(type, t->memory[operand], k) / 3);
}

/* Operands in one of eight orders, which the round says. */
static void product_trial(trial *t, const int64_t *size, mtf_dtype type, int round)
{
    *t = trial_of(INSTR_CONTRACT, 4, size);
    contract_operand(t, type, 0, 1, round & 2, true);
    contract_operand(t, type, 0, 2, round & 4, false);
    contract_operand(t, type, 2, 1, round & 8, false);
    make_thirds(t, 1);
    make_thirds(t, 2);
    t->i.out = t->operands;
    t->i.in = t->operands + 1;
}

/* Large enough for several blocks, in every order and in both types; where our tiles do them, the same
 * bits for any number of threads, also where one takes a single row. */
static void test_contract_large(void **state)
{
    (void)state;
    static const struct {
        int64_t batch, m, n, k;
        int     rounds; /* 16: operands in every order, in both types */
    } cases[] = {{1, 203, 207, 200, 16},  {1, 96, 97, 1929, 3},   {1, 331, 95, 331, 3},
                 {3, 97, 1031, 84, 1},    {1, 129, 109, 1301, 4}, {1, 769, 911, 13, 3},
                 {1, 261, 1100, 1030, 1}, {1, 1100, 261, 30, 4}};
    seed_state = 4;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int round = 0; round < asked_much(cases[c].rounds, (int)(c % 2)); round++) {
            int64_t   size[4] = {cases[c].batch, cases[c].m, cases[c].n, cases[c].k};
            mtf_dtype type = round & 1 ? MTF_F64 : MTF_F32;
            trial     t;
            product_trial(&t, size, type, round);
            assert_int_equal(contract_way_of(&t.i) == CONTRACT_TILED,
                             MTF_OWN_PRODUCTS && type == MTF_F32);
            check_contract(&t);
        }
}

/* Neither few columns nor many, in every order, with sides that fill no tile, several blocks of rows
 * and stretches of k: the same bits for any number of threads. */
static void test_contract_tiled(void **state)
{
    (void)state;
    seed_state = 7;
    for (int round = 0; round < asked_much(96, 24); round++) {
        int64_t size[4] = {round % 5 == 0 ? pick(2, 70) : 1, pick(SLIM_WIDE + 1, 60),
                           pick(SLIM_WIDE + 1, 60), pick(1, 70)};
        if (round % 3 == 1) size[1 + round / 3 % 2] = pick(250, 600), size[0] = 1;
        if (round % 7 == 1) size[3] = pick(780, 2400), size[0] = 1;
        trial t;
        product_trial(&t, size, MTF_F32, round);
        assert_int_equal(contract_way_of(&t.i) == CONTRACT_TILED,
                         MTF_OWN_PRODUCTS && size[1] * size[2] * size[3] >= 512);
        check_contract(&t);
    }
}

/* A few terms, in every order, with rows and columns that fill no tile. */
static void test_contract_terms(void **state)
{
    (void)state;
    seed_state = 7;
    for (int round = 0; round < asked_much(96, 24); round++) {
        int64_t k = 1 + round % MOST_TERMS, size[4] = {1, pick(64, 150), pick(64, 300), k};
        if (round % 5 == 0) size[0] = 3;
        trial t;
        product_trial(&t, size, MTF_F32, round);
        assert_int_equal(contract_way_of(&t.i) == CONTRACT_TERMS, !MTF_OWN_PRODUCTS);
        check_contract(&t);
    }
}

/* A few columns or rows, in every order, with several panels of k and rows that fill no tile: the
 * same bits for any number of threads. */
static void test_contract_slim(void **state)
{
    (void)state;
    seed_state = 6;
    for (int round = 0; round < asked_much(88, 23); round++) {
        int64_t few = 2 + round % (SLIM_WIDE - 1), many = pick(32, 300),
                k = round % 3 ? pick(32, 90) : 1100;
        int64_t size[4] = {round % 5 == 0 ? 3 : 1, many, few, k};
        if (round & 1) size[1] = few, size[2] = many;
        trial t;
        product_trial(&t, size, MTF_F32, round);
        assert_int_equal(contract_way_of(&t.i) == CONTRACT_SLIM, many * few * k >= SLIM_WORK);
        check_contract(&t);
    }
}

/* A matrix times a vector, long enough that its sum is taken in parts where k has long strides. */
static void test_contract_long_sums(void **state)
{
    (void)state;
    seed_state = 5;
    for (int round = 0; round < asked_much(48, 16); round++) {
        int64_t   side = pick(260, 420), size[3] = {1, 1, pick(250, 900)};
        mtf_dtype type = round & 1 ? MTF_F64 : MTF_F32;
        size[round & 2 ? 1 : 0] = side;
        trial t = trial_of(INSTR_CONTRACT, 3, size);
        contract_operand(&t, type, 0, 1, round & 4, true);
        contract_operand(&t, type, 0, 2, round & 8, false);
        contract_operand(&t, type, 2, 1, round & 16, false);
        check_contract(&t);
    }
}

/* Threads share the parts of a sum, and each needs its own room to sort in. */
static void test_scratch(void **state)
{
    (void)state;
    enum { SIZE = 512, SUM_PARTS = 16 };
    access  out = {.type = MTF_F32, .stride = {0, 1, 0}};
    access  in[2] = {{.type = MTF_F32, .stride = {0, 0, 1}},
                     {.type = MTF_F32, .stride = {0, 1, SIZE}}};
    instr   both[2] = {{.kind = INSTR_CONTRACT, .nin = 2, .nout = 1, .nloops = 3},
                       {.kind = INSTR_ORDER, .order = {.along = SIZE}}};
    program sums = {.instrs = both, .ninstrs = 1}, order = {.instrs = both + 1, .ninstrs = 1};
    memcpy(both[0].size, (int64_t[]){1, SIZE, SIZE}, 3 * sizeof(int64_t));
    both[0].in = in;
    both[0].out = &out;
    size_t shared = SUM_PARTS * SIZE * sizeof(float), each = kernels_scratch_bytes(&order, 1);
    assert_int_equal(kernels_scratch_bytes(&sums, 1), shared);
    assert_int_equal(kernels_scratch_bytes(&sums, 7), shared);
    assert_int_equal(kernels_scratch_bytes(&order, 7), 7 * each);
    program all = {.instrs = both, .ninstrs = 2};
    assert_int_equal(kernels_scratch_bytes(&all, 1), shared);
    assert_int_equal(kernels_scratch_bytes(&all, 7), 7 * each);
}

/* ---- window ------------------------------------------------------------------------------- */

typedef struct window_case {
    window_kind kind;
    mtf_dtype   type;
    int         nbatch, nspatial;
    int64_t     batch[2], in[3], taps[3], step[3], dilation[3], before[3], after[3];
    int64_t     groups, chans, outs;
    bool        permuted;
} window_case;

/* Lays out dimensions of an operand in order, or permuted. */
static int64_t lay_out_maybe(const window_case *c, int n, const int64_t *size, int64_t *stride)
{
    int order[MAX_LOOPS];
    shuffle(n, order);
    if (!c->permuted)
        for (int k = 0; k < n; k++) order[k] = k;
    return lay_out(n, order, size, chance(4) ? pick(1, 4) : 0, stride);
}

static void window_operands(trial *t, const window_case *c)
{
    window_args *a = &t->i.window;
    int          n = c->nbatch + c->nspatial;
    int64_t      xs[6], ys[6], ws[6], x[6], y[6], w[6];
    for (int l = 0; l < c->nbatch; l++) xs[l] = ys[l] = c->batch[l];
    for (int s = 0; s < c->nspatial; s++) {
        xs[c->nbatch + s] = c->in[s];
        ys[c->nbatch + s] = a->out_size[s];
        ws[s] = c->taps[s];
    }
    xs[n] = c->groups * c->chans;
    ys[n] = c->groups * c->outs;
    ws[c->nspatial] = c->chans;
    ws[c->nspatial + 1] = c->groups * c->outs;
    int64_t xn = lay_out_maybe(c, n + 1, xs, x), yn = lay_out_maybe(c, n + 1, ys, y);
    int64_t wn = lay_out_maybe(c, c->nspatial + 2, ws, w);
    /* Operands: the result, then the other two in the order x, w or y, w or x, y. */
    const int   first = c->kind == WINDOW_FORWARD ? 'y' : c->kind == WINDOW_INPUT ? 'x' : 'w';
    const char *order = first == 'y' ? "yxw" : first == 'x' ? "xyw" : "wxy";
    for (int k = 0; k < 3; k++) {
        int64_t count = order[k] == 'x' ? xn : order[k] == 'y' ? yn : wn;
        access *o = add_operand(t, c->type, count, k == 0);
        for (int l = 0; l < c->nbatch; l++)
            o->stride[l] = order[k] == 'x' ? x[l] : order[k] == 'y' ? y[l] : 0;
    }
    for (int s = 0; s < c->nspatial; s++) {
        a->x_spatial[s] = x[c->nbatch + s];
        a->y_spatial[s] = y[c->nbatch + s];
        a->w_tap[s] = w[s];
    }
    a->x_chan = x[n];
    a->y_out = y[n];
    a->w_chan = w[c->nspatial];
    a->w_out = w[c->nspatial + 1];
}

static int operand_called(const window_case *c, int name)
{
    const char *order = c->kind == WINDOW_FORWARD ? "yxw" : c->kind == WINDOW_INPUT ? "xyw" : "wxy";
    return order[0] == name ? 0 : order[1] == name ? 1 : 2;
}

/* Visits every product of the definition and adds it to its result. */
static void window_reference(const trial *t, const window_case *c, total *totals)
{
    const window_args *a = &t->i.window;
    int     xi = operand_called(c, 'x'), yi = operand_called(c, 'y'), wi = operand_called(c, 'w');
    int64_t positions = 1, taps = 1, batch = 1;
    for (int s = 0; s < c->nspatial; s++) positions *= a->out_size[s], taps *= c->taps[s];
    for (int l = 0; l < c->nbatch; l++) batch *= c->batch[l];
    for (int64_t b = 0; b < batch; b++)
        for (int64_t o = 0; o < positions; o++)
            for (int64_t tap = 0; tap < taps; tap++) {
                int64_t x = offset_at(t, &t->operands[xi], 0, b), w = 0, p = o, q = tap;
                int64_t y = offset_at(t, &t->operands[yi], 0, b);
                bool    inside = true;
                for (int s = c->nspatial - 1; s >= 0; s--) {
                    int64_t out = p % a->out_size[s], tp = q % c->taps[s];
                    int64_t in = out * c->step[s] + tp * c->dilation[s] - c->before[s];
                    p /= a->out_size[s];
                    q /= c->taps[s];
                    inside = inside && in >= 0 && in < c->in[s];
                    x += in * a->x_spatial[s];
                    y += out * a->y_spatial[s];
                    w += tp * a->w_tap[s];
                }
                for (int64_t g = 0; inside && g < c->groups; g++)
                    for (int64_t ch = 0; ch < c->chans; ch++)
                        for (int64_t n = 0; n < c->outs; n++) {
                            int64_t at[3];
                            at[xi] = x + (g * c->chans + ch) * a->x_chan;
                            at[yi] = y + (g * c->outs + n) * a->y_out;
                            at[wi] = w + ch * a->w_chan + (g * c->outs + n) * a->w_out;
                            add_product(&totals[at[0]], c->type, t->memory[1], at[1], t->memory[2],
                                        at[2]);
                        }
            }
}

/* Marks the elements that the result has (the others are gaps). */
static void mark_result(const trial *t, const window_case *c, bool *marked)
{
    const window_args *a = &t->i.window;
    int64_t            size[MAX_LOOPS], stride[MAX_LOOPS], count = 1;
    int                n = 0;
    for (int l = 0; l < c->nbatch && c->kind != WINDOW_FILTER; l++) {
        size[n] = c->batch[l];
        stride[n++] = t->operands[0].stride[l];
    }
    for (int s = 0; s < c->nspatial; s++) {
        bool forward = c->kind == WINDOW_FORWARD, input = c->kind == WINDOW_INPUT;
        size[n] = forward ? a->out_size[s] : input ? c->in[s] : c->taps[s];
        stride[n++] = forward ? a->y_spatial[s] : input ? a->x_spatial[s] : a->w_tap[s];
    }
    size[n] = c->kind == WINDOW_FORWARD ? c->groups * c->outs : c->groups * c->chans;
    stride[n++] = c->kind == WINDOW_FORWARD ? a->y_out : a->x_chan;
    if (c->kind == WINDOW_FILTER) {
        size[n - 1] = c->chans;
        stride[n - 1] = a->w_chan;
        size[n] = c->groups * c->outs;
        stride[n++] = a->w_out;
    }
    for (int k = 0; k < n; k++) count *= size[k];
    for (int64_t e = 0; e < count; e++) {
        int64_t rest = e, at = 0;
        for (int k = n - 1; k >= 0; k--) at += rest % size[k] * stride[k], rest /= size[k];
        marked[at] = true;
    }
}

static void check_window(const window_case *c)
{
    trial        t = trial_of(INSTR_WINDOW, c->nbatch, c->batch);
    window_args *a = &t.i.window;
    *a = (window_args){.kind = c->kind,
                       .nspatial = c->nspatial,
                       .groups = c->groups,
                       .chans = c->chans,
                       .outs = c->outs};
    for (int s = 0; s < c->nspatial; s++) {
        int64_t room = c->in[s] + c->before[s] + c->after[s] - (c->taps[s] - 1) * c->dilation[s];
        a->in_size[s] = c->in[s];
        a->taps[s] = c->taps[s];
        a->step[s] = c->step[s];
        a->dilation[s] = c->dilation[s];
        a->before[s] = c->before[s];
        a->out_size[s] = room < 1 ? 1 : (room - 1) / c->step[s] + 1;
    }
    window_operands(&t, c);
    total *totals = calloc((size_t)t.count[0], sizeof *totals);
    bool  *marked = calloc((size_t)t.count[0], sizeof *marked);
    run_trial(&t, kernel_window, 1);
    window_reference(&t, c, totals);
    mark_result(&t, c, marked);
    for (int64_t e = 0; e < t.count[0]; e++)
        if (marked[e]) assert_total(c->type, t.memory[0], e, &totals[e]);
    free(totals);
    free(marked);
    trial_free(&t);
}

static const int64_t channels[][3] = {{1, 3, 5}, {1, 9, 10}, {2, 8, 9}, {6, 1, 1},  {3, 1, 2},
                                      {1, 1, 1}, {1, 16, 4}, {2, 3, 2}, {70, 1, 1}, {1, 2, 70}};

static window_case random_window(window_kind kind, int nspatial, int64_t step, int64_t dilation)
{
    window_case c = {.kind = kind, .nspatial = nspatial, .nbatch = (int)pick(0, 2)};
    int         k = (int)pick(0, 9);
    c.type = chance(2) ? MTF_F32 : all_types[pick(0, 6)];
    for (int l = 0; l < c.nbatch; l++) c.batch[l] = pick(1, 3);
    for (int s = 0; s < nspatial; s++) {
        c.in[s] = pick(1, nspatial == 1 ? 17 : nspatial == 2 ? 7 : 5);
        c.taps[s] = chance(3) ? 1 : pick(1, 3);
        c.step[s] = chance(3) ? 1 : step;
        c.dilation[s] = dilation;
        c.before[s] = chance(2) ? 0 : pick(0, 3);
        c.after[s] = chance(2) ? 0 : pick(0, 3);
    }
    c.groups = channels[k][0];
    c.chans = channels[k][1];
    c.outs = channels[k][2];
    c.permuted = chance(3);
    return c;
}

static void test_window(void **state)
{
    (void)state;
    seed_state = 3;
    for (int round = 0; round < asked_much(16, 4); round++)
        for (int kind = 0; kind < 3; kind++)
            for (int nspatial = 1; nspatial <= 3; nspatial++)
                for (int64_t step = 1; step <= 3; step++)
                    for (int64_t dilation = 1; dilation <= 2; dilation++) {
                        window_case c = random_window((window_kind)kind, nspatial, step, dilation);
                        check_window(&c);
                    }
}

/* Channels in sixteens, and rows of which some are longer than a segment: each is multiplied by itself, with
 * its padding, which may reach beyond the taps. */
static void test_window_rows(void **state)
{
    (void)state;
    seed_state = 5;
    for (int round = 0; round < 24; round++) {
        window_case c = {.kind = (window_kind)(round % 3),
                         .nbatch = 1,
                         .nspatial = 2,
                         .batch = {pick(1, 3)},
                         .in = {pick(1, 5), chance(4) ? pick(65, 80) : pick(8, 21)},
                         .taps = {pick(1, 3), pick(2, 4)},
                         .step = {pick(1, 2), 1},
                         .dilation = {pick(1, 2), 1},
                         .before = {pick(0, 3), pick(0, 5)},
                         .after = {pick(0, 3), pick(0, 5)},
                         .groups = 1,
                         .chans = 16 * pick(1, 2),
                         .outs = 16 * pick(1, 2)};
        check_window(&c);
    }
}

/* Long rows are cut into segments, many channels into tiles, plain planes are merged; small images go
 * into panels of several taps, many at a time. */
static void test_window_large(void **state)
{
    (void)state;
    seed_state = 4;
    for (int kind = 0; kind < 3; kind++) {
        window_case row = {.kind = (window_kind)kind,
                           .nbatch = 1,
                           .nspatial = 1,
                           .batch = {2},
                           .in = {611},
                           .taps = {3},
                           .step = {2},
                           .dilation = {2},
                           .before = {2},
                           .after = {2},
                           .groups = 1,
                           .chans = 9,
                           .outs = 8};
        window_case many = {.kind = (window_kind)kind,
                            .nbatch = 1,
                            .nspatial = 2,
                            .batch = {2},
                            .in = {3, 4},
                            .taps = {2, 3},
                            .step = {1, 1},
                            .dilation = {1, 1},
                            .before = {0, 1},
                            .after = {1, 1},
                            .groups = 2,
                            .chans = 131,
                            .outs = 129};
        window_case plane = {.kind = (window_kind)kind,
                             .nbatch = 2,
                             .nspatial = 3,
                             .batch = {3, 2},
                             .in = {5, 7, 3},
                             .taps = {1, 1, 1},
                             .step = {1, 1, 1},
                             .dilation = {1, 1, 1},
                             .groups = 1,
                             .chans = 17,
                             .outs = 12};
        window_case small = {.kind = (window_kind)kind,
                             .nbatch = 1,
                             .nspatial = 2,
                             .batch = {11},
                             .in = {7, 6},
                             .taps = {9, 9},
                             .step = {1, 1},
                             .dilation = {1, 1},
                             .before = {4, 4},
                             .after = {4, 3},
                             .groups = 1,
                             .chans = 16,
                             .outs = 5};
        window_case apart = {.kind = (window_kind)kind,
                             .nbatch = 2,
                             .nspatial = 2,
                             .batch = {3, 5},
                             .in = {9, 13},
                             .taps = {3, 2},
                             .step = {2, 1},
                             .dilation = {1, 2},
                             .before = {1, 2},
                             .after = {1, 1},
                             .groups = 2,
                             .chans = 3,
                             .outs = 4};
        check_window(&row);
        check_window(&small);
        check_window(&apart);
        check_window(&many);
        check_window(&plane);
    }
}

int main(void)
{
#ifdef OPENBLAS_VERSION
    openblas_set_num_threads(1); /* as the device does */
#endif
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_contract),
        cmocka_unit_test(test_contract_odd_strides),
        cmocka_unit_test(test_contract_large),
        cmocka_unit_test(test_contract_tiled),
        cmocka_unit_test(test_contract_slim),
        cmocka_unit_test(test_contract_terms),
        cmocka_unit_test(test_contract_long_sums),
        cmocka_unit_test(test_scratch),
        cmocka_unit_test(test_window),
        cmocka_unit_test(test_window_rows),
        cmocka_unit_test(test_window_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
