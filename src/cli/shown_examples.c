/* Pictures of the first examples of an evaluation, for the report of a training. */
#include "cli/shown_examples.h"

#include "graph/node.h"

static int pictures_of(const network *n)
{
    int count = 0;
    while (count < PICTURES && n->pictures[count].value) count++;
    return count;
}

static bool prepare(shown_examples *s, const network *n, mtf_dataset *data)
{
    mtf_tensor *values[PICTURES];
    int64_t     elements = 0;
    int         count = pictures_of(n);
    for (int k = 0; k < count; k++) {
        values[k] = n->pictures[k].value;
        elements += mtf_shape_size(values[k]->shape);
    }
    s->program = mtf_compile_n(n->graph, count, values);
    s->room = arena_array(&n->graph->arena, float, (size_t)elements);
    if (!s->program || !s->room) return false;
    s->batches =
        mtf_batches_new(data, s->program, &(mtf_batches_opts){.remainder = MTF_FILL, .ahead = -1});
    return s->batches != NULL;
}

bool shown_examples_report(shown_examples *s, const network *n, mtf_dataset *data, train_report *r)
{
    example_picture shown[PICTURES];
    int             count = pictures_of(n);
    if (!r || !data || count == 0) return true;
    TRY(s->program || prepare(s, n, data));
    TRY(mtf_batches_seek(s->batches, 0) && mtf_batches_next(s->batches) && mtf_step(s->program));
    float *to = s->room;
    for (int k = 0; k < count; k++) {
        const network_picture *p = &n->pictures[k];
        const mtf_dim         *dims = p->value->shape.dims;
        TRY(mtf_fetch(s->program, p->value, to));
        shown[k] = (example_picture){p->name,      p->classes,   mtf_batches_real(s->batches),
                                     dims[1].size, dims[2].size, to};
        to += mtf_shape_size(p->value->shape);
    }
    return train_report_examples(r, count, shown);
}
