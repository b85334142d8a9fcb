/* mtf layout: finds the best layout, and compares the others. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/printable.h"
#include "base/put_file.h"
#include "base/units.h"
#include "cli/choices.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/graph_file.h"
#include "cli/json_out.h"
#include "cli/plan_text.h"
#include "cli/replicas.h"
#include "cli/shared_options.h"
#include "cli/train_setup.h"
#include "page/layout_page.h"
#include "price/decline.h"
#include "search/reasons.h"

typedef struct job {
    const options   *options;
    mtf_session     *session;
    mtf_graph       *graph;
    mtf_tensor     **fetches;
    int              nfetches;
    automatic_opts   opts;
    site             site;
    automatic_answer answer;
    seen_layouts     seen; /* for a page */
} job;

/* ---- text ---- */

/* "1.4 %"; no less than 0.01 %, which is as good as nothing. */
static void write_share(double share, textbuf *t)
{
    text_add(t, share < 0.99 ? "%.2g %%" : "%.0f %%", share < 1e-4 ? 0.01 : 100 * share);
}

static void write_proof(const job *j, textbuf *t)
{
    const search_answer *a = &j->answer.search;
    if (a->gap == 0)
        text_add(t, "optimal");
    else if (a->gap < 1)
        text_add(t, "within "), write_share(a->gap, t), text_add(t, " of the optimum");
    else
        text_add(t, "the distance from the optimum is unknown");
    text_add(t, ": %lld legal layout%s looked at, %d priced as programs", (long long)a->considered,
             a->considered == 1 ? "" : "s", a->priced);
    if (j->answer.meshes > 1) text_add(t, ", on the best of %d meshes", j->answer.meshes);
    if (a->layers_left_out) {
        text_add(t, "; %d of the equal layers were left out, which misses the step's time by %s",
                 a->layers_left_out, a->reduced_error < 1e-4 ? "less than " : "");
        write_share(a->reduced_error, t);
    }
    if (a->late) text_add(t, "; the search stopped after its time limit");
    if (j->graph->batch.name) {
        text_add(t, "; for a batch of %lld", (long long)j->graph->batch.size);
        replicas_write(j->options, j->graph->batch.size, t);
        if (j->graph->parts > 1) text_add(t, " in %lld micro-batches", (long long)j->graph->parts);
    }
    text_add(t, "\n");
}

/* The options that give the layout. */
static void write_layout(const job *j, const found_layout *x, textbuf *t)
{
    if (j->answer.mesh_found || j->options->mesh_found)
        text_add(t, "--mesh %s --layout ", x->mesh_text);
    text_add(t, "%s", *x->layout_text ? x->layout_text : "nothing cut");
    if (*x->state_text) text_add(t, " --state-layout %s", x->state_text);
}

static bool costs_the_same(const cost *a, const cost *b)
{
    return a->peak == b->peak && fabs(a->seconds - b->seconds) <= SAME_PRICE * b->seconds;
}

static bool write_reason(job *j, int k, textbuf *t)
{
    int                 like = k;
    const found_layout *best = &j->answer.best[0], *x = &j->answer.best[k];
    int64_t             more = x->cost.peak - best->cost.peak;
    double              longer = x->cost.seconds - best->cost.seconds;
    bool                as_fast = longer <= SAME_PRICE * best->cost.seconds;
    text_add(t, "   ");
    while (like > 0 && costs_the_same(&x->cost, &j->answer.best[like - 1].cost)) like--;
    if (like < k) {
        text_add(t, "as good as ");
        write_layout(j, &j->answer.best[like], t);
        text_add(t, ": the same time and memory");
    } else if (j->opts.smallest && more > 0)
        text_add(t, "needs %s more", unit_bytes(more).s);
    else if (j->opts.smallest)
        text_add(t, "as small, but takes %s longer", unit_seconds(longer).s);
    else if (as_fast)
        text_add(t, "as fast, but needs %s more", unit_bytes(more).s);
    else
        return reason_write(j->graph, j->nfetches, j->fetches, &j->opts.rates, best, x, t);
    return true;
}

static bool print_answer(job *j)
{
    textbuf t = {.arena = &j->session->arena};
    write_proof(j, &t);
    if (setup_leaves_training(j->options, j->graph)) plan_write_results_only(&t);
    text_add(&t, "\n%9s %9s %9s %9s  %s\n", "time", "wire", "memory", "sent", "layout");
    for (int k = 0; k < j->answer.n; k++) {
        const found_layout *x = &j->answer.best[k];
        text_add(&t, "%9s", unit_seconds(x->cost.seconds).s);
        text_add(&t, " %9s", unit_seconds(x->cost.wire).s);
        text_add(&t, " %9s", unit_bytes(x->cost.peak).s);
        text_add(&t, " %9s  ", unit_bytes(x->cost.sent).s);
        write_layout(j, x, &t);
        text_add(&t, "\n");
        for (int r = 0; r < x->layout.ndeclined; r++) {
            text_add(&t, "%41s", "");
            decline_write(&x->layout.declined[r], &t);
            text_add(&t, "\n");
        }
        if (k == 0) continue;
        text_add(&t, "%41s", "");
        TRY(write_reason(j, k, &t));
        text_add(&t, "\n");
    }
    const char *text = text_done(&t);
    if (text) printable_put(stdout, text);
    return text != NULL;
}

/* ---- JSON ---- */

static bool print_json(job *j)
{
    const search_answer *a = &j->answer.search;
    cJSON               *root = cJSON_CreateObject(), *list = json_list(root, "layouts");
    json_flag(root, "optimal", a->gap == 0);
    cJSON_AddNumberToObject(root, "gap", a->gap);
    cJSON_AddNumberToObject(root, "bound", a->bound);
    json_int(root, "considered", a->considered);
    json_int(root, "priced", a->priced);
    json_int(root, "meshes", j->answer.meshes);
    if (j->graph->batch.name) json_int(root, "batch", j->graph->batch.size);
    if (j->graph->batch.name) json_int(root, "microbatches", j->graph->parts);
    for (int k = 0; k < j->answer.n; k++) {
        const found_layout *x = &j->answer.best[k];
        cJSON              *item = cJSON_CreateObject();
        textbuf             t = {.arena = &j->session->arena};
        json_text(item, "mesh", x->mesh_text);
        json_text(item, "layout", x->layout_text);
        json_text(item, "state_layout", x->state_text);
        cJSON_AddNumberToObject(item, "seconds", x->cost.seconds);
        cJSON_AddNumberToObject(item, "wire_seconds", x->cost.wire);
        json_int(item, "peak_bytes", x->cost.peak);
        json_int(item, "sent_bytes", x->cost.sent);
        if (k && write_reason(j, k, &t)) json_text(item, "loses_by", text_done(&t) + 3);
        if (!cJSON_AddItemToArray(list, item)) cJSON_Delete(item);
    }
    return json_print(j->session, root);
}

/* ---- a page ---- */

static bool write_page(job *j)
{
    textbuf proof = {.arena = &j->session->arena}, line = {.arena = &j->session->arena};
    write_proof(j, &proof);
    command_line_write(j->options, &line);
    layout_story story = {.what = j->options->words[0],
                          .proof = text_done(&proof),
                          .mesh = j->opts.mesh,
                          .rates = &j->opts.rates,
                          .command = text_done(&line),
                          .seen = &j->seen,
                          .best = &j->answer.best[0],
                          .smallest = j->opts.smallest,
                          .limit = j->opts.limit};
    for (int k = 0; k < j->answer.n; k++) {
        textbuf t = {.arena = &j->session->arena};
        TRY(k == 0 || write_reason(j, k, &t));
        TRY(seen_add_best(&j->seen, &j->answer.best[k], k ? text_done(&t) + 3 : NULL));
    }
    return story.proof && story.command && layout_page(&story, option_nth(j->options, "html", 0));
}

/* ---- the command ------------------------------------------------------------------------ */

static bool search_file(job *j)
{
    const options *o = j->options;
    const char    *html = option_nth(o, "html", 0);
    TRY(!html || strcmp(html, "-") == 0 || put_file_check(&j->session->fault, html));
    TRY(choose_planned_machine(o, j->session, &j->opts.rates));
    TRY(choose_site(o, j->session, &j->opts.rates, &j->site));
    if (!j->opts.limit) j->opts.limit = (int64_t)j->opts.rates.capacity;
    j->graph = setup_plan(o, j->session, &j->nfetches, &j->fetches);
    TRY(j->graph != NULL);
    if (html) {
        j->seen.session = j->session;
        j->opts.tell = seen_add;
        j->opts.context = &j->seen;
    }
    TRY(automatic_find(j->graph, j->nfetches, j->fetches, &j->opts, &j->answer));
    if (html) return write_page(j);
    return option_given(o, "json") ? print_json(j) : print_answer(j);
}

static int run(const options *o)
{
    uint64_t    limit = 0, show = 5, seconds = 0, axes = 0;
    const char *objective = option_nth(o, "objective", 0);
    if (!option_bytes(o, "memory-limit", &limit) ||
        !option_number(o, "show", 1, MOST_KEPT, &show) ||
        !option_number(o, "seconds", 1, 1000000, &seconds) ||
        !option_number(o, "most-axes", 1, MAX_AXES, &axes))
        return STATUS_USAGE;
    if (option_given(o, "html") && option_given(o, "json"))
        return usage_error(o->command, "--html writes a page: leave --json out");
    if (!option_given(o, "mesh"))
        return usage_error(o->command,
                           "--mesh is missing, as in --mesh rows:2,cols:4 or --mesh auto:8");
    job j = {.options = o,
             .opts = {.mesh = option_nth(o, "mesh", 0),
                      .layout = option_given(o, "layout") ? option_nth(o, "layout", 0) : "auto",
                      .state_layout = option_nth(o, "state-layout", 0),
                      .whole_batch = o->whole_batch,
                      .smallest = objective && strcmp(objective, "memory") == 0,
                      .limit = (int64_t)limit,
                      .most_axes = (int)axes,
                      .want = (int)show,
                      .starts = o->starts,
                      .seconds = (double)seconds}};
    j.session = planning_session(o);
    if (!j.session) return STATUS_FAILED;
    search_file(&j);
    return close_session(j.session);
}

static const option_spec table[] = {
    OPTION_TABLE(mesh_options),
    OPTION_TABLE(planning_options),
    OPTION_GROUP("the search"),
    {"objective", "time|memory", false, "what is to be least; default: time", "time|memory"},
    {"memory-limit", "BYTES", false,
     "what a processor may use: 4096, 64K, 100M, 2G; default: what --machine says"},
    {"most-axes", "N", false, "axes of an auto: mesh at most; default 2"},
    {"seconds", "N", false, "search no longer; default 10"},
    {"fetch", "NAME", true, "for what computes NAME only, not everything"},
    {"show", "N", false, "print the best N; default 5"},
    {"json", NULL, false, "print JSON instead of text"},
    {"html", "FILE", false, "write a page with pictures instead, for a browser; -: standard output",
     .writes = true},
    OPTION_TABLE(step_options),
    {0},
};

static const char *const examples[] = {
    "mtf layout net.mtf --optimizer adam --mesh rows:2,cols:4",
    "mtf layout net.mtf --optimizer adam --mesh auto:64 --machine h100-node --memory-limit 40G",
    "mtf layout net.mtf --optimizer adam --mesh rows:8 --layout batch:rows,auto --state-layout "
    "auto",
    NULL,
};

const command command_layout = {
    .name = "layout",
    .says = "find the best layout for a mesh, and say why the others are worse",
    .words = "NAME|FILE.mtf|FOLDER|--gin_file FILE",
    .least = 1,
    .most = 1,
    .from_folder = true,
    .only_plans = true,
    .options = table,
    .examples = examples,
    .teaches =
        "Every layout is priced as the real program of the processor with the largest parts, as\n"
        "mtf plan does.  The first line says whether the best is proved to be optimal under\n"
        "these prices; under each of the others stands what costs more than in the best.  Columns\n"
        "are of the processor that takes longest, in a step: time, what of it collectives take,\n"
        "memory, bytes sent.  Of equally fast layouts the one of less memory goes first, then the\n"
        "squarer mesh, fewer rules, earlier names.\n"
        "--mesh is required; rules of --layout are kept, and auto among them finds the others, as "
        "it\n"
        "does without --layout; --state-layout auto also finds rules for stored variables.  Which\n"
        "step of a model is priced is explained in mtf plan --help.  FILE.mtf may be - for "
        "standard\n"
        "input.",
    .run = run,
    .concerns = setup_concerns,
    .adds = setup_list_models,
};
