/* Evaluates one checkpoint of a folder, some, or all. */
#include "cli/eval_checkpoints.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checkpoint/folder.h"
#include "cli/evaluation.h"
#include "cli/graph_file.h"
#include "cli/load_step.h"
#include "cli/model_folder.h"
#include "data/batch_schedule.h"
#include "model/transformer/decoder.h"

/* clang-format off */
const option_spec checkpoint_options[] = {
    {"checkpoint-dir", "DIR", false, "where mtf train saved, as FOLDER"},
    {"eval-checkpoints", "WHICH", false, "all, last, or steps with commas between them; default: as the configuration says, else last"},
    {"step", "N", false, "the checkpoint of this step alone"},
    {"averages", NULL, false, "evaluate the running averages that mtf train --average kept"},
    {"json", NULL, false, "print a JSON object for each checkpoint"},
    {0},
};
/* clang-format on */

/* Steps of checkpoints, or NEWEST. */
typedef struct step_list {
    int64_t *steps;
    int      count;
} step_list;

static bool list_named(mtf_session *s, const char *text, step_list *to)
{
    to->steps = arena_array(&s->arena, int64_t, strlen(text) + 1);
    TRY(to->steps != NULL);
    for (const char *at = text;; at++) {
        char     *end;
        long long step = *at >= '0' && *at <= '9' ? strtoll(at, &end, 10) : -1;
        if (step < 0 || (*end && *end != ','))
            return fail(&s->fault, ERR_USAGE,
                        "--eval-checkpoints takes all, last, or steps with commas between them, as "
                        "in 1000,2000, not \"%s\"",
                        text);
        to->steps[to->count++] = step;
        at = end;
        if (!*at) return true;
    }
}

static bool list_one(mtf_session *s, int64_t step, step_list *to)
{
    to->steps = arena_array(&s->arena, int64_t, 1);
    TRY(to->steps != NULL);
    to->steps[to->count++] = step;
    return true;
}

static bool list_steps(setup *s, const char *folder, step_list *to)
{
    uint64_t    step = 0;
    arena      *a = &s->session->arena;
    const char *which = option_nth(s->options, "eval-checkpoints", 0);
    *to = (step_list){0};
    TRY(option_number(s->options, "step", 0, INT64_MAX, &step));
    bool one = option_given(s->options, "step");
    if (one && which)
        return fail(&s->session->fault, ERR_USAGE,
                    "--step and --eval-checkpoints both say which checkpoints: leave one out");
    if (one) return list_one(s->session, (int64_t)step, to);
    if (!which && s->config) which = s->config->run.eval_steps;
    if (which && strcmp(which, "all") == 0) {
        TRY(folder_steps(a, folder, &to->steps, &to->count));
        return to->count > 0 ||
               fail(&s->session->fault, ERR_FILE, "\"%s\" has no checkpoints", folder);
    }
    if (which && *which && strcmp(which, "last") != 0) return list_named(s->session, which, to);
    return list_one(s->session, NEWEST, to);
}

/* A number that the checkpoint keeps of its training; 0: it keeps none. */
static int64_t kept_number(const mtf_loaded *from, const char *key)
{
    for (int i = 0; from->facts && from->facts[i]; i += 2)
        if (strcmp(from->facts[i], key) == 0) return strtoll(from->facts[i + 1], NULL, 10);
    return 0;
}

/* Batches are counted as mtf train makes them. */
static double epoch_of(const mtf_loaded *from)
{
    int64_t batch = kept_number(from, "batch"), examples = kept_number(from, "examples");
    if (batch < 1 || examples < batch) return NAN;
    batch_schedule s = batch_schedule_make(examples, batch, &(mtf_batches_opts){0});
    return batch_schedule_epochs(&s, from->position);
}

/* All that the model has, also what is not trained, such as balances of experts; not what a decoder has added. */
static bool load_all(evaluation *e, const char *folder, int64_t step, mtf_loaded *from)
{
    mtf_session  *s = e->setup->session;
    mtf_load_opts how = {.partial = e->decoded != NULL, .convert = true};
    TRY(load_step(s, folder, step, how, from));
    for (int k = 0; from->missing[k]; k++)
        if (!decoder_keeps(from->missing[k]))
            return fail(&s->fault, ERR_FILE, "\"%s\" lacks variable \"%.200s\"", from->path,
                        from->missing[k]);
    return true;
}

static bool evaluate_step(evaluation *e, const char *folder, int64_t step)
{
    mtf_loaded from;
    TRY(load_all(e, folder, step, &from));
    return evaluation_show(e, &(evaluation_place){.step = from.step, .epoch = epoch_of(&from)});
}

static bool open_decoded(evaluation *e)
{
    setup      *s = e->setup;
    const char *output = option_nth(s->options, "output", 0);
    if (e->network.spans) e->output = output;
    if (!option_given(s->options, "bleu"))
        return !output || e->output ||
               fail(&s->session->fault, ERR_USAGE,
                    "--output writes decoded answers: add --bleu, which decodes them");
    if (!s->config)
        return fail(&s->session->fault, ERR_USAGE,
                    "--bleu is for models that configurations describe");
    if (option_given(s->options, "averages"))
        return fail(
            &s->session->fault, ERR_USAGE,
            "--bleu decodes with the variables, not with their averages: leave out --averages");
    e->decoded = decoded_open(s->config, output);
    return e->decoded != NULL;
}

static bool evaluate(setup *s, evaluation *e)
{
    const char *folder = option_nth(s->options, "checkpoint-dir", 0);
    step_list   list;
    TRY(list_steps(s, folder, &list) && evaluation_open(e, s));
    if (!e->data)
        return fail(&s->session->fault, ERR_USAGE, "%s has no data to be evaluated on%s", s->word,
                    s->config  ? "; name it with --eval-text FILES"
                    : s->ready ? s->settings.model->data ? "; name it with --eval-files FILES" : ""
                               : "; name it with --eval-data NAME=FILES");
    /* The network's variables must exist before a checkpoint is loaded. */
    TRY(evaluation_prepare(e, NULL) && open_decoded(e));
    for (int k = 0; k < list.count; k++) TRY(evaluate_step(e, folder, list.steps[k]));
    return true;
}

int eval_checkpoints(const options *o)
{
    setup      s;
    evaluation e = {0};
    if (!option_given(o, "checkpoint-dir") && o->nwords && !model_find(o->words[0]) &&
        access(o->words[0], F_OK) != 0)
        return model_folder_lacks(o, o->words[0]);
    if (!option_given(o, "checkpoint-dir"))
        return usage_error(o->command, "mtf %s needs %s", o->command->name,
                           o->command->least ? "--checkpoint-dir DIR, where mtf train saved"
                                             : "the folder where mtf train saved");
    if (!o->nwords) return model_folder_lacks(o, option_nth(o, "checkpoint-dir", 0));
    bool ok = setup_open(o, &s);
    if (!s.session) return STATUS_USAGE;
    if (ok) ok = evaluate(&s, &e);
    ok = evaluation_close(&e) && ok;
    bool said = !ok && mtf_ok(s.session);
    int  status = close_session(s.session);
    return said ? STATUS_USAGE : status;
}
