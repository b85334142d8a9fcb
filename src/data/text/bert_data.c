/* Datasets for BERT, from text, TSV or TFRecords. */
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
    while (next) {
        char *name = next, *comma = strchr(name, ',');
        next = comma ? comma + 1 : NULL;
        if (comma) *comma = 0;
        if (c->count == most) break;
        if (!tsv_find(line->text, line->size, name, &c->column[c->count++]))
            return fail(why, ERR_NAME, "\"%s\" has no column \"%s\"", line->path, name);
        c->header = c->header || !tsv_is_number(name);
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

static bool complete(mtf_session *s, mtf_bert_data_opts *o)
{
    fault *why = &s->fault;
    if (!o->files || !*o->files) return fail(why, ERR_USAGE, "a dataset for BERT needs files");
    if (o->predictions == 0) o->predictions = o->length < 20 ? o->length : 20;
    if (o->masked == 0) o->masked = 0.15;
    if (o->shorter == 0) o->shorter = 0.1;
    if (!o->columns) o->columns = tasks[o->task].columns;
    if (!o->labels) o->labels = "0,1";
    if (o->stride == 0) o->stride = 128;
    if (o->query == 0) o->query = 64;
    if (o->length < 8 || o->length > BERT_MOST_LENGTH)
        return fail(why, ERR_VALUE, "rows for BERT have 8 to %d words, not %lld", BERT_MOST_LENGTH,
                    (long long)o->length);
    if (o->predictions < 1 || o->predictions > o->length || o->stride < 1 || o->query < 1)
        return fail(why, ERR_VALUE,
                    "rows of %lld words for BERT with %lld predictions, a stride of %lld and "
                    "questions of %lld words: these must be from 1 on, predictions at most the "
                    "length",
                    (long long)o->length, (long long)o->predictions, (long long)o->stride,
                    (long long)o->query);
    if (o->task == MTF_BERT_SPAN && o->query > o->length - BERT_ROW_SPECIALS - 1)
        return fail(why, ERR_VALUE,
                    "questions of %lld words leave no room for a text in rows of %lld words",
                    (long long)o->query, (long long)o->length);
    if (!(o->masked > 0 && o->masked < 1) || !(o->shorter < 1))
        return fail(why, ERR_VALUE, "shares of words and of pairs must be below 1, not %g and %g",
                    o->masked, o->shorter);
    return true;
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

static bool has_records(const input_file *f)
{
    crc32c_tables crc;
    crc32c_fill(&crc);
    return format_tfrecord.begins(&(field){.crc = &crc}, f->bytes, f->size);
}

static int64_t count_labels(const char *labels)
{
    int64_t count = 1;
    for (; *labels; labels++) count += *labels == ',';
    return count;
}

/* The largest number that a field may have; 0: that is not known. */
static int64_t most_of(const mtf_bert_data_opts *o, bert_view view)
{
    switch (view) {
    case BERT_IDS:
    case BERT_MASKED_IDS:
    case BERT_WORDS: return o->vocabulary ? mtf_vocabulary_size(o->vocabulary) - 1 : 0;
    case BERT_POSITIONS:
    case BERT_SECOND_LABEL: return o->length - 1;
    case BERT_PADDING: return 1;
    case BERT_FIRST_LABEL:
        if (o->task == MTF_BERT_PRETRAIN) return 1;
        return o->task == MTF_BERT_SPAN ? o->length - 1 : count_labels(o->labels) - 1;
    default: return 0;
    }
}

static mtf_dataset *open_records(mtf_session *s, const mtf_bert_data_opts *o)
{
    enum { MOST_FIELDS = 8 };
    mtf_field as[MOST_FIELDS + 1] = {{0}};
    for (int i = 0; tasks[o->task].fields[i].name; i++) {
        const bert_field *f = &tasks[o->task].fields[i];
        as[i] =
            (mtf_field){.name = f->name, .files = o->files, .format = "tfrecord", .part = f->name};
        as[i].most = (double)most_of(o, f->view);
    }
    return mtf_dataset_open(s, as);
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
    bool       ok = r->files && bert_rows_begin(r) && tasks[o->task].read(&t);
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
        d = has_records(files.all[0]) ? open_records(s, &o) : open_texts(s, &o, &files);
    input_close(&files);
    return d;
}
