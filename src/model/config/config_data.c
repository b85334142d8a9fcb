/* Vocabularies and datasets that mtf can open. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "model/config/config.h"
#include "model/config/configurable.h"

/* The place of an argument in its file, for messages. */
static const char *place_of_argument(const mtf_config_call *call, const char *argument)
{
    for (int k = 0; k < call->n; k++)
        if (strcmp(call->arguments[k].name, argument) == 0) return call->arguments[k].at;
    return "";
}

static bool is_call(const mtf_config_call *call, const char *name)
{
    return strcmp(call->name, name) == 0;
}

/* ---- vocabularies ---- */

/* "KIND:FILE"; NULL, with a note, where no file is named. */
static const char *with_file(mtf_config *c, const mtf_config_call *call, const char *kind,
                             const char *argument, const char *folder)
{
    const char *file = mtf_config_argument_text(call, argument);
    const char *extra = mtf_config_argument_text(call, "extra_ids");
    textbuf     t = {.arena = &c->gin.session->arena};
    if (!file) {
        const char *at = place_of_argument(call, argument);
        gin_say(&c->gin, NULL, false, "%s%s.%s is not given: the vocabulary cannot be opened", at,
                call->name, argument);
        return NULL;
    }
    text_add(&t, "%s:%s%s%s", kind, folder ? folder : "", folder ? "/" : "", file);
    if (extra && strcmp(extra, "0") != 0) text_add(&t, ":extra=%s", extra);
    return text_done(&t);
}

const char *config_vocabulary(mtf_config *c, const mtf_config_call *call)
{
    textbuf     t = {.arena = &c->gin.session->arena};
    const char *extra = mtf_config_argument_text(call, "extra_ids");
    if (is_call(call, "ByteVocabulary")) {
        text_add(&t, "bytes");
        if (extra && strcmp(extra, "0") != 0) text_add(&t, ":extra=%s", extra);
        return text_done(&t);
    }
    if (is_call(call, "SentencePieceVocabulary"))
        return with_file(c, call, "sentencepiece", "sentencepiece_model_file", NULL);
    if (is_call(call, "Gpt2Vocabulary")) return with_file(c, call, "gpt2", "directory", NULL);
    if (is_call(call, "WordListVocabulary")) return with_file(c, call, "words", "filename", NULL);
    if (is_call(call, "get_t2t_vocabulary"))
        return with_file(c, call, "subwords", "vocabulary_filename",
                         mtf_config_argument_text(call, "data_dir"));
    gin_place at = configured_at(c, &known_run_function, "", "vocabulary");
    gin_say(&c->gin, &at, false,
            "the vocabulary %s cannot be opened by mtf; name its file, as by "
            "@SentencePieceVocabulary()",
            call->name);
    return NULL;
}

/* ---- datasets ---- */

static bool truth_of(mtf_config *c, const mtf_config_call *call, const char *name, bool *to)
{
    const char *text = mtf_config_argument_text(call, name);
    *to = text && strcmp(text, "True") == 0;
    if (*to || !text || strcmp(text, "False") == 0) return true;
    const char *at = place_of_argument(call, name);
    return gin_fail(&c->gin, NULL, ERR_VALUE, "%s%s.%s takes True or False, not %s", at, call->name,
                    name, text);
}

static bool number_of(mtf_config *c, const mtf_config_call *call, const char *name, double most,
                      double *to)
{
    const char *text = mtf_config_argument_text(call, name);
    char       *end = NULL;
    *to = text ? number_read(text, &end) : 0;
    if (!text || (end > text && !*end && *to >= 0 && *to <= most)) return true;
    const char *at = place_of_argument(call, name);
    return gin_fail(&c->gin, NULL, ERR_VALUE, "%s%s.%s takes a number from 0 to %g, not %s", at,
                    call->name, name, most, text);
}

static bool word_of(mtf_config *c, const mtf_config_call *call, const char *name,
                    const char *const *words, const char **to)
{
    nearest near = {.wanted = mtf_config_argument_text(call, name)};
    char    hint[100];
    *to = near.wanted;
    if (!near.wanted) return true;
    for (int k = 0; words[k]; k++) {
        if (strcmp(words[k], near.wanted) == 0) return true;
        nearest_offer(&near, words[k]);
    }
    const char *at = place_of_argument(call, name);
    return gin_fail(&c->gin, NULL, ERR_NAME, "%s%s.%s: there is no \"%s\"%s", at, call->name, name,
                    near.wanted, nearest_hint(&near, hint, sizeof hint));
}

static bool text_dataset(mtf_config *c, const mtf_config_call *call, mtf_config_dataset *d)
{
    static const char *const objectives[] = {
        "lm", "pairs", "delimited", "spans", "prefix", "prefix_delimited", NULL};
    static const char *const documents[] = {"blank", "line", "file", NULL};
    static const char *const formats[] = {"text", "tsv", "tfrecord", "u16", "u32", NULL};
    double                   seed;
    TRY(word_of(c, call, "objective", objectives, &d->objective));
    TRY(word_of(c, call, "documents", documents, &d->documents));
    TRY(word_of(c, call, "format", formats, &d->format));
    TRY(truth_of(c, call, "joined", &d->joined));
    TRY(truth_of(c, call, "split_long", &d->split_long));
    TRY(truth_of(c, call, "pack", &d->pack) && truth_of(c, call, "shuffle", &d->shuffle));
    TRY(truth_of(c, call, "ensure_eos", &d->ensure_end));
    TRY(number_of(c, call, "seed", 0x1p53, &seed));
    TRY(number_of(c, call, "noise_density", 1, &d->noise));
    TRY(number_of(c, call, "mean_noise_span_length", 1e6, &d->mean_span));
    d->seed = (uint64_t)seed;
    d->inputs = mtf_config_argument_text(call, "inputs");
    d->targets = mtf_config_argument_text(call, "targets");
    d->files = mtf_config_argument_text(call, "files");
    if (d->files) return true;
    const char *at = place_of_argument(call, "files");
    return gin_fail(&c->gin, NULL, ERR_VALUE,
                    "%stext_dataset.files is not given: a path or a pattern, as 'train-*.tsv'", at);
}

/* Pairs of texts, one pair per line, in the files that another function names. */
static bool tsv_dataset(const mtf_config_call *call, mtf_config_dataset *d)
{
    const mtf_config_call *lines = NULL;
    for (int k = 0; k < call->n; k++)
        if (strcmp(call->arguments[k].name, "dataset") == 0) lines = call->arguments[k].call;
    *d = (mtf_config_dataset){.files = mtf_config_argument_text(lines, "glob"),
                              .format = "tsv",
                              .pack = true,
                              .shuffle = true};
    return true;
}

/* DIR/NAME-SPLIT*: examples of ids. */
static bool t2t_dataset(mtf_config *c, const mtf_config_call *call, mtf_config_dataset *d)
{
    const char *folder = mtf_config_argument_text(call, "data_dir");
    const char *name = mtf_config_argument_text(call, "dataset_name");
    const char *split = mtf_config_argument_text(call, "dataset_split");
    const char *shift = mtf_config_argument_text(call, "vocab_shift");
    textbuf     t = {.arena = &c->gin.session->arena};
    bool        one;
    if (shift && strcmp(shift, "0") != 0) {
        const char *at = place_of_argument(call, "vocab_shift");
        return gin_fail(&c->gin, NULL, ERR_VALUE, "%s%s.vocab_shift must be 0, not %s", at,
                        call->name, shift);
    }
    TRY(truth_of(c, call, "text2self", &one));
    if (!folder || !name) return true;
    if (split && strcmp(split, "validation") == 0) split = "dev";
    text_add(&t, "%s/%s-%s*", folder, name, split ? split : "train");
    *d = (mtf_config_dataset){.files = text_done(&t),
                              .format = "tfrecord",
                              .objective = one ? "lm" : NULL,
                              .pack = true,
                              .shuffle = true};
    return d->files != NULL;
}

const mtf_config_dataset *config_dataset(mtf_config *c, const mtf_config_call *call,
                                         mtf_model_type type)
{
    mtf_config_dataset *d = arena_new(&c->gin.session->arena, mtf_config_dataset);
    bool                ok = d != NULL;
    if (ok && is_call(call, "text_dataset")) ok = text_dataset(c, call, d);
    if (ok && is_call(call, "packed_parallel_tsv_dataset")) ok = tsv_dataset(call, d);
    if (ok && is_call(call, "pretokenized_t2t_dataset")) ok = t2t_dataset(c, call, d);
    if (!ok) return NULL;
    if (!d->files) {
        gin_place at = configured_at(c, &known_run_function, "", "train_dataset_fn");
        gin_say(&c->gin, &at, false,
                "the dataset %s cannot be opened by mtf; name its files, as by @text_dataset",
                call->name);
        return NULL;
    }
    bool one = type == MTF_MODEL_DELIMITED_LM;
    if (!d->objective) d->objective = type == MTF_MODEL_LM ? "lm" : one ? "delimited" : "pairs";
    if (one && strcmp(d->objective, "prefix") == 0) d->objective = "prefix_delimited";
    return d;
}
