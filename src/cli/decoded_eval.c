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

/* Pairs that are decoded at a time. */
enum { AT_ONCE = 1024 };

struct decoded_eval {
    config_setup *config;
    opened_model *model;
    text_decoder *decoder; /* NULL until the first run */
    mtf_text_opts text;
    const char   *name; /* of files; NULL: none are written */
};

static const char *path_of(const decoded_eval *d, const char *suffix)
{
    textbuf t = {.arena = &d->model->session->arena};
    text_add(&t, "%s_%s", d->name, suffix);
    return text_done(&t);
}

/* ---- pairs ---- */

typedef struct some_pairs {
    int         count;
    const char *inputs[AT_ONCE], *targets[AT_ONCE];
} some_pairs;

/* The next pairs, in the arena; none after the last. */
static bool take_pairs(text_pairs *from, arena *a, some_pairs *to)
{
    text_pair pair;
    bool      there;
    for (to->count = 0; to->count < AT_ONCE; to->count++) {
        TRY(text_pairs_next(from, &pair, &there));
        if (!there) return true;
        to->inputs[to->count] = arena_text(a, pair.inputs);
        to->targets[to->count] = arena_text(a, pair.targets);
        TRY(to->inputs[to->count] && to->targets[to->count]);
    }
    return true;
}

static void write_lines(FILE *f, int n, const char *const *lines)
{
    for (int k = 0; f && k < n; k++) fprintf(f, "%s\n", lines[k]);
}

/* Gives all pairs of the text to `use`, some at a time. */
typedef bool pairs_user(void *context, const some_pairs *some);
static bool  use_pairs(const decoded_eval *d, pairs_user *use, void *context)
{
    mtf_session *s = d->model->session;
    arena        own = arena_make(&s->allocator, &s->fault);
    text_pairs   from;
    some_pairs  *some = arena_new(&s->arena, some_pairs);
    TRY(some && text_pairs_open(&from, s, &d->text));
    bool ok = true;
    for (some->count = AT_ONCE; ok && some->count == AT_ONCE; arena_back(&own, (arena_mark){0}))
        ok = take_pairs(&from, &own, some) && use(context, some);
    text_pairs_close(&from);
    arena_free(&own);
    return ok;
}

/* ---- opening ---- */

static bool write_pairs(void *context, const some_pairs *some)
{
    FILE **to = context;
    write_lines(to[0], some->count, some->inputs);
    write_lines(to[1], some->count, some->targets);
    return true;
}

static bool write_texts(const decoded_eval *d)
{
    const char *paths[] = {path_of(d, "inputs"), path_of(d, "targets")};
    FILE       *to[] = {output_open(d->model, paths[0]), output_open(d->model, paths[1])};
    bool        ok = to[0] && to[1] && use_pairs(d, write_pairs, to);
    for (int k = 0; k < 2; k++)
        if (to[k]) ok = output_close(d->model, paths[k], to[k]) && ok;
    return ok;
}

decoded_eval *decoded_open(config_setup *c, const char *name)
{
    mtf_session  *s = c->session;
    decoded_eval *d = arena_new(&s->arena, decoded_eval);
    text_pairs    probe;
    if (!d) return NULL;
    *d = (decoded_eval){.config = c, .name = name};
    if (!config_text_opts(c, false, &d->text)) return NULL;
    mtf_text_objective o = d->text.objective;
    if (!d->text.files || (o != MTF_TEXT_PAIRS && o != MTF_TEXT_DELIMITED)) {
        fail(&s->fault, ERR_USAGE,
             "--bleu needs text with inputs and targets to evaluate on: name it with --eval-text "
             "FILES");
        return NULL;
    }
    if (!text_pairs_open(&probe, s, &d->text)) return NULL; /* errors are found before decoding */
    text_pairs_close(&probe);
    if (!(d->model = model_of(c))) return NULL;
    return !name || write_texts(d) ? d : NULL;
}

/* Samples or searches as the configuration says. */
static bool open_decoder(decoded_eval *d)
{
    enum { MOST_ROWS = 32 };
    int64_t      batch = d->config->batch;
    engine_opts  limits = {.batch = batch < 1           ? 1
                                    : batch > MOST_ROWS ? MOST_ROWS
                                                        : batch,
                           .beams = 1};
    request_spec like = {.results = 1};
    if (d->decoder) return true;
    decode_as_configured(d->config->options, &d->config->run.decode, &limits, &like);
    d->decoder = text_decoder_new(d->model, &limits, &like);
    return d->decoder != NULL;
}

/* ---- decoding ---- */

typedef struct decoding {
    decoded_eval *eval;
    FILE         *to; /* NULL: answers are not written */
    bleu_counts   counts;
    int64_t       same, all;
} decoding;

static bool decode_some(void *context, const some_pairs *some)
{
    decoding          *g = context;
    const char *const *said;
    TRY(text_decoder_run(g->eval->decoder, some->count, some->inputs, &said));
    write_lines(g->to, some->count, said);
    for (int k = 0; k < some->count; k++) {
        TRY(bleu_add(g->eval->model->session, said[k], some->targets[k], &g->counts));
        g->same += strcmp(said[k], some->targets[k]) == 0;
    }
    g->all += some->count;
    return true;
}

bool decoded_run(decoded_eval *d, int64_t step, decoded_figures *to)
{
    char        suffix[60];
    bleu        b;
    decoding    g = {.eval = d};
    const char *path = NULL;
    TRY(open_decoder(d));
    snprintf(suffix, sizeof suffix, "%lld_predictions", (long long)step);
    if (d->name) TRY((path = path_of(d, suffix)) && (g.to = output_open(d->model, path)));
    bool ok = use_pairs(d, decode_some, &g);
    if (g.to) ok = output_close(d->model, path, g.to) && ok;
    TRY(ok);
    bleu_of(&g.counts, &b);
    *to = (decoded_figures){.bleu = b.score, .exact = (double)g.same / (double)g.all};
    return true;
}

void decoded_close(decoded_eval *d)
{
    if (d) text_decoder_free(d->decoder);
}
