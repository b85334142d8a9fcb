/* A mixture of experts in PyTorch, by a loop over experts and by grouped products. */
#include "experts_torch.h"

#include "bare.h"
#include "contestant.h"

enum { ROUNDS = 5 };
static const double      round_seconds = 0.5;
static const char *const ways[] = {"loop", "grouped", "compiled"};
enum { WAYS = sizeof ways / sizeof *ways };

static double seconds_of(const experts_torch *e, const char *way)
{
    contestant c = {.process = 0};
    snprintf(
        c.command, sizeof c.command,
        "exec %s '" MTF_BENCH_PEERS "/torch_experts.py' %s --device %s --threads %d --dtype %s "
        "--experts %lld --choices %lld --tokens %lld --width %lld --hidden %lld",
        e->python, way, e->device, limit_threads(), e->dtype, (long long)e->experts,
        (long long)e->choices, (long long)e->tokens, (long long)e->width, (long long)e->hidden);
    bool ok = contestant_start(&c) && contestant_steps(&c, 1);
    for (int round = 0; ok && round < ROUNDS; round++)
        ok = contestant_steps(&c, (int)(round_seconds / c.seconds) + 1);
    contestant_stop(&c);
    return ok ? c.seconds : 0;
}

double experts_torch_seconds(const experts_torch *e, const char **way)
{
    double best = 0;
    for (int k = 0; k < WAYS; k++) {
        double seconds = seconds_of(e, ways[k]);
        if (!(seconds > 0))
            fprintf(stderr, "mtf_bench: left out: experts by PyTorch, %s, which does not run\n",
                    ways[k]);
        if (seconds > 0 && (best == 0 || seconds < best)) best = seconds, *way = ways[k];
    }
    return best;
}
