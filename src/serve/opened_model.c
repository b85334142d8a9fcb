/* Prompts in the form that the kind of model needs. */
#include "serve/opened_model.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void *take_memory(void *context, size_t bytes)
{
    (void)context;
    return malloc(bytes);
}

static void give(void *context, void *memory)
{
    (void)context;
    free(memory);
}

static const mtf_allocator system_memory = {take_memory, give, NULL};

id_list model_ids(fault *why)
{
    return (id_list){.from = &system_memory, .why = why};
}

int64_t model_max_length(const opened_model *m)
{
    return m->max_length ? m->max_length : m->model->decoder.opts.max_length;
}

int64_t model_max_inputs(const opened_model *m)
{
    if (!transformer_has_encoder(m->model)) return 0;
    return m->max_inputs ? m->max_inputs : m->model->encoder.opts.max_length;
}

int64_t model_max_prompt(const opened_model *m)
{
    return transformer_has_encoder(m->model) ? model_max_inputs(m) : model_max_length(m) - 1;
}

bool model_encode_target(const opened_model *m, const char *text, size_t bytes, id_list *to)
{
    return vocabulary_encode(m->vocabulary, text, bytes, to);
}

static const mtf_vocabulary *prompt_vocabulary(const opened_model *m)
{
    bool own = transformer_has_encoder(m->model) && m->inputs_vocabulary;
    return own ? m->inputs_vocabulary : m->vocabulary;
}

/* Inputs of an encoder, or before a prefix model's targets, end as in training; no model reads nothing. */
static bool end_prompt(const opened_model *m, id_list *to)
{
    bool    encodes = transformer_has_encoder(m->model), ended = encodes || m->model->opts.prefix;
    bool    first = to->count == 0 && (m->model->opts.no_shift || encodes);
    int32_t end = mtf_vocabulary_end(prompt_vocabulary(m));
    if ((ended && end >= 0) || first) return ids_add(to, end >= 0 ? end : 0);
    return true;
}

bool model_encode_prompt(const opened_model *m, const char *text, size_t bytes, id_list *to)
{
    return vocabulary_encode(prompt_vocabulary(m), text, bytes, to) && end_prompt(m, to);
}

bool model_take_prompt(const opened_model *m, const int32_t *ids, int64_t n, id_list *to)
{
    int32_t end = mtf_vocabulary_end(prompt_vocabulary(m));
    TRY(ids_add_all(to, ids, n));
    return (n > 0 && end >= 0 && ids[n - 1] == end) || end_prompt(m, to);
}

char *model_text(const opened_model *m, const int32_t *ids, int64_t n)
{
    mtf_text_stream t = {.vocabulary = m->vocabulary};
    byte_list       none = {.from = &system_memory, .why = &t.why}, all = none;
    t.raw = t.token = t.out = none;
    const char *text = "";
    bool        ok = true;
    assert(n >= 0);
    for (int64_t k = 0; ok && k <= n; k++) {
        text = k < n ? mtf_text_stream_add(&t, ids[k]) : mtf_text_stream_end(&t);
        ok = text && bytes_add(&all, text, strlen(text));
    }
    char *copy = ok ? strdup(all.bytes) : NULL;
    mtf_text_stream_free(&t);
    block_free(&system_memory, all.bytes);
    return copy;
}
