/* A dataset of text as lines of inputs and targets. */
#include "cli/dataset_lines.h"

#include <stdlib.h>
#include <string.h>

#include "base/textbuf.h"
#include "data/text/text_pairs.h"
#include "serve/decode_lines.h"

/* One line for each text, with blanks in place of newlines. */
static char *join(mtf_session *s, const text_pairs *p, bool targets)
{
    size_t size = 1;
    for (int k = 0; k < p->count; k++)
        size += strlen(targets ? p->all[k].targets : p->all[k].inputs) + 1;
    char *all = arena_array(&s->arena, char, size), *to = all;
    for (int k = 0; all && k < p->count; k++) {
        for (const char *c = targets ? p->all[k].targets : p->all[k].inputs; *c; c++)
            *to++ = *c == '\n' || *c == '\r' ? ' ' : *c;
        *to++ = '\n';
    }
    return all;
}

/* ---- examples that an objective makes ---- */

/* One side of all examples, without padding, which has the id 0. */
static const id_row *read_side(mtf_session *s, mtf_dataset *d, const char *name, int64_t length)
{
    int64_t  count = mtf_dataset_size(d);
    id_row  *rows = arena_array(&s->arena, id_row, count);
    int32_t *ids = arena_array(&s->arena, int32_t, count * length);
    for (int64_t k = 0; rows && ids && k < count; k++, ids += length) {
        if (!mtf_dataset_read(d, name, k, MTF_I32, length, ids)) return NULL;
        rows[k] = (id_row){ids, length};
        while (rows[k].n && !ids[rows[k].n - 1]) rows[k].n--;
    }
    return ids ? rows : NULL;
}

/* A line for each row of ids. */
static const char *join_rows(const opened_model *m, int64_t count, const id_row *rows)
{
    textbuf all = {.arena = &m->session->arena};
    for (int64_t k = 0; k < count; k++) {
        char *text = model_text(m, rows[k].ids, rows[k].n);
        if (!text) return NULL;
        for (char *c = text; *c; c++)
            if (*c == '\n' || *c == '\r') *c = ' ';
        text_add(&all, "%s\n", text);
        free(text);
    }
    return text_done(&all);
}

static bool is_made(mtf_text_objective o)
{
    return o == MTF_TEXT_SPANS || o == MTF_TEXT_PREFIX || o == MTF_TEXT_PREFIX_DELIMITED;
}

/* Inputs and targets that are one sequence in training are read as two here. */
static bool read_made(const opened_model *m, mtf_text_opts *o, dataset_lines *to)
{
    mtf_session *s = m->session;
    if (o->objective == MTF_TEXT_PREFIX_DELIMITED) o->objective = MTF_TEXT_PREFIX;
    if (!o->inputs_length) o->inputs_length = o->length;
    o->pack = false;
    mtf_dataset *d = mtf_text_open(s, o);
    TRY(d != NULL);
    to->count = mtf_dataset_size(d);
    to->input_rows = read_side(s, d, "inputs", o->inputs_length);
    to->target_rows = read_side(s, d, "targets", o->length);
    TRY(to->input_rows && to->target_rows);
    to->inputs = join_rows(m, to->count, to->input_rows);
    to->targets = join_rows(m, to->count, to->target_rows);
    return to->inputs && to->targets;
}

bool dataset_lines_read(config_setup *c, const opened_model *m, dataset_lines *to)
{
    mtf_session  *s = c->session;
    mtf_text_opts o;
    text_pairs    pairs;
    *to = (dataset_lines){0};
    if (!option_given(c->options, "eval-text") && !c->run.decode.from_dataset) return true;
    TRY(config_text_opts(c, false, &o));
    if (!o.files)
        return fail(&s->fault, ERR_USAGE,
                    "the configuration wants a dataset decoded, but has none that can be opened "
                    "here: name it with --eval-text FILES");
    to->files = o.files;
    if (is_made(o.objective)) return read_made(m, &o, to);
    TRY(text_pairs_read(s, &o, &pairs));
    to->inputs = join(s, &pairs, false);
    if (pairs.all[0].targets) to->targets = join(s, &pairs, true);
    return to->inputs && (to->targets || !pairs.all[0].targets);
}

static bool write_text(const opened_model *m, const char *output, const char *suffix,
                       const char *text)
{
    const char *path = text ? step_path(m, output, suffix) : NULL;
    FILE       *f = path ? output_open(m, path) : NULL;
    if (!text) return true;
    TRY(f != NULL);
    fputs(text, f);
    return output_close(m, path, f);
}

bool dataset_lines_write(const opened_model *m, const dataset_lines *l, const char *output)
{
    return write_text(m, output, ".inputs", l->inputs) &&
           write_text(m, output, ".targets", l->targets);
}
