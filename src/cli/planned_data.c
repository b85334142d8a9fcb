/* What the data of a run keep in memory, for plans. */
#include "cli/planned_data.h"

#include <string.h>

#include "base/units.h"
#include "cli/graph_file.h"
#include "cli/json_out.h"
#include "cli/train_setup.h"
#include "data/file_memory.h"
#include "data/text/text_dataset.h"

/* Batches that mtf train keeps: the one that is lent to the step, and two that are read ahead. */
enum { BATCHES = 3 };

/* A field's file counts once. */
static int64_t memory_of_fields(mtf_session *s, const mtf_field *fields)
{
    int64_t bytes = 0;
    for (const mtf_field *f = fields; f->name; f++) {
        bool again = false;
        for (const mtf_field *g = fields; g < f; g++) again |= strcmp(g->files, f->files) == 0;
        if (!again) bytes += file_memory(s, f->files);
    }
    return bytes;
}

/* Bytes of all inputs, and the most elements that an example has. */
static int64_t input_bytes(const mtf_graph *g, int64_t *longest)
{
    int64_t bytes = 0;
    *longest = 0;
    for (int t = 0; t < g->ntensors; t++) {
        const mtf_tensor *x = g->all[t];
        if (!is_input(x)) continue;
        int64_t n = mtf_shape_size(x->shape), batch = mtf_shape_dim(x->shape, "batch").size;
        bytes += n * (int64_t)mtf_dtype_bytes(x->type);
        if (batch && n / batch > *longest) *longest = n / batch;
    }
    return bytes;
}

bool planned_data_find(const options *o, mtf_session *s, const mtf_graph *g, planned_data *to)
{
    bool         text = config_given(o);
    const model *m = text ? NULL : model_find(o->words[0]);
    mtf_field    fields[MOST_FIELDS] = {{.name = NULL}};
    int64_t      longest, bytes = input_bytes(g, &longest);
    setup        as;
    *to = (planned_data){0};
    if (!text && !(m && m->fields)) return true;
    to->batches = BATCHES * bytes;
    if (text) to->text = text_most_bytes(longest);
    if (text) return true;
    TRY(setup_take(o, s, &as) && m->fields(&as.settings, true, fields));
    to->files = memory_of_fields(s, fields);
    return true;
}

static void write_row(textbuf *t, const char *what, int64_t bytes, const char *says)
{
    if (bytes) text_add(t, "%-16s %9s   %s\n", what, unit_bytes(bytes).s, says);
}

void planned_data_write(const planned_data *d, textbuf *t)
{
    write_row(t, "data", d->batches + d->files + d->text,
              "of each process, at most, beside the memory of its processors");
    write_row(t, "  batches", d->batches, "one in use, two read ahead");
    write_row(t, "  files", d->files, "of examples, unpacked; once on each machine");
    write_row(t, "  text", d->text, "sections of it, whatever its size");
}

void planned_data_json(const planned_data *d, cJSON *to)
{
    if (!d->batches) return;
    cJSON *m = json_object(to, "data");
    json_int(m, "batches", d->batches);
    json_int(m, "files", d->files);
    json_int(m, "text", d->text);
}
