/* mtf run: feeds a graph, runs it, outputs results. */
#include <stdio.h>
#include <string.h>

#include "base/printable.h"
#include "base/put_file.h"
#include "cli/analyze.h"
#include "cli/choices.h"
#include "cli/commands.h"
#include "cli/feed_file.h"
#include "cli/graph_file.h"
#include "cli/json_out.h"
#include "cli/load_step.h"
#include "cli/own_updates.h"
#include "cli/shared_options.h"
#include "cli/show_values.h"
#include "cli/train_setup.h"
#include "data/field_text.h"
#include "run/compiled.h"
#include "run/npy.h"

/* One --fetch NAME[=FILE]. */
typedef struct port_option {
    const char *name; /* as the user wrote it: a tensor may have two names */
    mtf_tensor *tensor;
    const char *file; /* NULL: print it */
} port_option;

typedef struct job {
    const options *options;
    mtf_session   *session;
    mtf_graph     *graph;
    mtf_program   *program;
    feed_file     *feeds;
    port_option   *fetches;
    int            nfeeds, nfetches;
    mtf_tensor   **list; /* the fetched tensors, each once */
    int            nlist;
    bool          *needed; /* by tensor id */
    uint64_t       steps;
    int64_t        checkpoint; /* the step that is loaded */
} job;

/* ---- names ------------------------------------------------------------------------------ */

/* Splits the n-th "--fetch NAME=FILE"; false after the last one and after an error. */
static bool split_fetch(job *j, int n, const char **name, const char **file)
{
    const char *text = option_nth(j->options, "fetch", n);
    if (!text || !mtf_ok(j->session)) return false;
    char *copy = arena_text(&j->session->arena, text), *equals;
    TRY(copy != NULL);
    equals = strchr(copy, '=');
    if (equals) *equals = 0;
    *name = copy;
    *file = equals ? equals + 1 : NULL;
    if (!*copy || (equals && !equals[1]))
        return fail(&j->session->fault, ERR_USAGE,
                    "--fetch takes NAME or NAME=FILE.npy, not \"%s\"", text);
    return true;
}

static bool not_an_input(job *j, const mtf_tensor *x)
{
    textbuf t = {.arena = &j->session->arena};
    for (int i = 0; i < j->graph->ntensors; i++)
        if (is_input(j->graph->all[i]))
            text_add(&t, "%s\"%s\"", t.used ? ", " : "", tensor_name(j->graph->all[i]));
    const char *inputs = text_done(&t);
    return fail(&j->session->fault, ERR_USAGE,
                "--feed %s: \"%s\" is not an input but the result of %s; the file's inputs: %s",
                tensor_name(x), tensor_name(x), x->node->op->name,
                inputs && *inputs ? inputs : "none");
}

static bool find_feeds(job *j)
{
    const char *text;
    for (int i = 0; (text = option_nth(j->options, "feed", i)) != NULL; i++) {
        feed_file *f = &j->feeds[i];
        TRY(field_parse(j->session, "feed", text, &f->from));
        mtf_tensor *x = f->tensor = file_find(j->graph, f->from.name);
        if (!x) return option_blame(j->session, "feed");
        if (!is_input(x)) return not_an_input(j, x);
        for (int k = 0; k < i; k++)
            if (j->feeds[k].tensor == x)
                return fail(&j->session->fault, ERR_USAGE, "--feed %s was given twice",
                            f->from.name);
        j->nfeeds++;
    }
    return true;
}

static bool find_fetches(job *j)
{
    const char *name, *file;
    for (int i = 0; split_fetch(j, i, &name, &file); i++) {
        mtf_tensor *x = file_find(j->graph, name);
        if (!x) return option_blame(j->session, "fetch");
        TRY(option_names_file(j->session, "fetch", option_nth(j->options, "fetch", i), file,
                              "what is printed"));
        TRY(!file || !mtf_is_first(j->session) || put_file_check(&j->session->fault, file));
        j->fetches[j->nfetches++] = (port_option){name, x, file};
    }
    TRY(mtf_ok(j->session));
    if (j->nfetches == 0) {
        mtf_tensor *last = file_last(j->graph);
        if (!last)
            return fail(&j->session->fault, ERR_NAME, "\"%s\" names no tensor to compute",
                        j->options->words[0]);
        j->fetches[j->nfetches++] = (port_option){tensor_name(last), last, NULL};
    }
    return true;
}

/* ---- feeding ---------------------------------------------------------------------------- */

static bool check_feeds(job *j)
{
    for (int i = 0; i < j->graph->ntensors; i++) {
        const mtf_tensor *x = j->graph->all[i];
        bool              fed = !is_input(x) || !j->needed[x->id];
        for (int k = 0; k < j->nfeeds && !fed; k++) fed = j->feeds[k].tensor == x;
        char text[SHAPE_TEXT];
        if (!fed)
            return fail(&j->session->fault, ERR_USAGE,
                        "input \"%s\", %s%s, has no value; give it one with --feed %s=FILES",
                        tensor_name(x), mtf_dtype_name(x->type), shape_text(&x->shape, text),
                        tensor_name(x));
    }
    return true;
}

static bool feed_all(job *j)
{
    for (int i = 0; i < j->nfeeds; i++) {
        mtf_tensor *x = j->feeds[i].tensor;
        void       *data = feed_file_read(j->session, j->feeds, j->nfeeds, i);
        bool        ok = data && (!j->needed[x->id] || mtf_feed(j->program, x, data));
        block_free(&j->session->allocator, data);
        TRY(ok);
    }
    return true;
}

/* ---- running ---------------------------------------------------------------------------- */

static bool compile(job *j)
{
    j->list = arena_array(&j->session->arena, mtf_tensor *, j->nfetches);
    TRY(j->list != NULL);
    for (int i = 0; i < j->nfetches; i++) { /* one tensor may be printed and written */
        bool listed = false;
        for (int k = 0; k < j->nlist; k++) listed |= j->list[k] == j->fetches[i].tensor;
        if (!listed) j->list[j->nlist++] = j->fetches[i].tensor;
    }
    j->needed = file_needs(j->graph, j->nlist, j->list);
    TRY(j->needed != NULL && check_feeds(j));
    if (option_given(j->options, "analyze")) graph_name_all(j->graph); /* as mtf plan names them */
    j->program = mtf_compile_n(j->graph, j->nlist, j->list);
    return j->program != NULL;
}

static bool print_value(job *j, const port_option *fetch, const void *data)
{
    const mtf_tensor *x = fetch->tensor;
    arena_mark        mark = arena_here(&j->session->arena);
    textbuf           t = {.arena = &j->session->arena};
    value_show(&t, fetch->name, x->type, &x->shape, data);
    const char *text = text_done(&t);
    if (text) printable_put(stdout, text);
    arena_back(&j->session->arena, mark);
    return text != NULL;
}

static bool write_file(job *j, const port_option *fetch, const void *data)
{
    const mtf_shape *shape = &fetch->tensor->shape;
    int64_t          sizes[MTF_SHAPE_ROOM];
    for (int i = 0; i < shape->ndims; i++) sizes[i] = shape->dims[i].size;
    return npy_write(j->session, fetch->file, fetch->tensor->type, shape->ndims, sizes, data);
}

/* One object for each name, even where a value is both printed and written. */
static bool add_value(job *j, const port_option *fetch, cJSON *fetches, const void *data)
{
    cJSON *value = cJSON_GetObjectItemCaseSensitive(fetches, fetch->name);
    if (!value) {
        value = json_object(fetches, fetch->name);
        json_type_and_shape(value, fetch->tensor);
    }
    if (fetch->file)
        json_text(value, "file", fetch->file);
    else if (!cJSON_HasObjectItem(value, "data"))
        return json_data(value, j->session, fetch->tensor, data);
    return true;
}

static bool give_out(job *j, const port_option *fetch, cJSON *fetches)
{
    const mtf_tensor *x = fetch->tensor;
    size_t            bytes = (size_t)mtf_shape_size(x->shape) * mtf_dtype_bytes(x->type);
    void             *data = block_alloc(&j->session->allocator, &j->session->fault, bytes, false);
    TRY(data != NULL);
    bool ok = mtf_fetch(j->program, fetch->tensor, data);
    if (ok && fetch->file && mtf_is_first(j->session)) ok = write_file(j, fetch, data);
    if (ok && fetches)
        ok = add_value(j, fetch, fetches, data);
    else if (ok && !fetch->file)
        ok = print_value(j, fetch, data);
    block_free(&j->session->allocator, data);
    return ok;
}

static bool give_out_all(job *j)
{
    cJSON *root = option_given(j->options, "json") ? cJSON_CreateObject() : NULL;
    cJSON *fetches = root ? json_object(root, "fetches") : NULL;
    bool   ok = true;
    for (int i = 0; i < j->nfetches && ok; i++) ok = give_out(j, &j->fetches[i], fetches);
    if (ok && option_given(j->options, "analyze")) ok = analyze_run(j->options, j->program, root);
    if (!root || !ok) {
        cJSON_Delete(root);
        return ok;
    }
    mtf_cost cost = mtf_program_cost(j->program);
    json_cost(root, &cost);
    return json_print(j->session, root);
}

/* Variables as a checkpoint has them; without one they have their initial values. */
static bool load(job *j)
{
    const char *folder = option_nth(j->options, "checkpoint-dir", 0);
    if (!folder) return true;
    if (first_program(j->program)->nvariables == 0)
        return fail(&j->session->fault, ERR_USAGE,
                    "--checkpoint-dir: nothing that is fetched depends on a variable");
    return load_step(j->session, folder, j->checkpoint, (mtf_load_opts){.convert = true}, NULL);
}

static bool run_job(job *j)
{
    network     n;
    mtf_tensor *rate;
    j->graph = setup_graph(j->options, j->session, &n, &rate);
    TRY(j->graph != NULL);
    j->feeds = arena_array(&j->session->arena, feed_file, j->options->nvalues + 1);
    j->fetches = arena_array(&j->session->arena, port_option, j->options->nvalues + 1);
    TRY(j->feeds && j->fetches);
    TRY(find_feeds(j) && find_fetches(j) && compile(j) && load(j) && feed_all(j));
    if (option_given(j->options, "checkpoint-dir")) own_updates_mention(j->options, j->graph);
    for (uint64_t i = 0; i < j->steps; i++) TRY(mtf_step(j->program));
    return give_out_all(j);
}

/* ---- the command ------------------------------------------------------------------------ */

static int run(const options *o)
{
    uint64_t steps = 1, step = 0;
    int      status;
    if (!option_number(o, "steps", 1, INT64_MAX, &steps) ||
        !option_number(o, "step", 0, INT64_MAX, &step))
        return STATUS_USAGE;
    if (option_given(o, "step") && !option_given(o, "checkpoint-dir"))
        return usage_error(o->command, "--step names a checkpoint: add --checkpoint-dir DIR");
    if (option_given(o, "all") && !option_given(o, "analyze"))
        return usage_error(o->command, "--all is about the table of --analyze: add --analyze");
    job j = {.options = o,
             .steps = steps,
             .checkpoint = option_given(o, "step") ? (int64_t)step : NEWEST};
    j.session = choose_session(o, option_given(o, "analyze"), &status);
    if (!j.session) return status;
    run_job(&j);
    return close_session(j.session);
}

static const option_spec table[] = {
    OPTION_GROUP("what goes in and out"),
    {"feed", "NAME=FILES[:...]", true,
     "the input NAME: a NumPy file, or rows of another, as --data of mtf train; " FIELD_WORDS},
    {"fetch", "NAME[=FILE.npy]", true, "write the tensor NAME to a file, or print it",
     .writes = true},
    {"steps", "N", false, "run N times; variables keep their values in between; default 1"},
    {"checkpoint-dir", "DIR", false,
     "variables as mtf train saved them there; default: their initial values"},
    {"step", "N", false, "the checkpoint of this step; default: the newest"},
    {"json", NULL, false, "print values and cost as JSON"},
    OPTION_TABLE(mesh_options),
    {"analyze", NULL, false, "compare with the plan: bytes, flops and memory must be equal"},
    {"all", NULL, false, "with --analyze: show every instruction"},
    OPTION_TABLE(running_options),
    {0},
};

static const char *const examples[] = {
    "mtf run model.mtf --feed x=x.npy --fetch y",
    "mtf run run --feed x=points.csv:part=a,b --fetch y=y.npy",
    "mtf run model.mtf --checkpoint-dir run --step 600 --feed x=x.npy --fetch y",
    "mtf run train.mtf --feed images=i.npy --feed labels=l.npy --steps 100 --fetch loss",
    "mtf run model.mtf --feed x=x.npy --mesh rows:2,cols:2 --layout batch:rows,hidden:cols "
    "--analyze",
    "mtf run model.mtf --feed x=x.npy --fetch y=y.npy --fetch dw=dw.npy --device check",
    "mpirun -n 4 mtf run model.mtf --mesh x:4 --layout batch:x --feed x=x.npy --fetch y=y.npy",
    NULL,
};

const command command_run = {
    .name = "run",
    .says = "run a graph on NumPy files, and print or write what it computes",
    .words = "FILE.mtf|FOLDER",
    .least = 1,
    .most = 1,
    .from_folder = true,
    .options = table,
    .examples = examples,
    .teaches =
        "Every input that the fetched tensors depend on needs a --feed.  A NumPy file has the\n"
        "input's element type, and its sizes in the order of the input's dimensions; other files,\n"
        "such as tables, have a row for each element of the first dimension.  Without --fetch the\n"
        "last tensor of the file is printed.  Assignments and prints in the file happen in every\n"
        "step; what is assigned is lost when the command ends.  bf16 files hold two opaque bytes "
        "an\n"
        "element, \"<V2\", and f8 files one, \"|V1\", as NumPy has no such types.\n"
        "\n"
        "FOLDER is where mtf train --checkpoint-dir saved the model of a file: it has the file "
        "and\n"
        "the values of the variables.  FILE.mtf may be - for standard input.",
    .run = run,
};
