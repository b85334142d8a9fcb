/* Start of training: from a checkpoint or initial values. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/textbuf.h"
#include "checkpoint/agree.h"
#include "checkpoint/folder.h"
#include "checkpoint/load.h"
#include "data/dataset.h"
#include "model/model_mark.h"
#include "model/training.h"

/* ---- settings that a resumed run should share ---- */

enum { SAMPLES = 16, OWN_FACTS = 6 };

/* Examples that can be read without counting all: those of the first section, where there are some. */
static bool examples_at_hand(const mtf_dataset *d, int64_t *size)
{
    if (d->sections) return d->sections->rows(d->sections->context, 0, size, &d->session->fault);
    *size = mtf_dataset_size(d);
    return true;
}

/* A sum over some examples in the program's types: enough to tell one dataset from another. */
static bool sample_data(training *t, int64_t *batch, uint64_t *sum)
{
    const mtf_train_opts *o = t->opts;
    mtf_session          *s = t->session;
    const program        *p = first_program(t->program);
    const char           *along = o->batches && o->batches->batch ? o->batches->batch : "batch";
    int64_t               size;
    bool                  ok = true;
    TRY(examples_at_hand(o->data, &size));
    int64_t n = size < SAMPLES ? size : SAMPLES;
    *batch = 0, *sum = 0;
    for (int i = 0; i < p->ninputs && ok; i++) {
        const mtf_tensor *x = p->inputs[i].tensor;
        int               at = mtf_shape_find(x->shape, along);
        if (at < 0 || !dataset_field(o->data, tensor_name(x))) continue;
        *batch = x->shape.dims[at].size;
        int64_t count = *batch ? mtf_shape_size(x->shape) / *batch : 0;
        size_t  bytes = (size_t)count * mtf_dtype_bytes(x->type);
        void   *example = block_alloc(&s->allocator, &s->fault, bytes + 1, true);
        ok = example != NULL;
        *sum = hash_bytes(*sum, tensor_name(x), strlen(tensor_name(x)));
        for (int64_t k = 0; k < n && ok; k++) {
            int64_t which = n > 1 ? k * (size - 1) / (n - 1) : 0;
            ok = mtf_dataset_read(o->data, tensor_name(x), which, x->type, count, example);
            if (ok) *sum = hash_bytes(*sum, example, bytes);
        }
        block_free(&s->allocator, example);
    }
    return ok;
}

/* The batch size of a graph that generates its examples; 0: it has no dimension of that name. */
static int64_t made_batch(const mtf_graph *g)
{
    for (int i = 0; i < g->ntensors; i++) {
        int at = mtf_shape_find(g->all[i]->shape, "batch");
        if (at >= 0) return g->all[i]->shape.dims[at].size;
    }
    return 0;
}

static bool add_fact(training *t, int *n, const char *key, const char *value)
{
    t->facts[(*n)++] = key;
    t->facts[(*n)++] = arena_text(&t->session->arena, value);
    return t->facts[*n - 1] != NULL;
}

static bool find_facts(training *t)
{
    const mtf_train_opts *o = t->opts;
    int                   n = 0;
    int                   more = 0;
    char                  text[40];
    while (o->facts && o->facts[more]) more++;
    t->facts = arena_array(&t->session->arena, const char *, 2 * OWN_FACTS + more + 1);
    TRY(t->facts != NULL);
    for (int i = 0; i < more; i += 2) TRY(add_fact(t, &n, o->facts[i], o->facts[i + 1]));
    if (o->optimizer) TRY(add_fact(t, &n, "optimizer", o->optimizer));
    int64_t  batch = o->data ? 0 : made_batch(t->graph);
    uint64_t sum = 0;
    if (o->data) TRY(sample_data(t, &batch, &sum));
    snprintf(text, sizeof text, "%" PRId64, batch);
    if (batch) TRY(add_fact(t, &n, "batch", text));
    if (!o->data) return true;
    bool sections = o->data->sections != NULL;
    snprintf(text, sizeof text, "%" PRId64,
             sections ? o->data->sections->bytes : mtf_dataset_size(o->data));
    TRY(add_fact(t, &n, sections ? "text bytes" : "examples", text));
    snprintf(text, sizeof text, "%016" PRIx64, sum);
    TRY(add_fact(t, &n, "data", text));
    if (!sections) return true;
    t->facts[n] = "place"; /* saving writes it anew each time */
    t->facts[n + 1] = t->place;
    return true;
}

/* The value of a fact; NULL where it is absent. */
static const char *find_fact(const char *const *facts, const char *key)
{
    for (int i = 0; facts && facts[i]; i += 2)
        if (strcmp(facts[i], key) == 0) return facts[i + 1];
    return NULL;
}

/* ---- checking that a checkpoint fits ---- */

static bool other_fact(const training *t, const contents *c, const char *key, fault *f)
{
    static const char way_out[] = "resume with the same, or say --resume-anyway";
    const char       *here = find_fact(t->facts, key), *there = find_fact(c->facts, key);
    textbuf           what = {.arena = c->arena};
    there = text_printable(c->arena, there);
    TRY(there != NULL);
    if (strcmp(key, "model") == 0) {
        model_mark_compare(there, here, &what);
        return text_done(&what) && fail(f, ERR_USAGE, "\"%s\" was made with another model: %s; %s",
                                        c->path, what.text, way_out);
    }
    if (strcmp(key, "order") == 0)
        return fail(f, ERR_USAGE, "\"%s\" was made with examples %s, and this run has them %s; %s",
                    c->path, there, here, way_out);
    if (strcmp(key, "batch") == 0)
        return fail(
            f, ERR_USAGE,
            "\"%s\" was made with batches of %s examples, and this run has batches of %s; %s",
            c->path, there, here, way_out);
    if (strcmp(key, "examples") == 0)
        return fail(f, ERR_USAGE,
                    "\"%s\" was made with other data, of %s examples, and this run has %s; %s",
                    c->path, there, here, way_out);
    if (strcmp(key, "text bytes") == 0)
        return fail(f, ERR_USAGE,
                    "\"%s\" was made with other text, of %s bytes, and this run has %s; %s",
                    c->path, there, here, way_out);
    if (strcmp(key, "optimizer") == 0)
        return fail(f, ERR_USAGE, "\"%s\" was made with the optimizer %s, and this run has %s; %s",
                    c->path, there, here, way_out);
    if (strcmp(key, "data") == 0)
        return fail(f, ERR_USAGE, "\"%s\" was made with other data; %s", c->path, way_out);
    return fail(f, ERR_USAGE, "\"%s\" was made with %s %s, and this run has %s; %s", c->path, key,
                there, here, way_out);
}

/* Our own facts, or those of the options, which say less where variables differ, too.  Checkpoints of
 * older versions lack some. */
static bool same_facts(const training *t, const contents *c, bool own, fault *f)
{
    for (int i = 0; t->facts && t->facts[i]; i += 2) {
        const char *key = t->facts[i], *there = find_fact(c->facts, key);
        if (own == (find_fact(t->opts->facts, key) != NULL) || strcmp(key, "place") == 0) continue;
        if (there && strcmp(there, t->facts[i + 1]) != 0) return other_fact(t, c, key, f);
    }
    return true;
}

/* Variables of the checkpoint that the model lacks: the model or its optimizer has changed. */
static bool all_are_used(const training *t, const contents *c, fault *f)
{
    const kept_tensor *unused = NULL;
    int                n = 0;
    for (int i = 0; i < c->ntensors; i++) {
        if (names_get(&t->program->store->entries, c->tensors[i]->name)) continue;
        if (!n++) unused = c->tensors[i];
    }
    if (!n) return true;
    return fail(
        f, ERR_USAGE,
        "\"%s\" has %d variable%s that this model and its optimizer lack, such as \"%s\"; resume "
        "with the same, or say --resume-anyway",
        c->path, n, n == 1 ? "" : "s", unused->shown);
}

/* Variables of the model that the checkpoint lacks: they would keep their initial values. */
static bool all_are_there(const training *t, const contents *c, fault *f)
{
    const store *s = t->program->store;
    const char  *missing = NULL;
    int          n = 0;
    for (int i = 0; i < s->count; i++) {
        if (contents_find(c, s->all[i]->name)) continue;
        if (!n++) missing = s->all[i]->name;
    }
    if (!n) return true;
    return fail(
        f, ERR_USAGE,
        "\"%s\" lacks %d variable%s of this model and its optimizer, such as \"%s\"; resume "
        "with the same, or say --resume-anyway",
        c->path, n, n == 1 ? "" : "s", missing);
}

static bool accepts(void *context, const contents *c, fault *f)
{
    const training *t = context;
    uint64_t        seed = t->session->opts.seed;
    if (c->seed != seed)
        return fail(f, ERR_USAGE,
                    "\"%s\" was made with another seed; resume with --seed %" PRIu64
                    " (this run has seed %" PRIu64 ")",
                    c->path, c->seed, seed);
    if (t->opts->resume_anyway) return true;
    if (t->opts->data && t->opts->data->sections && find_fact(c->facts, "examples"))
        return fail(
            f, ERR_USAGE,
            "\"%s\" was made with other data, or when text of this size was still shuffled as a "
            "whole; it is now read in sections, in another order: begin anew, or say "
            "--resume-anyway",
            c->path);
    return same_facts(t, c, true, f) && all_are_used(t, c, f) && all_are_there(t, c, f) &&
           same_facts(t, c, false, f);
}

/* ---- loading ---- */

/* The message without its kind: "file: ..." is "...". */
static const char *sentence(const fault *f)
{
    const char *colon = strstr(f->text, ": ");
    return colon ? colon + 2 : f->text;
}

/* Prints how much was loaded, and what was not found, in one line. */
static void say_loaded(training *t, const mtf_loaded *from, const char *kind)
{
    textbuf text = {.arena = &t->session->arena};
    text_add(&text, "loaded %d of %d variable%s%s from \"%s\"", from->variables, from->wanted,
             from->wanted == 1 ? "" : "s", kind, from->path);
    for (int i = 0; from->missing[i]; i++)
        text_add(&text, "%s\"%s\"", i ? ", " : "; not found: ", from->missing[i]);
    text_add(&text, "\n");
    if (!text_done(&text)) return;
    if (t->progress.json)
        progress_say(&t->progress, "%.*s", text.used - 1, text.text);
    else
        progress_text(&t->progress, text.text); /* it may be of any length */
}

static bool take_init(training *t, bool says)
{
    static const mtf_load_opts usual = {.trainable = true};
    const mtf_load_opts       *init = t->opts->init ? t->opts->init : &usual;
    mtf_loaded                 from;
    TRY(mtf_load(t->session, t->opts->init_from, init, &from));
    if (says) say_loaded(t, &from, init->trainable ? " of the model" : "");
    return true;
}

/* The newest checkpoint up to step `most`, as listed by the first rank; -1: there is none. */
static bool newest_checkpoint(training *t, int64_t most, int64_t *newest)
{
    mtf_session *s = t->session;
    ranks       *r = t->program->store->ranks;
    arena_mark   mark = arena_here(&s->arena);
    int64_t     *steps;
    int          n = 0;
    *newest = -1;
    if (!t->opts->checkpoint_dir) return true;
    TRY(folder_steps(&s->arena, t->opts->checkpoint_dir, &steps, &n));
    while (n > 0 && steps[n - 1] > most) n--;
    if (n > 0) *newest = steps[n - 1];
    if (r) {
        int64_t *all = arena_array(&s->arena, int64_t, ranks_count(r));
        TRY(all && ranks_gather(r, "looking for checkpoints", newest, all, (int)sizeof *all));
        *newest = all[0];
    }
    arena_back(&s->arena, mark);
    return true;
}

static bool load_step(training *t, int64_t step, mtf_loaded *from, fault *why)
{
    mtf_session *s = t->session;
    const char  *path = folder_step_path(&s->arena, t->opts->checkpoint_dir, step);
    bool         anyway = t->opts->resume_anyway;
    TRY(path && mtf_save_wait(s));
    TRY(checkpoint_load(t->program->store, path, &(mtf_load_opts){.partial = anyway},
                        &(load_judge){accepts, t}, from, why));
    if (from->variables < from->wanted) say_loaded(t, from, "");
    return true;
}

/* Loads the newest undamaged checkpoint up to step `most`.  Skips damaged ones; `damaged` holds the
 * error of the first of them.  from->step is -1 where none is left. */
static bool load_newest(training *t, int64_t most, mtf_loaded *from, fault *damaged)
{
    for (;;) {
        int64_t step;
        fault   why = {0};
        *from = (mtf_loaded){.step = -1};
        TRY(newest_checkpoint(t, most, &step));
        if (step < 0 || load_step(t, step, from, &why)) return mtf_ok(t->session);
        if (why.kind != ERR_DAMAGED) {
            if (why.kind != ERR_NONE && fault_take(&t->session->fault, why.kind, why.text))
                t->session->fault.named = why.named;
            return false;
        }
        progress_warn(&t->progress, "skipping step %" PRId64 ", which is damaged: %s", step,
                      sentence(&why));
        fault_take(damaged, why.kind, why.text);
        most = step - 1;
    }
}

/* A position counts batches from the beginning: it is converted where the batch size has changed. */
static int64_t position_here(const training *t, const mtf_loaded *from)
{
    const char *there = find_fact(from->facts, "batch"), *here = find_fact(t->facts, "batch");
    long long   old, new;
    if (!there || !here || sscanf(there, "%lld", &old) != 1 || sscanf(here, "%lld", &new) != 1)
        return from->position;
    if (old == new || old < 1 || new < 1) return from->position;
    return (int64_t)((double)from->position * (double)old / (double)new);
}

static bool go_on_from(training *t, const mtf_loaded *from)
{
    t->step = from->step;
    return mtf_program_set_step(t->program, t->step) &&
           (!t->batches ||
            batches_continue(t->batches, position_here(t, from), find_fact(from->facts, "place")));
}

bool training_rewind(training *t, int64_t most)
{
    const program *p = first_program(t->program);
    mtf_loaded     from;
    fault          damaged = {0};
    /* Before loading, because variables that a checkpoint lacks must have their initial values. */
    for (int v = 0; v < p->nvariables; v++)
        TRY(store_restart(t->program->store, p->variables[v].tensor));
    TRY(load_newest(t, most, &from, &damaged));
    if (from.step >= 0) return go_on_from(t, &from);
    return (!t->opts->init_from || take_init(t, false)) && go_on_from(t, &(mtf_loaded){.step = 0});
}

/* ---- the folder ---- */

static const char looking[] = "looking at the folder for checkpoints";

static bool take_folder(training *t)
{
    const char *folder = t->opts->checkpoint_dir;
    fault       why = {0};
    if (!folder) return true;
    if (mtf_is_first(t->session) && folder_ready(folder, &t->unwritable) &&
        lock_take(&t->lock, folder, &why))
        t->session->lock = &t->lock;
    TRY(agree(t->program->store, looking, &why));
    if (t->lock.descriptor >= 0 && t->lock.before[0])
        progress_say(&t->progress, "took over \"%s\" from %s, which has ended", folder,
                     t->lock.before);
    return true;
}

void training_leave(training *t)
{
    if (t->opts->checkpoint_dir) mtf_save_wait(t->session);
    lock_release(&t->lock);
    if (t->session->lock == &t->lock) t->session->lock = NULL;
}

/* ---- start ---- */

static bool resume(training *t)
{
    mtf_loaded from;
    fault      damaged = {0};
    TRY(load_newest(t, INT64_MAX, &from, &damaged));
    if (from.step < 0)
        return fail(&t->session->fault, ERR_FILE,
                    "\"%s\" has no undamaged checkpoint to resume from; in the newest %s",
                    t->opts->checkpoint_dir, sentence(&damaged));
    TRY(go_on_from(t, &from));
    t->saved = t->step;
    bool over = t->opts->steps > 0 && t->step >= t->opts->steps;
    if (over)
        progress_say(&t->progress,
                     "resuming after step %" PRId64 ": nothing is left to do up to step %" PRId64,
                     t->step, t->opts->steps);
    else
        progress_say(&t->progress, "resuming after step %" PRId64, t->step);
    return true;
}

bool training_start(training *t)
{
    const mtf_train_opts *o = t->opts;
    TRY(take_folder(t) && newest_checkpoint(t, INT64_MAX, &t->saved));
    if (t->saved >= 0 && !o->resume && !o->resume_anyway) /* checkpoints of two runs would mix */
        return fail(&t->session->fault, ERR_USAGE,
                    "\"%s\" has a checkpoint of step %" PRId64
                    " already: resume from it (--resume), or name another folder",
                    o->checkpoint_dir, t->saved);
    if (o->checkpoint_dir) TRY(find_facts(t));
    if (t->saved >= 0)
        TRY(resume(t));
    else if (o->init_from)
        TRY(take_init(t, true));
    /* Reports an unwritable folder before the first step, not after the last. */
    if (!o->checkpoint_dir || (o->steps > 0 && t->step >= o->steps)) return true;
    return agree(t->program->store, looking, &t->unwritable);
}
