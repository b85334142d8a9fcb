/* mtf plan: the cost of a layout, before anything runs. */
#include <stdio.h>
#include <string.h>

#include "base/printable.h"
#include "base/put_file.h"
#include "base/units.h"
#include "cli/choices.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/counters_text.h"
#include "cli/graph_file.h"
#include "cli/planned_data.h"
#include "cli/plan_json.h"
#include "cli/plan_layers.h"
#include "cli/plan_table.h"
#include "cli/plan_text.h"
#include "cli/shared_options.h"
#include "cli/train_setup.h"
#include "microbatch/fewest.h"
#include "page/plan_page.h"
#include "price/decline.h"

typedef struct job {
    const options *options;
    mtf_session   *session;
    mtf_graph     *graph;
    mtf_tensor   **fetches;
    int            nfetches;
    bool           results_only;
    choice         choice;
    layout         other; /* of --diff */
    estimate_opts  opts;
    site           site;
    planned_data   data;
} job;

static void write_hint(const hint *h, textbuf *t)
{
    if (!h->found) {
        text_add(t, "hint: of %d layouts that differ by one rule, none is predicted to be faster\n",
                 h->tried);
        return;
    }
    if (!h->add)
        text_add(t, "hint: without %s: ", h->remove);
    else
        text_add(t, "hint: with %s%s%s: ", h->add, h->remove ? " instead of " : "",
                 h->remove ? h->remove : "");
    text_add(t, "%s a step, ", unit_seconds(h->seconds).s);
    text_add(t, "%s less; ", unit_percent(h->seconds_now - h->seconds, h->seconds_now).s);
    text_add(t, "memory %s instead of ", unit_bytes(h->peak).s);
    text_add(t, "%s (best of %d layouts)\n", unit_bytes(h->peak_now).s, h->tried);
}

static bool print_text(mtf_session *s, textbuf *t)
{
    const char *text = text_done(t);
    if (text) printable_put(stdout, text);
    return text && mtf_ok(s);
}

static const char *whose_layout(const job *j)
{
    const options *o = j->options;
    if (j->choice.found) return "found by a search";
    return option_given(o, "layout") && !option_typed(o, "layout") ? "of the configuration" : NULL;
}

/* What both pages begin with. */
static bool tell_story(const job *j, plan_story *story)
{
    textbuf line = {.arena = &j->session->arena};
    command_line_write(j->options, &line);
    story->graph = j->graph;
    story->what = j->options->words[0];
    story->command = text_done(&line);
    story->computes = j->results_only ? RESULTS_ONLY : NULL;
    return story->command != NULL;
}

/* A step that cannot be planned on one processor is no error: how long it takes stays unknown. */
static bool time_alone(const job *j, double *seconds)
{
    mesh          one = {0};
    estimate_opts how = {.mesh = &one, .processor = -1, .rates = j->opts.rates};
    int64_t       peak, instrs;
    how.rates.site = NULL;
    if (estimate_largest(j->graph, j->nfetches, j->fetches, &how, seconds, &peak, &instrs))
        return true;
    *seconds = 0;
    TRY(j->session->fault.kind != ERR_MEMORY);
    fault_clear(&j->session->fault);
    return true;
}

static bool plan_one(job *j)
{
    bool      all = option_given(j->options, "all"), json = option_given(j->options, "json");
    hint      h = {0};
    estimate *e = estimate_graph(j->graph, j->nfetches, j->fetches, &j->opts);
    TRY(e != NULL);
    bool hints = e->processors > 1 && !j->choice.found; /* a search has compared more layouts */
    bool ok = !hints || hint_find(j->graph, j->nfetches, j->fetches, &j->opts, &h);
    if (ok && option_given(j->options, "html")) {
        plan_story story = {.hint = hints ? &h : NULL};
        ok = tell_story(j, &story) && time_alone(j, &story.alone) &&
             plan_page(&story, e, option_nth(j->options, "html", 0));
    } else if (ok && json) {
        cJSON *root = plan_json(e, hints ? &h : NULL, all);
        planned_data_json(&j->data, root);
        ok = json_print(j->session, root);
    } else if (ok) {
        textbuf t = {.arena = &e->arena};
        if (j->results_only) plan_write_results_only(&t);
        plan_write_header(e, j->options, whose_layout(j), &t);
        planned_data_write(&j->data, &t);
        if (hints) write_hint(&h, &t);
        text_add(&t, "\n");
        ok = all || plan_write_layers(j->graph, e, &t);
        plan_write_table(e, all, NULL, &t);
        if (j->opts.count) text_add(&t, "\n"), counters_write(e, &t);
        ok = ok && print_text(j->session, &t);
    }
    estimate_free(e);
    return ok;
}

/* An error about the second layout is one of --diff. */
static bool blame_diff(const job *j)
{
    bool about = !mtf_ok(j->session) && strncmp(mtf_error(j->session), "usage: --layout ", 16) == 0;
    return about && option_blame(j->session, "diff");
}

static bool plan_two(job *j)
{
    estimate_opts other = j->opts;
    other.layout = &j->other;
    estimate *a = estimate_graph(j->graph, j->nfetches, j->fetches, &j->opts);
    estimate *b = a ? estimate_graph(j->graph, j->nfetches, j->fetches, &other) : NULL;
    bool      ok = b != NULL || (a && blame_diff(j));
    if (ok && option_given(j->options, "html")) {
        plan_story story = {0};
        ok = tell_story(j, &story) &&
             plan_page_diff(&story, a, b, option_nth(j->options, "html", 0));
    } else if (ok && option_given(j->options, "json")) {
        cJSON *root = cJSON_CreateObject(), *list = json_list(root, "plans");
        cJSON_AddItemToArray(list, plan_json(a, NULL, option_given(j->options, "all")));
        cJSON_AddItemToArray(list, plan_json(b, NULL, option_given(j->options, "all")));
        ok = json_print(j->session, root);
    } else if (ok) {
        textbuf t = {.arena = &a->arena};
        if (j->results_only) plan_write_results_only(&t);
        plan_write_diff(a, b, &t);
        ok = print_text(j->session, &t);
    }
    estimate_free(a);
    estimate_free(b);
    return ok;
}

/* --diff changes the layout only: the rules for state are the same, except where they are declined. */
static bool choose_other(job *j, const char *rules)
{
    estimate_opts how = {.mesh = &j->choice.mesh, .rates = j->opts.rates};
    if (!layout_parse(j->session, rules, &j->choice.mesh, &j->other))
        return option_blame(j->session, "diff");
    j->other.state = j->choice.state;
    j->other.nstate = j->choice.nstate;
    return decline_state_rules(j->graph, j->nfetches, j->fetches, &how, &j->other) || blame_diff(j);
}

static bool plan_file(job *j)
{
    const char *diff = option_nth(j->options, "diff", 0), *html = option_nth(j->options, "html", 0);
    TRY(!html || strcmp(html, "-") == 0 || put_file_check(&j->session->fault, html));
    TRY(choose_planned_machine(j->options, j->session, &j->opts.rates));
    TRY(choose_site(j->options, j->session, &j->opts.rates, &j->site));
    j->graph = setup_plan(j->options, j->session, &j->nfetches, &j->fetches);
    TRY(j->graph && planned_data_find(j->options, j->session, j->graph, &j->data));
    j->results_only = setup_leaves_training(j->options, j->graph);
    TRY(choose_mesh(j->options, j->graph, j->nfetches, j->fetches, &j->opts.rates, &j->choice));
    estimate_opts whole = {
        .mesh = &j->choice.mesh, .layout = &j->choice.layout, .rates = j->opts.rates};
    TRY(microbatch_undivided_peak(j->graph, j->nfetches, j->fetches, &whole, &j->opts.undivided));
    j->opts.unparted = j->choice.planned.undivided;
    j->graph = j->choice.planned.graph;
    j->fetches = j->choice.planned.fetches;
    TRY(!diff || choose_other(j, diff));
    j->opts.mesh = &j->choice.mesh;
    j->opts.layout = &j->choice.layout;
    j->opts.processor = -1;
    TRY(choose_processor(j->options, j->session, &j->choice.mesh, &j->opts.processor));
    return diff ? plan_two(j) : plan_one(j);
}

/* ---- the command ------------------------------------------------------------------------ */

static int run(const options *o)
{
    job      j = {.options = o};
    uint64_t ignored;
    if (!option_number(o, "processor", 0, MAX_PROCESSORS - 1, &ignored) ||
        !option_number(o, "ranks", 1, MAX_PROCESSORS, &ignored) ||
        !option_number(o, "hosts", 1, MAX_PROCESSORS, &ignored))
        return STATUS_USAGE;
    j.opts.count = option_given(o, "counters");
    if (option_given(o, "diff") && j.opts.count)
        return usage_error(o->command, "--counters are of one layout: leave --diff out");
    if (option_given(o, "diff") && option_given(o, "processor"))
        return usage_error(o->command,
                           "--diff compares the slowest processors: leave --processor out");
    if (option_given(o, "html") && (option_given(o, "json") || j.opts.count))
        return usage_error(o->command, "--html writes a page: leave --json and --counters out");
    j.session = planning_session(o);
    if (!j.session) return STATUS_FAILED;
    plan_file(&j);
    return close_session(j.session);
}

static const option_spec table[] = {
    OPTION_TABLE(mesh_options),
    OPTION_TABLE(planning_options),
    {"ranks", "N", false, "plan for N processes, as mpirun starts them; default: one, of threads"},
    {"hosts", "N", false, "on N machines, with messages between them; default: one"},
    OPTION_GROUP("what is shown"),
    {"diff", "LAYOUT2", false, "compare with a second layout"},
    {"all", NULL, false, "show every instruction, not only those that matter"},
    {"counters", NULL, false, "count what all processors compute and move, by operation"},
    {"processor", "N", false, "show this processor's program; default: the slowest"},
    {"fetch", "NAME", true, "plan what computes NAME only, not everything"},
    {"json", NULL, false, "print JSON instead of text"},
    {"html", "FILE", false, "write a page with pictures instead, for a browser; -: standard output",
     .writes = true},
    OPTION_TABLE(step_options),
    {0},
};

static const char *const examples[] = {
    "mtf plan net.mtf --optimizer adam --mesh rows:2,cols:4 --layout batch:rows,hidden:cols",
    "mtf plan net.mtf --optimizer adam --mesh all:4096 --layout batch:all --machine h100-nodes",
    "mtf plan net.mtf --optimizer adam --mesh all:8 --layout batch:all --diff hidden:all",
    "mtf plan net.mtf --fetch logits --mesh all:8 --layout batch:all",
    "mtf plan mnist --batch 800 --hidden 4096 --mesh rows:2,cols:4 --layout batch:rows,hidden:cols",
    "mtf plan mnist --mesh rows:2,cols:2 --layout batch:rows,hidden:cols --html plan.html",
    NULL,
};

const command command_plan = {
    .name = "plan",
    .says = "say what a layout costs on a mesh, and why, without running",
    .words = "NAME|FILE.mtf|FOLDER|--gin_file FILE",
    .least = 1,
    .most = 1,
    .from_folder = true,
    .only_plans = true,
    .options = table,
    .examples = examples,
    .teaches =
        "Memory, flops, and the number and bytes of collectives are exact, on any number of\n"
        "processors; the time is predicted for the machine that --machine describes.  Bytes sent\n"
        "are those of a processor's memory that others read, or that go to them in messages: "
        "which\n"
        "of the two, and the buffers that takes, follows from --ranks and --hosts.  The table "
        "names\n"
        "the layout rule that each collective comes from, and work that several processors do\n"
        "alike.  The hint, for a layout that was given and not found by a search, is the best\n"
        "single rule to add, to leave out, or to give to another dimension.  FILE.mtf may be - "
        "for\n"
        "standard input.\n"
        "\n"
        "FOLDER is one where mtf train saved a model, which is planned.\n"
        "\n"
        "A built-in model's step is that of mtf train; so is a file's with any option of the\n"
        "optimizer or with --loss, as in --optimizer adam; without them the file is planned as it "
        "is.\n"
        "\n"
        "--counters adds a tree of what all processors do in a step, as Mesh TensorFlow counts.\n"
        "Under output, einsum and conv2d stand results and multiplications as laid out, where "
        "work\n"
        "that several processors repeat counts each time; under output_unique, einsum_unique and\n"
        "conv2d_unique each counts once, so that the ratio shows what is wasted.  allreduce,\n"
        "allgather and alltoall count their results as laid out, exchange what goes to others.",
    .run = run,
    .concerns = setup_concerns,
    .adds = setup_list_models,
};
