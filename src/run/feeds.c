/* Feeding and fetching: whole arrays, or single parts. */

#include "base/dtype.h"
#include "run/compiled.h"
#include "run/parts.h"
#include "run/share.h"

/* ---- feeding ---- */

/* The number of the program's input x; -1: an input that no fetched tensor depends on, which may be
 * fed too; -2, with an error: not an input. */
static int input_number(const mtf_program *p, const mtf_tensor *x)
{
    for (int i = 0; i < first_program(p)->ninputs; i++)
        if (first_program(p)->inputs[i].tensor == x) return i;
    if (strcmp(x->node->op->name, "input") == 0 && x->node->graph == p->graph) return -1;
    fail(&p->session->fault, ERR_USAGE, "\"%s\" is not an input of this program", tensor_name(x));
    return -2;
}

static bool where_is(const mtf_program *p, const mtf_tensor *x, placement *where)
{
    return layout_place(&p->store->layout, &x->shape, tensor_name(x), &p->session->fault, where);
}

bool mtf_feed_parts(mtf_program *p, mtf_tensor *input, void (*fill)(void *, const mtf_part *),
                    void *context)
{
    if (!alive(p) || !input) return false;
    int       i = input_number(p, input);
    placement where;
    if (i < 0) return i == -1;
    TRY(where_is(p, input, &where));
    for (int k = p->store->first; k < p->store->end; k++) {
        processor *mine = &p->processors[k];
        int        b = mine->program->inputs[i].slice.buffer;
        size_t     bytes = (size_t)mine->program->buffers[b].bytes;
        mine->base[b] = mine->slab + mine->program->buffers[b].offset; /* not lent memory */
        void *host =
            p->device->host_memory ? mine->base[b] : p->device->stage(mine->context, bytes);
        TRY(host || store_blame(p->store, k));
        mtf_part part = part_of(p->store, k, &input->shape, &where, host);
        fill(context, &part);
        if (host != mine->base[b]) p->device->write(mine->context, mine->base[b], host, bytes);
    }
    return p->fed[i] = true;
}

/* Programs only read their inputs, so host memory can replace a buffer; a device with its own
 * memory copies it. */
static void lend(const mtf_program *p, processor *mine, int b, const void *data)
{
    if (p->device->host_memory)
        mine->base[b] = (void *)(uintptr_t)data;
    else
        p->device->write(mine->context, mine->base[b], data,
                         (size_t)mine->program->buffers[b].bytes);
}

bool mtf_lend_parts(mtf_program *p, mtf_tensor                          *input,
                    const void *(*find)(void *, const mtf_part *), void *context)
{
    if (!alive(p) || !input) return false;
    int       i = input_number(p, input);
    placement where;
    if (i < 0) return i == -1;
    TRY(where_is(p, input, &where));
    for (int k = p->store->first; find && k < p->store->end; k++) {
        processor *mine = &p->processors[k];
        mtf_part   part = part_of(p->store, k, &input->shape, &where, NULL);
        lend(p, mine, mine->program->inputs[i].slice.buffer, find(context, &part));
    }
    p->fed[i] = find != NULL;
    return true;
}

bool mtf_input_parts(mtf_program *p, mtf_tensor *input, void (*visit)(void *, const mtf_part *),
                     void *context)
{
    if (!alive(p) || !input) return false;
    placement where;
    TRY(input_number(p, input) > -2 && where_is(p, input, &where));
    for (int k = p->store->first; k < p->store->end; k++) {
        mtf_part part = part_of(p->store, k, &input->shape, &where, NULL);
        visit(context, &part);
    }
    return true;
}

int mtf_program_inputs(const mtf_program *p, mtf_tensor **list, int room)
{
    if (!alive(p)) return 0;
    const program *first = first_program(p);
    for (int i = 0; i < first->ninputs && i < room; i++)
        list[i] = (mtf_tensor *)first->inputs[i].tensor;
    return first->ninputs;
}

/* A whole array on the host, from which each processor copies its part. */
typedef struct whole_feed {
    const mtf_program *program;
    const mtf_tensor  *input;
    const char        *data;
} whole_feed;

static void take_part(void *context, const mtf_part *part)
{
    const whole_feed *f = context;
    placement         where;
    if (!where_is(f->program, f->input, &where)) return;
    part_pack(f->program->store, part->processor, f->input->type, &f->input->shape, &where, f->data,
              part->data);
}

bool mtf_feed(mtf_program *p, mtf_tensor *input, const void *data)
{
    return mtf_feed_parts(p, input, take_part, &(whole_feed){p, input, data});
}

/* The number of the program's fetch x, once it has a value; -1 after an error. */
static int fetch_number(const mtf_program *p, const mtf_tensor *x)
{
    for (int i = 0; i < first_program(p)->nfetches; i++) {
        if (first_program(p)->fetches[i].tensor != x) continue;
        if (p->stepped) return i;
        fail(&p->session->fault, ERR_USAGE, "\"%s\" has no value before the first step",
             tensor_name(x));
        return -1;
    }
    fail(&p->session->fault, ERR_USAGE,
         "\"%s\" was not among the tensors that the program was compiled for", tensor_name(x));
    return -1;
}

/* The address of fetch i on processor k. */
static char *fetched_at(const mtf_program *p, int k, int i)
{
    const slice *s = &p->processors[k].program->fetches[i].slice;
    return (char *)p->processors[k].base[s->buffer] + s->offset * (int64_t)mtf_dtype_bytes(s->type);
}

/* The same in memory that the host can read: in place, or a copy; NULL after an error. */
static char *visible(const mtf_program *p, int k, int i)
{
    char *there = fetched_at(p, k, i);
    if (p->device->host_memory) return there;
    const processor *mine = &p->processors[k];
    const slice     *s = &mine->program->fetches[i].slice;
    int64_t          before = s->offset * (int64_t)mtf_dtype_bytes(s->type);
    size_t           bytes = (size_t)(mine->program->buffers[s->buffer].bytes - before);
    char            *copy = block_alloc(&p->session->allocator, &p->session->fault, bytes, false);
    if (copy) p->device->read(mine->context, copy, there, bytes);
    return copy;
}

bool mtf_fetch(mtf_program *p, mtf_tensor *x, void *data)
{
    if (!alive(p) || !x) return false;
    int       i = fetch_number(p, x);
    placement where;
    TRY(i >= 0 && where_is(p, x, &where));
    for (int k = p->store->first; k < p->store->end; k++) { /* equal parts write the same */
        const slice *s = &p->processors[k].program->fetches[i].slice;
        TRY(part_read(p->store, k, x->type, &x->shape, &where, fetched_at(p, k, i), s->stride,
                      data));
    }
    return share_parts(p->store, tensor_name(x), x->type, &x->shape, &where, data);
}

bool mtf_fetch_parts(mtf_program *p, mtf_tensor *x, void (*visit)(void *, const mtf_part *),
                     void *context)
{
    if (!alive(p) || !x) return false;
    int       i = fetch_number(p, x);
    placement where;
    TRY(i >= 0 && where_is(p, x, &where));
    for (int k = p->store->first; k < p->store->end; k++) {
        char *host = visible(p, k, i);
        TRY(host != NULL);
        mtf_part part = part_of(p->store, k, &x->shape, &where, host);
        visit(context, &part);
        if (!p->device->host_memory) block_free(&p->session->allocator, host);
    }
    return true;
}

double mtf_fetch_scalar(mtf_program *p, mtf_tensor *x)
{
    char value[8];
    if (!alive(p) || !x) return 0;
    if (x->shape.ndims) {
        fail(&p->session->fault, ERR_SHAPE, "\"%s\" is not a scalar", tensor_name(x));
        return 0;
    }
    return mtf_fetch(p, x, value) ? dtype_load(x->type, value, 0) : 0;
}
