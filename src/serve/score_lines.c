/* Scores of the texts in files, line by line. */
#include "serve/score_lines.h"

#include <stdio.h>
#include <string.h>

#include "base/numbers.h"
#include "serve/decode_lines.h"
#include "serve/line_reader.h"

/* The lines of a file, in the session's memory. */
typedef struct line_list {
    const char **texts;
    int          count, room;
} line_list;

static bool read_list(mtf_session *s, const char *path, const char *given, line_list *to)
{
    line_reader r;
    const char *line;
    size_t      bytes;
    line_state  state = LINE_END;
    bool        ok = given ? lines_of(&r, s, path, given) : lines_open(&r, s, path, true);
    while (ok && (state = lines_next(&r, true, &line, &bytes)) == LINE_READ) {
        ok = arena_push(&s->arena, to->texts, to->count, to->room) != NULL;
        char *text = ok ? arena_array(&s->arena, char, bytes + 1) : NULL;
        if (!text) break;
        to->texts[to->count++] = memcpy(text, line, bytes);
    }
    ok = ok && state == LINE_END && mtf_ok(s);
    lines_close(&r);
    return ok;
}

static bool read_ids(const opened_model *m, const char *text, bool target, const int32_t **ids,
                     int64_t *n)
{
    id_list list = model_ids(&m->session->fault);
    int32_t end = mtf_vocabulary_end(m->vocabulary);
    bool    ok = target ? model_encode_target(m, text, strlen(text), &list)
                        : model_encode_prompt(m, text, strlen(text), &list);
    if (ok && target && end >= 0) ok = ids_add(&list, end);
    *n = list.count;
    *ids =
        ok ? arena_copy(&m->session->arena, list.ids, sizeof *list.ids * (size_t)list.count) : NULL;
    ids_free(&list);
    return ok && (*ids || list.count == 0);
}

static bool read_item(const opened_model *m, const line_list *inputs, const line_list *targets,
                      int k, score_item *to)
{
    const char *prompt = inputs->count ? inputs->texts[k] : "";
    if (inputs->count || model_max_inputs(m))
        TRY(read_ids(m, prompt, false, &to->prompt, &to->nprompt));
    return read_ids(m, targets->texts[k], true, &to->ids, &to->nids);
}

static bool make_item(const opened_model *m, const score_lines_opts *o, const line_list *inputs,
                      const line_list *targets, int k, score_item *to)
{
    char why[200];
    *to = (score_item){.sum = 0};
    if (o->target_rows) {
        to->ids = o->target_rows[k].ids, to->nids = o->target_rows[k].n;
        to->prompt = o->input_rows[k].ids, to->nprompt = o->input_rows[k].n;
    } else {
        TRY(read_item(m, inputs, targets, k, to));
    }
    to->log_probability = arena_array(&m->session->arena, double, to->nids + 1);
    TRY(to->log_probability != NULL);
    if (scorer_takes(m, to, why, sizeof why)) return true;
    return fail(&m->session->fault, ERR_VALUE, "line %d: %s", k + 1, why);
}

/* ---- output ---- */

typedef struct scored {
    const opened_model     *model;
    const score_lines_opts *opts;
    const line_list        *inputs, *targets;
    const score_item       *items;
} scored;

static void print_scores(const scored *s, FILE *to)
{
    for (int k = 0; k < s->targets->count; k++) {
        number_print(to, "%g", s->items[k].sum);
        for (int64_t i = 0; !s->opts->output && s->opts->each && i < s->items[k].nids; i++)
            number_print(to, " %g", s->items[k].log_probability[i]);
        fputc('\n', to);
    }
}

static void print_lengths(const scored *s, FILE *to)
{
    for (int k = 0; k < s->targets->count; k++) fprintf(to, "%lld\n", (long long)s->items[k].nids);
}

static void print_targets(const scored *s, FILE *to)
{
    for (int k = 0; k < s->targets->count; k++) fprintf(to, "%s\n", s->targets->texts[k]);
}

static void print_inputs(const scored *s, FILE *to)
{
    for (int k = 0; k < s->inputs->count; k++) fprintf(to, "%s\n", s->inputs->texts[k]);
}

static bool write_files(const scored *s)
{
    static const struct {
        const char *suffix;
        void (*print)(const scored *s, FILE *to);
    } files[] = {{".scores", print_scores},
                 {".targets", print_targets},
                 {".lengths", print_lengths},
                 {".inputs", print_inputs}};
    for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
        if (files[k].print == print_inputs && !s->inputs->count) continue;
        const char *path = step_path(s->model, s->opts->output, files[k].suffix);
        FILE       *f = path ? output_open(s->model, path) : NULL;
        TRY(f != NULL);
        files[k].print(s, f);
        TRY(output_close(s->model, path, f));
    }
    return true;
}

bool score_lines(const opened_model *m, const score_lines_opts *o)
{
    line_list    inputs = {0}, targets = {0};
    mtf_session *s = m->session;
    TRY(read_list(s, o->targets, o->targets_text, &targets));
    TRY(!o->inputs || read_list(s, o->inputs, o->inputs_text, &inputs));
    if (o->inputs && inputs.count != targets.count)
        return fail(&s->fault, ERR_VALUE,
                    "\"%s\" has %d lines and \"%s\" has %d; each target needs its "
                    "input",
                    o->inputs, inputs.count, o->targets, targets.count);
    score_item *items = arena_array(&s->arena, score_item, targets.count + 1);
    scorer     *by = scorer_new(m, o->batch);
    TRY(items && by);
    for (int k = 0; k < targets.count; k++) TRY(make_item(m, o, &inputs, &targets, k, &items[k]));
    TRY(scorer_run(by, targets.count, items));
    scored all = {m, o, &inputs, &targets, items};
    if (o->output) return write_files(&all);
    print_scores(&all, stdout);
    return output_close(m, "standard output", stdout);
}
