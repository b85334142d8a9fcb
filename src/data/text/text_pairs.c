/* The texts of a dataset, before they are tokenised, one after another. */
#include "data/text/text_pairs.h"

#include <string.h>

#include "data/text/text_dataset.h"

static const char *copy(arena *a, const text_span *span)
{
    char *text = arena_array(a, char, span->size + 1);
    if (text && span->size) memcpy(text, span->at, (size_t)span->size);
    return text;
}

static bool take_pair(void *context, const text_span *inputs, const text_span *targets)
{
    text_pairs *p = context;
    arena      *a = &p->own;
    text_pair   one = {.inputs = copy(a, inputs ? inputs : targets)};
    if (inputs) one.targets = copy(a, targets);
    TRY(one.inputs && (!inputs || one.targets) && arena_push(a, p->all, p->count, p->room));
    p->all[p->count++] = one;
    return true;
}

/* Reads sections until one has a text; *there is false where none is left. */
static bool read_on(text_pairs *p, bool *there)
{
    bool goes_on;
    *there = true;
    while (p->given == p->count && *there) {
        arena_free(&p->own);
        p->own = arena_make(&p->session->allocator, &p->session->fault);
        p->all = NULL;
        p->count = p->room = p->given = 0;
        TRY(passing_next(&p->passing, &goes_on, there));
    }
    return true;
}

static bool begin_pairs(text_pairs *p)
{
    bool there;
    TRY(passing_open(&p->passing, &p->read, SECTION_BYTES));
    if (p->passing.format->tokens)
        return fail(&p->session->fault, ERR_FILE,
                    "\"%s\" has tokens, but text is needed; mtf tokenize --decode converts it",
                    p->opts.files);
    TRY(read_on(p, &there));
    return there || fail(&p->session->fault, ERR_FILE, "\"%s\" has no text", p->opts.files);
}

bool text_pairs_open(text_pairs *p, mtf_session *s, const mtf_text_opts *opts)
{
    const mtf_vocabulary *v = opts->vocabulary;
    const mtf_vocabulary *inputs = opts->inputs_vocabulary ? opts->inputs_vocabulary : v;
    mtf_dataset          *d = dataset_new(s, 1);
    TRY(d != NULL);
    *p = (text_pairs){
        .session = s,
        .opts = *opts,
        .none = {{.session = s, .type = token_type(inputs)}, {.session = s, .type = token_type(v)}},
        .own = arena_make(&s->allocator, &s->fault),
        .open = true};
    bool two = opts->objective == MTF_TEXT_PAIRS || opts->objective == MTF_TEXT_DELIMITED;
    p->read = (documents){.dataset = d,
                          .opts = &p->opts,
                          .vocabulary = {inputs, v},
                          .pairs = two,
                          .text = p->none,
                          .each = take_pair,
                          .context = p};
    bool ok = begin_pairs(p);
    if (!ok) text_pairs_close(p);
    return ok;
}

bool text_pairs_next(text_pairs *p, text_pair *to, bool *there)
{
    TRY(read_on(p, there));
    if (*there) *to = p->all[p->given++];
    return true;
}

void text_pairs_close(text_pairs *p)
{
    if (!p->open) return;
    p->open = false;
    passing_close(&p->passing);
    for (int side = 0; side < SIDES; side++) token_text_free(&p->none[side]);
    arena_free(&p->own);
}
