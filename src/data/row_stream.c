/* The order of examples that lie in sections. */
#include "data/row_stream.h"

#include <assert.h>

bool row_cursor_possible(const row_cursor *c)
{
    const int64_t most = INT64_MAX / (2 * WINDOW_SECTIONS);
    return c->epoch >= 0 && c->window >= 0 && c->row >= 0 && c->epoch <= most &&
           c->window <= most && c->row <= most;
}

/* ---- windows ---- */

static int64_t window_size(const row_stream *s, int64_t window)
{
    assert(window >= 0);
    if (!s->shuffle) return 1;
    return window < 4 ? (int64_t)1 << window : WINDOW_SECTIONS;
}

/* The place, in the epoch's order of sections, of a window's first. */
static int64_t window_first(const row_stream *s, int64_t window)
{
    assert(window >= 0);
    if (!s->shuffle) return window;
    return window <= 4 ? ((int64_t)1 << window) - 1 : 15 + WINDOW_SECTIONS * (window - 4);
}

/* The section at a place of the epoch's order; -1: the epoch is over. */
static int64_t section_at(const row_stream *s, int64_t epoch, int64_t place)
{
    int64_t count = s->sections->count;
    if (count >= 0 && place >= count) return -1;
    if (!s->shuffle || count < 0) return place;
    shuffle order = shuffle_of_sections(s->seed, epoch, count);
    return shuffle_at(&order, place);
}

/* Finds the sections of the cursor's window and counts their examples. */
static bool enter_window(row_stream *s, fault *why)
{
    int64_t first = window_first(s, s->at.window), size = window_size(s, s->at.window);
    if (s->is_known && s->known.epoch == s->at.epoch && s->known.window == s->at.window)
        return true;
    s->is_known = false;
    s->nsections = 0;
    s->expected = 0;
    s->first[0] = 0;
    for (int64_t i = 0; i < size; i++) {
        int64_t section = section_at(s, s->at.epoch, first + i), rows = -1;
        if (section >= 0) TRY(s->sections->rows(s->sections->context, section, &rows, why));
        if (rows < 0) break;
        s->section[s->nsections] = section;
        s->first[s->nsections + 1] = s->first[s->nsections] + rows;
        s->nsections++;
    }
    int64_t n = s->first[s->nsections];
    if (s->shuffle && n) s->order = shuffle_of_window(s->seed, s->at.epoch, s->at.window, n);
    s->known = s->at;
    s->is_known = true;
    return true;
}

/* Loads the next window's sections bit by bit while this one is read, so that no batch has to wait for
 * all of them. */
static void look_ahead(row_stream *s, int64_t rows)
{
    int64_t size = window_size(s, s->at.window + 1), first = window_first(s, s->at.window + 1);
    int64_t due = (s->at.row * size + rows / 2) / rows;
    for (; s->expected < due; s->expected++) {
        int64_t section = section_at(s, s->at.epoch, first + s->expected);
        if (section >= 0) s->sections->expect(s->sections->context, section);
    }
}

static int64_t row_at(const row_stream *s, int64_t place)
{
    int k = 0;
    if (s->shuffle) place = shuffle_at(&s->order, place);
    while (s->first[k + 1] <= place) k++;
    return row_of(s->section[k], place - s->first[k]);
}

bool row_stream_next(row_stream *s, int64_t *row, fault *why)
{
    for (;;) {
        TRY(enter_window(s, why));
        int64_t rows = s->first[s->nsections];
        if (s->nsections == 0) {
            s->at = (row_cursor){.epoch = s->at.epoch + 1};
            *row = -1;
            return true;
        }
        if (s->at.row < rows) {
            *row = row_at(s, s->at.row++);
            look_ahead(s, rows);
            return true;
        }
        s->at = (row_cursor){.epoch = s->at.epoch, .window = s->at.window + 1};
    }
}
