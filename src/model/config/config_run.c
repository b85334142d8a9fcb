/* Runs from a configuration: sizes, steps, data, decoding. */
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "model/config/config.h"
#include "model/config/config_mesh.h"
#include "model/config/configurable.h"

/* ---- words ---- */

static bool fail_word(mtf_config *c, const char *parameter, const char *word,
                      const char *const *words)
{
    nearest   near = {.wanted = word};
    char      hint[100];
    gin_place at = configured_at(c, &known_run_function, "", parameter);
    for (int k = 0; words[k]; k++) nearest_offer(&near, words[k]);
    return gin_fail(&c->gin, &at, ERR_NAME, "run.%s: there is no \"%s\"%s", parameter, word,
                    nearest_hint(&near, hint, sizeof hint));
}

static int find_word(const char *word, const char *const *words)
{
    for (int k = 0; words[k]; k++)
        if (strcmp(words[k], word) == 0) return k;
    return -1;
}

static bool type_of(mtf_config *c, const run_args *a, mtf_model_type *type)
{
    static const char *const words[] = {"bitransformer",      "lm", "delimited_lm", "aligned",
                                        "bi_student_teacher", NULL};
    const char              *word = a->model_type ? a->model_type : "bitransformer";
    int                      k = find_word(word, words);
    *type = (mtf_model_type)(k > 0 ? k : 0);
    return k >= 0 || fail_word(c, "model_type", word, words);
}

static bool check_mode(mtf_config *c, const char *mode)
{
    static const char *const words[] = {"train",
                                        "eval",
                                        "score_eval",
                                        "perplexity_eval",
                                        "infer",
                                        "score_from_strings",
                                        "score_from_dataset",
                                        "export_infer",
                                        "export_score",
                                        "export",
                                        NULL};
    return find_word(mode, words) >= 0 || fail_word(c, "mode", mode, words);
}

bool config_model_type(mtf_config *c, mtf_model_type *type)
{
    run_args a = {0};
    return configure(c, &known_run_function, "", NULL, &a) && type_of(c, &a, type);
}

static bool type_named(mtf_config *c, const char *parameter, const char *name, mtf_dtype *to)
{
    static const char *const names[] = {"float32", "bfloat16", "float16", "float64", NULL};
    static const mtf_dtype   types[] = {MTF_F32, MTF_BF16, MTF_F16, MTF_F64};
    int                      k = name ? find_word(name, names) : 0;
    gin_place                at = configured_at(c, &known_variable_dtype, "", parameter);
    if (k < 0)
        return gin_fail(
            &c->gin, &at, ERR_VALUE,
            "get_variable_dtype.%s takes 'float32', 'bfloat16', 'float16' or 'float64', "
            "not '%s'",
            parameter, name);
    *to = types[k];
    return true;
}

bool config_types(mtf_config *c, mtf_dtype *master, mtf_dtype *slice, mtf_dtype *activation)
{
    dtype_args a = {0};
    TRY(configure(c, &known_variable_dtype, "", NULL, &a));
    TRY(type_named(c, "master_dtype", a.master, master));
    TRY(type_named(c, "slice_dtype", a.slice, slice));
    TRY(type_named(c, "activation_dtype", a.activation, activation));
    gin_place at = configured_at(c, &known_variable_dtype, "", "slice_dtype");
    if (*slice != MTF_F32 && *slice != *activation)
        return gin_fail(&c->gin, &at, ERR_VALUE,
                        "get_variable_dtype.slice_dtype takes 'float32' or the activation_dtype");
    return true;
}

/* ---- sizes ---- */

enum { MOST_SEQUENCES = 1 << 24 }; /* of a batch */

static bool read_lengths(mtf_config *c, const gin_value *v, mtf_config_run *run)
{
    if (v->kind == GIN_NONE) return true;
    bool ok = v->kind == GIN_DICT;
    for (int k = 0; ok && k < v->n; k++) {
        const gin_value *key = gin_resolve(&c->gin, &v->items[2 * k]);
        const gin_value *length = gin_resolve(&c->gin, &v->items[2 * k + 1]);
        TRY(key && length && (length = config_length(c, length)));
        ok = key->kind == GIN_TEXT && length->kind == GIN_INT && length->whole > 0;
        if (ok && strcmp(key->text, "inputs") == 0)
            run->inputs_length = length->whole;
        else if (ok && strcmp(key->text, "targets") == 0)
            run->targets_length = length->whole;
        else
            ok = false;
    }
    return ok || gin_fail(&c->gin, &v->at, ERR_VALUE,
                          "run.sequence_length takes None or lengths from 1 on, as in {'inputs': "
                          "512, 'targets': 128}");
}

static int64_t longest(const mtf_config_run *run)
{
    return run->inputs_length > run->targets_length ? run->inputs_length : run->targets_length;
}

/* A pair such as ("tokens_per_batch", 65536), or a number of sequences. */
static bool read_batch(mtf_config *c, const gin_value *v, const mesh_rules *m, mtf_config_run *run)
{
    static const char *const methods[] = {"sequences_per_batch", "tokens_per_batch",
                                          "sequences_per_replica", "tokens_per_replica", NULL};
    const gin_value         *size = v, *method = NULL;
    if (config_is_list(v) && v->n == 2) {
        method = config_item(c, v, 0);
        size = config_item(c, v, 1);
        TRY(method && size);
    }
    int k = method && method->kind == GIN_TEXT ? find_word(method->text, methods) : method ? -1 : 0;
    if (k < 0 || size->kind != GIN_INT || size->whole < 1)
        return gin_fail(&c->gin, &v->at, ERR_VALUE,
                        "run.batch_size takes a number of sequences, or a pair of "
                        "'sequences_per_batch', 'tokens_per_batch', 'sequences_per_replica' or "
                        "'tokens_per_replica' and a number");
    int64_t length = longest(run), sequences = size->whole;
    if (k % 2 == 1) {
        if (!length)
            return gin_fail(&c->gin, &v->at, ERR_VALUE,
                            "run.batch_size counts tokens: that needs run.sequence_length");
        if (sequences % length)
            return gin_fail(
                &c->gin, &v->at, ERR_VALUE,
                "run.batch_size: %lld tokens are not a whole number of sequences of %lld",
                (long long)sequences, (long long)length);
        sequences /= length;
    }
    int64_t replicas = k >= 2 ? mesh_replicas(m) : 1;
    if (sequences > MOST_SEQUENCES / replicas)
        return gin_fail(&c->gin, &v->at, ERR_VALUE,
                        "run.batch_size: a batch has at most %d sequences", MOST_SEQUENCES);
    run->batch = sequences * replicas;
    run->per_replica = k >= 2 ? sequences : 0;
    return true;
}

static bool read_microbatches(mtf_config *c, const mesh_rules *m, mtf_config_run *run)
{
    steps_args a = {0};
    TRY(configure(c, &known_microbatches, "", NULL, &a));
    run->microbatches = 0;
    int64_t length = longest(run), own = run->batch / mesh_splits(m, "batch");
    if (!a.microbatch_tokens || !length || own < 1) return true;
    int64_t size = a.microbatch_tokens / length;
    size = size < 1 ? 1 : size > own ? own : size;
    while (own % size) size--;
    run->microbatches = own / size;
    return true;
}

static bool read_steps(mtf_config *c, const gin_value *v, mtf_config_run *run)
{
    steps_args a = {0};
    if (v->kind == GIN_INT && v->whole >= 0) {
        run->train_steps = v->whole;
        return true;
    }
    if (v->kind != GIN_REFERENCE)
        return gin_fail(&c->gin, &v->at, ERR_VALUE,
                        "run.train_steps takes a whole number or @auto_train_steps");
    const configurable *k = config_reference(c, v, "run.train_steps");
    TRY(k != NULL);
    if (k != &known_auto_train_steps)
        return gin_fail(&c->gin, &v->at, ERR_VALUE,
                        "run.train_steps takes a whole number or @auto_train_steps, not @%s",
                        k->name);
    TRY(configure(c, k, v->scope, NULL, &a));
    int64_t length = longest(run) ? longest(run) : 1;
    run->train_steps = a.train_tokens / run->batch / length;
    return true;
}

/* ---- data ---- */

/* One vocabulary, or a pair of them. */
static bool read_vocabularies(mtf_config *c, const gin_value *v, mtf_config_run *run)
{
    const gin_value *inputs = v, *targets = v;
    if (v->kind == GIN_NONE) return true;
    if (config_is_list(v) && v->n == 2) {
        inputs = config_item(c, v, 0);
        targets = config_item(c, v, 1);
        TRY(inputs && targets);
    }
    run->vocabulary = config_call(c, inputs, "", "run.vocabulary");
    TRY(run->vocabulary != NULL);
    run->targets_vocabulary =
        targets == inputs ? run->vocabulary : config_call(c, targets, "", "run.vocabulary");
    TRY(run->targets_vocabulary != NULL);
    if (strcmp(run->vocabulary->name, "separate_vocabularies") != 0) return true;
    const mtf_config_call *both = run->vocabulary;
    run->vocabulary = both->arguments[0].call;
    run->targets_vocabulary = both->arguments[1].call;
    return (run->vocabulary && run->targets_vocabulary) ||
           gin_fail(&c->gin, &v->at, ERR_VALUE,
                    "separate_vocabularies takes vocabularies for inputs and targets");
}

/* The vocabularies and datasets that mtf can open. */
static bool read_openable(mtf_config *c, mtf_config_run *run)
{
    if (run->vocabulary) {
        bool one = run->targets_vocabulary == run->vocabulary;
        run->vocabulary_text = config_vocabulary(c, run->vocabulary);
        run->targets_vocabulary_text =
            one ? run->vocabulary_text : config_vocabulary(c, run->targets_vocabulary);
    }
    if (run->train_dataset)
        run->train_data = config_dataset(c, run->train_dataset, run->model_type);
    if (run->eval_dataset) run->eval_data = config_dataset(c, run->eval_dataset, run->model_type);
    return mtf_ok(c->gin.session);
}

static bool read_dataset(mtf_config *c, const gin_value *v, const char *what,
                         const mtf_config_call **to)
{
    if (v->kind == GIN_NONE) return true;
    *to = config_call(c, v, "", what);
    return *to != NULL;
}

/* None: the newest; a number, a list of them, or 'all'. */
static bool read_eval_steps(mtf_config *c, const gin_value *v, mtf_config_run *run)
{
    textbuf t = {.arena = &c->gin.session->arena};
    int     n = config_is_list(v) ? v->n : 1;
    bool    ok = v->kind != GIN_REAL && v->kind != GIN_BOOL;
    for (int k = 0; ok && k < n && v->kind != GIN_NONE; k++) {
        const gin_value *one = config_is_list(v) ? config_item(c, v, k) : v;
        TRY(one != NULL);
        if (one->kind == GIN_TEXT && strcmp(one->text, "all") == 0 && n == 1)
            text_add(&t, "all");
        else if (one->kind == GIN_INT && one->whole == -1 && n == 1)
            text_add(&t, "%s", ""); /* the newest */
        else if (one->kind == GIN_INT && one->whole >= 0)
            text_add(&t, "%s%lld", k ? "," : "", (long long)one->whole);
        else
            ok = false;
    }
    run->eval_steps = text_done(&t);
    return ok || gin_fail(&c->gin, &v->at, ERR_VALUE,
                          "run.eval_checkpoint_step takes None, a step, a list of steps or 'all'");
}

/* ---- decoding and scoring ---- */

/* A list of one file, as decode_from_files takes it. */
static bool one_file(mtf_config *c, const gin_value *list, const char **file)
{
    const gin_value *one = list;
    if (list->kind == GIN_NONE) return true;
    if (config_is_list(list)) one = list->n == 1 ? config_item(c, list, 0) : NULL;
    TRY(mtf_ok(c->gin.session));
    if (!one || one->kind != GIN_TEXT)
        return gin_fail(
            &c->gin, &list->at, ERR_VALUE,
            "decode_from_files takes lists of one file, as in ['questions.txt']; decode "
            "several one after the other, with --input and --output");
    *file = one->text;
    return true;
}

/* The source of prompts, and the destination of results. */
static bool read_decode_files(mtf_config *c, mtf_config_decode *d)
{
    decode_args a = {0};
    TRY(configure(c, &known_decode_file, "", NULL, &a));
    TRY(configure(c, &known_decode_dataset, "", NULL, &a));
    TRY(configure(c, &known_infer_model, "", NULL, &a));
    const configurable *from = config_reference(c, a.function, "infer_model.decode_fn");
    TRY(from != NULL);
    if (from == &known_decode_files)
        TRY(configure(c, from, scope_of(a.function, ""), NULL, &a) &&
            one_file(c, a.input_files, &a.input_file) &&
            one_file(c, a.output_files, &a.output_file));
    else if (from != &known_decode_file && from != &known_decode_dataset)
        return gin_fail(&c->gin, &a.function->at, ERR_VALUE,
                        "infer_model.decode_fn takes @decode_from_file, @decode_from_files or "
                        "@decode_from_dataset, not @%s",
                        from->name);
    d->from_dataset = from == &known_decode_dataset;
    d->input_file = a.input_file;
    d->output_file = a.output_file;
    d->repeats = a.repeats;
    d->dataset_split = a.dataset_split;
    d->output_dir = a.output_dir;
    return read_dataset(c, a.dataset, "decode_from_dataset.infer_dataset_fn", &d->dataset);
}

/* Among which tokens to draw.  A total probability of 0 is reached by the most probable one. */
static bool read_choice(mtf_config *c, const gin_value *v, mtf_sampling *how)
{
    double p = v->kind == GIN_INT ? (double)v->whole : v->real;
    if (v->kind == GIN_NONE) return true;
    if ((v->kind != GIN_INT && v->kind != GIN_REAL) || !(p >= 0 && p <= 1)) {
        const char *text = gin_text(&c->gin, v);
        return text &&
               gin_fail(&c->gin, &v->at, ERR_VALUE,
                        "sampling_keep_top_p takes None or a number from 0 to 1, not %s", text);
    }
    how->top_p = p;
    if (p == 0) how->top_k = 1;
    return true;
}

static bool read_decode(mtf_config *c, mtf_config_run *run)
{
    decode_args a = {.alpha = 0.6, .stop = 1, .length_multiplier = 1.5, .length_constant = 10};
    bool        lm = run->model_type == MTF_MODEL_LM || run->model_type == MTF_MODEL_DELIMITED_LM;
    const configurable *k = lm ? &known_sample : &known_decode;
    TRY(configure(c, k, "", NULL, &a));
    gin_place at = configured_at(c, k, "", "sampling_keep_top_k");
    if (a.top_k != -1 && a.top_k < 1)
        return gin_fail(&c->gin, &at, ERR_VALUE,
                        "sampling_keep_top_k takes -1 (all tokens) or a number from 1 on, not %lld",
                        (long long)a.top_k);
    at = configured_at(c, k, "", "stop_at_token");
    if (a.stop < 0 || a.stop > INT32_MAX)
        return gin_fail(&c->gin, &at, ERR_VALUE, "stop_at_token takes a token, not %lld",
                        (long long)a.stop);
    at = configured_at(c, k, "", "bos_id");
    if (a.start < 0 || a.start > INT32_MAX)
        return gin_fail(&c->gin, &at, ERR_VALUE, "bos_id takes a token, not %lld",
                        (long long)a.start);
    at = configured_at(c, k, "", "beam_size");
    if (a.beams > 1 && (a.temperature != 0 || a.top_k != -1 || a.top_p->kind != GIN_NONE))
        return gin_fail(&c->gin, &at, ERR_VALUE,
                        "beams are searched without temperature, sampling_keep_top_k and "
                        "sampling_keep_top_p");
    mtf_config_decode *d = &run->decode;
    *d = (mtf_config_decode){.beams = a.beams,
                             .length_multiplier = a.length_multiplier,
                             .length_constant = a.length_constant,
                             .max_length = a.max_length};
    d->how = (mtf_sampling){.temperature = a.temperature,
                            .top_k = a.top_k < 0 ? 0 : a.top_k,
                            .alpha = a.alpha > 0 ? a.alpha : -1,
                            .max_tokens = a.max_steps,
                            .never_end = a.never_end,
                            .start = (int32_t)a.start};
    int32_t *stop = arena_array(&c->gin.session->arena, int32_t, 2);
    TRY(stop != NULL);
    stop[0] = (int32_t)a.stop;
    stop[1] = -1;
    d->how.stop = stop;
    return read_choice(c, a.top_p, &d->how) && read_decode_files(c, d);
}

static bool text_or_list(mtf_config *c, const gin_value *v, const char **to)
{
    if (v->kind == GIN_NONE) return true;
    *to = v->kind == GIN_TEXT ? v->text : gin_text(&c->gin, v);
    return *to != NULL;
}

static bool read_score(mtf_config *c, mtf_config_run *run)
{
    score_args a = {0};
    TRY(configure(c, &known_score_strings, "", NULL, &a));
    TRY(configure(c, &known_score_dataset, "", NULL, &a));
    TRY(configure(c, &known_save_scores, "", NULL, &a));
    run->score = (mtf_config_score){.scores_file = a.scores_file, .no_eos = !a.score_eos};
    return text_or_list(c, a.inputs, &run->score.inputs) &&
           text_or_list(c, a.targets, &run->score.targets) &&
           read_dataset(c, a.dataset, "score_from_dataset.score_dataset_fn", &run->score.dataset);
}

/* ---- runs ---- */

static bool read_starts(mtf_config *c, const run_args *a, mtf_config_run *run)
{
    estimator_args e = {0};
    TRY(configure(c, &known_estimator, "", NULL, &e));
    run->init_checkpoint = a->init_checkpoint ? a->init_checkpoint : e.init_checkpoint;
    run->init_filter = e.init_filter && *e.init_filter ? e.init_filter : NULL;
    if (run->init_checkpoint && !*run->init_checkpoint) run->init_checkpoint = NULL;
    run->outer_batch = e.outer_batch;
    gin_place at = configured_at(c, &known_estimator, "", "outer_batch_size");
    return run->batch % run->outer_batch == 0 ||
           gin_fail(
               &c->gin, &at, ERR_VALUE,
               "tpu_estimator_model_fn.outer_batch_size: %lld does not divide the batch of %lld",
               (long long)run->outer_batch, (long long)run->batch);
}

static bool read_run(mtf_config *c, const run_args *a, mtf_config_run *run)
{
    mesh_rules m = {0};
    *run = (mtf_config_run){.mode = a->mode ? a->mode : "train",
                            .model_dir = a->model_dir,
                            .save_every = a->save_every,
                            .keep = (int)a->keep,
                            .perplexity_steps = a->perplexity_steps,
                            .dataset_split = a->dataset_split ? a->dataset_split : "train",
                            .eval_dir = a->eval_dir,
                            .ensemble_inputs = a->ensemble_inputs->kind != GIN_NONE,
                            .skip_seen_data = a->skip_seen_data,
                            .checkpoint_data = a->checkpoint_data,
                            .write_eval_examples = a->write_examples};
    TRY(check_mode(c, run->mode) && type_of(c, a, &run->model_type));
    TRY(mesh_read(c, a->mesh_shape, a->layout_rules, &m));
    run->mesh = m.mesh;
    run->layout = m.layout;
    run->layout_rules = m.all;
    TRY(read_lengths(c, a->sequence_length, run) && read_batch(c, a->batch_size, &m, run));
    TRY(read_microbatches(c, &m, run) && read_steps(c, a->train_steps, run));
    TRY(read_eval_steps(c, a->eval_step, run) && read_starts(c, a, run));
    TRY(config_types(c, &run->master, &run->slice, &run->activation));
    TRY(config_minimize(c, a, a->total_steps ? a->total_steps : run->train_steps, &run->minimize));
    run->variable_filter = run->minimize.only;
    TRY(read_vocabularies(c, a->vocabulary, run));
    TRY(read_dataset(c, a->train_dataset, "run.train_dataset_fn", &run->train_dataset));
    TRY(read_dataset(c, a->eval_dataset, "run.eval_dataset_fn", &run->eval_dataset));
    return read_openable(c, run) && read_decode(c, run) && read_score(c, run);
}

bool mtf_config_get_run(mtf_config *c, mtf_config_run *run)
{
    run_args a = {0};
    if (!c || !mtf_ok(c->gin.session)) return false;
    return configure(c, &known_run_function, "", NULL, &a) && read_run(c, &a, run);
}
