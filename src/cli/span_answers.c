/* Answers to questions: takes logits from an evaluation, and writes answers as JSON. */
#include "cli/span_answers.h"

#include <math.h>
#include <string.h>

#include "base/numbers.h"
#include "base/put_file.h"
#include "base/textbuf.h"
#include "cli/json_out.h"
#include "cli/outputs.h"

bool span_answers_open(span_answers *a, setup *s, const network *n, mtf_dataset *data)
{
    const mtf_shape *all = &n->spans->shape;
    *a = (span_answers){.setup = s, .length = all->dims[all->ndims - 1].size};
    return s->settings.model->answers(&s->settings, data, &a->answers);
}

bool span_answers_take(void *context, int64_t first, int64_t count, const void *elements)
{
    const span_answers *a = context;
    const float        *logits = elements;
    for (int64_t k = 0; k < count; k++, logits += 2 * a->length)
        TRY(mtf_bert_answers_add(a->answers, first + k, a->length, logits, logits + a->length));
    return true;
}

/* ---- writing ---- */

static cJSON *answer_json(const mtf_bert_answered *x)
{
    cJSON *root = cJSON_CreateObject();
    json_text(root, "answer", x->text);
    cJSON_AddNumberToObject(root, "probability", x->probability);
    if (isfinite(x->margin)) cJSON_AddNumberToObject(root, "margin", x->margin);
    cJSON *list = json_list(root, "best");
    for (int i = 0; i < x->count; i++) {
        cJSON *item = cJSON_CreateObject();
        json_text(item, "text", x->best[i].text);
        cJSON_AddNumberToObject(item, "probability", x->best[i].probability);
        cJSON_AddNumberToObject(item, "score", x->best[i].score);
        if (!cJSON_AddItemToArray(list, item)) cJSON_Delete(item);
    }
    return root;
}

static char *answer_line(const mtf_bert_answered *x)
{
    locale_t before = number_begin();
    cJSON   *root = answer_json(x);
    char    *line = cJSON_PrintUnformatted(root);
    cJSON_Delete(root);
    number_end(before);
    return line;
}

static bool put_answer(const span_answers *a, int64_t question, put_stream *to)
{
    fault            *why = &a->setup->session->fault;
    mtf_bert_answered x;
    TRY(mtf_bert_answers_of(a->answers, question, &x));
    char *line = answer_line(&x);
    if (!line) return fail(why, ERR_MEMORY, "no memory to write %d answers", x.count);
    bool ok = put_piece(to, why, line, strlen(line)) && put_piece(to, why, "\n", 1);
    cJSON_free(line);
    return ok;
}

bool span_answers_write(const span_answers *a, const char *name, int64_t step)
{
    mtf_session *s = a->setup->session;
    textbuf      t = {.arena = &s->arena};
    put_stream   to;
    text_add(&t, "%s_%lld_predictions", name, (long long)step);
    const char *path = text_done(&t);
    bool        ok = path && output_spares(a->setup->options, s, "output", path);
    if (!ok || !mtf_is_first(s)) return ok;
    TRY(put_open(&to, &s->fault, path));
    for (int64_t k = 0; ok && k < mtf_bert_answers_questions(a->answers); k++)
        ok = put_answer(a, k, &to);
    return put_close(&to, &s->fault, ok) && ok;
}
