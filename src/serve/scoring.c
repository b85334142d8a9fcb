/* Scores: the log probability of given texts, token by token. */
#include "serve/scoring.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/whole.h"
#include "graph/node.h"

enum { SIZES = 5, TOKENS = 1024, ALTERNATIVES = 20 };

/* Lengths for which programs are compiled; about TOKENS positions have their logits in memory at once. */
static const int64_t sizes[SIZES] = {16, 64, 256, 1024, 4096};

typedef struct score_graph {
    mtf_graph   *graph;   /* NULL: not made yet */
    mtf_program *program; /* NULL: not compiled, or freed */
    int64_t      used;    /* by which step, the last time */
    mtf_tensor  *inputs, *inputs_segment, *targets, *targets_segment, *result;
    mtf_tensor  *best, *best_ids; /* [batch, length, choices]; NULL: not computed */
    int64_t      rows, length, inputs_length;
} score_graph;

struct scorer {
    const opened_model *model;
    int64_t             batch;
    int64_t             steps;
    /* By the size of an encoder's inputs, and of the text; with alternatives, and without. */
    score_graph graphs[SIZES][SIZES][2];
    int32_t    *ids, *segment;
    float      *result;
    float      *best; /* NULL until alternatives are asked for */
    int32_t    *best_ids;
};

static int size_for(int64_t length)
{
    int k = 0;
    while (k < SIZES - 1 && sizes[k] < length) k++;
    return k;
}

/* Tokens of a row; without an encoder it includes the prompt. */
static int64_t row_length(const opened_model *m, const score_item *x)
{
    return transformer_has_encoder(m->model) ? x->nids : x->nprompt + x->nids;
}

static int64_t longest_row(const opened_model *m)
{
    return min_of(model_max_length(m), sizes[SIZES - 1]);
}

/* Tokens of a step. */
static int64_t most_tokens(const scorer *s)
{
    const opened_model *m = s->model;
    int64_t             most = TOKENS;
    if (most < longest_row(m)) most = longest_row(m);
    if (most < model_max_inputs(m)) most = model_max_inputs(m);
    return most < s->batch * sizes[0] ? s->batch * sizes[0] : most;
}

static bool make_best(scorer *s)
{
    int64_t most = ALTERNATIVES * most_tokens(s);
    s->best = arena_array(&s->model->session->arena, float, most);
    s->best_ids = arena_array(&s->model->session->arena, int32_t, most);
    return s->best && s->best_ids;
}

scorer *scorer_new(const opened_model *m, int64_t batch)
{
    arena  *a = &m->session->arena;
    scorer *s = arena_new(a, scorer);
    if (!s) return NULL;
    *s = (scorer){.model = m, .batch = batch < 1 ? 1 : batch};
    int64_t most = most_tokens(s);
    s->ids = arena_array(a, int32_t, most);
    s->segment = arena_array(a, int32_t, most);
    s->result = arena_array(a, float, most);
    return s->ids && s->segment && s->result ? s : NULL;
}

bool scorer_takes(const opened_model *m, const score_item *x, char *why, size_t room)
{
    int64_t length = row_length(m, x), most = longest_row(m), inputs = model_max_inputs(m);
    why[0] = 0;
    if (length > most)
        snprintf(why, room,
                 "the text to score has %lld tokens, its prompt included; this model takes "
                 "%lld",
                 (long long)length, (long long)most);
    else if (inputs && x->nprompt > min_of(inputs, sizes[SIZES - 1]))
        snprintf(why, room, "the prompt has %lld tokens; this model takes %lld",
                 (long long)x->nprompt, (long long)min_of(inputs, sizes[SIZES - 1]));
    return !why[0];
}

/* ---- programs ---- */

static mtf_tensor *input(mtf_graph *g, const char *name, mtf_dim batch, int64_t length)
{
    return mtf_input(g, name, MTF_I32, mtf_shape(batch, (mtf_dim){"length", length}));
}

/* The log probability of each target among the tokens of the vocabulary, without those that only pad it,
 * as in decoding. */
static bool log_probabilities(const mtf_transformer *m, mtf_tensor *logits, bool alternatives,
                              score_graph *to)
{
    mtf_dim     vocab = m->output_vocab;
    mtf_tensor *targets = to->targets;
    TRY(logits != NULL);
    logits = mtf_cast(logits, MTF_F32);
    if (m->opts.output_vocab < vocab.size) {
        logits = mtf_slice(logits, vocab.name, 0, m->opts.output_vocab, 1);
        vocab.size = m->opts.output_vocab;
    }
    if (m->opts.no_shift) targets = mtf_shift(targets, -1, targets->shape.dims[1], false);
    mtf_tensor *hit = mtf_one_hot(targets, vocab);
    mtf_tensor *at_target = mtf_reduce_sum(mtf_multiply(logits, hit), mtf_shape(vocab));
    mtf_tensor *all = mtf_reduce_logsumexp(logits, vocab, NULL);
    to->result = mtf_sub(at_target, all);
    if (alternatives) {
        mtf_dim choices = {"choices", min_of(ALTERNATIVES, vocab.size)};
        to->best = mtf_sub(mtf_top_k(logits, vocab, choices, &to->best_ids), all);
    }
    return mtf_ok(m->session);
}

static bool make_graph(const scorer *s, int inputs_size, int size, bool alternatives,
                       score_graph *to)
{
    const mtf_transformer *m = s->model->model;
    bool                   encodes = transformer_has_encoder(m);
    int64_t                length = min_of(sizes[size], longest_row(s->model)), most = length;
    int64_t inputs = encodes ? min_of(sizes[inputs_size], model_max_inputs(s->model)) : 0;
    if (inputs > most) most = inputs;
    assert(most > 0);
    int64_t    rows = most < TOKENS ? min_of(s->batch, TOKENS / most) : 1;
    mtf_dim    batch = {"batch", rows};
    mtf_graph *g = mtf_graph_new(s->model->session);
    TRY(g != NULL);
    *to = (score_graph){.graph = g, .rows = rows, .length = length, .inputs_length = inputs};
    if (encodes) {
        to->inputs = input(g, "inputs", batch, inputs);
        to->inputs_segment = input(g, "inputs_segment", batch, inputs);
    }
    to->targets = input(g, "targets", batch, length);
    to->targets_segment = input(g, "targets_segment", batch, length);
    mtf_transformer_result r =
        mtf_transformer_apply(m,
                              &(mtf_transformer_batch){.inputs = to->inputs,
                                                       .inputs_segment = to->inputs_segment,
                                                       .targets = to->targets,
                                                       .targets_segment = to->targets_segment},
                              NULL);
    return log_probabilities(m, r.logits, alternatives, to);
}

int scorer_programs(const scorer *s)
{
    const score_graph *all = &s->graphs[0][0][0];
    int                n = 0;
    for (size_t k = 0; k < sizeof s->graphs / sizeof *all; k++) n += all[k].program != NULL;
    return n;
}

static void free_oldest(scorer *s)
{
    score_graph *all = &s->graphs[0][0][0], *oldest = NULL;
    for (size_t k = 0; k < sizeof s->graphs / sizeof *all; k++)
        if (all[k].program && (!oldest || all[k].used < oldest->used)) oldest = &all[k];
    if (!oldest) return;
    mtf_program_free(oldest->program);
    oldest->program = NULL;
}

static bool compile(scorer *s, score_graph *g)
{
    mtf_tensor *fetches[] = {g->result, g->best, g->best_ids};
    if (scorer_programs(s) == SCORER_PROGRAMS) free_oldest(s);
    g->program = mtf_compile_n(g->graph, g->best ? 3 : 1, fetches);
    return g->program != NULL;
}

/* ---- steps ---- */

static void clear(scorer *s, int64_t elements)
{
    memset(s->ids, 0, sizeof *s->ids * (size_t)elements);
    memset(s->segment, 0, sizeof *s->segment * (size_t)elements);
}

static int64_t put_ids(scorer *s, int64_t at, const int32_t *ids, int64_t n)
{
    for (int64_t k = 0; k < n; k++) s->ids[at + k] = ids[k], s->segment[at + k] = 1;
    return at + n;
}

static bool feed(scorer *s, const score_graph *g, int n, const score_item *items)
{
    if (g->inputs) {
        clear(s, g->rows * g->inputs_length);
        for (int k = 0; k < n; k++)
            put_ids(s, k * g->inputs_length, items[k].prompt, items[k].nprompt);
        TRY(mtf_feed(g->program, g->inputs, s->ids) &&
            mtf_feed(g->program, g->inputs_segment, s->segment));
    }
    clear(s, g->rows * g->length);
    for (int k = 0; k < n; k++) {
        int64_t at = k * g->length;
        if (!g->inputs) at = put_ids(s, at, items[k].prompt, items[k].nprompt);
        put_ids(s, at, items[k].ids, items[k].nids);
    }
    return mtf_feed(g->program, g->targets, s->ids) &&
           mtf_feed(g->program, g->targets_segment, s->segment);
}

static void take_alternatives(const scorer *s, const score_graph *g, int64_t place,
                              const score_item *x, int64_t token)
{
    int64_t          room = g->best->shape.dims[g->best->shape.ndims - 1].size;
    mtf_alternative *to = x->alternatives + token * x->nalternatives;
    for (int64_t k = 0; k < x->nalternatives; k++)
        to[k] = place < 0 || k >= room ? (mtf_alternative){0, 0}
                                       : (mtf_alternative){s->best_ids[place * room + k],
                                                           (double)s->best[place * room + k]};
}

/* Copies the results of one text, whose row begins at `row`. */
static void take_scores(const scorer *s, const score_graph *g, int64_t row, score_item *x)
{
    bool late =
        s->model->model->opts.no_shift; /* the output at a position predicts the next token */
    int64_t begin = g->inputs ? 0 : x->nprompt;
    x->sum = 0;
    for (int64_t k = 0; k < x->nids; k++) {
        int64_t at = begin + k - late;
        x->log_probability[k] = at < 0 ? 0 : (double)s->result[row + at];
        x->sum += x->log_probability[k];
        if (g->best && x->alternatives) take_alternatives(s, g, at < 0 ? -1 : row + at, x, k);
    }
}

static bool fetch(scorer *s, const score_graph *g)
{
    TRY(mtf_fetch(g->program, g->result, s->result));
    return !g->best || (mtf_fetch(g->program, g->best, s->best) &&
                        mtf_fetch(g->program, g->best_ids, s->best_ids));
}

int scorer_step(scorer *s, int n, score_item *items)
{
    int          size = size_for(row_length(s->model, &items[0]));
    int          inputs = transformer_has_encoder(s->model->model) ? size_for(items[0].nprompt) : 0;
    bool         others = items[0].nalternatives > 0;
    score_graph *g = &s->graphs[inputs][size][others];
    if (others && !s->best && !make_best(s)) return 0;
    if (!g->graph && !make_graph(s, inputs, size, others, g)) return 0;
    if (!g->program && !compile(s, g)) return 0;
    g->used = ++s->steps;
    int count = 0;
    while (count < n && count < g->rows && row_length(s->model, &items[count]) <= g->length &&
           (items[count].nalternatives > 0) == others &&
           (!g->inputs || items[count].nprompt <= g->inputs_length))
        count++;
    if (!feed(s, g, count, items) || !mtf_step(g->program) || !fetch(s, g)) return 0;
    for (int k = 0; k < count; k++) take_scores(s, g, k * g->length, &items[k]);
    return count;
}

bool scorer_run(scorer *s, int n, score_item *items)
{
    for (int done = 0; done < n;) {
        int count = scorer_step(s, n - done, items + done);
        TRY(count > 0);
        done += count;
    }
    return true;
}
