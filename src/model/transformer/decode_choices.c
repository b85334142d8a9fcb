/* How each row of a decoder chooses its tokens: what programs are told. */
#include <string.h>

#include "model/transformer/decoder.h"

enum { LEAST_BARRED = 4 };

bool choices_new(mtf_decoder *d)
{
    arena  *a = &d->session->arena;
    int64_t rows = d->sizes.rows;
    d->sizes.barred = LEAST_BARRED;
    d->not_chosen = arena_array(a, int32_t, rows * LEAST_BARRED);
    d->stream = arena_array(a, int64_t, rows);
    d->temperature = arena_array(a, float, rows);
    d->top_k = arena_array(a, int32_t, rows);
    d->top_p = arena_array(a, float, rows);
    return d->not_chosen && d->stream && d->temperature && d->top_k && d->top_p;
}

static int64_t count_ends(const mtf_sampling *how)
{
    int64_t n = 0;
    while (how->stop[n] >= 0) n++;
    return n;
}

/* Programs that rule out fewer tokens are made anew when they are needed. */
bool choices_fit(mtf_decoder *d, const mtf_sampling *how)
{
    int64_t n = how->never_end ? count_ends(how) : 0;
    if (n <= d->sizes.barred) return true;
    while (d->sizes.barred < n) d->sizes.barred *= 2;
    for (int k = 0; k < STEP_KINDS; k++)
        for (int size = 0; size < STEP_SIZES; size++) {
            decode_graph *g = &d->steps[k][size];
            if (!g->barred) continue;
            if (d->last == g) d->last = NULL;
            mtf_program_free(g->program);
            *g = (decode_graph){0};
        }
    d->told = NULL;
    d->not_chosen = arena_array(&d->session->arena, int32_t, d->sizes.rows * d->sizes.barred);
    return d->not_chosen != NULL;
}

decode_kind choices_kind(const mtf_decoder *d)
{
    bool shows = false, draws = false, bars = false, some = false;
    for (int64_t k = 0; k < d->slots; k++) {
        const slot *s = &d->slot[k];
        if (!s->job) continue;
        bool drawn = s->how.temperature > 0;
        shows = shows || s->how.alternatives;
        draws = draws || drawn;
        bars = bars || s->how.never_end;
        some = some || (drawn && (s->how.top_k || (s->how.top_p > 0 && s->how.top_p < 1)));
    }
    if (d->beams > 1) return DECODE_STEP;
    if (shows) return DECODE_STEP_SHOWN;
    if (draws) return some || bars ? DECODE_STEP_SOME : DECODE_STEP_DRAW;
    return bars ? DECODE_STEP_BARRED : DECODE_STEP_BEST;
}

static void note(void *known, const void *now, size_t bytes, bool *changes)
{
    *changes = *changes || memcmp(known, now, bytes) != 0;
    memcpy(known, now, bytes);
}

/* How a row's tokens are chosen; those that end a sequence are not where it never ends. */
static void note_row(mtf_decoder *d, const slot *s, int64_t row, bool *changes)
{
    static const mtf_sampling best = {0};
    const mtf_sampling       *how = s->job && s->how.temperature > 0 ? &s->how : &best;
    float                     temperature = (float)how->temperature, top_p = (float)how->top_p;
    int32_t                   top_k = how->top_k > INT32_MAX ? 0 : (int32_t)how->top_k;
    int64_t                   n = s->job && s->how.never_end ? count_ends(&s->how) : 0;
    note(&d->stream[row], &s->stream, sizeof s->stream, changes);
    note(&d->temperature[row], &temperature, sizeof temperature, changes);
    note(&d->top_k[row], &top_k, sizeof top_k, changes);
    note(&d->top_p[row], &top_p, sizeof top_p, changes);
    for (int64_t t = 0; t < d->sizes.barred; t++) {
        int32_t token = t < n ? s->how.stop[t] : -1;
        note(&d->not_chosen[row * d->sizes.barred + t], &token, sizeof token, changes);
    }
}

bool choices_feed(mtf_decoder *d, const decode_graph *g)
{
    bool changes = d->told != g;
    if (!g->barred && !g->stream) return true;
    for (int64_t row = 0; row < g->rows; row++) note_row(d, places_slot(d, g, row), row, &changes);
    if (!changes) return true;
    d->told = g;
    if (g->barred) TRY(mtf_feed(g->program, g->barred, d->not_chosen));
    if (g->stream)
        TRY(mtf_feed(g->program, g->stream, d->stream) &&
            mtf_feed(g->program, g->temperature, d->temperature));
    return !g->top_k ||
           (mtf_feed(g->program, g->top_k, d->top_k) && mtf_feed(g->program, g->top_p, d->top_p));
}
