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

static bool read_list(mtf_session *s, const char *path, line_list *to)
{
    line_reader r;
    const char *line;
    size_t      bytes;
    line_state  state = LINE_END;
    bool        ok = lines_open(&r, s, path, true);
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

/* The lines of two files as a source. */
typedef struct two_lists {
    line_list inputs, targets;
    int       given;
    bool      both;
} two_lists;

static bool next_of_lists(void *context, given_line *to, bool *there)
{
    two_lists *l = context;
    *there = l->given < l->targets.count;
    if (!*there) return true;
    *to = (given_line){.targets = l->targets.texts[l->given]};
    if (l->both) to->inputs = l->inputs.texts[l->given];
    l->given++;
    return true;
}

static bool read_lists(mtf_session *s, const score_lines_opts *o, two_lists *to)
{
    *to = (two_lists){.both = o->inputs != NULL};
    TRY(read_list(s, o->targets, &to->targets));
    TRY(!o->inputs || read_list(s, o->inputs, &to->inputs));
    if (o->inputs && to->inputs.count != to->targets.count)
        return fail(&s->fault, ERR_VALUE,
                    "\"%s\" has %d lines and \"%s\" has %d; each target needs its "
                    "input",
                    o->inputs, to->inputs.count, o->targets, to->targets.count);
    return true;
}

/* ---- some texts at a time ---- */

enum { AT_ONCE = 1024, FILES = 4 };

typedef struct scored_line {
    const char *inputs, *targets; /* inputs may be NULL */
} scored_line;

typedef struct scoring {
    const opened_model     *model;
    const score_lines_opts *opts;
    const line_source      *from;
    scorer                 *by;
    arena                   own; /* of the lines below */
    scored_line             lines[AT_ONCE];
    score_item              items[AT_ONCE];
    int                     count;
    int64_t                 before;    /* lines that were scored before them */
    FILE                   *to[FILES]; /* NULL: not open */
    const char             *paths[FILES];
} scoring;

static bool read_ids(scoring *s, const char *text, bool target, const int32_t **ids, int64_t *n)
{
    const opened_model *m = s->model;
    id_list             list = model_ids(&m->session->fault);
    int32_t             end = mtf_vocabulary_end(m->vocabulary);
    size_t              bytes = strlen(text);
    bool                ok = target ? model_encode_target(m, text, bytes, &list)
                                    : model_encode_prompt(m, text, bytes, &list);
    if (ok && target && end >= 0) ok = ids_add(&list, end);
    *n = list.count;
    *ids = ok ? arena_copy(&s->own, list.ids, sizeof *list.ids * (size_t)list.count) : NULL;
    ids_free(&list);
    return ok && (*ids || list.count == 0);
}

static bool copy_ids(scoring *s, const id_row *row, const int32_t **ids, int64_t *n)
{
    *n = row->n;
    *ids = arena_copy(&s->own, row->ids, sizeof *row->ids * (size_t)row->n);
    return *ids || !row->n;
}

static bool make_item(scoring *s, const given_line *line, score_item *to)
{
    char        why[200];
    const char *prompt = line->inputs ? line->inputs : "";
    *to = (score_item){.sum = 0};
    if (line->target_ids.ids) {
        TRY(copy_ids(s, &line->target_ids, &to->ids, &to->nids));
        TRY(copy_ids(s, &line->input_ids, &to->prompt, &to->nprompt));
    } else {
        if (line->inputs || model_max_inputs(s->model))
            TRY(read_ids(s, prompt, false, &to->prompt, &to->nprompt));
        TRY(read_ids(s, line->targets, true, &to->ids, &to->nids));
    }
    to->log_probability = arena_array(&s->own, double, to->nids + 1);
    TRY(to->log_probability != NULL);
    if (scorer_takes(s->model, to, why, sizeof why)) return true;
    return fail(&s->model->session->fault, ERR_VALUE, "line %lld: %s",
                (long long)(s->before + s->count + 1), why);
}

static const char *copy_trimmed(scoring *s, const char *text)
{
    size_t n = strlen(text);
    text = line_trim(text, &n);
    char *copy = arena_array(&s->own, char, n + 1);
    if (!copy) return NULL;
    memcpy(copy, text, n);
    copy[n] = 0;
    return copy;
}

/* A text without targets is a target itself. */
static bool add_line(scoring *s, given_line *line)
{
    bool two = line->targets && line->inputs;
    line->targets = copy_trimmed(s, line->targets ? line->targets : line->inputs);
    line->inputs = two ? copy_trimmed(s, line->inputs) : NULL;
    TRY(line->targets && (!two || line->inputs) && make_item(s, line, &s->items[s->count]));
    s->lines[s->count] = (scored_line){line->inputs, line->targets};
    s->count++;
    return true;
}

static bool read_some(scoring *s, bool *there)
{
    given_line line;
    for (*there = true; s->count < AT_ONCE;) {
        TRY(s->from->next(s->from->context, &line, there));
        if (!*there) return true;
        TRY(add_line(s, &line));
    }
    return true;
}

/* ---- output ---- */

static void print_score(const scoring *s, int k, FILE *to)
{
    number_print(to, "%g", s->items[k].sum);
    for (int64_t i = 0; !s->opts->output && s->opts->each && i < s->items[k].nids; i++)
        number_print(to, " %g", s->items[k].log_probability[i]);
    fputc('\n', to);
}

static void print_length(const scoring *s, int k, FILE *to)
{
    fprintf(to, "%lld\n", (long long)s->items[k].nids);
}

static void print_target(const scoring *s, int k, FILE *to)
{
    fprintf(to, "%s\n", s->lines[k].targets);
}

static void print_input(const scoring *s, int k, FILE *to)
{
    fprintf(to, "%s\n", s->lines[k].inputs);
}

static const struct {
    const char *suffix;
    void (*print)(const scoring *s, int k, FILE *to);
} files[FILES] = {{".scores", print_score},
                  {".targets", print_target},
                  {".lengths", print_length},
                  {".inputs", print_input}};

/* Files are opened when there is something to write; without --output, scores go to standard output. */
static bool open_files(scoring *s)
{
    if (s->to[0]) return true;
    s->paths[0] = "standard output";
    s->to[0] = s->opts->output ? NULL : stdout;
    for (int k = 0; s->opts->output && k < FILES; k++) {
        if (files[k].print == print_input && (!s->count || !s->lines[0].inputs)) continue;
        s->paths[k] = step_path(s->model, s->opts->output, files[k].suffix);
        s->to[k] = s->paths[k] ? output_open(s->model, s->paths[k]) : NULL;
        TRY(s->to[k] != NULL);
    }
    return true;
}

static bool close_files(scoring *s, bool ok)
{
    for (int k = 0; k < FILES; k++)
        if (s->to[k]) ok = output_close(s->model, s->paths[k], s->to[k]) && ok;
    return ok;
}

static bool score_some(scoring *s)
{
    TRY(scorer_run(s->by, s->count, s->items) && open_files(s));
    for (int file = 0; file < FILES; file++)
        for (int k = 0; s->to[file] && k < s->count; k++) files[file].print(s, k, s->to[file]);
    s->before += s->count;
    s->count = 0;
    arena_back(&s->own, (arena_mark){0});
    return true;
}

static bool score_all(scoring *s)
{
    for (bool there = true; there;) TRY(read_some(s, &there) && score_some(s));
    return true;
}

bool score_lines(const opened_model *m, const score_lines_opts *o)
{
    mtf_session *session = m->session;
    two_lists    lists;
    line_source  of_files = {.next = next_of_lists, .context = &lists};
    TRY(o->source || read_lists(session, o, &lists));
    scoring *s = arena_new(&session->arena, scoring);
    TRY(s != NULL);
    *s = (scoring){.model = m,
                   .opts = o,
                   .from = o->source ? o->source : &of_files,
                   .by = scorer_new(m, o->batch),
                   .own = arena_make(&session->allocator, &session->fault)};
    bool ok = s->by && score_all(s);
    arena_free(&s->own);
    return close_files(s, ok);
}
