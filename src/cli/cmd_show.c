/* mtf show: prints a graph or its compiled program. */
#include <stdio.h>
#include <string.h>

#include "base/printable.h"
#include "cli/choices.h"
#include "cli/commands.h"
#include "cli/graph_file.h"
#include "cli/json_out.h"
#include "cli/shared_options.h"
#include "cli/show_values.h"
#include "cli/train_setup.h"
#include "plan/plan.h"
#include "run/settle.h"

/* ---- the graph as JSON ------------------------------------------------------------------ */

static void json_names(cJSON *to, const char *key, int n, mtf_tensor *const *xs)
{
    cJSON *list = json_list(to, key);
    for (int i = 0; i < n; i++) json_append(list, tensor_name(xs[i]));
}

/* The value of an attribute in .mtf syntax; NULL where it has none. */
static const char *attr_text(const node *n, int i)
{
    const attr_spec *spec = &n->op->attrs[i];
    const attr      *a = &n->attrs[i];
    textbuf          t = {.arena = &n->graph->session->arena};
    if (spec->kind == ATTR_SHAPE) return NULL; /* the outputs show it */
    if (spec->kind != ATTR_DATA) {
        attr_write(spec->kind, a, &t);
        return text_done(&t);
    }
    mtf_dtype type = n->nout ? n->out[0]->type : MTF_F32;
    int64_t   count = (int64_t)(a->data.bytes / mtf_dtype_bytes(type));
    text_add(&t, "{");
    for (int64_t k = 0; k < count; k++) {
        if (k) text_add(&t, ", ");
        value_write(&t, type, a->data.v, k);
    }
    text_add(&t, "}");
    return text_done(&t);
}

static void json_nodes(cJSON *to, const block *b);

static void json_blocks(cJSON *to, const node *n)
{
    if (!n->op->blocks) return;
    cJSON *list = json_list(to, "blocks");
    for (int i = 0; n->op->blocks[i]; i++) {
        const block *b = n->blocks[i];
        cJSON       *item = cJSON_CreateObject();
        json_text(item, "name", n->op->blocks[i]);
        json_names(item, "parameters", b->nparams, b->params);
        json_nodes(item, b);
        json_names(item, "results", b->nresults, b->results);
        if (!cJSON_AddItemToArray(list, item)) cJSON_Delete(item);
    }
}

static cJSON *json_node(const node *n)
{
    cJSON *item = cJSON_CreateObject();
    json_text(item, "name", n->nout ? tensor_name(n->out[0]) : "");
    json_text(item, "op", n->op->name);
    json_names(item, "inputs", n->nargs, n->in);
    if (n->nin > n->nargs) json_names(item, "captures", n->nin - n->nargs, n->in + n->nargs);
    cJSON *attributes = json_object(item, "attributes");
    for (int i = 0; n->op->attrs && n->op->attrs[i].name; i++) {
        const char *text = attr_text(n, i);
        if (text) json_text(attributes, n->op->attrs[i].name, text);
    }
    cJSON *outputs = json_list(item, "outputs");
    for (int i = 0; i < n->nout; i++) {
        if (n->out[i]->hidden && !n->out[i]->name) continue;
        cJSON *output = cJSON_CreateObject();
        json_text(output, "name", tensor_name(n->out[i]));
        json_type_and_shape(output, n->out[i]);
        if (!cJSON_AddItemToArray(outputs, output)) cJSON_Delete(output);
    }
    json_blocks(item, n);
    return item;
}

static void json_nodes(cJSON *to, const block *b)
{
    cJSON *nodes = json_list(to, "nodes");
    for (int i = 0; i < b->nnodes; i++) {
        if (b->nodes[i]->op == &op_param) continue;
        cJSON *item = json_node(b->nodes[i]);
        if (!cJSON_AddItemToArray(nodes, item)) cJSON_Delete(item);
    }
}

/* ---- the program ------------------------------------------------------------------------ */

/* The lines of the listing that are instructions, without comments. */
static void json_instructions(cJSON *to, char *listing)
{
    cJSON *list = json_list(to, "instructions");
    char  *rest = listing, *line;
    while ((line = strsep(&rest, "\n")) != NULL) {
        line += strspn(line, " ");
        if (*line && *line != '#') json_append(list, line);
    }
}

/* Only plans the program: it may be far too large for this machine's memory. */
static bool show_program(const options *o, mtf_graph *g, int n, mtf_tensor *const *fetches)
{
    mtf_session *s = g->session;
    choice       c;
    price_rates  rates;
    int          number = 0;
    TRY(choose_planned_machine(o, s, &rates) && choose_mesh(o, g, n, fetches, &rates, &c) &&
        choose_processor(o, s, &c.mesh, &number));
    TRY(settle_tell(s, &c.layout));
    program *p =
        plan_program(c.planned.graph, n, c.planned.fetches,
                     &(plan_opts){.layout = &c.layout, .here = mesh_place(&c.mesh, number)});
    TRY(p != NULL);
    textbuf t = {.arena = &s->arena};
    program_write(p, devices_way(p->session), &t);
    mtf_cost cost = p->cost;
    program_free(p);
    char *listing = text_done(&t);
    TRY(listing != NULL);
    if (!option_given(o, "json")) {
        printable_put(stdout, listing);
        return true;
    }
    cJSON *root = cJSON_CreateObject();
    json_names(root, "fetches", n, fetches);
    json_cost(root, &cost);
    json_instructions(root, listing);
    return json_print(s, root);
}

static bool show_graph(const options *o, mtf_graph *g)
{
    if (option_given(o, "json")) {
        cJSON *root = cJSON_CreateObject();
        json_nodes(root, &g->root);
        if (!mtf_ok(g->session)) {
            cJSON_Delete(root);
            return false;
        }
        return json_print(g->session, root);
    }
    const char *text = mtf_print(g);
    TRY(text != NULL);
    printable_put(stdout, text);
    return true;
}

/* ---- the command ------------------------------------------------------------------------ */

static int run(const options *o)
{
    bool     as_program = option_given(o, "program");
    uint64_t ignored;
    if (!as_program && option_given(o, "fetch"))
        return usage_error(o->command, "--fetch chooses what a program computes: add --program");
    static const char *const placed[] = {"mesh",   "layout", "state-layout", "machine",
                                         "device", "tf32",   "processor"};
    for (size_t i = 0; i < sizeof placed / sizeof *placed; i++)
        if (!as_program && option_typed(o, placed[i]))
            return usage_error(o->command, "--%s is about a program: add --program", placed[i]);
    if (!option_number(o, "processor", 0, MAX_PROCESSORS - 1, &ignored)) return STATUS_USAGE;
    mtf_session *s = planning_session(o);
    if (!s) return STATUS_FAILED;
    mtf_tensor **fetches;
    int          n;
    mtf_graph   *g = setup_plan(o, s, &n, &fetches);
    if (g && as_program)
        show_program(o, g, n, fetches);
    else if (g)
        show_graph(o, g);
    return close_session(s);
}

static const option_spec table[] = {
    OPTION_GROUP("what is shown"),
    {"program", NULL, false, "print the program with its cost: flops, bytes moved, memory"},
    {"fetch", "NAME", true, "with --program: compute NAME only, not everything"},
    {"processor", "N", false, "with --program: whose program; default 0"},
    {"json", NULL, false, "print JSON instead of text"},
    OPTION_TABLE(mesh_options),
    OPTION_TABLE(planning_options),
    OPTION_TABLE(step_options),
    {0},
};

static const char *const examples[] = {
    "mtf show model.mtf",
    "mtf show train.mtf --program",
    "mtf show model.mtf --program --fetch loss --json",
    "mtf show train.mtf --program --mesh rows:2,cols:2 --layout batch:rows,hidden:cols --processor "
    "3",
    NULL,
};

const command command_show = {
    .name = "show",
    .says = "print a graph with all shapes, or the program it becomes and its cost",
    .words = "NAME|FILE.mtf|FOLDER|--gin_file FILE",
    .least = 1,
    .most = 1,
    .from_folder = true,
    .options = table,
    .examples = examples,
    .teaches =
        "The graph is printed with every nested call and composite operation resolved, and with\n"
        "the type and shape of every result; the text is itself a .mtf file for the same graph.\n"
        "A program is what one step does: instructions on buffers.  Its flops, bytes and memory\n"
        "are exact, and nothing runs.  Options of a program's mesh need --program.  Which step a\n"
        "model has is as in mtf plan.  FILE.mtf may be - for standard input.",
    .run = run,
    .concerns = setup_concerns,
    .adds = setup_list_models,
};
