/* Beam search. */
#include "model/transformer/beam.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A sequence and a token that may continue it. */
typedef struct candidate {
    double  log_probability;
    int     beam;
    int32_t token;
} candidate;

struct beam_search {
    beam_opts   opts;
    int64_t     step;
    int         nalive, nended;
    hypothesis *alive, *next; /* beams each */
    hypothesis *ended;        /* beams, best first */
    hypothesis *results;      /* beams, which share the buffers of those above */
    candidate  *best;         /* 2 beams, best first */
    int         nbest;
};

static hypothesis *new_list(arena *a, int n, int64_t tokens)
{
    hypothesis *h = arena_array(a, hypothesis, n);
    for (int k = 0; h && k < n; k++) {
        h[k].ids = arena_array(a, int32_t, tokens);
        if (!h[k].ids) return NULL;
    }
    return h;
}

beam_search *beam_new(mtf_session *s, const beam_opts *o)
{
    beam_search *b = arena_new(&s->arena, beam_search);
    if (!b) return NULL;
    b->alive = new_list(&s->arena, o->beams, o->max_tokens);
    b->next = new_list(&s->arena, o->beams, o->max_tokens);
    b->ended = new_list(&s->arena, o->beams + 1, o->max_tokens);
    b->best = arena_array(&s->arena, candidate, 2 * o->beams + 1);
    b->results = arena_array(&s->arena, hypothesis, o->beams);
    if (!b->alive || !b->next || !b->ended || !b->best || !b->results) return NULL;
    beam_begin(b, o);
    return b;
}

void beam_begin(beam_search *b, const beam_opts *o)
{
    b->opts = *o;
    b->step = 0;
    b->nalive = 1;
    b->nended = 0;
    b->alive[0].length = 0;
    b->alive[0].log_probability = 0;
}

static double penalty(const beam_search *b, int64_t length)
{
    return pow((5 + (double)length) / 6, b->opts.alpha);
}

static bool ends(const beam_search *b, int32_t token)
{
    for (const int32_t *s = b->opts.stop; *s >= 0; s++)
        if (*s == token) return true;
    return false;
}

/* The more probable first; ties: the earlier sequence, then the lower token. */
static bool is_better(const candidate *a, const candidate *b)
{
    if (a->log_probability != b->log_probability) return a->log_probability > b->log_probability;
    return a->beam != b->beam ? a->beam < b->beam : a->token < b->token;
}

static void offer(beam_search *b, candidate c)
{
    int most = 2 * b->opts.beams, at = b->nbest;
    if (at == most && !is_better(&c, &b->best[at - 1])) return;
    if (at == most) at--;
    for (; at > 0 && is_better(&c, &b->best[at - 1]); at--) b->best[at] = b->best[at - 1];
    b->best[at] = c;
    if (b->nbest < most) b->nbest++;
}

static void find_best(beam_search *b, const float *logits)
{
    b->nbest = 0;
    for (int k = 0; k < b->nalive; k++) {
        const float *l = logits + k * b->opts.vocab;
        double       most = l[0], sum = 0;
        for (int64_t i = 1; i < b->opts.vocab; i++)
            if (l[i] > most) most = l[i];
        for (int64_t i = 0; i < b->opts.vocab; i++) sum += exp(l[i] - most);
        double base = b->alive[k].log_probability - most - log(sum);
        for (int64_t i = 0; i < b->opts.vocab; i++)
            offer(b, (candidate){base + l[i], k, (int32_t)i});
    }
}

static void copy(hypothesis *to, const hypothesis *from, const candidate *c)
{
    memcpy(to->ids, from->ids, sizeof *to->ids * (size_t)from->length);
    to->ids[from->length] = c->token;
    to->length = from->length + 1;
    to->log_probability = c->log_probability;
}

/* Inserts a hypothesis into the sorted list of ended ones; drops the worst where there are too many.  The
 * list has a spare element, whose buffer receives the new one. */
static void end(beam_search *b, const candidate *c)
{
    double score = c->log_probability / penalty(b, b->step + 1);
    int    at = b->nended, most = b->opts.beams;
    if (at == most && score <= b->ended[most - 1].score) return;
    hypothesis room = b->ended[at];
    copy(&room, &b->alive[c->beam], c);
    room.score = score;
    if (at == most)
        b->ended[at] = b->ended[at - 1], at--;
    else
        b->nended++;
    for (; at > 0 && score > b->ended[at - 1].score; at--) b->ended[at] = b->ended[at - 1];
    b->ended[at] = room;
}

void beam_advance(beam_search *b, const float *logits, int32_t *parent, int32_t *token)
{
    int n = 0;
    find_best(b, logits);
    for (int k = 0; k < b->nbest; k++) {
        const candidate *c = &b->best[k];
        if (ends(b, c->token)) {
            end(b, c);
        } else if (n < b->opts.beams) {
            copy(&b->next[n], &b->alive[c->beam], c);
            b->next[n].score = c->log_probability / penalty(b, b->step + 1);
            parent[n] = (int32_t)c->beam;
            token[n++] = c->token;
        }
    }
    hypothesis *old = b->alive;
    b->alive = b->next;
    b->next = old;
    b->nalive = n;
    b->step++;
    for (; n < b->opts.beams; n++) parent[n] = 0, token[n] = 0;
}

bool beam_done(const beam_search *b)
{
    if (b->step >= b->opts.max_tokens || b->nalive == 0) return true;
    if (b->nended < b->opts.beams) return false;
    double best = b->alive[0].log_probability / penalty(b, b->opts.max_tokens);
    return b->ended[b->nended - 1].score > best;
}

int beam_results(beam_search *b, const hypothesis **list)
{
    int n = b->nended, alive = b->opts.beams - n < b->nalive ? b->opts.beams - n : b->nalive;
    memcpy(b->results, b->ended, sizeof *b->results * (size_t)n);
    memcpy(b->results + n, b->alive, sizeof *b->results * (size_t)alive);
    *list = b->results;
    return n + alive;
}
