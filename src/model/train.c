/* The training loop. */
#include "model/training.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/numbers.h"
#include "base/put_file.h"
#include "checkpoint/agree.h"
#include "checkpoint/folder.h"
#include "data/batch_place.h"
#include "model/profile.h"
#include "model/timeline.h"
#include "search/automatic.h"

/* Steps before the timeline, and steps in it; where work is queued, only these are timed. */
enum { TRACE_AFTER = 10, TRACED = 5 };

/* ---- start ---- */

/* The gradient norm is computed for event files only. */
static bool shows_norm(const mtf_train_opts *o)
{
    return o->gradient_norm && o->events_dir;
}

int training_fetches(mtf_graph *g, mtf_tensor *loss, const mtf_train_opts *o,
                     const statistics *watched, mtf_tensor ***fetches)
{
    int n = 0, count = watched ? watched->count * STATISTICS : 0;
    *fetches = arena_array(&g->arena, mtf_tensor *, 3 + count);
    if (!*fetches) return -1;
    (*fetches)[n++] = loss;
    if (o->rate) (*fetches)[n++] = o->rate;
    if (shows_norm(o)) (*fetches)[n++] = o->gradient_norm;
    for (int i = 0; i < count; i++) (*fetches)[n++] = watched->values[i];
    return n;
}

/* Prints the options that "auto" chose, as a user would write them. */
static void say_found(training *t)
{
    const mtf_session_opts *o = &t->session->opts;
    bool                    state = o->state_layout && *o->state_layout;
    progress_say(&t->progress, "found: --mesh %s%s%s%s%s", o->mesh,
                 *o->layout ? " --layout " : ", nothing cut", o->layout,
                 state ? " --state-layout " : "", state ? o->state_layout : "");
}

/* Steps fetch what mixtures of experts tell, too. */
static bool add_experts(training *t)
{
    TRY(experts_find(t->graph, &t->experts));
    mtf_tensor **more =
        arena_array(&t->graph->arena, mtf_tensor *, t->nfetches + t->experts.n * EXPERTS_TOLD);
    TRY(more != NULL);
    memcpy(more, t->fetches, sizeof *more * (size_t)t->nfetches);
    t->fetches = more;
    t->nfetches += experts_fetches(&t->experts, more + t->nfetches);
    return true;
}

static bool compile(training *t)
{
    const mtf_train_opts   *o = t->opts;
    const mtf_session_opts *at = &t->session->opts;
    bool                    asked = automatic_is_asked(at->mesh, at->layout, at->state_layout);
    if (o->watch) TRY(statistics_add(t->graph, o->watch, &t->watched));
    t->nfetches = training_fetches(t->graph, t->loss, o, &t->watched, &t->fetches);
    TRY(t->nfetches >= 0);
    if (o->experts) TRY(add_experts(t));
    t->program = mtf_compile_n(t->graph, t->nfetches, t->fetches);
    TRY(t->program && program_measure(t->program, true));
    if (asked) say_found(t);
    if (o->trace) TRY(timeline_prepare(t->program));
    if (!o->data) return true;
    t->batches = mtf_batches_new(o->data, t->program, o->batches);
    return t->batches != NULL;
}

/* A callback that returned false without reporting an error gets one. */
static bool unwilling(training *t, const char *when)
{
    return fail(&t->session->fault, ERR_USAGE, "the function that is called %s returned false",
                when);
}

/* Reports unwritable files before the first step, not after the last. */
static bool can_write(training *t)
{
    const mtf_train_opts *o = t->opts;
    fault                 why = {0};
    if (mtf_is_first(t->session)) {
        bool ok = !o->events_dir || folder_ready(o->events_dir, &why);
        if (ok && o->trace) put_file_check(&why, o->trace);
    }
    return agree(t->program->store, "looking at what will be written", &why);
}

static bool begin_training(training *t)
{
    const mtf_train_opts *o = t->opts;
    TRY(compile(t) && training_start(t));
    t->first = t->progress.first = t->step;
    TRY(can_write(t));
    if (o->events_dir && mtf_is_first(t->session)) {
        t->events = events_open(t->session, o->events_dir);
        TRY(t->events != NULL);
    }
    return !o->ready || o->ready(o->look_context) || unwilling(t, "before the first step");
}

/* ---- saving ---- */

static bool save(training *t, bool background)
{
    const mtf_train_opts *o = t->opts;
    if (!o->checkpoint_dir || t->saved == t->step) return true;
    t->saved = t->step;
    batches_place(t->batches, t->place);
    return mtf_save(t->session, o->checkpoint_dir,
                    &(mtf_save_opts){.step = t->step,
                                     .position = t->batches ? mtf_batches_position(t->batches) : 0,
                                     .config = o->config,
                                     .facts = t->facts,
                                     .keep = o->keep,
                                     .keep_every = o->keep_every,
                                     .background = background});
}

/* Completes a save whose files are written, so that who is killed loses the steps since then and no more. */
static bool complete_save(training *t)
{
    return !t->opts->checkpoint_dir || mtf_save_poll(t->session);
}

/* ---- stopping ---- */

/* Ranks must stop after the same step.  They compare now and then: rank 0 decides by its clock after
 * how many steps they do so again. */
typedef struct stopping {
    int64_t next, last; /* steps after which ranks will compare, and last compared */
    double  asked;      /* seconds of the clock */
    int     wanted;     /* the signal that this rank received; 0: none */
} stopping;

typedef struct stop_word {
    int64_t wait; /* steps */
    int64_t wanted;
} stop_word;

static const double ask_seconds = 0.1;

static bool ask_others(training *t, stopping *s)
{
    ranks     *r = t->program->store->ranks;
    int        count = ranks_count(r);
    double     now = clock_seconds(), spent = now - s->asked;
    double     wait = (double)(t->step - s->last) * ask_seconds / (spent > 1e-6 ? spent : 1e-6);
    stop_word  mine = {.wait = 1 + (int64_t)(wait < 1e6 ? wait : 1e6), .wanted = s->wanted};
    arena_mark mark = arena_here(&t->session->arena);
    stop_word *all = arena_array(&t->session->arena, stop_word, count);
    TRY(all && ranks_gather(r, "asking whether to stop", &mine, all, (int)sizeof mine));
    for (int k = 0; k < count && !t->stopped; k++) t->stopped = (int)all[k].wanted;
    *s = (stopping){
        .next = t->step + all[0].wait, .last = t->step, .asked = now, .wanted = s->wanted};
    arena_back(&t->session->arena, mark);
    return complete_save(t);
}

static bool shall_stop(training *t, stopping *s)
{
    if (!s->wanted) s->wanted = interrupt_came(&t->interrupt);
    if (t->program->store->ranks) return t->step < s->next || ask_others(t, s);
    t->stopped = s->wanted;
    return complete_save(t);
}

/* ---- showing ---- */

static int64_t watch_every(const training *t)
{
    return t->opts->watch_every > 0 ? t->opts->watch_every : 100;
}

static bool show_statistics(training *t)
{
    if (t->step % watch_every(t) != 0) return true;
    for (int i = 0; i < t->watched.count; i++) {
        double v[STATISTICS];
        char   tag[400], text[700];
        int    used = snprintf(text, sizeof text, "step %lld   %.300s:", (long long)t->step,
                               t->watched.names[i]);
        for (int k = 0; k < STATISTICS; k++) {
            v[k] = mtf_fetch_scalar(t->program, t->watched.values[i * STATISTICS + k]);
            used += number_format(text + used, sizeof text - (size_t)used, " %s %.5g",
                                  statistic_names[k], v[k]);
            snprintf(tag, sizeof tag, "watch/%.300s/%s", t->watched.names[i], statistic_names[k]);
            if (t->events) TRY(events_scalar(t->events, t->step, tag, v[k]));
        }
        TRY(mtf_ok(t->session));
        progress_say(&t->progress, "%s", text);
    }
    return true;
}

static bool show(training *t)
{
    progress_now now = {.step = t->step, .loss = t->last_loss, .rate = NAN, .wire = NAN};
    now.seconds = clock_seconds() - t->step_begin;
    if (t->opts->rate) now.rate = mtf_fetch_scalar(t->program, t->opts->rate);
    if (t->batches) now.examples = mtf_batches_real(t->batches);
    if (t->program->store->processors > 1) {
        time_spent spent = profile_spent(t->program);
        now.wire = spent.all > 0 ? spent.wire / spent.all : NAN;
    }
    progress_step(&t->progress, &now);
    t->now = (mtf_train_step){.step = t->step,
                              .examples = now.examples,
                              .epoch = batches_epoch(t->batches),
                              .loss = now.loss,
                              .rate = now.rate,
                              .seconds = now.seconds,
                              .program = t->program,
                              .nexperts = t->experts.n,
                              .experts = t->experts.now};
    TRY(experts_step(&t->experts, t->program, t->events, t->step, t->step % watch_every(t) == 0));
    if (t->events) {
        TRY(events_scalar(t->events, t->step, "loss", now.loss));
        if (t->opts->rate) TRY(events_scalar(t->events, t->step, "learning_rate", now.rate));
        TRY(events_scalar(t->events, t->step,
                          now.examples ? "examples_per_second" : "steps_per_second",
                          progress_speed(&t->progress)));
    }
    if (shows_norm(t->opts)) {
        double norm = mtf_fetch_scalar(t->program, t->opts->gradient_norm);
        if (t->events) TRY(events_scalar(t->events, t->step, "gradient_norm", norm));
    }
    return show_statistics(t);
}

/* ---- the loop ---- */

/* Switches the timeline and the timing of instructions on and off. */
static bool choose_timed(training *t)
{
    const mtf_train_opts *o = t->opts;
    mtf_program          *p = t->program;
    int64_t               begin = t->first + TRACE_AFTER;
    if (o->steps && o->steps - TRACED < begin)
        begin = o->steps - TRACED > t->first ? o->steps - TRACED : t->first;
    bool within = t->step >= begin && t->step < begin + TRACED;
    if (o->trace) timeline_record(p, within);
    if (!p->device->wait || t->session->opts.measure) return true;
    bool wanted = o->profile || o->trace || o->measure || p->store->processors > 1;
    return program_measure(p, wanted && within);
}

static bool tell_step(training *t)
{
    const mtf_train_opts *o = t->opts;
    char                  when[40];
    t->now.saved = t->saved == t->step;
    snprintf(when, sizeof when, "after step %lld", (long long)t->step);
    return !o->after_step || o->after_step(o->look_context, &t->now) || unwilling(t, when);
}

static bool step(training *t)
{
    TRY(choose_timed(t) && mtf_step(t->program));
    t->step++;
    t->last_loss = mtf_fetch_scalar(t->program, t->loss);
    TRY(show(t));
    return isfinite(t->last_loss) || (tell_step(t) && training_explain(t, t->last_loss));
}

static bool let_look(training *t)
{
    const mtf_train_opts *o = t->opts;
    char                  when[40];
    if (!o->look || !o->look_every || t->step % o->look_every != 0) return true;
    progress_end(&t->progress);
    snprintf(when, sizeof when, "after step %lld", (long long)t->step);
    return o->look(o->look_context, t->step) || unwilling(t, when);
}

static bool run_training(training *t)
{
    const mtf_train_opts *o = t->opts;
    stopping              s = {.asked = clock_seconds(), .last = t->step};
    while (!t->stopped && (!o->steps || t->step < o->steps)) {
        t->step_begin = clock_seconds();
        if (t->batches && !mtf_batches_next(t->batches))
            break; /* the end of the data, or an error */
        TRY(step(t));
        if (o->save_every && t->step % o->save_every == 0) TRY(save(t, true));
        TRY(tell_step(t) && let_look(t));
        TRY(shall_stop(t, &s));
    }
    if (o->steps > 0 && t->step >= o->steps) t->stopped = 0; /* the last step was reached anyway */
    return mtf_ok(t->session) && save(t, false) &&
           (!o->checkpoint_dir || mtf_save_wait(t->session));
}

static bool conclude(training *t)
{
    const mtf_train_opts *o = t->opts;
    if (o->profile) {
        textbuf text = {.arena = &t->session->arena};
        TRY(profile_write(t->program, &text));
        experts_write(&t->experts, &text);
        const char *table = text_done(&text);
        if (table) progress_asked(&t->progress, table);
    }
    return !o->trace || timeline_write(t->program, o->trace);
}

static bool check_training(training *t)
{
    const mtf_train_opts *o = t->opts;
    if (t->loss->shape.ndims != 0)
        return fail(&t->session->fault, ERR_SHAPE,
                    "the loss \"%s\" is not a scalar; apply reduce_mean to it",
                    tensor_name(t->loss));
    if (!o->steps && !(o->data && o->batches && o->batches->epochs))
        return fail(&t->session->fault, ERR_USAGE,
                    "nothing says when training ends: give it steps, or batches with epochs");
    return true;
}

bool mtf_train(mtf_graph *g, mtf_tensor *loss, const mtf_train_opts *opts)
{
    static const mtf_train_opts none = {.steps = 0};
    if (!g || !loss || !mtf_ok(g->session)) return false;
    training t = {.session = g->session, .graph = g, .loss = loss, .opts = opts ? opts : &none};
    t.lock.descriptor = -1;
    TRY(check_training(&t));
    t.progress = progress_begin(t.session, t.opts->show, t.opts->show_context);
    t.progress.steps = t.opts->steps > 0 ? t.opts->steps : 0;
    t.progress.json = t.opts->json;
    t.progress.quiet = t.progress.quiet || t.opts->quiet;
    interrupt_watch(&t.interrupt);
    bool ok = begin_training(&t) && run_training(&t);
    progress_end(&t.progress);
    interrupt_leave(&t.interrupt);
    if (ok && t.stopped)
        progress_say(
            &t.progress,
            t.opts->checkpoint_dir
                ? "stopped after step %lld and saved; --resume continues"
                : "stopped after step %lld; nothing was kept, as there is no --checkpoint-dir",
            (long long)t.step);
    ok = ok && conclude(&t);
    ok = events_close(t.events) && ok;
    training_leave(&t);
    double epoch = batches_epoch(t.batches);
    mtf_batches_free(t.batches);
    if (t.opts->trained)
        *t.opts->trained = (mtf_trained){t.step, t.last_loss, epoch, t.stopped != 0, t.stopped};
    return ok && mtf_ok(t.session);
}
