/* Sampling options of decode and serve. */
#include "cli/answering_options.h"

#include "base/numbers.h"

/* clang-format off */
const option_spec sampling_options[] = {
    OPTION_GROUP("how answers are chosen"),
    {"temperature", "T", false, "0: always the most probable token (default); 1: by its probability"},
    {"top-k", "K", false, "sample among the K most probable tokens; default: all"},
    {"top-p", "P", false, "sample among the most probable tokens, up to a total probability of P"},
    {"max-tokens", "N", false, "new tokens of an answer; default: as many as fit"},
    {"stop", "TEXT", true, "end an answer before this text"},
    {"results", "N", false, "answers to each prompt; fewer where the beams find fewer; default 1"},
    {"beams", "N", false, "find the most probable answers by beam search with N beams"},
    {"alpha", "A", false, "beam search: the length penalty is ((5 + length) / 6)^A; default 0.6"},
    {"batch", "N", false, "prompts that are decoded together; default 8"},
    {0},
};
/* clang-format on */

bool option_real(const options *o, const char *name, double least, double most, double *value)
{
    const char *text = option_nth(o, name, 0);
    char       *end;
    if (!text) return true;
    double x = number_read(text, &end);
    if (end != text && !*end && x >= least && x <= most) {
        *value = x;
        return true;
    }
    usage_error(o->command, "--%s takes a number from %g to %g, not \"%s\"", name, least, most,
                text);
    return false;
}

bool read_limits(const options *o, engine_opts *limits)
{
    uint64_t batch = 8, beams = 1;
    if (!option_number(o, "batch", 1, 1 << 16, &batch) ||
        !option_number(o, "beams", 1, 1 << 10, &beams))
        return false;
    limits->batch = (int64_t)batch;
    limits->beams = (int64_t)beams;
    limits->max_results = 1 << 10;
    limits->max_waiting = 1 << 20;
    return true;
}

/* Beam search does not sample: options of sampling are an error. */
static bool agrees_with_beams(const options *o, const request_spec *q)
{
    uint64_t beams = 1;
    if (!option_number(o, "beams", 1, 1 << 10, &beams)) return false;
    if (beams == 1) return true;
    if (q->how.temperature > 0 || q->how.top_k > 0 || q->how.top_p > 0)
        usage_error(o->command, "--beams finds the most probable answers: leave out --temperature, "
                                "--top-k and --top-p");
    else if ((uint64_t)q->results > beams)
        usage_error(o->command, "--results %d: %llu beams find that many at most", q->results,
                    (unsigned long long)beams);
    else
        return true;
    return false;
}

bool read_question(const options *o, request_spec *q, const char *stops[MOST_STOPS])
{
    uint64_t top_k = 0, seed = 0, tokens = 0, results = 1;
    int      n = 0;
    if (!option_real(o, "temperature", 0, 1e6, &q->how.temperature) ||
        !option_real(o, "top-p", 0, 1, &q->how.top_p) ||
        !option_real(o, "alpha", 0, 100, &q->how.alpha) ||
        !option_number(o, "top-k", 1, 1 << 30, &top_k) ||
        !option_number(o, "seed", 0, UINT64_MAX, &seed) ||
        !option_number(o, "max-tokens", 1, 1 << 30, &tokens) ||
        !option_number(o, "results", 1, 1 << 10, &results))
        return false;
    q->how.top_k = (int64_t)top_k;
    if (option_given(o, "top-p") && q->how.top_p == 0) q->how.top_k = 1; /* 0 stands for all */
    if (option_given(o, "alpha") && q->how.alpha == 0)
        q->how.alpha = -1; /* 0 stands for the default */
    q->how.seed = seed;
    q->how.max_tokens = (int64_t)tokens;
    q->results = (int)results;
    for (; option_nth(o, "stop", n); n++) {
        if (n == MOST_STOPS - 1) {
            usage_error(o->command, "--stop was given more than %d times", MOST_STOPS - 1);
            return false;
        }
        stops[n] = option_nth(o, "stop", n);
        if (!*stops[n]) {
            usage_error(o->command, "--stop takes a text that is not empty");
            return false;
        }
    }
    stops[n] = NULL;
    q->stops = stops;
    return agrees_with_beams(o, q);
}

static bool any_given(const options *o, int n, const char *const *names)
{
    for (int k = 0; k < n; k++)
        if (option_given(o, names[k])) return true;
    return false;
}

void decode_as_configured(const options *o, const mtf_config_decode *d, engine_opts *limits,
                          request_spec *q)
{
    static const char *const ways[] = {"beams", "temperature", "top-k", "top-p", "alpha"};
    if (!any_given(o, 5, ways)) { /* these depend on each other */
        limits->beams = d->beams;
        q->how.temperature = d->how.temperature;
        q->how.top_k = d->how.top_k;
        q->how.top_p = d->how.top_p;
        q->how.alpha = d->how.alpha;
    }
    if (!option_given(o, "max-tokens")) q->how.max_tokens = d->how.max_tokens;
    if (!option_given(o, "results") && d->repeats > 0) q->results = (int)d->repeats;
    if (limits->beams > 1 && q->results > limits->beams) q->results = (int)limits->beams;
}
