/* What mtf train and mtf eval share: the model, its data, its session. */
#include "cli/train_setup.h"

#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "cli/graph_file.h"
#include "mtf_train.h"

/* A file's network comes as it is; only the optimizer is a choice. */
static const model_option file_options[] = {{"optimizer", ""}, {"rate", ""}, {0}};
static const model        file_model = {.name = "a model file", .options = file_options};

static const option_spec model_specs[] = {
#include "model/model_options.h"
#undef MODEL_OPTION
    {0}};

static bool take_model(setup *s)
{
    const model *m = model_find(s->word);
    s->ready = m != NULL;
    s->settings = settings_of(s->session, m ? m : &file_model);
    for (const option_spec *spec = model_specs; spec->name; spec++) {
        const char *value = option_nth(s->options, spec->name, 0);
        if (value) TRY(settings_set(&s->settings, spec->name, value));
    }
    static const char *const of_files[] = {"loss", "right", "data", "eval-data"};
    for (size_t i = 0; m && i < sizeof of_files / sizeof *of_files; i++)
        if (option_given(s->options, of_files[i]))
            return fail(&s->session->fault, ERR_USAGE, "--%s is for model files; %s has its own",
                        of_files[i], m->name);
    return true;
}

bool setup_open(const options *o, setup *s)
{
    uint64_t seed = 0, threads = 0, memory = 0, patience = 0;
    *s = (setup){.options = o, .word = o->words[0]};
    if (!option_number(o, "seed", 0, UINT64_MAX, &seed) ||
        !option_number(o, "threads", 1, 1024, &threads) ||
        !option_number(o, "patience", 1, 1000000000, &patience) || !option_bytes(o, "memory", &memory))
        return false;
    s->session = file_session(&(mtf_session_opts){
        .seed = seed, .threads = (int)threads, .device = option_nth(o, "device", 0),
        .memory = (size_t)memory, .mesh = option_nth(o, "mesh", 0),
        .layout = option_nth(o, "layout", 0), .state_layout = option_nth(o, "state-layout", 0),
        .patience = (int)patience});
    return s->session && take_model(s);
}

/* ---- the network ------------------------------------------------------------------------ */

static bool file_network(setup *s, network *n)
{
    const char *loss = option_nth(s->options, "loss", 0), *right = option_nth(s->options, "right", 0);
    if (!s->text) s->text = file_text(s->session, s->word);
    TRY(s->text != NULL);
    *n = (network){.graph = file_parse(s->session, s->word, s->text)};
    TRY(n->graph != NULL);
    n->loss = file_find(n->graph, loss ? loss : "loss");
    if (right) n->right = file_find(n->graph, right);
    return n->loss && (!right || n->right);
}

bool setup_network(setup *s, bool training, network *n)
{
    *n = (network){.graph = NULL};
    return s->ready ? s->settings.model->build(&s->settings, training, n) : file_network(s, n);
}

/* ---- the data --------------------------------------------------------------------------- */

static bool bad_field(setup *s, const char *flag, const char *text)
{
    return fail(&s->session->fault, ERR_USAGE,
                "--%s takes NAME=FILES, then any of :format=F, :part=P, :scale=X and :length=N, not "
                "\"%s\"", flag, text);
}

/* "images=train-*.gz:format=idx:scale=0.0039" */
static bool read_field(setup *s, const char *flag, const char *text, mtf_field *f)
{
    char *copy = arena_text(&s->session->arena, text), *piece, *rest;
    TRY(copy != NULL);
    piece = strtok_r(copy, ":", &rest);
    char *equals = piece ? strchr(piece, '=') : NULL;
    if (!equals || equals == piece || !equals[1]) return bad_field(s, flag, text);
    *equals = 0;
    *f = (mtf_field){.name = piece, .files = equals + 1};
    while ((piece = strtok_r(NULL, ":", &rest)) != NULL) {
        char *end = "";
        if (strncmp(piece, "format=", 7) == 0) f->format = piece + 7;
        else if (strncmp(piece, "part=", 5) == 0) f->part = piece + 5;
        else if (strncmp(piece, "scale=", 6) == 0) f->scale = number_read(piece + 6, &end);
        else if (strncmp(piece, "length=", 7) == 0) f->length = strtoll(piece + 7, &end, 10);
        else return bad_field(s, flag, text);
        if (*end) return bad_field(s, flag, text);
    }
    return true;
}

static bool file_fields(setup *s, const char *flag, mtf_field fields[MOST_FIELDS])
{
    const char *text;
    int         n = 0;
    for (; (text = option_nth(s->options, flag, n)) != NULL; n++) {
        if (n == MOST_FIELDS - 1)
            return fail(&s->session->fault, ERR_USAGE, "--%s was given more than %d times", flag,
                        MOST_FIELDS - 1);
        TRY(read_field(s, flag, text, &fields[n]));
    }
    fields[n] = (mtf_field){.name = NULL};
    return true;
}

bool setup_data(setup *s, bool training, mtf_dataset **data)
{
    mtf_field fields[MOST_FIELDS] = {{.name = NULL}};
    *data = NULL;
    if (!s->ready)
        TRY(file_fields(s, training ? "data" : "eval-data", fields));
    else if (s->settings.model->fields)
        TRY(s->settings.model->fields(&s->settings, training, fields));
    if (!fields[0].name) return true;
    *data = mtf_dataset_open(s->session, fields);
    return *data != NULL;
}
