/* mtf verify: proves that a mesh's programs compute the graph. */
#include <stdio.h>

#include "base/printable.h"
#include "cli/choices.h"
#include "cli/commands.h"
#include "cli/graph_file.h"
#include "cli/json_out.h"
#include "cli/shared_options.h"
#include "cli/train_setup.h"
#include "run/settle.h"
#include "search/automatic.h"
#include "verify/shrink.h"
#include "verify/verify.h"

typedef struct job {
    const options *options;
    mtf_session   *session;
    mtf_graph     *graph;
    mtf_tensor   **fetches;
    int            nfetches;
    choice         choice;
    shrunk         small; /* graph NULL: not shrunk */
    verify_answer  answer;
} job;

/* ---- the result ---- */

static const char *processor_text(const job *j, char text[200])
{
    mesh_point p = mesh_place(&j->choice.mesh, j->answer.first.processor);
    mesh_write_place(&j->choice.mesh, &p, text, 200);
    return text;
}

static void write_index(const difference *d, textbuf *t)
{
    const mtf_shape *shape = &d->tensor->shape;
    text_add(t, "[");
    for (int k = 0; k < shape->ndims; k++)
        text_add(t, "%s%s=%lld", k ? ", " : "", shape->dims[k].name, (long long)d->index[k]);
    text_add(t, "]");
}

static void write_where(int processors, textbuf *t)
{
    if (processors == 1)
        text_add(t, "equal on one processor, ");
    else
        text_add(t, "equal on all %d processors, ", processors);
}

static bool print_text(const job *j)
{
    const verify_answer *a = &j->answer;
    textbuf              t = {.arena = &j->session->arena};
    char                 place[200];
    if (a->equal && a->chance <= -VERIFY_BITS) {
        write_where(a->processors, &t);
        text_add(&t, "chance of error below 2^-%d\n", VERIFY_BITS);
    } else if (a->equal) {
        write_where(a->processors, &t);
        text_add(&t,
                 "chance of error below 2^%.0f only: the results are polynomials of degree %.2g\n",
                 a->chance, a->degree);
    } else if (a->stuck) {
        text_add(&t, "different after %s: the processors do not meet: %s\n",
                 plan_pass_name(a->pass), a->stuck);
    } else {
        text_add(&t, "different after %s: \"%s\" at ", plan_pass_name(a->pass),
                 mtf_name_of_tensor(a->first.tensor));
        write_index(&a->first, &t);
        text_add(&t, " on processor %d", a->first.processor);
        if (j->choice.mesh.naxes) text_add(&t, " (%s)", processor_text(j, place));
        text_add(&t, "\n");
    }
    if (a->cut_short)
        text_add(&t, "while loops ended after %d iterations: later ones were not verified\n",
                 LOCKSTEP_ITERATIONS);
    const char *text = text_done(&t);
    if (text) printable_put(stdout, text);
    return text != NULL;
}

static void add_shrunk(const shrunk *s, cJSON *root)
{
    cJSON *list = json_list(root, "shrunk");
    for (int k = 0; k < s->rules.n; k++) {
        const resize_rule *r = &s->rules.list[k];
        if (r->to == r->from) continue;
        cJSON *one = cJSON_CreateObject();
        json_text(one, "dim", r->name);
        json_int(one, "from", r->from);
        json_int(one, "to", r->to);
        cJSON_AddItemToArray(list, one);
    }
}

static bool print_json(const job *j)
{
    const verify_answer *a = &j->answer;
    cJSON               *root = cJSON_CreateObject();
    json_flag(root, "equal", a->equal);
    json_int(root, "processors", a->processors);
    json_int(root, "trials", a->trials);
    cJSON_AddNumberToObject(root, "log2_chance", a->chance);
    cJSON_AddNumberToObject(root, "degree", a->degree);
    cJSON_AddNumberToObject(root, "hashes", a->hashes);
    json_flag(root, "loops_cut_short", a->cut_short);
    if (j->small.graph) add_shrunk(&j->small, root);
    if (!a->equal) json_text(root, "pass", plan_pass_name(a->pass));
    if (a->stuck) json_text(root, "stuck", a->stuck);
    if (!a->equal && !a->stuck) {
        const mtf_shape *shape = &a->first.tensor->shape;
        json_text(root, "tensor", mtf_name_of_tensor(a->first.tensor));
        json_int(root, "processor", a->first.processor);
        cJSON *index = json_object(root, "index");
        for (int k = 0; k < shape->ndims; k++)
            json_int(index, shape->dims[k].name, a->first.index[k]);
    }
    return json_print(j->session, root);
}

/* ---- the command ---- */

/* "shrunk: 3 of 24 equal layers, batch 100 to 4, hidden 1024 to 4" */
static void say_shrunk(const shrunk *s)
{
    int n = 0;
    if (s->copies) printf("shrunk: 3 of %d equal layers", s->copies), n++;
    for (int k = 0; k < s->rules.n; k++) {
        const resize_rule *r = &s->rules.list[k];
        const char        *name = r->name + (r->name[0] == '_'); /* the iterations of a loop */
        if (r->to != r->from)
            printable_print(stdout, "%s%s %lld to %lld", n++ ? ", " : "shrunk: ", name,
                            (long long)r->from, (long long)r->to);
    }
    puts(n ? "" : "shrunk: nothing could be made smaller");
}

static void say_rules(const char *option, const layout_rule *rules, int n)
{
    if (n) printf(" %s ", option);
    for (int r = 0; r < n; r++) printable_print(stdout, "%s%s", r ? "," : "", rules[r].text);
}

/* Prints what "auto" chose, as a user would write it. */
static void say_found(const job *j)
{
    const options *o = j->options;
    const mesh    *m = &j->choice.mesh;
    const layout  *l = &j->choice.layout;
    if (!automatic_is_asked(option_nth(o, "mesh", 0), option_nth(o, "layout", 0),
                            option_nth(o, "state-layout", 0)))
        return;
    printf("found: --mesh ");
    for (int a = 0; a < m->naxes; a++)
        printable_print(stdout, "%s%s:%d", a ? "," : "", m->name[a], m->size[a]);
    say_rules("--layout", l->rules, l->nrules);
    say_rules("--state-layout", l->state, l->nstate);
    puts("");
}

static bool shrink(job *j)
{
    mtf_dim batch = j->graph->batch;
    int64_t divided = j->graph->parts;
    TRY(shrink_graph(j->graph, j->nfetches, j->fetches, &j->choice.layout, &j->small));
    j->graph = j->small.graph;
    j->fetches = j->small.fetches;
    if (batch.name) batch.size = resize_of(&j->small.rules, batch.name, batch.size);
    if (batch.name) mtf_microbatches(j->graph, batch, divided);
    TRY(microbatch_graph(j->graph, j->nfetches, j->fetches, &j->choice.planned));
    if (!option_given(j->options, "json")) say_shrunk(&j->small);
    return true;
}

static bool verify_file(job *j, uint64_t seed)
{
    price_rates rates;
    TRY(choose_machine(j->options, j->session, &rates));
    j->graph = setup_plan(j->options, j->session, &j->nfetches, &j->fetches);
    TRY(j->graph != NULL);
    if (j->nfetches == 0)
        return fail(&j->session->fault, ERR_USAGE, "\"%s\" computes nothing that could be verified",
                    j->options->words[0]);
    TRY(choose_mesh(j->options, j->graph, j->nfetches, j->fetches, &rates, &j->choice));
    TRY(settle_tell(j->session, &j->choice.layout));
    if (!option_given(j->options, "json")) say_found(j);
    if (option_given(j->options, "shrink")) TRY(shrink(j));
    verify_opts how = {.layout = &j->choice.layout, .seed = seed, .small = j->small.graph != NULL};
    how.planned =
        j->choice.planned.graph; /* its batch may come in parts: the graph says what is right */
    how.planned_fetches = j->choice.planned.fetches;
    TRY(verify_graph(j->graph, j->nfetches, j->fetches, &how, &j->answer));
    return option_given(j->options, "json") ? print_json(j) : print_text(j);
}

static int run(const options *o)
{
    job      j = {.options = o};
    uint64_t seed = 0;
    if (!option_number(o, "seed", 0, UINT64_MAX, &seed)) return STATUS_USAGE;
    j.session = file_session(&(mtf_session_opts){0});
    if (!j.session) return STATUS_FAILED;
    bool done = verify_file(&j, seed);
    int  status = close_session(j.session);
    return status != STATUS_DONE || (done && j.answer.equal) ? status : STATUS_FAILED;
}

static const option_spec table[] = {
    OPTION_TABLE(mesh_options),
    OPTION_GROUP("the proof"),
    {"shrink", NULL, false,
     "make dimensions as small as the operations allow, with parts as even or uneven as before"},
    {"fetch", "NAME", true, "verify what computes NAME only, not everything"},
    {"seed", "N", false, "other random numbers; default 0"},
    {"json", NULL, false, "print JSON instead of text"},
    OPTION_TABLE(step_options),
    {0},
};

static const char *const examples[] = {
    "mtf verify train.mtf --mesh rows:2,cols:4 --layout batch:rows,hidden:cols",
    "mtf verify mnist --mesh all:4 --layout batch:all --state-layout hidden:all --shrink",
    NULL,
};

const command command_verify = {
    .name = "verify",
    .says = "prove that a mesh's programs compute exactly what the graph describes",
    .words = "NAME|FILE.mtf|FOLDER|--gin_file FILE",
    .least = 1,
    .most = 1,
    .from_folder = true,
    .options = table,
    .examples = examples,
    .teaches =
        "All programs are run on numbers modulo a prime, where sums and products are exact\n"
        "in any order, and where every other function is a keyed hash: so every layout must give\n"
        "equal results, without any tolerance.  The programs of all processors are compared with\n"
        "the graph itself, evaluated node by node without any planning.  The answer is that they\n"
        "are equal, and how unlikely it is that a difference was not noticed; or the first tensor\n"
        "that differs, where, on which processor, and after which planning pass.  Exit status 1:\n"
        "different.\n"
        "docs/verify.md says what is proved.",
    .run = run,
    .concerns = setup_concerns,
    .adds = setup_list_models,
};
