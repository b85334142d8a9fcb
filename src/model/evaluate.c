/* Means over all examples of some data. */
#include <math.h>

#include "base/dtype.h"
#include "model/assigns.h"
#include "mtf_train.h"
#include "run/compiled.h"

typedef struct mean {
    double  sum;
    int64_t count;
} mean;

static bool add_batches(mtf_program *p, mtf_tensor *value, mtf_batches *b, char *room, mean *m)
{
    while (mtf_batches_next(b)) {
        int64_t real = value->shape.ndims ? mtf_batches_real(b) : 1;
        TRY(mtf_step(p) && mtf_fetch(p, value, room));
        for (int64_t i = 0; i < real; i++) m->sum += dtype_load(value->type, room, i);
        m->count += real;
    }
    return mtf_ok(p->session);
}

static bool check(const mtf_graph *g, const mtf_tensor *value, const char *batch)
{
    fault *f = &g->session->fault;
    if (value->shape.ndims > 1 || (value->shape.ndims && mtf_shape_find(value->shape, batch) < 0))
        return fail(f, ERR_SHAPE,
                    "\"%s\" cannot be averaged over examples: it must have the dimension \"%s\" "
                    "alone, or none",
                    tensor_name(value), batch);
    if (graph_assigns(g))
        return fail(
            f, ERR_USAGE,
            "evaluating \"%s\" would change variables: build its graph without an optimizer",
            tensor_name(value));
    return true;
}

double mtf_evaluate(mtf_graph *g, mtf_tensor *value, mtf_dataset *data,
                    const mtf_batches_opts *batches)
{
    if (!g || !value || !data || !mtf_ok(g->session)) return 0;
    mtf_session     *s = g->session;
    mtf_batches_opts o = batches ? *batches : (mtf_batches_opts){0};
    if (!check(g, value, o.batch ? o.batch : "batch")) return 0;
    o.epochs = 1;
    o.shuffle = false;
    o.remainder = value->shape.ndims ? MTF_FILL : MTF_DROP;
    mtf_program *p = mtf_compile(g, value);
    mtf_batches *b = p ? mtf_batches_new(data, p, &o) : NULL;
    size_t       bytes = (size_t)mtf_shape_size(value->shape) * mtf_dtype_bytes(value->type);
    char        *room = b ? block_alloc(&s->allocator, &s->fault, bytes, false) : NULL;
    mean         m = {0, 0};
    bool         ok = room && add_batches(p, value, b, room, &m);
    block_free(&s->allocator, room);
    mtf_batches_free(b);
    mtf_program_free(p);
    if (ok && m.count == 0)
        fail(&s->fault, ERR_VALUE, "the data has less than one batch to evaluate \"%s\" on",
             tensor_name(value));
    return ok && m.count ? m.sum / (double)m.count : 0;
}
