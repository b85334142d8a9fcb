/* Which slot of a decoder a sequence has, and which program runs.
 *
 * A step computes only as many rows as are in use, or nearly: there are programs of several sizes, and
 * when sequences have ended, one that lies beyond the smaller program is moved to the slot of another.
 * Each sequence that ends causes one move at most.
 */
#include "model/transformer/decoder.h"
#include "run/store.h"
#include "search/automatic.h"

/* Slots of each part. */
static int64_t part_slots(const mtf_decoder *d)
{
    return d->slots / d->sizes.parts;
}

/* Slots of each part that the programs of this size compute: 1, 2, 3, 4, 6, 8, 12, .., all. */
static int64_t size_slots(const mtf_decoder *d, int size)
{
    int64_t all = part_slots(d), n = d->least;
    if (size > 0) n *= size % 2 ? (int64_t)2 << size / 2 : (int64_t)3 << (size / 2 - 1);
    return n < all ? n : all;
}

static decode_graph *program_of(mtf_decoder *d, decode_kind kind, int size)
{
    decode_graph *g = &d->steps[kind][size];
    int64_t       rows = d->sizes.parts * size_slots(d, size) * d->beams;
    return g->program || decode_graph_make(&d->sizes, kind, rows, 1, g) ? g : NULL;
}

/* ---- parts ---- */

/* A layout that is to be found is found for the first program: that has all rows. */
static bool find_layout(mtf_decoder *d)
{
    const mtf_session_opts *o = &d->session->opts;
    decode_graph            g;
    if (d->session->store || !automatic_is_asked(o->mesh, o->layout, o->state_layout)) return true;
    TRY(decode_graph_make(&d->sizes, DECODE_STEP, d->sizes.rows, 1, &g));
    mtf_program_free(g.program);
    return true;
}

bool places_prepare(mtf_decoder *d)
{
    mtf_shape rows = mtf_shape((mtf_dim){"batch", d->sizes.rows});
    placement where = {0};
    if (d->least) return true;
    TRY(find_layout(d));
    const store *s = store_of(d->session);
    TRY(s && layout_place(&s->layout, &rows, "the sequences", &d->session->fault, &where));
    int n = cut_parts(&s->mesh, &where.dim[0]);
    if (d->slots % n == 0) {
        d->sizes.parts = n;
        d->least = 1;
    } else {
        d->least = d->slots; /* parts differ in size: only a program of all rows fits them */
    }
    return true;
}

/* ---- slots ---- */

int64_t places_free(const mtf_decoder *d)
{
    int64_t each = part_slots(d);
    for (int64_t k = 0; k < each; k++)
        for (int64_t p = 0; p < d->sizes.parts; p++)
            if (!d->slot[p * each + k].job) return p * each + k;
    return -1;
}

slot *places_slot(const mtf_decoder *d, const decode_graph *g, int64_t row)
{
    int64_t rows = g->rows / d->sizes.parts; /* of each part */
    return &d->slot[row / rows * part_slots(d) + row % rows / d->beams];
}

/* The smallest size that has room for the sequences of every part. */
static int size_needed(const mtf_decoder *d)
{
    int64_t each = part_slots(d), most = 0;
    int     size = 0;
    for (int64_t p = 0; p < d->sizes.parts; p++) {
        int64_t n = 0;
        for (int64_t k = 0; k < each; k++) n += d->slot[p * each + k].job != NULL;
        if (n > most) most = n;
    }
    while (size_slots(d, size) < most) size++;
    return size;
}

/* A sequence of the part beyond its first `room` slots, and a free slot among these. */
static bool find_move(const mtf_decoder *d, int64_t p, int64_t room, int64_t *from, int64_t *to)
{
    int64_t each = part_slots(d), begin = p * each;
    *from = begin + room, *to = begin;
    while (*from < begin + each && !d->slot[*from].job) ++*from;
    while (*to < begin + room && d->slot[*to].job) ++*to;
    return *from < begin + each;
}

/* Moves up to one sequence of each part; false after an error, or where none is left to move. */
static bool move_some(mtf_decoder *d, int64_t room, bool *moved)
{
    int64_t each = part_slots(d), from, to;
    *moved = false;
    for (int64_t p = 0; p < d->sizes.parts; p++) {
        d->first[p] = d->seen[p] = 0; /* of a part that moves nothing: a row to itself */
        if (!find_move(d, p, room, &from, &to)) continue;
        slot left = d->slot[to];
        d->slot[to] = d->slot[from], d->slot[from] = left;
        d->first[p] = (int32_t)(from % each * d->beams);
        d->seen[p] = (int32_t)(to % each * d->beams);
        *moved = true;
    }
    if (!*moved) return true;
    TRY(d->move.program || move_graph_make(&d->sizes, &d->move));
    for (int64_t b = 0; b < d->beams; b++) {
        TRY(mtf_feed(d->move.program, d->move.from, d->first) &&
            mtf_feed(d->move.program, d->move.to, d->seen) && mtf_step(d->move.program));
        for (int64_t p = 0; p < d->sizes.parts; p++)
            if (d->first[p] != d->seen[p]) d->first[p]++, d->seen[p]++;
    }
    return true;
}

decode_graph *places_program(mtf_decoder *d, decode_kind kind)
{
    int  size = size_needed(d);
    bool moved = true;
    while (moved)
        if (!move_some(d, size_slots(d, size), &moved)) return NULL;
    return program_of(d, kind, size);
}
