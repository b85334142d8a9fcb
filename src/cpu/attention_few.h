/* Attention of a few rows: reads k and v once.
 *
 * Decoding a token takes this path.  A long memory is split into chunks, whose
 * length does not depend on the number of threads, and whose results are combined
 * in their order.
 */

/* Partial results of a batch's rows after some of the memory: o is [rows][value], the others
 * [rows]. */
typedef struct few_sums {
    REAL *o, *top, *sum;
} few_sums;

static few_sums few_at(const attending *t, REAL *at)
{
    few_sums s = {at, at + t->rows * t->args->value, NULL};
    s.sum = s.top + t->rows;
    return s;
}

size_t NAME(attention_few_sums)(const attending *t)
{
    return (size_t)(t->rows * (t->args->value + 2)) * sizeof(REAL);
}

size_t NAME(attention_few_bytes)(const attending *t)
{
    int64_t each = t->args->key + t->args->value;
    return (size_t)(t->rows * t->args->key + MEMORY_BLOCK * (each + t->rows)) * sizeof(REAL);
}

static bool seen_by_any(const attending *t, const panel *p, const places *memory, int64_t at)
{
    for (int64_t r = 0; r < p->n; r++)
        if (sees(t, p, r, memory, at - memory->first)) return true;
    return false;
}

/* Without the positions at both ends that no row sees: in decoding most of the memory may be empty
 * still. */
static span few_seen(const attending *t, const panel *p, const places *memory)
{
    span seen = seen_of(p, memory);
    while (seen.size && !seen_by_any(t, p, memory, seen.begin + seen.size - 1)) seen.size--;
    while (seen.size && !seen_by_any(t, p, memory, seen.begin)) seen.begin++, seen.size--;
    return seen;
}

static void few_block(const attending *t, const panel *p, const places *memory, const few_sums *at,
                      const REAL *q, REAL *k_room, REAL *v_room, REAL *s)
{
    const LOOPS_OF *loops = LOOPS_HERE;
    int64_t         key = t->args->key, value = t->args->value, w = p->wide;
    sight           how = sight_of(t, p, memory);
    span            seen = how == SEES_SOME ? few_seen(t, p, memory) : seen_of(p, memory);
    if (!seen.size || how == SEES_NOTHING) return;
    block_of_memory k = take_memory(t, ATTENTION_K, p->batch, seen.begin, seen.size, key, k_room);
    for (int64_t r = 0; r < w; r++) loops->dots(seen.size, key, k.at, k.row, q + r * key, s + r, w);
    if (attending_input(t, ATTENTION_BIAS)) add_bias(t, p, seen.begin, seen.size, s);
    if (how == SEES_SOME) hide(t, p, memory, seen, s);
    REAL before[PANEL_ROWS];
    memcpy(before, at->top, (size_t)w * sizeof *before);
    loops->top(seen.size, w, s, at->top);
    for (int64_t r = 0; r < w; r++) {
        REAL factor = (REAL)exp((double)(before[r] - at->top[r]));
        at->sum[r] *= factor;
        scale_all(value, at->o + r * value, (double)factor);
    }
    loops->weigh(seen.size, w, s, at->top, at->sum);
    if (t->args->dropout > 0) drop(t, p, seen.begin, seen.size, s);
    block_of_memory v = take_memory(t, ATTENTION_V, p->batch, seen.begin, seen.size, value, v_room);
    for (int64_t r = 0; r < w; r++)
        loops->blend(seen.size, value, v.at, v.row, s + r, w, at->o + r * value);
}

void NAME(attention_few)(const attending *t, int64_t batch, span some, void *total, void *scratch)
{
    int64_t key = t->args->key, end = some.begin + some.size;
    REAL   *q = scratch, *k_room = q + t->rows * key, *v_room = k_room + MEMORY_BLOCK * key,
         *s = v_room + MEMORY_BLOCK * t->args->value;
    few_sums at = few_at(t, total);
    panel    p;
    places   memory;
    panel_of(t, batch, 0, t->rows, &p);
    for (int64_t r = 0; r < t->rows; r++) {
        const access *x = attending_input(t, ATTENTION_Q);
        const char   *from =
            attending_at(t, ATTENTION_Q, batch_offset(t, x, batch) + row_offset(t, x, r));
        strided_loader(x->type)((strided){q + r * key, 0, 1}, (strided){(void *)from, 0, 1}, 1,
                                key);
        at.top[r] = (REAL)NOTHING_SEEN;
        at.sum[r] = 0;
    }
    scale_all(t->rows * key, q, t->args->scale);
    memset(at.o, 0, (size_t)(t->rows * t->args->value) * sizeof(REAL));
    for (int64_t first = some.begin; first < end; first += MEMORY_BLOCK) {
        int64_t n = end - first < MEMORY_BLOCK ? end - first : MEMORY_BLOCK;
        memory_places(t, batch, first, n, &memory);
        few_block(t, &p, &memory, &at, q, k_room, v_room, s);
    }
}

static void few_add(const attending *t, const few_sums *to, const few_sums *more)
{
    int64_t value = t->args->value;
    for (int64_t r = 0; r < t->rows; r++) {
        REAL top = to->top[r] > more->top[r] ? to->top[r] : more->top[r];
        REAL a = (REAL)exp((double)(to->top[r] - top)), b = (REAL)exp((double)(more->top[r] - top));
        for (int64_t d = 0; d < value; d++)
            to->o[r * value + d] = a * to->o[r * value + d] + b * more->o[r * value + d];
        to->sum[r] = a * to->sum[r] + b * more->sum[r];
        to->top[r] = top;
    }
}

static void few_store(const attending *t, const access *out, int64_t batch, int64_t row,
                      int64_t wide, REAL *from)
{
    char *to = operand(t->run, out) + (batch_offset(t, out, batch) + row_offset(t, out, row)) *
                                          (int64_t)mtf_dtype_bytes(out->type);
    strided_storer(out->type)((strided){to, 0, 1}, (strided){from, 0, 1}, 1, wide);
}

void NAME(attention_few_finish)(const attending *t, int64_t batch, int64_t chunks, char *totals)
{
    const access *out = t->instr->out;
    int64_t       value = t->args->value;
    few_sums      at = few_at(t, (REAL *)(void *)totals);
    for (int64_t c = 1; c < chunks; c++) {
        char    *next = totals + (size_t)c * NAME(attention_few_sums)(t);
        few_sums more = few_at(t, (REAL *)(void *)next);
        few_add(t, &at, &more);
    }
    for (int64_t r = 0; r < t->rows; r++) {
        REAL sum = at.sum[r], log_sum = (REAL)NOTHING_SEEN;
        if (sum != 0) log_sum = (REAL)((double)at.top[r] + log((double)sum));
        if (!t->args->parts) scale_all(value, at.o + r * value, sum != 0 ? 1 / (double)sum : 0);
        few_store(t, &out[0], batch, r, value, at.o + r * value);
        few_store(t, &out[1], batch, r, 1, t->args->parts ? &sum : &log_sum);
        if (t->args->parts) few_store(t, &out[2], batch, r, 1, at.top + r);
    }
}
