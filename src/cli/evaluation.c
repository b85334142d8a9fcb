/* Evaluation of a model, for mtf train and mtf eval. */
#include "cli/evaluation.h"

#include <math.h>
#include <stdio.h>

#include "base/numbers.h"
#include "base/textbuf.h"

enum { LOSS, RIGHT, TOKENS, VALUES };

/* One figure: its name in JSON and in event files, and in printed text. */
typedef struct figure {
    const char *json, *event;
    double      value;
    char        text[60];
} figure;

bool evaluation_open(evaluation *e, setup *s)
{
    *e = (evaluation){.setup = s,
                      .perplexity = option_given(s->options, "perplexity"),
                      .json = option_given(s->options, "json")};
    TRY(setup_data(s, false, &e->data));
    if (e->data) return setup_network(s, false, &e->network) && setup_check_feeds(s, false, &e->network);
    if (!e->perplexity && !option_given(s->options, "right")) return true;
    return fail(&s->session->fault, ERR_USAGE, "--%s needs data to evaluate on%s",
                e->perplexity ? "perplexity" : "right",
                s->ready ? "" : ": name it with --eval-data NAME=FILES");
}

bool evaluation_prepare(evaluation *e, const char *events_dir)
{
    mtf_session *s = e->setup->session;
    const network *n = &e->network;
    mtf_tensor    *values[VALUES] = {n->loss, n->right, n->token_counts};
    if (!e->data) return true;
    if (n->token_counts) values[LOSS] = n->token_losses;
    e->means = mtf_evaluation_new(n->graph, n->token_counts ? VALUES : n->right ? TOKENS : RIGHT,
                                  values, e->data, NULL);
    TRY(e->means != NULL);
    if (!events_dir || !mtf_is_first(s)) return true;
    textbuf path = {.arena = &s->arena};
    text_add(&path, "%s/eval", events_dir);
    const char *folder = text_done(&path);
    e->events = folder ? events_open(s, folder) : NULL;
    return e->events != NULL;
}

/* ---- figures ---- */

static int make_figures(const evaluation *e, const double *means, figure *list)
{
    /* For text, every token counts once; padding does not count. */
    bool   tokens = e->network.token_counts != NULL;
    double each = tokens && means[TOKENS] > 0 ? means[TOKENS] : 1;
    double loss = means[LOSS] / each, right = means[RIGHT] / each;
    int    n = 0;
    if (e->network.right) {
        list[n] = (figure){.json = "accuracy", .event = "accuracy", .value = right};
        number_format(list[n].text, sizeof list->text, "accuracy %.2f %%", 100 * right);
        n++;
    }
    list[n] = (figure){.json = "eval_loss", .event = "loss", .value = loss};
    number_format(list[n].text, sizeof list->text, "loss %.6g", loss);
    n++;
    if (e->perplexity || tokens) {
        list[n] = (figure){.json = "perplexity", .event = "perplexity", .value = exp(loss)};
        number_format(list[n].text, sizeof list->text, "perplexity %.6g", exp(loss));
        n++;
    }
    return n;
}

/* JSON has no numbers for nan and the infinities: they are written as texts. */
static void print_json(int64_t step, int n, const figure *list)
{
    printf("{\"step\":%lld", (long long)step);
    for (int i = 0; i < n; i++)
        number_print(stdout, isfinite(list[i].value) ? ",\"%s\":%.9g" : ",\"%s\":\"%g\"",
                     list[i].json, list[i].value);
    puts("}");
}

static void print_text(int64_t step, bool with_step, int n, const figure *list)
{
    if (with_step) printf("step %lld   ", (long long)step);
    for (int i = 0; i < n; i++) printf("%s%s", i ? "   " : "test ", list[i].text);
    puts("");
}

bool evaluation_show(evaluation *e, int64_t step, bool with_step)
{
    enum { MOST = 3 };
    double means[VALUES];
    figure list[MOST];
    if (!e->data) return true;
    TRY(mtf_evaluation_run(e->means, means));
    int n = make_figures(e, means, list);
    for (int i = 0; e->events && i < n; i++)
        TRY(events_scalar(e->events, step, list[i].event, list[i].value));
    for (int i = 0; i < n; i++)
        TRY(train_report_evaluation(e->report, step, list[i].json, list[i].value));
    if (e->json)
        print_json(step, n, list);
    else
        print_text(step, with_step, n, list);
    fflush(stdout);
    return true;
}

bool evaluation_close(evaluation *e)
{
    bool ok = events_close(e->events);
    e->events = NULL;
    return ok;
}
