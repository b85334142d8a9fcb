/* Means over all examples of a dataset.
 *
 * A scalar of a batch, such as a loss, is the mean over its examples.  So the
 * examples that do not fill a batch form batches in which each is repeated
 * equally often (MTF_REPEAT); every batch is then weighted by its number of
 * different examples.
 */
#include "model/evaluate.h"

#include "base/dtype.h"
#include "data/dataset.h"
#include "model/assigns.h"
#include "run/compiled.h"

struct mtf_evaluation {
    mtf_session *session;
    mtf_program *program;
    mtf_batches *batches;
    mtf_tensor **values;
    double      *sums; /* by value */
    int          nvalues;
    char        *room; /* for the largest value */
    bool         closed;
    /* who else takes the examples of a value */
    int                  heard;
    evaluation_listener *listener; /* NULL: nobody */
    void                *context;
};

/* ---- opening ---- */

static bool check_value(const mtf_graph *g, const mtf_tensor *value, const char *batch)
{
    fault *f = &g->session->fault;
    if (value->shape.ndims && mtf_shape_find(value->shape, batch) != 0)
        return fail(f, ERR_SHAPE,
                    "\"%s\" cannot be averaged over examples: its first dimension must be \"%s\", "
                    "or it must be a scalar",
                    tensor_name(value), batch);
    if (graph_assigns(g))
        return fail(
            f, ERR_USAGE,
            "evaluating \"%s\" would change variables: build its graph without an optimizer",
            tensor_name(value));
    return true;
}

/* Finds missing fields before the first step. */
static bool check_inputs(const mtf_program *p, const mtf_dataset *data)
{
    for (int i = 0; i < first_program(p)->ninputs; i++) {
        const mtf_tensor *x = first_program(p)->inputs[i].tensor;
        char              text[SHAPE_TEXT];
        if (!dataset_field(data, tensor_name(x)))
            return fail(&p->session->fault, ERR_NAME,
                        "the data for evaluation has no field \"%s\", which the input %s%s of that "
                        "name needs",
                        tensor_name(x), mtf_dtype_name(x->type), shape_text(&x->shape, text));
    }
    return true;
}

static void close_evaluation(void *what)
{
    mtf_evaluation *e = what;
    if (e->closed) return;
    e->closed = true;
    block_free(&e->session->allocator, e->room);
}

static bool compile(mtf_evaluation *e, mtf_graph *g, mtf_dataset *data, mtf_batches_opts o)
{
    mtf_session *s = e->session;
    size_t       most = 0;
    o.epochs = 1;
    o.shuffle = false;
    o.remainder = MTF_FILL;
    for (int i = 0; i < e->nvalues; i++) {
        const mtf_tensor *x = e->values[i];
        size_t            bytes = (size_t)mtf_shape_size(x->shape) * mtf_dtype_bytes(x->type);
        TRY(check_value(g, x, o.batch ? o.batch : "batch"));
        if (!x->shape.ndims) o.remainder = MTF_REPEAT;
        if (bytes > most) most = bytes;
    }
    e->program = mtf_compile_n(g, e->nvalues, e->values);
    TRY(e->program && check_inputs(e->program, data));
    e->batches = mtf_batches_new(data, e->program, &o);
    e->room = e->batches ? block_alloc(&s->allocator, &s->fault, most, false) : NULL;
    return e->room != NULL;
}

/* Reads the first batch only to find errors: some formats show an example's shape only then. */
static bool try_batch(mtf_evaluation *e)
{
    return mtf_batches_next(e->batches) && mtf_batches_seek(e->batches, 0);
}

mtf_evaluation *mtf_evaluation_new(mtf_graph *g, int n, mtf_tensor *const *values,
                                   mtf_dataset *data, const mtf_batches_opts *batches)
{
    if (!g || n < 1 || !values || !data || !mtf_ok(g->session)) return NULL;
    for (int i = 0; i < n; i++)
        if (!values[i]) return NULL;
    mtf_session    *s = g->session;
    mtf_evaluation *e = arena_new(&s->arena, mtf_evaluation);
    if (!e) return NULL;
    *e = (mtf_evaluation){.session = s, .nvalues = n};
    e->values = arena_copy(&s->arena, values, sizeof *values * (size_t)n);
    e->sums = arena_array(&s->arena, double, n);
    if (!e->values || !e->sums || !session_at_close(s, close_evaluation, e)) return NULL;
    if (compile(e, g, data, batches ? *batches : (mtf_batches_opts){0}) && try_batch(e)) return e;
    mtf_evaluation_free(e);
    return NULL;
}

void mtf_evaluation_free(mtf_evaluation *e)
{
    if (!e || e->closed) return;
    mtf_batches_free(e->batches);
    mtf_program_free(e->program);
    close_evaluation(e);
}

void evaluation_listen(mtf_evaluation *e, int value, evaluation_listener *to, void *context)
{
    e->heard = value;
    e->listener = to;
    e->context = context;
}

/* ---- running ---- */

/* Adds the value of each real example, of which number `first` is the first; a scalar is the mean of all of them. */
static bool add_value(mtf_evaluation *e, int i, int64_t first, int64_t real)
{
    const mtf_tensor *x = e->values[i];
    int64_t           each = 1;
    for (int d = 1; d < x->shape.ndims; d++) each *= x->shape.dims[d].size;
    int64_t count = x->shape.ndims ? real * each : 1;
    double  sum = 0;
    TRY(mtf_fetch(e->program, e->values[i], e->room));
    if (e->listener && e->heard == i) TRY(e->listener(e->context, first, real, e->room));
    for (int64_t k = 0; k < count; k++) sum += dtype_load(x->type, e->room, k);
    e->sums[i] += x->shape.ndims ? sum / (double)each : sum * (double)real;
    return true;
}

bool mtf_evaluation_run(mtf_evaluation *e, double *means)
{
    int64_t examples = 0;
    if (!e || e->closed || !mtf_ok(e->session)) return false;
    TRY(mtf_batches_seek(e->batches, 0) && mtf_program_set_step(e->program, 0));
    for (int i = 0; i < e->nvalues; i++) e->sums[i] = 0;
    while (mtf_batches_next(e->batches)) {
        int64_t real = mtf_batches_real(e->batches);
        TRY(mtf_step(e->program));
        for (int i = 0; i < e->nvalues; i++) TRY(add_value(e, i, examples, real));
        examples += real;
    }
    TRY(mtf_ok(e->session));
    for (int i = 0; i < e->nvalues; i++) means[i] = e->sums[i] / (double)examples;
    return true;
}

double mtf_evaluate(mtf_graph *g, mtf_tensor *value, mtf_dataset *data,
                    const mtf_batches_opts *batches)
{
    double          mean = 0;
    mtf_evaluation *e = mtf_evaluation_new(g, 1, &value, data, batches);
    bool            ok = mtf_evaluation_run(e, &mean);
    mtf_evaluation_free(e);
    return ok ? mean : 0;
}
