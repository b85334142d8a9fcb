/* Evaluates decoded answers to the inputs of a dataset. */
#include "cli/decoded_eval.h"

#include <stdio.h>
#include <string.h>

#include "base/textbuf.h"
#include "cli/answering_options.h"
#include "cli/model_open.h"
#include "data/text/text_pairs.h"
#include "model/bleu.h"
#include "serve/decode_lines.h"
#include "serve/decode_texts.h"

struct decoded_eval {
    config_setup       *config;
    opened_model       *model;
    text_decoder       *decoder; /* NULL until the first run */
    int64_t             count;
    const char *const  *inputs, *const *targets;
    const char         *name; /* of files; NULL: none are written */
};

static bool write_lines(const decoded_eval *d, const char *path, const char *const *lines)
{
    FILE *f = path ? output_open(d->model, path) : NULL;
    TRY(f != NULL);
    for (int64_t k = 0; k < d->count; k++) fprintf(f, "%s\n", lines[k]);
    return output_close(d->model, path, f);
}

static const char *path_of(const decoded_eval *d, const char *suffix)
{
    textbuf t = {.arena = &d->model->session->arena};
    text_add(&t, "%s_%s", d->name, suffix);
    return text_done(&t);
}

decoded_eval *decoded_open(config_setup *c, const char *name)
{
    mtf_session  *s = c->session;
    mtf_text_opts o;
    text_pairs    pairs;
    decoded_eval *d = arena_new(&s->arena, decoded_eval);
    if (!d || !config_text_opts(c, false, &o)) return NULL;
    bool two = o.objective == MTF_TEXT_PAIRS || o.objective == MTF_TEXT_DELIMITED;
    if (!o.files || !two) {
        fail(&s->fault, ERR_USAGE,
             "--bleu needs text with inputs and targets to evaluate on: name it with --eval-text "
             "FILES");
        return NULL;
    }
    if (!text_pairs_read(s, &o, &pairs)) return NULL;
    const char **inputs = arena_array(&s->arena, const char *, pairs.count);
    const char **targets = arena_array(&s->arena, const char *, pairs.count);
    *d = (decoded_eval){.config = c, .model = model_of(c), .name = name, .count = pairs.count};
    if (!d->model || !inputs || !targets) return NULL;
    for (int64_t k = 0; k < pairs.count; k++)
        inputs[k] = pairs.all[k].inputs, targets[k] = pairs.all[k].targets;
    d->inputs = inputs, d->targets = targets;
    if (!name) return d;
    bool ok = write_lines(d, path_of(d, "inputs"), inputs) &&
              write_lines(d, path_of(d, "targets"), targets);
    return ok ? d : NULL;
}

/* Samples or searches as the configuration says. */
static bool open_decoder(decoded_eval *d)
{
    enum { MOST_ROWS = 32 };
    int64_t      batch = d->config->batch;
    answers_opts limits = {.batch = batch < 1 ? 1 : batch > MOST_ROWS ? MOST_ROWS : batch,
                           .beams = 1};
    question     like = {.results = 1};
    if (d->decoder) return true;
    decode_as_configured(d->config->options, &d->config->run.decode, &limits, &like);
    d->decoder = text_decoder_new(d->model, &limits, &like);
    return d->decoder != NULL;
}

bool decoded_run(decoded_eval *d, int64_t step, decoded_figures *to)
{
    const char *const *said;
    char               suffix[60];
    bleu               b;
    int64_t            same = 0;
    TRY(open_decoder(d) && text_decoder_run(d->decoder, d->count, d->inputs, &said));
    snprintf(suffix, sizeof suffix, "%lld_predictions", (long long)step);
    if (d->name) TRY(write_lines(d, path_of(d, suffix), said));
    TRY(bleu_of(d->model->session, d->count, said, d->targets, &b));
    for (int64_t k = 0; k < d->count; k++) same += strcmp(said[k], d->targets[k]) == 0;
    *to = (decoded_figures){.bleu = b.score, .exact = (double)same / (double)d->count};
    return true;
}

void decoded_close(decoded_eval *d)
{
    if (d) text_decoder_free(d->decoder);
}
