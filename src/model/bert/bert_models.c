/* BERT as built-in models: pre-training, classification, spans. */
#include "base/textbuf.h"
#include "data/text/bert_rows.h"
#include "model/bert/bert_describe.h"
#include "model/bert/bert_presets.h"
#include "model/bert/span_search.h"
#include "model/ready.h"
#include "mtf_bert.h"

/* ---- settings ---- */

/* "vocab.txt" or "vocab.txt:cased"; *vocabulary is NULL where none is named. */
static bool open_vocabulary(const settings *v, mtf_vocabulary **vocabulary)
{
    const char *file = setting_text(v, "vocab");
    textbuf     t = {.arena = &v->session->arena};
    *vocabulary = NULL;
    if (!*file) return true;
    text_add(&t, "wordpiece:%s", file);
    const char *spec = text_done(&t);
    return spec && (*vocabulary = mtf_vocabulary_open(v->session, spec)) != NULL;
}

/* Of a configuration by name, which has as many words as the vocabulary. */
static bool read_preset(const settings *v, const mtf_vocabulary *words, mtf_bert_opts *o)
{
    TRY(mtf_bert_read_config(v->session, setting_text(v, "bert-config"), o));
    if (words) o->vocab_size = mtf_vocabulary_size(words);
    return true;
}

static bool read_model(const settings *v, const mtf_vocabulary *words, mtf_bert_opts *o)
{
    const char *config = setting_text(v, "bert-config");
    if (bert_preset(config)) return read_preset(v, words, o);
    TRY(mtf_bert_read_config(v->session, config, o));
    int64_t size = words ? mtf_vocabulary_size(words) : 0;
    return size <= o->vocab_size ||
           fail(&v->session->fault, ERR_USAGE,
                "--vocab has %lld words, and the model of --bert-config %s only %lld",
                (long long)size, config, (long long)o->vocab_size);
}

static bool read_length(const settings *v, int64_t *length)
{
    return setting_count(v, "length", BERT_LEAST_LENGTH, length);
}

static bool read_predictions(const settings *v, int64_t length, int64_t *predictions)
{
    *predictions = bert_usual_predictions(length, BERT_MASKED);
    return !*setting_text(v, "predictions") || setting_count(v, "predictions", 1, predictions);
}

static bool read_counts(const settings *v, mtf_bert_data_opts *o)
{
    TRY(read_length(v, &o->length));
    if (o->task == MTF_BERT_PRETRAIN) TRY(read_predictions(v, o->length, &o->predictions));
    if (settings_has(v, "stride"))
        TRY(setting_count(v, "stride", 1, &o->stride) &&
            setting_count(v, "query-length", 1, &o->query));
    return true;
}

static mtf_bert_task task_of(const settings *v)
{
    return v->model == &model_bert_pretrain   ? MTF_BERT_PRETRAIN
           : v->model == &model_bert_classify ? MTF_BERT_CLASSIFY
                                              : MTF_BERT_SPAN;
}

/* ---- data ---- */

static bool bert_data(const settings *v, bool training, mtf_dataset **data)
{
    mtf_bert_data_opts o = {.task = task_of(v), .seed = v->session->opts.seed};
    mtf_bert_opts      m;
    mtf_vocabulary    *words;
    o.files = setting_text(v, training ? "train-files" : "eval-files");
    *data = NULL;
    if (!*o.files)
        return !training ||
               fail(&v->session->fault, ERR_USAGE,
                    "%s needs examples: name their files with --train-files", v->model->name);
    TRY(read_counts(v, &o) && open_vocabulary(v, &words) && read_model(v, words, &m));
    bert_set_defaults(&m);
    o.vocabulary = words;
    o.vocab_size = m.vocab_size;
    o.type_vocab = m.type_vocab;
    if (*setting_text(v, "columns")) o.columns = setting_text(v, "columns");
    o.texts = !training && o.task == MTF_BERT_SPAN;
    if (*setting_text(v, "labels")) o.labels = setting_text(v, "labels");
    *data = mtf_bert_data_open(v->session, &o);
    return *data != NULL;
}

/* ---- networks ---- */

/* The encoder of a network's inputs. */
typedef struct encoded {
    mtf_dim         batch, length;
    mtf_bert_output out;
} encoded;

static mtf_tensor *input(const network *n, const char *name, mtf_shape shape)
{
    return mtf_input(n->graph, name, MTF_I32, shape);
}

static bool begin_network(const settings *v, bool training, network *n, encoded *e)
{
    mtf_bert_opts   o;
    mtf_vocabulary *words;
    *e = (encoded){.batch = {"batch", 0}, .length = {"seq", 0}};
    TRY(setting_count(v, "batch", 1, &e->batch.size) && read_length(v, &e->length.size) &&
        open_vocabulary(v, &words) && read_model(v, words, &o));
    mtf_shape rows = mtf_shape(e->batch, e->length);
    n->graph = mtf_graph_new(v->session);
    mtf_bert_batch b = {input(n, "input_ids", rows), input(n, "input_mask", rows),
                        input(n, "segment_ids", rows)};
    e->out =
        mtf_bert_apply(mtf_bert_new(v->session, &o), &b, &(mtf_bert_call){.training = training});
    return e->out.sequence != NULL;
}

static bool end_network(network *n, mtf_tensor *loss, const encoded *e)
{
    if (e->out.auxiliary) loss = mtf_add(loss, e->out.auxiliary);
    n->loss = mtf_name(loss, "loss");
    return n->loss != NULL;
}

/* Masked words count as tokens of text do, so that evaluation gives their accuracy and loss. */
static void judge_words(const mtf_bert_result *words, mtf_tensor *weights, mtf_dim predictions,
                        network *n)
{
    mtf_shape along = mtf_shape(predictions);
    n->token_losses = mtf_reduce_sum(mtf_multiply(words->losses, weights), along);
    n->token_counts = mtf_reduce_sum(weights, along);
    n->right = mtf_reduce_sum(mtf_multiply(words->right, weights), along);
    mtf_tensor *some = mtf_greater(n->token_counts, mtf_zeros_like(n->token_counts));
    n->sequences = mtf_cast(some, MTF_F32);
    n->sequences_right =
        mtf_multiply(n->sequences, mtf_cast(mtf_equal(n->right, n->token_counts), MTF_F32));
}

static bool build_pretrain(const settings *v, bool training, network *n)
{
    mtf_dim predictions = {"predictions", 0};
    encoded e;
    TRY(begin_network(v, training, n, &e) && read_predictions(v, e.length.size, &predictions.size));
    mtf_shape       masked = mtf_shape(e.batch, predictions);
    mtf_tensor     *positions = input(n, "masked_lm_positions", masked);
    mtf_tensor     *ids = input(n, "masked_lm_ids", masked);
    mtf_tensor     *weights = mtf_input(n->graph, "masked_lm_weights", MTF_F32, masked);
    mtf_tensor     *follows = input(n, "next_sentence_labels", mtf_shape(e.batch));
    mtf_bert_result words = mtf_bert_masked_words(&e.out, positions, ids, weights);
    mtf_bert_result next = mtf_bert_next_sentence(&e.out, follows);
    judge_words(&words, weights, predictions, n);
    mtf_name(words.loss, "masked_lm_loss");
    mtf_name(next.loss, "next_sentence_loss");
    if (!training && next.right)
        n->scores[n->nscores++] = (network_score){"next_sentence", next.right};
    return end_network(n, mtf_add(words.loss, next.loss), &e);
}

static int64_t count_labels(const settings *v)
{
    const char *at = setting_text(v, "labels");
    int64_t     count = 1;
    for (; *at; at++) count += *at == ',';
    return count;
}

static bool build_classify(const settings *v, bool training, network *n)
{
    encoded e;
    mtf_dim classes = {"classes", count_labels(v)};
    TRY(begin_network(v, training, n, &e));
    mtf_tensor     *labels = input(n, "label_ids", mtf_shape(e.batch));
    mtf_bert_result r = mtf_bert_classify(&e.out, classes, 0, labels);
    n->right = mtf_name(r.right, "right");
    return end_network(n, r.loss, &e);
}

static bool build_span(const settings *v, bool training, network *n)
{
    encoded e;
    TRY(begin_network(v, training, n, &e));
    mtf_tensor     *first = input(n, "start_positions", mtf_shape(e.batch));
    mtf_tensor     *last = input(n, "end_positions", mtf_shape(e.batch));
    mtf_bert_result r = mtf_bert_span(&e.out, first, last);
    n->right = mtf_name(r.right, "right");
    if (!training) n->spans = mtf_stack("ends", 1, 2, (mtf_tensor *[]){r.logits, r.last_logits});
    return end_network(n, r.loss, &e);
}

/* ---- answers ---- */

static bool span_answers(const settings *v, mtf_dataset *data, mtf_bert_answers **answers)
{
    mtf_bert_answers_opts o = {.may_lack = *setting_text(v, "null-threshold") != 0};
    mtf_vocabulary       *words;
    int64_t               most;
    TRY(setting_count(v, "answers", 1, &most) && setting_count(v, "answer-length", 1, &o.longest) &&
        open_vocabulary(v, &words));
    if (o.may_lack) TRY(setting_number(v, "null-threshold", &o.threshold));
    if (most > BERT_MOST_ANSWERS)
        return fail(&v->session->fault, ERR_USAGE, "--answers is %lld; it can be 1 to %d",
                    (long long)most, BERT_MOST_ANSWERS);
    o.most = (int)most;
    o.vocabulary = words;
    *answers = mtf_bert_answers_new(data, &o);
    return *answers != NULL;
}

/* ---- models ---- */

#define MODEL_OPTIONS                                                                              \
    {"bert-config", "tiny"}, {"vocab", ""}, {"train-files", ""},                                   \
    {                                                                                              \
        "eval-files", ""                                                                           \
    }
#define UNDECAYED "norm|bias"

static const model_option pretrain_options[] = {
    MODEL_OPTIONS,          {"batch", "32"},
    {"length", "128"},      {"predictions", ""},
    {"optimizer", "adamw"}, {"rate", "0.0001 * linear_warmup(0.1) * linear_decay(1.0)"},
    {"steps", "100000"},    {0}};
static const model_option classify_options[] = {
    MODEL_OPTIONS,
    {"batch", "32"},
    {"length", "128"},
    {"columns", "0,1"},
    {"labels", "0,1"},
    {"optimizer", "adamw"},
    {"epochs", "3"},
    {"rate", "0.00005 * linear_warmup(0.1) * linear_decay(1.0)"},
    {0}};
static const model_option span_options[] = {
    MODEL_OPTIONS,
    {"batch", "32"},
    {"length", "384"},
    {"columns", "0,1,2,3"},
    {"stride", "128"},
    {"query-length", "64"},
    {"answers", "20"},
    {"answer-length", "30"},
    {"null-threshold", ""},
    {"optimizer", "adamw"},
    {"epochs", "2"},
    {"rate", "0.00005 * linear_warmup(0.1) * linear_decay(1.0)"},
    {0}};

const model model_bert_pretrain = {.name = "bert-pretrain",
                                   .says = "BERT: masked words and next sentences",
                                   .options = pretrain_options,
                                   .build = build_pretrain,
                                   .data = bert_data,
                                   .undecayed = UNDECAYED,
                                   .clip_norm = 1};
const model model_bert_classify = {.name = "bert-classify",
                                   .says = "BERT: the class of a text or of a pair",
                                   .options = classify_options,
                                   .build = build_classify,
                                   .data = bert_data,
                                   .undecayed = UNDECAYED,
                                   .clip_norm = 1};
const model model_bert_span = {.name = "bert-span",
                               .says = "BERT: where a text answers a question",
                               .options = span_options,
                               .build = build_span,
                               .data = bert_data,
                               .answers = span_answers,
                               .undecayed = UNDECAYED,
                               .clip_norm = 1};
