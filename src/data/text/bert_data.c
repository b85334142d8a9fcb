/* Datasets for BERT, from text, TSV or TFRecords. */
#include <float.h>
#include <string.h>

#include "data/text/bert_texts.h"

/* ---- lines and cells ---- */

static bool file_lines(bert_texts *t, input_file                                *f,
                       bool (*each)(void *context, const bert_line *line), void *context)
{
    TRY(lines_index(t->session, f));
    for (int64_t k = 0; k < f->lines.count; k++) {
        bert_line line = {.path = f->path, .number = k + 1, .last = k + 1 == f->lines.count};
        line.text = lines_at(f, k, &line.size);
        if (memchr(line.text, 0, (size_t)line.size))
            return fail(&t->session->fault, ERR_FILE,
                        "\"%s\", line %lld is not text: it has a zero byte", f->path,
                        (long long)line.number);
        TRY(each(context, &line));
    }
    return true;
}

bool bert_lines(bert_texts *t, bool (*each)(void *context, const bert_line *line), void *context)
{
    for (int i = 0; i < t->files->count; i++) TRY(file_lines(t, t->files->all[i], each, context));
    return true;
}

bool bert_find_columns(const bert_texts *t, const bert_line *line, int least, int most,
                       bert_columns *c)
{
    fault *why = &t->session->fault;
    char  *names = arena_text(&t->session->arena, t->opts->columns), *next = names;
    *c = (bert_columns){0};
    TRY(names != NULL);
    while (next && c->count < most) {
        char *name = next, *comma = strchr(name, ',');
        next = comma ? comma + 1 : NULL;
        if (comma) *comma = 0;
        if (!tsv_find(line->text, line->size, name, &c->column[c->count++]))
            return fail(why, ERR_NAME, "\"%s\" has no column \"%s\"", line->path, name);
        c->header = c->header || !tsv_is_number(name);
        for (int k = 0; k < c->count - 1; k++)
            if (c->column[k] == c->column[c->count - 1])
                return fail(why, ERR_USAGE,
                            "the columns \"%s\" have \"%s\" twice; they are different ones",
                            t->opts->columns, name);
    }
    return (!next && c->count >= least) ||
           fail(why, ERR_USAGE, "the columns \"%s\" should be %s", t->opts->columns,
                most == BERT_MOST_COLUMNS ? "four: question, text, answer, place"
                                          : "a text or two, and the class");
}

bool bert_cell(const bert_texts *t, const bert_line *line, int64_t column, text_span *cell)
{
    return tsv_cell(line->text, line->size, column, cell) ||
           fail(&t->session->fault, ERR_FILE,
                "\"%s\", line %lld has no column %lld; tabs separate columns", line->path,
                (long long)line->number, (long long)column);
}

void bert_shorten(int64_t *a, int64_t *b, int64_t most)
{
    while (*a + *b > most) --*(*a > *b ? a : b);
}

/* ---- tasks ---- */

typedef struct bert_task {
    bool (*read)(bert_texts *t);
    const bert_field *fields;
    const char       *columns; /* default */
} bert_task;

#define COMMON_FIELDS                                                                              \
    {"input_mask", BERT_PADDING},                                                                  \
    {                                                                                              \
        "segment_ids", BERT_SEGMENTS                                                               \
    }
static const bert_field pretraining_fields[] = {{"input_ids", BERT_MASKED_IDS},
                                                COMMON_FIELDS,
                                                {"masked_lm_positions", BERT_POSITIONS},
                                                {"masked_lm_ids", BERT_WORDS},
                                                {"masked_lm_weights", BERT_WEIGHTS},
                                                {"next_sentence_labels", BERT_FIRST_LABEL},
                                                {0}};
static const bert_field class_fields[] = {
    {"input_ids", BERT_IDS}, COMMON_FIELDS, {"label_ids", BERT_FIRST_LABEL}, {0}};
static const bert_field span_fields[] = {{"input_ids", BERT_IDS},
                                         COMMON_FIELDS,
                                         {"start_positions", BERT_FIRST_LABEL},
                                         {"end_positions", BERT_SECOND_LABEL},
                                         {0}};
static const bert_task  tasks[] = {
     [MTF_BERT_PRETRAIN] = {bert_read_sentences, pretraining_fields, ""},
     [MTF_BERT_CLASSIFY] = {bert_read_classes, class_fields, "0,1"},
     [MTF_BERT_SPAN] = {bert_read_questions, span_fields, "0,1,2,3"}};

static void set_defaults(mtf_bert_data_opts *o)
{
    if (o->masked == 0) o->masked = BERT_MASKED;
    if (o->shorter == 0) o->shorter = 0.1;
    if (!o->columns) o->columns = tasks[o->task].columns;
    if (!o->labels) o->labels = "0,1";
    if (o->stride == 0) o->stride = 128;
    if (o->query == 0) o->query = 64;
}

static bool complete_pretraining(fault *why, mtf_bert_data_opts *o)
{
    if (!(o->masked > 0 && o->masked < 1) || !(o->shorter < 1))
        return fail(why, ERR_VALUE, "shares of words and of pairs must be below 1, not %g and %g",
                    o->masked, o->shorter);
    if (o->predictions == 0) o->predictions = bert_usual_predictions(o->length, o->masked);
    return (o->predictions > 0 && o->predictions <= o->length) ||
           fail(why, ERR_VALUE, "--predictions is %lld; of rows of %lld words it can be 1 to %lld",
                (long long)o->predictions, (long long)o->length, (long long)o->length);
}

/* Each class stands once in the list. */
static bool check_labels(fault *why, const char *labels)
{
    for (const char *at = labels;; at++) {
        size_t size = strcspn(at, ",");
        for (const char *next = at + size; *next;) {
            size_t other = strcspn(++next, ",");
            if (size == other && memcmp(at, next, size) == 0)
                return fail(why, ERR_USAGE, "--labels has the class \"%.*s\" twice: \"%s\"",
                            (int)size, at, labels);
            next += other;
        }
        at += size;
        if (!*at) return true;
    }
}

static bool check_windows(fault *why, const mtf_bert_data_opts *o)
{
    if (o->stride < 1 || o->query < 1)
        return fail(why, ERR_VALUE,
                    "a stride of %lld words and questions of %lld words: these must be from 1 on",
                    (long long)o->stride, (long long)o->query);
    return o->query <= o->length - BERT_ROW_SPECIALS - 1 ||
           fail(why, ERR_VALUE,
                "questions of %lld words leave no room for a text in rows of %lld words; "
                "--query-length can be 1 to %lld",
                (long long)o->query, (long long)o->length,
                (long long)o->length - BERT_ROW_SPECIALS - 1);
}

static bool too_few_segments(fault *why)
{
    return fail(why, ERR_VALUE,
                "rows of two texts need 2 kinds of segments or more, but the model has 1 "
                "(type_vocab_size)");
}

static bool complete(mtf_session *s, mtf_bert_data_opts *o)
{
    fault *why = &s->fault;
    if (!o->files || !*o->files) return fail(why, ERR_USAGE, "a dataset for BERT needs files");
    set_defaults(o);
    if (o->length < BERT_LEAST_LENGTH || o->length > BERT_MOST_LENGTH)
        return fail(why, ERR_VALUE, "rows for BERT have %d to %d words, not %lld",
                    BERT_LEAST_LENGTH, BERT_MOST_LENGTH, (long long)o->length);
    if (o->task == MTF_BERT_CLASSIFY) return check_labels(why, o->labels);
    if (o->type_vocab == 1) return too_few_segments(why);
    return o->task == MTF_BERT_PRETRAIN ? complete_pretraining(why, o) : check_windows(why, o);
}

/* ---- opening ---- */

static bool open_files(bert_texts *t, input_files *files)
{
    const char **paths;
    int          n = input_paths(t->session, t->opts->files, &paths);
    TRY(n > 0);
    for (int i = 0; i < n; i++) TRY(input_open(files, paths[i]) != NULL);
    return true;
}

/* The first file that is not empty tells. */
static bool has_records(const input_files *files)
{
    int           i = 0;
    crc32c_tables crc;
    crc32c_fill(&crc);
    while (i < files->count - 1 && files->all[i]->size == 0) i++;
    const input_file *f = files->all[i];
    return format_tfrecord.begins(&(field){.crc = &crc}, f->bytes, f->size);
}

static int64_t count_labels(const char *labels)
{
    int64_t count = 1;
    for (; *labels; labels++) count += *labels == ',';
    return count;
}

/* The largest id of a table; 0: that is not known. */
static double last_of(int64_t size)
{
    /* No id but 0: 0 to 0 would be no limit. */
    return size == 1 ? 0.5 : size ? (double)size - 1 : 0;
}

/* The largest number that a field may have; 0: that is not known. */
static double most_of(const mtf_bert_data_opts *o, bert_view view)
{
    switch (view) {
    case BERT_IDS:
    case BERT_MASKED_IDS:
    case BERT_WORDS:
        return last_of(o->vocabulary ? mtf_vocabulary_size(o->vocabulary) : o->vocab_size);
    case BERT_SEGMENTS: return last_of(o->type_vocab);
    case BERT_POSITIONS:
    case BERT_SECOND_LABEL: return last_of(o->length);
    case BERT_PADDING: return 1;
    case BERT_FIRST_LABEL:
        if (o->task == MTF_BERT_PRETRAIN) return 1;
        return last_of(o->task == MTF_BERT_SPAN ? o->length : count_labels(o->labels));
    case BERT_WEIGHTS: return FLT_MAX;
    default: return 0;
    }
}

/* Has the first record as many numbers in this field? */
static bool check_first(const mtf_dataset *d, const char *name, int64_t wanted_count,
                        const char *option)
{
    const field *f = dataset_field(d, name);
    const shard *part = f->shards; /* of the first record: files may be empty */
    fault       *why = &d->session->fault;
    wanted       w = {.type = MTF_I32}; /* no elements: they are only counted */
    while (part->count == 0) part++;
    TRY(f->format->read(f, part, 0, &w, why));
    return w.offered == wanted_count ||
           fail(why, ERR_SHAPE,
                "the records of \"%s\" have %lld numbers in \"%s\": %s must be %lld",
                part->file->path, (long long)w.offered, name, option, (long long)w.offered);
}

static bool check_records(const mtf_dataset *d, const mtf_bert_data_opts *o, bool predicts)
{
    if (d->size == 0) return true;
    TRY(check_first(d, "input_ids", o->length, "--length"));
    return !predicts || check_first(d, "masked_lm_ids", o->predictions, "--predictions");
}

/* `predicts`: the number of masked words is given. */
static mtf_dataset *open_records(mtf_session *s, const mtf_bert_data_opts *o, bool predicts)
{
    enum { MOST_FIELDS = 8 };
    mtf_field as[MOST_FIELDS + 1] = {{0}};
    for (int i = 0; tasks[o->task].fields[i].name; i++) {
        const bert_field *f = &tasks[o->task].fields[i];
        as[i] =
            (mtf_field){.name = f->name, .files = o->files, .format = "tfrecord", .part = f->name};
        as[i].most = most_of(o, f->view);
    }
    mtf_dataset *d = mtf_dataset_open(s, as);
    return d && check_records(d, o, predicts) ? d : NULL;
}

/* Rows of single texts are all of the first segment. */
static bool check_segments(const bert_rows *r, const mtf_bert_data_opts *o)
{
    for (int64_t k = 0; o->type_vocab == 1 && k < r->count; k++)
        if (r->rows[k].count > r->rows[k].first) return too_few_segments(&r->session->fault);
    return true;
}

static mtf_dataset *open_texts(mtf_session *s, const mtf_bert_data_opts *o, input_files *files)
{
    bert_rows *r = arena_new(&s->arena, bert_rows);
    if (!r) return NULL;
    if (!o->vocabulary) {
        fail(&s->fault, ERR_USAGE, "\"%s\" is text: rows for BERT need a vocabulary", o->files);
        return NULL;
    }
    *r = (bert_rows){.session = s,
                     .vocabulary = o->vocabulary,
                     .files = arena_text(&s->arena, o->files),
                     .length = o->length,
                     .predictions = o->predictions,
                     .share = o->masked,
                     .seed = o->seed};
    bert_texts t = {s, o, files, r};
    bool ok = r->files && bert_rows_begin(r) && tasks[o->task].read(&t) && check_segments(r, o);
    return ok ? bert_rows_dataset(r, tasks[o->task].fields) : NULL;
}

mtf_dataset *mtf_bert_data_open(mtf_session *s, const mtf_bert_data_opts *opts)
{
    if (!s || !mtf_ok(s)) return NULL;
    mtf_bert_data_opts o = *opts;
    input_files        files = {.session = s};
    bert_texts         t = {.session = s, .opts = &o};
    mtf_dataset       *d = NULL;
    if (complete(s, &o) && open_files(&t, &files))
        d = has_records(&files) ? open_records(s, &o, opts->predictions > 0)
                                : open_texts(s, &o, &files);
    input_close(&files);
    return d;
}
