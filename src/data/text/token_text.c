/* Texts as token ids, one after another. */
#include "data/text/token_text.h"

#include <string.h>

raw_type token_type(const mtf_vocabulary *v)
{
    return mtf_vocabulary_size(v) <= 1 << 16 ? RAW_U16 : RAW_U32;
}

/* Another block in which there is room for more; the old one's `used` bytes are kept. */
static bool grow(mtf_session *s, void **block, size_t used, size_t bytes)
{
    void *larger = block_alloc(&s->allocator, &s->fault, bytes, false);
    TRY(larger != NULL);
    if (used) memcpy(larger, *block, used);
    block_free(&s->allocator, *block);
    *block = larger;
    return true;
}

static bool make_room(token_text *t, int64_t more)
{
    size_t  size = raw_bytes(t->type);
    int64_t room = t->made_count + more;
    if (room <= t->made_room) return true;
    if (room < t->made_room + t->made_room / 4) room = t->made_room + t->made_room / 4;
    if (room < 4096) room = 4096;
    void *block = t->made;
    TRY(grow(t->session, &block, (size_t)t->made_count * size, (size_t)room * size));
    t->made = block;
    t->made_room = room;
    return true;
}

bool token_text_add_stretch(token_text *t, stretch s)
{
    if (t->count == t->room) {
        int64_t room = t->room ? 2 * t->room : 256;
        void   *block = t->texts;
        TRY(grow(t->session, &block, (size_t)t->count * sizeof s, (size_t)room * sizeof s));
        t->texts = block;
        t->room = room;
    }
    t->texts[t->count++] = s;
    return true;
}

bool token_text_add(token_text *t, const int32_t *ids, int64_t n)
{
    stretch s = {t->made_count, n};
    TRY(make_room(t, n));
    for (int64_t i = 0; i < n; i++)
        if (t->type == RAW_U16)
            ((uint16_t *)t->made)[s.at + i] = (uint16_t)ids[i];
        else
            ((uint32_t *)t->made)[s.at + i] = (uint32_t)ids[i];
    t->made_count += n;
    return token_text_add_stretch(t, s);
}

static int64_t token_text_total(const token_text *t)
{
    return t->nruns ? t->runs[t->nruns - 1].first + t->runs[t->nruns - 1].count : 0;
}

bool token_text_add_run(token_text *t, token_run run)
{
    run.first = token_text_total(t);
    TRY(arena_push(&t->session->arena, t->runs, t->nruns, t->runs_room));
    t->runs[t->nruns++] = run;
    return true;
}

bool token_text_finish(token_text *t)
{
    if (!t->made_count) return true;
    return token_text_add_run(t, (token_run){.ids = t->made, .count = t->made_count});
}

bool token_text_take(token_text *t, stretch *text)
{
    *text = t->texts[--t->count];
    if (!t->nruns) TRY(token_text_add_run(t, (token_run){0}));
    t->runs[0].ids = t->made;
    t->runs[0].count = t->made_count;
    return true;
}

bool token_text_fit(token_text *t)
{
    size_t size = raw_bytes(t->type), bytes = (size_t)t->made_count * size;
    block_free(&t->session->allocator, t->texts);
    t->texts = NULL;
    if (t->made_count == t->made_room) return true;
    void *block = t->made;
    TRY(grow(t->session, &block, bytes, bytes));
    t->made = block;
    t->made_room = t->made_count;
    if (t->nruns) t->runs[0].ids = block;
    return true;
}

void token_text_empty(token_text *t)
{
    t->nruns = 0;
    t->made_count = t->count = 0;
}

void token_text_free(token_text *t)
{
    if (!t->session) return;
    block_free(&t->session->allocator, t->made);
    block_free(&t->session->allocator, t->texts);
    t->made = NULL;
    t->texts = NULL;
}

const token_run *token_text_run(const token_text *t, int64_t at)
{
    int low = 0, high = t->nruns - 1;
    while (low < high) {
        int middle = (low + high + 1) / 2;
        if (t->runs[middle].first <= at)
            low = middle;
        else
            high = middle - 1;
    }
    return &t->runs[low];
}

const uint8_t *token_text_ids(const token_text *t, stretch s)
{
    const token_run *run = token_text_run(t, s.at);
    return run->ids + (size_t)(s.at - run->first) * raw_bytes(t->type);
}

int64_t token_run_id(const token_text *t, const token_run *run, int64_t i)
{
    uint16_t small;
    uint32_t large;
    if (t->type == RAW_U16) {
        memcpy(&small, run->ids + (size_t)i * sizeof small, sizeof small);
        return small;
    }
    memcpy(&large, run->ids + (size_t)i * sizeof large, sizeof large);
    return large;
}

int64_t token_text_id(const token_text *t, int64_t at)
{
    const token_run *run = token_text_run(t, at);
    return token_run_id(t, run, at - run->first);
}
