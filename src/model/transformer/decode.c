/* Decodes a batch of sequences, one token of each per step.
 *
 * A decoder has a slot for each sequence of the batch, and for each slot as many
 * rows of cached keys and values as there are beams.  Each step feeds the next
 * inputs and fetches the tokens that follow; with beams it fetches logits, and the
 * host chooses, deterministically, so that every process chooses the same.
 */
#include <stdio.h>
#include <string.h>

#include "model/transformer/decoder.h"
#include "model/transformer/funnel.h"
#include "model/transformer/layer_kind.h"

/* Prompts are processed in chunks of these lengths; a program is compiled when first needed. */
static const int64_t chunk_lengths[CHUNKS] = {16, 64, 256, 1024, 4096};

/* ---- opening ---- */

static bool complete_opts(const mtf_transformer *m, mtf_decoder_opts *o)
{
    fault *f = &m->session->fault;
    if (o->batch == 0) o->batch = 1;
    if (o->beams == 0) o->beams = 1;
    if (o->max_length == 0) o->max_length = m->decoder.opts.max_length;
    if (transformer_has_encoder(m) && o->max_inputs == 0)
        o->max_inputs = m->encoder.opts.max_length;
    if (o->batch < 1 || o->beams < 1 || o->max_length < 2)
        return fail(
            f, ERR_VALUE,
            "a decoder of %lld sequences with %lld beams and %lld positions; there must be 1 "
            "or more, 1 or more, and 2 or more",
            (long long)o->batch, (long long)o->beams, (long long)o->max_length);
    if (m->opts.bidirectional)
        return fail(f, ERR_USAGE, "a bidirectional model labels its inputs; it cannot be decoded");
    if (m->decoder.opts.positions == MTF_POSITIONS_LEARNED &&
        o->max_length > m->decoder.opts.max_length)
        return fail(f, ERR_VALUE, "decoding up to %lld positions; the model has learnt %lld",
                    (long long)o->max_length, (long long)m->decoder.opts.max_length);
    for (int k = 0; k < m->decoder.nlayers; k++) {
        const mtf_transformer_layer *l = &m->decoder.layers[k];
        const layer_kind            *kind = layer_kind_of(l->kind);
        const char                  *why = kind->undecoded ? kind->undecoded(l) : NULL;
        if (why) return fail(f, ERR_USAGE, "%s: %s; it cannot be decoded", l->name, why);
    }
    return true;
}

static bool make_slot(mtf_decoder *d, slot *s)
{
    arena    *a = &d->session->arena;
    beam_opts o = {(int)d->beams, d->sizes.model->opts.output_vocab, d->sizes.length, 0,
                   d->end_only};
    s->ids = arena_array(a, int32_t, d->sizes.length);
    if (d->beams == 1) return s->ids != NULL;
    s->beam = beam_new(d->session, &o);
    s->beam_next = arena_array(a, int32_t, d->beams);
    s->beam_parent = arena_array(a, int32_t, d->beams);
    return s->ids && s->beam && s->beam_next && s->beam_parent;
}

static bool make_room(mtf_decoder *d)
{
    arena  *a = &d->session->arena;
    int64_t rows = d->sizes.rows, longest = d->sizes.length;
    if (d->sizes.inputs > longest) longest = d->sizes.inputs;
    if (longest < chunk_lengths[CHUNKS - 1]) longest = chunk_lengths[CHUNKS - 1];
    d->ids = arena_array(a, int32_t, rows * longest);
    d->first = arena_array(a, int32_t, rows);
    d->seen = arena_array(a, int32_t, rows);
    d->parent = arena_array(a, int32_t, rows);
    d->tokens = arena_array(a, int32_t, rows);
    d->segment = arena_array(a, int32_t, d->sizes.inputs + 1);
    d->log_probability = arena_array(a, float, rows);
    d->logits = arena_array(a, float, rows * d->sizes.model->opts.output_vocab);
    d->slot = arena_array(a, slot, d->slots);
    TRY(d->ids && d->first && d->seen && d->parent && d->tokens && d->segment &&
        d->log_probability && d->logits && d->slot && choices_new(d));
    for (int64_t k = 0; k < d->slots; k++) TRY(make_slot(d, &d->slot[k]));
    return true;
}

static const char scope_begins[] = "decoder_";

bool decoder_keeps(const char *variable)
{
    size_t n = sizeof scope_begins - 1, digits;
    if (strncmp(variable, scope_begins, n) != 0) return false;
    digits = strspn(variable + n, "0123456789");
    return digits > 0 && variable[n + digits] == '/';
}

mtf_decoder *mtf_decoder_new(const mtf_transformer *m, const mtf_decoder_opts *opts)
{
    mtf_decoder_opts o = opts ? *opts : (mtf_decoder_opts){0};
    if (!m || !mtf_ok(m->session) || !complete_opts(m, &o)) return NULL;
    mtf_decoder *d = arena_new(&m->session->arena, mtf_decoder);
    char         scope[40];
    if (!d) return NULL;
    snprintf(scope, sizeof scope, "%s%d", scope_begins, ++*m->decoders);
    *d = (mtf_decoder){.session = m->session,
                       .slots = o.batch,
                       .beams = o.beams,
                       .end_only = {m->opts.end, -1},
                       .sizes = {.model = m,
                                 .scope = arena_text(&m->session->arena, scope),
                                 .rows = o.batch * o.beams,
                                 .parts = 1,
                                 .length = o.max_length,
                                 .inputs = transformer_has_encoder(m) ? o.max_inputs : 0,
                                 .beams = o.beams}};
    return d->sizes.scope && make_room(d) ? d : NULL;
}

/* ---- prompts ---- */

/* The shortest chunk that is long enough, or else the longest. */
static int chunk_for(int64_t length)
{
    int k = 0;
    while (k < CHUNKS - 1 && chunk_lengths[k] < length) k++;
    return k;
}

/* The input at a position: the prompt, after the start token in a model that shifts its inputs. */
static int32_t input_at(const mtf_decoder *d, const mtf_decode_job *job, int64_t place)
{
    if (d->sizes.inputs)
        return job->how.start; /* the decoder of an encoder-decoder has no prompt */
    if (d->sizes.model->opts.no_shift) return job->prompt[place];
    return place ? job->prompt[place - 1] : job->how.start;
}

/* The number of inputs before the first new token; the last of them goes through a `step` program. */
static int64_t inputs_of(const mtf_decoder *d, const mtf_decode_job *job)
{
    if (d->sizes.inputs) return 1;
    return d->sizes.model->opts.no_shift ? job->length : job->length + 1;
}

static bool run_chunk(mtf_decoder *d, const slot *s, int64_t row, int64_t begin, int64_t count)
{
    int           size = chunk_for(count);
    decode_graph *g = &d->rows[size];
    int32_t       where = (int32_t)row, first = (int32_t)begin, seen = (int32_t)s->seen;
    /* A prefix model reads the last input again, in its first step. */
    int64_t before = inputs_of(d, s->job) - 1 - begin;
    int32_t past = (int32_t)(count < before ? count : before);
    int64_t length = chunk_lengths[size] < d->sizes.length ? chunk_lengths[size] : d->sizes.length;
    TRY(g->program || decode_graph_make(&d->sizes, DECODE_PROMPT_ROW, d->sizes.rows, length, g));
    for (int64_t k = 0; k < g->length; k++)
        d->ids[k] = k < count ? input_at(d, s->job, begin + k) : 0;
    TRY(mtf_feed(g->program, g->ids, d->ids) && mtf_feed(g->program, g->first, &first) &&
        mtf_feed(g->program, g->row, &where));
    if (g->seen) TRY(mtf_feed(g->program, g->seen, &seen));
    if (g->past) TRY(mtf_feed(g->program, g->past, &past));
    return mtf_step(g->program);
}

/* Processes all inputs of the prompt but the last; in a prefix model all of them. */
static bool run_prompt(mtf_decoder *d, const slot *s, int64_t row)
{
    bool    prefix = d->sizes.model->opts.prefix;
    int64_t n = inputs_of(d, s->job) - !prefix;
    for (int64_t at = 0; at < n;) {
        int64_t count = n - at, most = chunk_lengths[CHUNKS - 1];
        if (count > most) count = most;
        TRY(run_chunk(d, s, row, at, count));
        at += count;
    }
    return true;
}

/* ---- inputs of an encoder ---- */

static bool run_encoder(mtf_decoder *d, const mtf_decode_job *job, int64_t row)
{
    int           size = chunk_for(job->length);
    encode_graph *g = &d->encoders[size];
    int64_t       length = chunk_lengths[size];
    int32_t       where = (int32_t)row;
    if (length > d->sizes.inputs) length = d->sizes.inputs;
    TRY(g->program || encode_graph_make(&d->sizes, length, g));
    memset(d->ids, 0, sizeof *d->ids * (size_t)length);
    memset(d->segment, 0, sizeof *d->segment * (size_t)d->sizes.inputs);
    for (int64_t k = 0; k < job->length; k++) d->ids[k] = job->prompt[k];
    int64_t left = funnel_length(&d->sizes.model->encoder, job->length);
    for (int64_t k = 0; k < left; k++) d->segment[k] = 1;
    return mtf_feed(g->program, g->ids, d->ids) && mtf_feed(g->program, g->segment, d->segment) &&
           mtf_feed(g->program, g->row, &where) && mtf_step(g->program);
}

/* ---- jobs ---- */

static bool check_job(const mtf_decoder *d, const mtf_decode_job *job)
{
    const mtf_transformer *m = d->sizes.model;
    fault                 *f = &d->session->fault;
    int64_t                most = d->sizes.inputs ? d->sizes.inputs : d->sizes.length - 1;
    if (job->length < 0 || job->length > most)
        return fail(f, ERR_VALUE, "a prompt of %lld tokens; at most %lld fit",
                    (long long)job->length, (long long)most);
    if (job->length == 0 && (m->opts.no_shift || d->sizes.inputs))
        return fail(f, ERR_VALUE, "this model needs a prompt of one token or more");
    for (int64_t k = 0; k < job->length; k++)
        if (job->prompt[k] < 0 || job->prompt[k] >= m->opts.input_vocab)
            return fail(f, ERR_VALUE, "token %lld of the prompt is %d; the vocabulary has %lld",
                        (long long)k, job->prompt[k], (long long)m->opts.input_vocab);
    if (job->how.start < 0 || job->how.start >= m->opts.input_vocab)
        return fail(f, ERR_VALUE, "a decoder starts from token %d; the vocabulary has %lld",
                    job->how.start, (long long)m->opts.input_vocab);
    if (job->how.start && m->opts.no_shift)
        return fail(
            f, ERR_VALUE,
            "this model reads the prompt first; put token %d there instead of starting from "
            "it",
            job->how.start);
    if (job->how.temperature < 0 || job->how.top_k < 0 || job->how.top_p < 0 || job->how.top_p > 1)
        return fail(f, ERR_VALUE,
                    "sampling with temperature %g, top_k %lld and top_p %g; they must not be "
                    "negative, and top_p at most 1",
                    job->how.temperature, (long long)job->how.top_k, job->how.top_p);
    if (job->how.alternatives < 0 || job->how.alternatives > MOST_ALTERNATIVES ||
        (d->beams > 1 && job->how.alternatives))
        return fail(f, ERR_VALUE,
                    "%lld alternatives to each token; there can be up to %d, and none with beams",
                    (long long)job->how.alternatives, MOST_ALTERNATIVES);
    if (d->beams > 1 && (job->how.temperature > 0 || job->how.top_k || job->how.top_p > 0))
        return fail(f, ERR_VALUE,
                    "beam search takes the best sequences; it has no temperature, top_k "
                    "or top_p");
    return true;
}

static void begin_slot(mtf_decoder *d, slot *s, mtf_decode_job *job)
{
    int64_t inputs = inputs_of(d, job);
    s->job = job;
    s->stream = sample_stream(&job->how);
    s->position = inputs - 1;
    s->next = input_at(d, job, inputs - 1);
    s->seen = d->sizes.model->opts.prefix ? inputs : 0;
    s->made = 0;
    s->score = 0;
    s->most = d->sizes.length - s->position;
    if (s->how.max_tokens > 0 && s->how.max_tokens < s->most) s->most = s->how.max_tokens;
    job->done = false;
    job->nresults = 0;
    job->scores = NULL;
    if (!s->beam) return;
    beam_begin(s->beam, &(beam_opts){(int)d->beams, d->sizes.model->opts.output_vocab, s->most,
                                     s->how.alpha < 0   ? 0
                                     : s->how.alpha > 0 ? s->how.alpha
                                                        : 0.6,
                                     s->how.stop});
}

bool mtf_decode_start(mtf_decoder *d, mtf_decode_job *job)
{
    if (!d || !mtf_ok(d->session)) return false;
    TRY(places_prepare(d));
    int64_t k = places_free(d);
    TRY(k >= 0 && check_job(d, job));
    slot *s = &d->slot[k];
    s->how = job->how;
    if (!s->how.stop) s->how.stop = d->end_only;
    TRY(choices_fit(d, &s->how));
    begin_slot(d, s, job);
    return d->sizes.inputs ? run_encoder(d, job, k * d->beams) : run_prompt(d, s, k * d->beams);
}

/* ---- results ---- */

/* Allocates room for n sequences of these lengths, in one block that belongs to the job. */
static bool make_results(mtf_decoder *d, mtf_decode_job *job, int n, const hypothesis *list)
{
    size_t heads = (size_t)n * (sizeof *job->ids + sizeof *job->lengths + sizeof *job->scores);
    size_t bytes = heads;
    for (int k = 0; k < n; k++) bytes += sizeof(int32_t) * (size_t)list[k].length;
    char *block = block_alloc(&d->session->allocator, &d->session->fault, bytes, false);
    TRY(block != NULL);
    double         *scores = (double *)block;
    int64_t        *lengths = (int64_t *)(scores + n);
    const int32_t **ids = (const int32_t **)(lengths + n);
    int32_t        *at = (int32_t *)(block + heads);
    for (int k = 0; k < n; k++) {
        scores[k] = list[k].score;
        lengths[k] = list[k].length;
        ids[k] = memcpy(at, list[k].ids, sizeof *at * (size_t)list[k].length);
        at += list[k].length;
    }
    job->scores = scores;
    job->lengths = lengths;
    job->ids = ids;
    job->nresults = n;
    return true;
}

void mtf_decode_free(mtf_decoder *d, mtf_decode_job *job)
{
    if (!d || !job->scores) return;
    block_free(&d->session->allocator, (void *)job->scores);
    job->scores = NULL, job->lengths = NULL, job->ids = NULL;
    job->nresults = 0;
}

static void finish_slot(mtf_decoder *d, slot *s)
{
    hypothesis        own = {s->ids, s->made, s->score, s->score};
    const hypothesis *list = &own;
    int               n = 1;
    if (s->beam) {
        int wanted = s->how.results > 0 ? (int)s->how.results : 1;
        n = beam_results(s->beam, &list);
        if (n > wanted) n = wanted;
    }
    make_results(d, s->job, n, list);
    s->job->done = true;
    s->job = NULL;
}

void mtf_decode_cancel(mtf_decoder *d, mtf_decode_job *job)
{
    for (int64_t k = 0; d && k < d->slots; k++)
        if (d->slot[k].job == job) finish_slot(d, &d->slot[k]);
}

/* ---- steps ---- */

static bool ends(const slot *s, int32_t token)
{
    for (const int32_t *t = s->how.stop; *t >= 0; t++)
        if (*t == token) return true;
    return false;
}

static void take_token(mtf_decoder *d, slot *s, int32_t token, double log_probability)
{
    s->ids[s->made++] = token;
    s->score += log_probability;
    s->next = token;
    s->position++;
    bool goes_on = !s->job->token || s->job->token(s->job->context, token, log_probability);
    if (!goes_on || ends(s, token) || s->made == s->most) finish_slot(d, s);
}

/* A row without a sequence keeps nothing. */
static void feed_rows(mtf_decoder *d, const decode_graph *g)
{
    for (int64_t row = 0; row < g->rows; row++) {
        const slot *s = places_slot(d, g, row);
        int64_t     beam = row % d->beams;
        bool        goes_on =
            s->beam && s->made > 0; /* at first all continue the prompt, in the first row */
        d->first[row] = (int32_t)(s->job ? s->position : d->sizes.length);
        d->seen[row] = s->job ? (int32_t)s->seen : 0;
        d->ids[row] = !s->job ? 0 : goes_on ? s->beam_next[beam] : s->next;
        d->parent[row] = (int32_t)(row - beam) + (s->job && goes_on ? s->beam_parent[beam] : 0);
    }
}

static bool run_step(mtf_decoder *d, decode_graph *g)
{
    d->last = g;
    feed_rows(d, g);
    TRY(choices_feed(d, g));
    TRY(mtf_feed(g->program, g->ids, d->ids) && mtf_feed(g->program, g->first, d->first));
    if (g->seen) TRY(mtf_feed(g->program, g->seen, d->seen));
    if (g->parent) TRY(mtf_feed(g->program, g->parent, d->parent));
    TRY(mtf_step(g->program));
    if (g->logits) TRY(mtf_fetch(g->program, g->logits, d->logits));
    return !g->token || (mtf_fetch(g->program, g->token, d->tokens) &&
                         mtf_fetch(g->program, g->log_probability, d->log_probability));
}

/* The same in logits that the host has. */
static void leave_out_ends(mtf_decoder *d, const slot *s, int64_t row)
{
    int64_t vocab = d->sizes.model->opts.output_vocab;
    for (const int32_t *t = s->how.stop; *t >= 0; t++)
        for (int64_t b = 0; b < d->beams && *t < vocab; b++)
            d->logits[(row + b) * vocab + *t] = -1e9f;
}

static void advance_beam(mtf_decoder *d, slot *s, int64_t row)
{
    int64_t vocab = d->sizes.model->opts.output_vocab;
    beam_advance(s->beam, d->logits + row * vocab, s->beam_parent, s->beam_next);
    s->made++;
    s->position++;
    if (beam_done(s->beam)) finish_slot(d, s);
}

static void take_row(mtf_decoder *d, slot *s, int64_t row)
{
    mtf_alternative best[MOST_ALTERNATIVES];
    mtf_decode_job *job = s->job;
    int64_t         vocab = d->sizes.model->opts.output_vocab;
    int32_t         token = d->tokens[row];
    double          log_probability = (double)d->log_probability[row];
    if (s->how.alternatives) {
        const float *logits = d->logits + row * vocab;
        job->nalternatives = sample_best(logits, vocab, s->how.alternatives, best);
        /* from the same sum as theirs, so that the same token has the same number */
        log_probability =
            best[0].log_probability + ((double)logits[token] - (double)logits[best[0].id]);
    }
    job->alternatives = best;
    take_token(d, s, token, log_probability);
    job->nalternatives = 0;
    job->alternatives = NULL;
}

static int count_jobs(const mtf_decoder *d)
{
    int n = 0;
    for (int64_t k = 0; k < d->slots; k++) n += d->slot[k].job != NULL;
    return n;
}

int mtf_decode_step(mtf_decoder *d)
{
    if (!d || !mtf_ok(d->session)) return -1;
    if (!count_jobs(d)) return 0;
    decode_graph *g = places_program(d, choices_kind(d));
    if (!g || !run_step(d, g)) return -1;
    for (int64_t row = 0; row < g->rows; row += d->beams) {
        slot *s = places_slot(d, g, row);
        if (!s->job) continue;
        if (s->beam && s->how.never_end) leave_out_ends(d, s, row);
        if (s->beam)
            advance_beam(d, s, row);
        else
            take_row(d, s, row);
    }
    return count_jobs(d);
}

bool mtf_decode(mtf_decoder *d, int n, mtf_decode_job *const *jobs)
{
    int begun = 0, left = 0;
    if (!d) return false;
    do {
        while (begun < n && mtf_ok(d->session) && mtf_decode_start(d, jobs[begun])) begun++;
        left = mtf_decode_step(d);
    } while (left > 0 || (left == 0 && begun < n && mtf_ok(d->session)));
    return left == 0 && mtf_ok(d->session);
}
