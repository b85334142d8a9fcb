/* The texts of a dataset, before they are tokenised. */
#include "data/text/text_pairs.h"

#include <string.h>

typedef struct gathering {
    mtf_session *session;
    text_pairs  *to;
} gathering;

static const char *copy(arena *a, const text_span *span)
{
    char *text = arena_array(a, char, span->size + 1);
    if (text && span->size) memcpy(text, span->at, (size_t)span->size);
    return text;
}

static bool take(void *context, const text_span *inputs, const text_span *targets)
{
    gathering  *g = context;
    arena      *a = &g->session->arena;
    text_pairs *to = g->to;
    text_pair   one = {.inputs = copy(a, inputs ? inputs : targets)};
    if (inputs) one.targets = copy(a, targets);
    TRY(one.inputs && (!inputs || one.targets) && arena_push(a, to->all, to->count, to->room));
    to->all[to->count++] = one;
    return true;
}

bool text_pairs_read(mtf_session *s, const mtf_text_opts *opts, text_pairs *to)
{
    const mtf_vocabulary *v = opts->vocabulary;
    const mtf_vocabulary *inputs = opts->inputs_vocabulary ? opts->inputs_vocabulary : v;
    mtf_dataset          *d = dataset_new(s, 1);
    gathering             all = {s, to};
    TRY(d != NULL);
    *to = (text_pairs){0};
    token_text none[SIDES] = {{.session = s, .type = token_type(inputs)},
                              {.session = s, .type = token_type(v)}};
    bool      two = opts->objective == MTF_TEXT_PAIRS || opts->objective == MTF_TEXT_DELIMITED;
    documents read = {.dataset = d,
                      .opts = opts,
                      .vocabulary = {inputs, v},
                      .pairs = two,
                      .text = none,
                      .each = take,
                      .context = &all};
    bool ok = documents_read(&read);
    bool tokens = token_text_total(&none[TARGETS]) > 0;
    for (int side = 0; side < SIDES; side++) token_text_free(&none[side]);
    TRY(ok);
    if (tokens)
        return fail(&s->fault, ERR_FILE,
                    "\"%s\" has tokens, but text is needed; mtf tokenize --decode converts it",
                    opts->files);
    return to->count > 0 || fail(&s->fault, ERR_FILE, "\"%s\" has no text", opts->files);
}
