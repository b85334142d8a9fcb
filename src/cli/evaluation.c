/* Evaluation of a model, for mtf train and mtf eval. */
#include "cli/evaluation.h"

#include <math.h>
#include <stdio.h>

#include "base/numbers.h"
#include "base/textbuf.h"
#include "data/text/target_bytes.h"
#include "model/progress.h"

enum {
    LOSS,
    RIGHT,
    TOKENS,
    SEQUENCES,
    SEQUENCES_RIGHT,
    VALUES,
    MOST_VALUES = VALUES + MOST_SCORES + 1
};

/* One figure: its name in JSON and in event files, and in printed text; "": it is not printed. */
typedef struct figure {
    const char *json, *event;
    double      value;
    char        text[60];
} figure;

/* bool values are 0 and 1, and built-in models know what they count. */
static bool watch_right(evaluation *e)
{
    mtf_tensor *right = e->network.right;
    if (e->setup->ready || e->setup->config || !right || mtf_dtype_of_tensor(right) == MTF_BOOL)
        return true;
    e->outside = mtf_cast(mtf_not_equal(right, mtf_clip(right, 0, 1)), MTF_F32);
    return e->outside != NULL;
}

bool evaluation_open(evaluation *e, setup *s)
{
    *e = (evaluation){.setup = s,
                      .perplexity = option_given(s->options, "perplexity"),
                      .json = option_given(s->options, "json")};
    TRY(setup_data(s, false, &e->data));
    if (e->data)
        return setup_network(s, false, &e->network) && setup_check_feeds(s, false, &e->network) &&
               watch_right(e);
    if (!e->perplexity && !option_given(s->options, "right")) return true;
    return fail(&s->session->fault, ERR_USAGE, "--%s needs data to evaluate on%s",
                e->perplexity ? "perplexity" : "right",
                s->ready ? "" : ": name it with --eval-data NAME=FILES");
}

/* Targets of span corruption are not whole texts, and those in one sequence include inputs: their bytes
 * are not counted. */
static bool look_at_text(evaluation *e)
{
    config_setup *c = e->setup->config;
    mtf_text_opts o;
    if (!c) return true;
    TRY(config_text_opts(c, false, &o));
    e->pairs = !o.pack && (o.objective == MTF_TEXT_PAIRS || o.objective == MTF_TEXT_DELIMITED);
    if (o.objective != MTF_TEXT_LM && o.objective != MTF_TEXT_PAIRS) return true;
    e->bytes = target_bytes(e->setup->session, e->data, c->targets, c->run.targets_length);
    return e->bytes >= 0;
}

/* How many values come before the model's own scores. */
static int common_values(const network *n)
{
    return n->token_counts ? VALUES : n->right ? TOKENS : RIGHT;
}

bool evaluation_prepare(evaluation *e, const char *events_dir)
{
    mtf_session   *s = e->setup->session;
    const network *n = &e->network;
    int            common = common_values(n);
    mtf_tensor    *values[MOST_VALUES] = {n->loss, n->right, n->token_counts, n->sequences,
                                          n->sequences_right};
    if (!e->data) return true;
    if (n->token_counts) values[LOSS] = n->token_losses;
    for (int k = 0; k < n->nscores; k++) values[common + k] = n->scores[k].value;
    values[common + n->nscores] = e->outside;
    e->means = mtf_evaluation_new(n->graph, common + n->nscores + (e->outside != NULL), values,
                                  e->data, NULL);
    TRY(e->means != NULL && look_at_text(e));
    if (!events_dir || !mtf_is_first(s)) return true;
    textbuf path = {.arena = &s->arena};
    text_add(&path, "%s/eval", events_dir);
    const char *folder = text_done(&path);
    e->events = folder ? events_open(s, folder) : NULL;
    return e->events != NULL;
}

/* ---- figures ---- */

enum { MOST = 8 + MOST_SCORES };

typedef struct figures {
    int    n;
    figure list[MOST];
} figures;

/* `format` is of the printed text; NULL: it is not printed. */
static void add_figure(figures *f, const char *json, const char *event, const char *format,
                       double value, double shown)
{
    figure *to = &f->list[f->n++];
    *to = (figure){.json = json, .event = event, .value = value};
    if (format) number_format(to->text, sizeof to->text, format, shown);
}

/* For text, every token counts once; padding does not count. */
static void add_text_figures(const evaluation *e, const double *means, figures *f)
{
    double rows = (double)mtf_dataset_size(e->data), nats = means[LOSS] * rows;
    double sequences = means[SEQUENCES] > 0 ? means[SEQUENCES_RIGHT] / means[SEQUENCES] : 0;
    if (e->bytes > 0) {
        double bits = nats / log(2) / (double)e->bytes;
        add_figure(f, "bits_per_byte", "bits_per_byte", "bits per byte %.6g", bits, bits);
    }
    if (e->pairs)
        add_figure(f, "sequence_accuracy", "sequence_accuracy", "sequence accuracy %.2f %%",
                   sequences, 100 * sequences);
    add_figure(f, "tokens", NULL, NULL, means[TOKENS] * rows, 0);
}

static void make_figures(const evaluation *e, const double *means, figures *f)
{
    bool   tokens = e->network.token_counts != NULL;
    double each = tokens && means[TOKENS] > 0 ? means[TOKENS] : 1;
    double loss = means[LOSS] / each, right = means[RIGHT] / each;
    f->n = 0;
    if (e->network.right)
        add_figure(f, "accuracy", "accuracy", "accuracy %.2f %%", right, 100 * right);
    add_figure(f, "eval_loss", "loss", "loss %.6g", loss, loss);
    if (e->perplexity || tokens)
        add_figure(f, "perplexity", "perplexity", "perplexity %.6g", exp(loss), exp(loss));
    if (tokens) add_text_figures(e, means, f);
    for (int k = 0; k < e->network.nscores; k++) {
        const char *name = e->network.scores[k].name;
        double      mean = means[common_values(&e->network) + k];
        char        format[60];
        number_format(format, sizeof format, "%s %%.4f", name);
        add_figure(f, name, name, format, mean, mean);
    }
}

/* JSON has no numbers for nan and the infinities: they are written as strings. */
static void print_json(const evaluation_place *at, int n, const figure *list)
{
    printf("{\"step\":%lld", (long long)at->step);
    if (!isnan(at->epoch)) number_print(stdout, ",\"epoch\":%.9g", at->epoch);
    for (int i = 0; i < n; i++)
        number_print(stdout, isfinite(list[i].value) ? ",\"%s\":%.9g" : ",\"%s\":\"%g\"",
                     list[i].json, list[i].value);
    puts("}");
}

/* Begins as the lines of training do; `of` is what the figures are of. */
static void print_text(const evaluation_place *at, const char *of, int n, const figure *list)
{
    char step[60];
    progress_step_text(at->step, at->steps, step, sizeof step);
    printf("%s   ", step);
    if (!isnan(at->epoch)) number_print(stdout, "epoch %.4g   ", at->epoch);
    for (int i = 0; i < n; i++)
        if (*list[i].text) printf("%s%s", i ? "   " : of, list[i].text);
    puts("");
}

static void print_figures(const evaluation *e, const evaluation_place *at, const char *of,
                          const figures *f)
{
    if (e->json)
        print_json(at, f->n, f->list);
    else
        print_text(at, of, f->n, f->list);
    fflush(stdout);
}

/* The figures of decoded answers. */
static bool add_decoded(evaluation *e, int64_t step, figures *f)
{
    decoded_figures d;
    if (!e->decoded) return true;
    TRY(decoded_run(e->decoded, step, &d));
    add_figure(f, "bleu", "bleu", "BLEU %.2f", d.bleu, d.bleu);
    add_figure(f, "exact", "exact", "exact %.2f %%", d.exact, 100 * d.exact);
    return true;
}

static bool check_right(const evaluation *e, const double *means)
{
    const network *n = &e->network;
    if (!e->outside || means[common_values(n) + n->nscores] == 0) return true;
    return fail(&e->setup->session->fault, ERR_VALUE,
                "--right %s has values outside 0 to 1, whose mean is no accuracy: it must be 1 "
                "where an example is right, and 0 where it is wrong",
                option_nth(e->setup->options, "right", 0));
}

bool evaluation_show(evaluation *e, const evaluation_place *at)
{
    int64_t step = at->step;
    double  means[MOST_VALUES];
    figures f;
    if (!e->data) return true;
    TRY(mtf_evaluation_run(e->means, means) && check_right(e, means));
    make_figures(e, means, &f);
    TRY(add_decoded(e, step, &f));
    for (int i = 0; e->events && i < f.n; i++)
        if (f.list[i].event) TRY(events_scalar(e->events, step, f.list[i].event, f.list[i].value));
    for (int i = 0; i < f.n; i++)
        if (f.list[i].event)
            TRY(train_report_evaluation(e->report, step, f.list[i].json, f.list[i].value));
    TRY(shown_examples_report(&e->shown, &e->network, e->data, e->report));
    print_figures(e, at, "test ", &f);
    return true;
}

void evaluation_show_loss(const evaluation *e, const evaluation_place *at, double loss)
{
    figures f = {.n = 0};
    add_figure(&f, "loss", NULL, "loss %.6g", loss, loss);
    print_figures(e, at, "", &f);
}

bool evaluation_close(evaluation *e)
{
    bool ok = events_close(e->events);
    decoded_close(e->decoded);
    e->events = NULL;
    return ok;
}
