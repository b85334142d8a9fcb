/* The lengths that T5's objective of random spans needs.
 *
 * Spans of noise go to the targets; in the inputs, and before each span in the targets, sentinels stand for
 * them.  One token ends each.
 */
#include <math.h>

#include "model/config/config.h"
#include "model/config/configurable.h"

enum { MOST_TOKENS = 1 << 26 };

static double noise_tokens(const spans_args *a, double tokens)
{
    return nearbyint(tokens * a->noise);
}

static double spans(const spans_args *a, double tokens)
{
    return nearbyint(noise_tokens(a, tokens) / a->mean_span);
}

static double inputs_of(const spans_args *a, double tokens)
{
    return tokens - noise_tokens(a, tokens) + spans(a, tokens) * (double)a->extra_inputs + 1;
}

static double targets_of(const spans_args *a, double tokens)
{
    return noise_tokens(a, tokens) + spans(a, tokens) * (double)a->extra_targets + 1;
}

static bool read_spans(mtf_config *c, const gin_value *v, spans_args *a)
{
    enum { MOST = 1 << 20 };
    TRY(configure(c, &known_random_spans, scope_of(v, ""), NULL, a));
    bool ok = a->inputs >= 1 && a->inputs <= MOST && a->noise > 0 && a->mean_span > 0 &&
              a->extra_inputs >= 0 && a->extra_inputs <= MOST && a->extra_targets >= 0 &&
              a->extra_targets <= MOST;
    return ok || gin_fail(&c->gin, &v->at, ERR_VALUE,
                          "@%s() needs random_spans_helper.inputs_length, noise_density, "
                          "mean_noise_span_length, extra_tokens_per_span_inputs and "
                          "extra_tokens_per_span_targets, as in 512, 0.15, 3.0, 1 and 1",
                          v->text);
}

const gin_value *config_length(mtf_config *c, const gin_value *v)
{
    spans_args a = {0};
    if (v->kind != GIN_REFERENCE || !v->called) return v;
    const configurable *k = config_reference(c, v, "a length");
    if (!k || (k != &known_spans_tokens && k != &known_spans_targets)) return k ? v : NULL;
    gin_value *length = arena_new(&c->gin.session->arena, gin_value);
    if (!length || !read_spans(c, v, &a)) return NULL;
    double tokens = (double)a.inputs;
    while (tokens < MOST_TOKENS && inputs_of(&a, tokens + 1) <= (double)a.inputs) tokens++;
    double targets = targets_of(&a, tokens);
    bool   halves = a.noise == 0.5 && targets > inputs_of(&a, tokens); /* they are to be as long */
    *length = (gin_value){.kind = GIN_INT, .at = v->at};
    length->whole = (int64_t)(k == &known_spans_tokens ? tokens : targets) - halves;
    return length;
}
