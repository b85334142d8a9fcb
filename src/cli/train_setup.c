/* What commands on models share: model, session, training step. */
#include "cli/train_setup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "base/printable.h"
#include "base/textbuf.h"
#include "cli/choices.h"
#include "cli/graph_file.h"
#include "cli/network_copy.h"
#include "cli/own_updates.h"
#include "cli/shared_options.h"
#include "data/field_text.h"
#include "mtf_train.h"
#include "ops/catalogue.h"

/* A file's network has no options; only the optimizer has. */
static const model_option file_settings[] = {{"optimizer", ""}, {"rate", ""}, {0}};
static const model        file_model = {.name = "a model file", .options = file_settings};

static const char *const of_files[] = {"loss", "right", "data", "eval-data"};

static bool is_of_files(const char *name)
{
    for (size_t i = 0; i < sizeof of_files / sizeof *of_files; i++)
        if (strcmp(of_files[i], name) == 0) return true;
    return false;
}

static bool is_in(const option_spec *table, const char *name)
{
    for (const option_spec *row = table; row->name || row->says; row++)
        if (row->name && strcmp(row->name, name) == 0) return true;
    return false;
}

static bool has_option(const model *m, const char *name)
{
    for (int i = 0; m->options[i].name; i++)
        if (strcmp(m->options[i].name, name) == 0) return true;
    return false;
}

bool setup_take(const options *o, mtf_session *session, setup *s)
{
    *s = (setup){.options = o, .session = session, .word = o->words[0]};
    const model *m = config_given(o) ? NULL : model_find(s->word);
    s->ready = m != NULL;
    if (config_given(o)) {
        s->config = arena_new(&session->arena, config_setup);
        TRY(s->config && config_open(o, session, false, s->config));
    }
    s->settings = settings_of(session, m ? m : &file_model);
    for (int i = 0; i < o->nvalues; i++) {
        const char *name = o->values[i].spec->name;
        bool        chosen = is_in(model_options, name) || has_option(&file_model, name);
        if (s->config && strcmp(name, "batch") == 0)
            continue; /* it was read together with the files */
        if (!m && is_in(model_options, name))
            return fail(&session->fault, ERR_USAGE,
                        "a model file has no option --%s; change the file instead", name);
        if (chosen) TRY(settings_set(&s->settings, name, o->values[i].value));
        if (m && is_of_files(name))
            return fail(&session->fault, ERR_USAGE, "--%s is for model files; %s has its own", name,
                        m->name);
        if (!s->config && (is_in(config_options, name) || is_in(config_data_options, name)))
            return fail(&session->fault, ERR_USAGE,
                        "--%s is for a configuration, which --gin_file names; there is none", name);
    }
    return step_read_options(s);
}

bool setup_open(const options *o, setup *s)
{
    int          status;
    mtf_session *session = choose_session(o, false, &status);
    price_rates  rates; /* also where nothing asks for them: a misspelt machine is an error */
    *s = (setup){.options = o};
    if (!session || !setup_take(o, session, s) || !choose_machine(o, session, &rates)) return false;
    s->peak = rates_peak(&rates);
    s->machine = rates.named;
    return true;
}

/* ---- help ------------------------------------------------------------------------------- */

bool setup_concerns(const option_spec *spec, const char *word, char *more, size_t room)
{
    const model *m = word ? model_find(word) : NULL;
    if (is_in(model_options, spec->name) && (!m || !has_option(m, spec->name))) return false;
    if (m && is_of_files(spec->name)) return false;
    for (int i = 0; m && m->options[i].name; i++)
        if (strcmp(m->options[i].name, spec->name) == 0 && *m->options[i].otherwise)
            snprintf(more, room, "; default %s", m->options[i].otherwise);
    return true;
}

void setup_list_models(const command *c, const char *word)
{
    if (word) return;
    print_help_heading("built-in models");
    for (int i = 0; model_nth(i); i++)
        printf("  %-13s  %s\n", model_nth(i)->name, model_nth(i)->says);
    printf("  mtf %s NAME --help lists the options of that model.\n", c->name);
}

/* ---- the network ------------------------------------------------------------------------ */

/* Checks that the names before the equals signs are inputs. */
static bool check_inputs(setup *s, const mtf_graph *g, const char *flag)
{
    const char *text;
    for (int i = 0; (text = option_nth(s->options, flag, i)) != NULL; i++) {
        char *name = arena_text(&s->session->arena, text), hint[100];
        bool  found = false;
        TRY(name != NULL);
        nearest near = {.wanted = name};
        name[strcspn(name, "=")] = 0;
        for (int t = 0; t < g->ntensors; t++) {
            if (!is_input(g->all[t])) continue;
            found = found || strcmp(tensor_name(g->all[t]), name) == 0;
            nearest_offer(&near, tensor_name(g->all[t]));
        }
        if (!found && strchr(text, '=') && *name)
            return fail(&s->session->fault, ERR_USAGE, "--%s %s: the model has no input \"%s\"%s",
                        flag, text, name, nearest_hint(&near, hint, sizeof hint));
    }
    return true;
}

static bool is_named(const setup *s, const char *flag, const char *input)
{
    const char *text;
    size_t      size = strlen(input);
    for (int i = 0; (text = option_nth(s->options, flag, i)) != NULL; i++)
        if (strncmp(text, input, size) == 0 && text[size] == '=') return true;
    return false;
}

bool setup_check_feeds(setup *s, bool training, const network *n)
{
    const char *flag = training ? "data" : "eval-data";
    mtf_tensor *fetches[] = {n->loss, training ? NULL : n->right};
    if (s->config || s->ready) return true;
    bool *needed = file_needs(n->graph, fetches[1] ? 2 : 1, fetches);
    TRY(needed != NULL);
    for (int i = 0; i < n->graph->ntensors; i++) {
        const mtf_tensor *x = n->graph->all[i];
        char              shape[SHAPE_TEXT];
        if (!is_input(x) || !needed[x->id] || is_named(s, flag, tensor_name(x))) continue;
        return fail(&s->session->fault, ERR_USAGE,
                    "input \"%s\", %s%s, has no data; name its files with --%s %s=FILES",
                    tensor_name(x), mtf_dtype_name(x->type), shape_text(&x->shape, shape), flag,
                    tensor_name(x));
    }
    return true;
}

/* Its mean over the examples is an accuracy. */
static bool tells_accuracy(const mtf_tensor *right)
{
    return mtf_shape_find(right->shape, "batch") == 0 && !dtype_is_f8(right->type);
}

static bool check_right(setup *s, const mtf_tensor *right)
{
    char text[SHAPE_TEXT];
    if (tells_accuracy(right)) return true;
    return fail(&s->session->fault, ERR_USAGE,
                "--right %s takes a tensor that says of each example whether it is right, bool or "
                "1 and 0, [batch] or [batch, ...]; \"%s\" is %s%s",
                option_nth(s->options, "right", 0), tensor_name(right), mtf_dtype_name(right->type),
                shape_text(&right->shape, text));
}

/* True or false for each example, as it is or as numbers. */
static bool is_verdict(const mtf_tensor *x)
{
    const node *n = x->node;
    bool        cast = n->op == &op_cast && n->in[0]->type == MTF_BOOL;
    return (x->type == MTF_BOOL || cast) && !is_input(x) && tells_accuracy(x);
}

/* The file's verdict of the name `right`, where --eval-data has all that it needs; NULL: there is none. */
static mtf_tensor *usual_right(const setup *s, mtf_graph *g)
{
    mtf_tensor *x = names_get(&g->tensors, "right"); /* mtf_find would fail */
    if (!x || x->node->home != &g->root || !is_verdict(x)) return NULL;
    const bool *needed = file_needs(g, 1, &x);
    for (int i = 0; needed && i < g->ntensors; i++)
        if (is_input(g->all[i]) && needed[i] && !is_named(s, "eval-data", tensor_name(g->all[i])))
            return NULL;
    return needed ? x : NULL;
}

/* The verdicts among the file's results, each after `before`; "" for none, NULL after an error. */
static const char *list_verdicts(mtf_graph *g, const char *before, const char *between)
{
    textbuf      t = {.arena = &g->session->arena};
    mtf_tensor **ends;
    int          n = file_ends(g, &ends);
    for (int i = 0; i < n; i++)
        if (is_verdict(ends[i]))
            text_add(&t, "%s%s%s", t.used ? between : "", before, tensor_name(ends[i]));
    const char *list = text_done(&t);
    return n < 0 || !list ? NULL : list;
}

/* mtf eval mentions which of the file's results may be an accuracy. */
static bool mention_verdicts(const setup *s, mtf_graph *g)
{
    const char *list = list_verdicts(g, "--right ", " or ");
    bool        evaluates = strcmp(s->options->command->name, "eval") == 0;
    if (list && *list && evaluates && mtf_is_first(s->session))
        printable_print(stderr, "mtf: note: %s tells the accuracy as well\n", list);
    return list != NULL;
}

/* --right names no tensor: says which may be meant, unless one is nearly called so. */
static bool no_right(const setup *s, mtf_graph *g)
{
    fault *f = &s->session->fault;
    char   text[sizeof f->text];
    option_blame(s->session, "right");
    if (strstr(f->text, "did you mean")) return false;
    snprintf(text, sizeof text, "%s", f->text + strlen("usage: "));
    fault_clear(f);
    const char *list = list_verdicts(g, "", " and ");
    bool        some = list && *list;
    return fail(f, ERR_USAGE, "%.700s%s%.200s%s", text, some ? "; of each example " : "",
                some ? list : "", some ? " is true or false" : "");
}

static bool file_network(setup *s, network *n)
{
    const char *loss = option_nth(s->options, "loss", 0),
               *right = option_nth(s->options, "right", 0);
    if (!s->text) s->text = file_text(s->session, s->word);
    TRY(s->text != NULL);
    *n = (network){.graph = file_parse(s->session, s->word, s->text)};
    TRY(n->graph != NULL && check_inputs(s, n->graph, "data") &&
        check_inputs(s, n->graph, "eval-data"));
    n->loss = file_find(n->graph, loss ? loss : "loss");
    if (!n->loss) return option_blame(s->session, "loss");
    n->right = right ? file_find(n->graph, right) : usual_right(s, n->graph);
    if (right && !n->right) return no_right(s, n->graph);
    if (!n->right) return mention_verdicts(s, n->graph);
    return check_right(s, n->right);
}

bool setup_network(setup *s, bool training, network *n)
{
    const options *o = s->options;
    *n = (network){.graph = NULL};
    TRY(s->config  ? config_network(s->config, training, n)
        : s->ready ? s->settings.model->build(&s->settings, training, n)
                   : file_network(s, n) && (training || own_updates_drop(s->options, n)));
    bool averages = !training && (option_given(o, "average") || option_given(o, "averages"));
    return !averages || network_use_averages(n);
}

/* ---- the data --------------------------------------------------------------------------- */

static bool file_fields(setup *s, const char *flag, mtf_field fields[MOST_FIELDS])
{
    const char *text;
    int         n = 0;
    for (; (text = option_nth(s->options, flag, n)) != NULL; n++) {
        if (n == MOST_FIELDS - 1)
            return fail(&s->session->fault, ERR_USAGE, "--%s was given more than %d times", flag,
                        MOST_FIELDS - 1);
        TRY(field_parse(s->session, flag, text, &fields[n]));
    }
    fields[n] = (mtf_field){.name = NULL};
    return true;
}

/* Whoever lacks the files of a built-in model is told which they are. */
static mtf_dataset *open_fields(setup *s, const mtf_field *fields)
{
    mtf_dataset *data = mtf_dataset_open(s->session, fields);
    const char  *reads = s->settings.model->reads, *text = s->session->fault.text;
    if (data || !reads || !strstr(text, "no file matches")) return data;
    char *sentence = arena_text(&s->session->arena, text + strcspn(text, " ") + 1);
    fault_clear(&s->session->fault);
    fail(&s->session->fault, ERR_FILE, "%s; --data-dir DIR names a folder with %s",
         sentence ? sentence : "files are missing", reads);
    return NULL;
}

bool setup_data(setup *s, bool training, mtf_dataset **data)
{
    mtf_field fields[MOST_FIELDS] = {{.name = NULL}};
    *data = NULL;
    if (s->config) return config_data(s->config, training, data);
    if (!s->ready)
        TRY(file_fields(s, training ? "data" : "eval-data", fields));
    else if (s->settings.model->data)
        return s->settings.model->data(&s->settings, training, data);
    else if (s->settings.model->fields)
        TRY(s->settings.model->fields(&s->settings, training, fields));
    if (!fields[0].name) return true;
    *data = open_fields(s, fields);
    return *data != NULL;
}
