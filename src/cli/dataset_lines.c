/* A dataset of text as lines of inputs and targets. */
#include "cli/dataset_lines.h"

#include <stdlib.h>
#include <string.h>

#include "serve/decode_lines.h"

/* One line, with spaces in place of newlines. */
static char *as_line(char *text)
{
    for (char *c = text; c && *c; c++)
        if (*c == '\n' || *c == '\r') *c = ' ';
    return text;
}

/* The text becomes the line's, which frees it. */
static bool keep(dataset_lines *l, int side, char *text, const char **to)
{
    free(l->text[side]);
    *to = l->text[side] = as_line(text);
    return text || fail(&l->model->session->fault, ERR_MEMORY, "no memory for a line of %s",
                        l->source.name);
}

/* ---- texts of the files ---- */

static bool next_pair(void *context, given_line *to, bool *there)
{
    dataset_lines *l = context;
    text_pair      pair;
    *to = (given_line){0};
    TRY(text_pairs_next(&l->pairs, &pair, there));
    if (!*there) return true;
    return keep(l, INPUTS, strdup(pair.inputs), &to->inputs) &&
           (!pair.targets || keep(l, TARGETS, strdup(pair.targets), &to->targets));
}

/* ---- examples that an objective makes ---- */

/* One side of an example, without padding, which has the id 0. */
static bool read_side(dataset_lines *l, int side, const char *name, int64_t length, id_row *to)
{
    TRY(mtf_dataset_read(l->made, name, l->given, MTF_I32, length, l->ids[side]));
    *to = (id_row){l->ids[side], length};
    while (to->n && !to->ids[to->n - 1]) to->n--;
    return true;
}

static bool next_made(void *context, given_line *to, bool *there)
{
    dataset_lines *l = context;
    *to = (given_line){0};
    *there = l->given < l->count;
    if (!*there) return true;
    TRY(read_side(l, INPUTS, "inputs", l->opts.inputs_length, &to->input_ids));
    TRY(read_side(l, TARGETS, "targets", l->opts.length, &to->target_ids));
    l->given++;
    return keep(l, INPUTS, model_text(l->model, to->input_ids.ids, to->input_ids.n), &to->inputs) &&
           keep(l, TARGETS, model_text(l->model, to->target_ids.ids, to->target_ids.n),
                &to->targets);
}

static bool is_made(mtf_text_objective o)
{
    return o == MTF_TEXT_SPANS || o == MTF_TEXT_PREFIX || o == MTF_TEXT_PREFIX_DELIMITED;
}

/* Inputs and targets that are one sequence in training are read as two here. */
static bool open_made(dataset_lines *l)
{
    mtf_session   *s = l->model->session;
    mtf_text_opts *o = &l->opts;
    if (o->objective == MTF_TEXT_PREFIX_DELIMITED) o->objective = MTF_TEXT_PREFIX;
    if (!o->inputs_length) o->inputs_length = o->length;
    o->pack = false;
    l->source.next = next_made;
    TRY((l->made = mtf_text_open(s, o)) != NULL);
    l->count = mtf_dataset_size(l->made);
    l->ids[INPUTS] = arena_array(&s->arena, int32_t, o->inputs_length);
    l->ids[TARGETS] = arena_array(&s->arena, int32_t, o->length);
    return l->ids[INPUTS] && l->ids[TARGETS] && mtf_ok(s);
}

/* ---- either ---- */

bool dataset_lines_open(config_setup *c, const opened_model *m, dataset_lines *to)
{
    mtf_session *s = c->session;
    *to = (dataset_lines){.model = m, .source = {.context = to}};
    if (!option_given(c->options, "eval-text") && !c->run.decode.from_dataset) return true;
    TRY(config_text_opts(c, false, &to->opts));
    if (!to->opts.files)
        return fail(&s->fault, ERR_USAGE,
                    "the configuration wants a dataset decoded, but has none that can be opened "
                    "here: name it with --eval-text FILES");
    to->source.name = to->opts.files;
    if (is_made(to->opts.objective)) return open_made(to);
    to->source.next = next_pair;
    return text_pairs_open(&to->pairs, s, &to->opts);
}

static bool begin_again(dataset_lines *l)
{
    l->given = 0;
    if (l->made) return true;
    text_pairs_close(&l->pairs);
    return text_pairs_open(&l->pairs, l->model->session, &l->opts);
}

static bool write_lines(dataset_lines *l, FILE *const *to)
{
    for (given_line line;;) {
        bool there;
        TRY(l->source.next(l, &line, &there));
        if (!there) return true;
        fprintf(to[INPUTS], "%s\n", line.inputs);
        if (to[TARGETS]) fprintf(to[TARGETS], "%s\n", line.targets);
    }
}

bool dataset_lines_write(dataset_lines *l, const char *output)
{
    static const char *const suffixes[SIDES] = {".inputs", ".targets"};
    const char              *paths[SIDES] = {NULL, NULL};
    FILE                    *to[SIDES] = {NULL, NULL};
    bool                     two = l->made || l->pairs.read.pairs, ok = true;
    if (!l->source.name) return true;
    TRY(begin_again(l));
    for (int side = 0; ok && side < (two ? SIDES : TARGETS); side++) {
        paths[side] = step_path(l->model, output, suffixes[side]);
        to[side] = paths[side] ? output_open(l->model, paths[side]) : NULL;
        ok = to[side] != NULL;
    }
    ok = ok && write_lines(l, to);
    for (int side = 0; side < SIDES; side++)
        if (to[side]) ok = output_close(l->model, paths[side], to[side]) && ok;
    return ok;
}

void dataset_lines_close(dataset_lines *l)
{
    text_pairs_close(&l->pairs);
    for (int side = 0; side < SIDES; side++) free(l->text[side]);
}
