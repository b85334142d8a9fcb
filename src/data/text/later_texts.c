/* Texts of a section that are tokenised when they are read. */
#include "data/text/later_texts.h"

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
    bool    ok = !text || vocabulary_encode(l->like->vocabulary[side], text->at, (size_t)text->size, &ids);
    *tokens += ids.count;
    ids_free(&ids);
    return ok;
}

bool later_note(void *later, const text_span *inputs, const text_span *targets)
{
    later_texts *l = later;
    int64_t      tokens = 0;
    if (!surely_has_tokens(inputs) && !surely_has_tokens(targets)) {
        TRY(count_tokens(l, INPUTS, inputs, &tokens) && count_tokens(l, TARGETS, targets, &tokens));
        if (tokens == 0) return true;
    }
    TRY(arena_push(&l->own->arena, l->all, l->count, l->room));
    l->all[l->count++] = (later_text){{inputs ? *inputs : (text_span){0}, *targets}};
    return true;
}

bool later_tokenise(const later_texts *l, int64_t k, text_examples *e)
{
    const later_text *text = &l->all[k];
    mtf_dataset       own = {.session = l->own};
    documents         read = *l->like;
    read.dataset = &own;
    read.text = e->text;
    documents_begin(&read);
    bool ok = documents_add(&read, read.pairs ? &text->span[INPUTS] : NULL, &text->span[TARGETS]);
    for (int side = 0; side < SIDES; side++) ids_free(&read.ids[side]);
    return ok && example_made(e, k);
}
