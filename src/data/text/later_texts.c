/* Texts of a section that are tokenised when they are read. */
#include "data/text/later_texts.h"

#include <string.h>

/* Rows that are packed, split or joined, and spans, of which a text needs two tokens, depend on numbers of
 * tokens.  Records may have ids already. */
bool later_suits(const text_examples *e, const text_format *as)
{
    const mtf_text_opts *o = &e->opts;
    return !o->joined && !o->pack && o->overlong == MTF_OVERLONG_CUT &&
           o->objective != MTF_TEXT_SPANS && !as->tokens && as->begins != BEGINS_RECORD;
}

/* Any vocabulary has a token for printable ASCII; white space and what Unicode has for it may have none. */
static bool surely_has_tokens(const text_span *text)
{
    for (int64_t i = 0; text && i < text->size; i++)
        if (text->at[i] > ' ' && text->at[i] < 0x7f) return true;
    return false;
}

static bool count_tokens(const later_texts *l, int side, const text_span *text, int64_t *tokens)
{
    id_list ids = {.from = &l->own->allocator, .why = &l->own->fault};
    bool    ok =
        !text || vocabulary_encode(l->like->vocabulary[side], text->at, (size_t)text->size, &ids);
    *tokens += ids.count;
    ids_free(&ids);
    return ok;
}

static bool resize(later_texts *l, int64_t room)
{
    size_t      bytes = (size_t)(room ? room : 1) * sizeof *l->all;
    later_text *all = block_alloc(&l->own->allocator, &l->own->fault, bytes, false);
    TRY(all != NULL);
    if (l->count) memcpy(all, l->all, (size_t)l->count * sizeof *all);
    block_free(&l->own->allocator, l->all);
    l->all = all;
    l->room = room;
    return true;
}

static void put_text(const later_texts *l, int side, const text_span *text, later_text *to)
{
    if (!text || !text->size) return;
    to->at[side] = (uint32_t)(text->at - l->bytes);
    to->size[side] = (uint32_t)text->size;
}

bool later_note(void *later, const text_span *inputs, const text_span *targets)
{
    later_texts *l = later;
    int64_t      tokens = 0;
    if (!surely_has_tokens(inputs) && !surely_has_tokens(targets)) {
        TRY(count_tokens(l, INPUTS, inputs, &tokens) && count_tokens(l, TARGETS, targets, &tokens));
        if (tokens == 0) return true;
    }
    if (l->count == l->room) TRY(resize(l, l->room ? 2 * l->room : 256));
    later_text *to = &l->all[l->count++];
    *to = (later_text){0};
    put_text(l, INPUTS, inputs, to);
    put_text(l, TARGETS, targets, to);
    return true;
}

bool later_fit(later_texts *l)
{
    return resize(l, l->count);
}

void later_free(later_texts *l)
{
    block_free(&l->own->allocator, l->all);
    l->all = NULL;
}

static text_span span_of(const later_texts *l, int64_t k, int side)
{
    return (text_span){l->bytes + l->all[k].at[side], l->all[k].size[side]};
}

bool later_tokenise(const later_texts *l, int64_t k, text_examples *e)
{
    text_span   inputs = span_of(l, k, INPUTS), targets = span_of(l, k, TARGETS);
    mtf_dataset own = {.session = l->own};
    documents   read = *l->like;
    read.dataset = &own;
    read.text = e->text;
    documents_begin(&read);
    bool ok = documents_add(&read, read.pairs ? &inputs : NULL, &targets);
    for (int side = 0; side < SIDES; side++) ids_free(&read.ids[side]);
    return ok && example_made(e, k);
}
