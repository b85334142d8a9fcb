/* The text of a configured model: options, objective, lengths. */
#include <stdio.h>
#include <string.h>

#include "base/printable.h"
#include "base/textbuf.h"
#include "cli/config_setup.h"
#include "data/text/text_option.h"

/* The default objective of a model of this type. */
static mtf_text_objective objective_of(const config_setup *c)
{
    switch (c->run.model_type) {
    case MTF_MODEL_LM: return MTF_TEXT_LM;
    case MTF_MODEL_DELIMITED_LM: return MTF_TEXT_DELIMITED;
    default: return MTF_TEXT_PAIRS;
    }
}

/* A colon of a name or a value separates nothing. */
static void add_escaped(textbuf *t, const char *text)
{
    for (; *text; text++) text_add(t, *text == ':' ? "\\%c" : "%c", *text);
}

/* A dataset of the files, in the syntax of the option. */
static const char *dataset_text(mtf_session *s, const mtf_config_dataset *d)
{
    const struct {
        const char *word, *value;
    } words[] = {{"format", d->format},
                 {"objective", d->objective},
                 {"documents", d->documents},
                 {"inputs", d->inputs},
                 {"targets", d->targets}};
    const struct {
        const char *word;
        bool        given;
    } flags[] = {{"joined", d->joined},
                 {"split", d->split_long},
                 {"pack", d->pack},
                 {"ends", d->ensure_end}};
    textbuf t = {.arena = &s->arena};
    add_escaped(&t, d->files);
    for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
        if (!words[k].value) continue;
        text_add(&t, ":%s=", words[k].word);
        add_escaped(&t, words[k].value);
    }
    for (size_t k = 0; k < sizeof flags / sizeof *flags; k++)
        if (flags[k].given) text_add(&t, ":%s", flags[k].word);
    if (d->seed) text_add(&t, ":seed=%llu", (unsigned long long)d->seed);
    if (d->noise > 0) text_add(&t, ":noise=%.17g", d->noise);
    if (d->mean_span > 0) text_add(&t, ":span=%.17g", d->mean_span);
    return text_done(&t);
}

/* Positions beyond those that a stack learns would be zeros.  Where rows are packed, their examples may
 * be short enough. */
static bool positions_fit(const config_setup *c, const mtf_stack_opts *stack, const char *side,
                          int64_t length, bool packed)
{
    static const char text[] =
        "run.sequence_length has %lld %s, but the model learns %lld positions; "
        "bind Unitransformer.max_length to %lld or more";
    long long learned = stack->max_length;
    bool      has = stack->layers && stack->positions == MTF_POSITIONS_LEARNED;
    if (!has || length <= learned) return true;
    if (!packed)
        return fail(&c->session->fault, ERR_VALUE, text, (long long)length, side, learned,
                    (long long)length);
    if (c->options->trial || !mtf_is_first(c->session)) return true;
    fputs("mtf: warning: ", stderr);
    fprintf(stderr, text, (long long)length, side, learned, (long long)length);
    fputs(", unless the packed texts are short\n", stderr);
    return true;
}

/* `flag` is the option that names the text; NULL: the configuration does. */
static bool objective_fits(const config_setup *c, const char *flag, mtf_text_objective o)
{
    const char *one = o == MTF_TEXT_LM                 ? "lm"
                      : o == MTF_TEXT_DELIMITED        ? "delimited"
                      : o == MTF_TEXT_PREFIX_DELIMITED ? "prefix_delimited"
                                                       : NULL;
    bool        encodes = c->described.model.encoder.layers != NULL;
    if (!one || (!encodes && !c->described.model.bidirectional)) return true;
    return fail(&c->session->fault, ERR_USAGE,
                "%s%s: objective=%s gives one sequence, but %s takes inputs and targets: "
                "objective=pairs%s",
                flag ? "--" : "", flag ? flag : "text_dataset.objective", one,
                encodes ? "an encoder-decoder" : "a model that labels its inputs",
                encodes ? ", spans or prefix" : "");
}

bool config_text_opts(config_setup *c, bool training, mtf_text_opts *o)
{
    const char *flag = training ? "text" : "eval-text", *text = option_nth(c->options, flag, 0);
    const mtf_config_dataset *named = training ? c->run.train_data : c->run.eval_data;
    *o = (mtf_text_opts){0};
    if (!text && named) text = dataset_text(c->session, named);
    if (!text && training)
        return fail(&c->session->fault, ERR_USAGE,
                    "a model of text needs text to train on: name it with --text FILES");
    if (!text) return mtf_ok(c->session);
    TRY(config_vocabularies(c) && text_option_parse(c->session, flag, text, o));
    if (!strstr(text, ":objective=")) o->objective = objective_of(c);
    TRY(objective_fits(c, option_given(c->options, flag) ? flag : NULL, o->objective));
    if (o->length || o->inputs_length)
        return fail(
            &c->session->fault, ERR_USAGE,
            "--%s: the files give the length of sequences; bind run.sequence_length instead of "
            ":length= and :inputs_length=",
            flag);
    o->length = c->run.targets_length;
    o->inputs_length = c->run.inputs_length;
    o->vocabulary = c->targets;
    if (c->inputs != c->targets) o->inputs_vocabulary = c->inputs;
    const mtf_transformer_opts *m = &c->described.model;
    return positions_fit(c, &m->encoder, "inputs", o->inputs_length, o->pack) &&
           positions_fit(c, &m->stack, "targets", o->length, o->pack);
}

bool config_shuffles(const config_setup *c)
{
    return option_given(c->options, "text") || !c->run.train_data || c->run.train_data->shuffle;
}

/* Whether the first line of a file has tabs; false for patterns and for what cannot be read here. */
static bool has_columns(const char *path)
{
    FILE *file = fopen(path, "r");
    int   c = 0;
    while (file && (c = getc(file)) != EOF && c != '\n' && c != '\t') continue;
    if (file) fclose(file);
    return c == '\t';
}

/* Of pairs, an objective of single texts takes a column alone: that is seldom meant. */
static void say_columns(const config_setup *c, const mtf_text_opts *o)
{
    bool one = o->objective != MTF_TEXT_PAIRS && o->objective != MTF_TEXT_DELIMITED;
    bool tsv = o->format ? strcmp(o->format, "tsv") == 0 : strstr(o->files, ".tsv") != NULL;
    bool both = c->described.model.encoder.layers || c->described.model.bidirectional;
    if (!one || !tsv || o->targets || c->options->trial || !mtf_is_first(c->session)) return;
    if (has_columns(o->files))
        printable_print(stderr,
                        "mtf: note: \"%s\" has several columns, but the objective takes single "
                        "texts: column 0 is read alone; :targets=1 names another, and objective=%s "
                        "takes inputs and targets\n",
                        o->files, both ? "pairs" : "delimited");
}

bool config_data(config_setup *c, bool training, mtf_dataset **data)
{
    mtf_text_opts o;
    *data = NULL;
    TRY(config_text_opts(c, training, &o));
    if (!o.files) return true;
    say_columns(c, &o);
    *data = mtf_text_open(c->session, &o);
    return *data != NULL;
}
