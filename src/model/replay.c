/* Finds the first tensor that was not finite.
 *
 * The step's values are gone, but all of them can be computed again: variables
 * from an earlier checkpoint or their initialisers, batches and random numbers
 * by their position.  All steps but the last two run as before; these two run
 * on the check device, which examines every operand of every instruction.  Two,
 * because an update that breaks a variable shows in the next step's loss.
 */
#include "model/training.h"

#include <math.h>

#include "base/clock.h"
#include "base/dtype.h"
#include "checkpoint/agree.h"
#include "machine/device_check.h"

enum { CHECKED = 2 };
static const double word_seconds = 2; /* between two progress lines of a long replay */

static bool take_steps(training *t, mtf_program *p, mtf_batches *b, int64_t end)
{
    double said = clock_seconds();
    for (; t->step < end; t->step++) {
        TRY((!b || mtf_batches_next(b)) && mtf_step(p));
        if (clock_seconds() - said < word_seconds) continue;
        said = clock_seconds();
        progress_say(&t->progress, "replayed up to step %lld of %lld", (long long)t->step + 1,
                     (long long)end);
    }
    return true;
}

/* The worst value in an input's parts of this process: a NaN, else an infinity, else 0. */
static double strangest_value(const mtf_program *p, int input)
{
    const mtf_tensor *x = first_program(p)->inputs[input].tensor;
    double            worst = 0;
    for (int k = p->store->first; dtype_is_float(x->type) && k < p->store->end; k++) {
        const processor *q = &p->processors[k];
        const slice     *s = &q->program->inputs[input].slice;
        int64_t          n = q->program->buffers[s->buffer].bytes;
        n /= (int64_t)mtf_dtype_bytes(x->type);
        for (int64_t j = 0; j < n; j++) {
            double value = dtype_load(x->type, q->base[s->buffer], j);
            if (isnan(value)) return value;
            if (isinf(value)) worst = value;
        }
    }
    return worst;
}

/* Reports in `why` an input of this step that is not finite, if there is one. */
static bool blame_input(const training *t, const mtf_program *p, double loss, fault *why)
{
    char place[PLACE_TEXT];
    for (int i = 0; i < first_program(p)->ninputs; i++) {
        const mtf_tensor *x = first_program(p)->inputs[i].tensor;
        double            value = strangest_value(p, i);
        if (isfinite(value)) continue;
        return fail(why, ERR_VALUE, "the loss is %g in step %lld: the input \"%s\"%s holds %s",
                    loss, (long long)t->step, tensor_name(x), tensor_place(x, place),
                    isnan(value) ? "a NaN" : "an infinity");
    }
    return true;
}

/* Reports the tensor that became infinite first on a processor of this process. */
static bool blame_infinite(const training *t, const mtf_program *p, double loss, fault *why)
{
    char place[PLACE_TEXT];
    for (int k = p->store->first; k < p->store->end; k++) {
        const mtf_tensor *x = device_check_infinite(p->processors[k].context);
        if (x)
            return fail(why, ERR_VALUE,
                        "the loss is %g in step %lld: \"%s\"%s was the first to be infinite", loss,
                        (long long)t->step, mtf_name_of_tensor(x), tensor_place(x, place));
    }
    return true;
}

/* Makes what one rank has found the error of all ranks. */
static bool conclude(training *t, const mtf_program *p, int64_t first, double loss)
{
    static const char what[] = "finding what is not finite";
    fault             input = {0}, infinite = {0};
    blame_input(t, p, loss, &input);
    blame_infinite(t, p, loss, &infinite);
    TRY(agree(t->program->store, what, &input) && agree(t->program->store, what, &infinite));
    return fail(&t->session->fault, ERR_VALUE,
                "the loss is %g in step %lld, but a replay of the steps since step %lld does not "
                "show where that began: variables may have been set by hand",
                loss, (long long)t->step, (long long)first);
}

bool training_explain(training *t, double loss)
{
    int64_t bad = t->step;
    TRY(!t->opts->checkpoint_dir || mtf_save_wait(t->session));
    TRY(training_rewind(t, bad - CHECKED)); /* later checkpoints may already be broken */
    int64_t first = t->step, plain = bad - CHECKED > first ? bad - CHECKED : first;
    progress_say(&t->progress,
                 "the loss is %g in step %lld: replaying from step %lld to find where that began",
                 loss, (long long)bad, (long long)first);
    TRY(take_steps(t, t->program, t->batches, plain));
    mtf_program *checked = compile_checked(t->graph, t->nfetches, t->fetches);
    TRY(checked && mtf_program_set_step(checked, t->step));
    mtf_batches *b = NULL;
    if (t->batches) {
        b = mtf_batches_new(t->opts->data, checked, t->opts->batches);
        batches_place(t->batches, t->place);
        TRY(b && batches_continue(b, mtf_batches_position(t->batches), t->place));
    }
    bool ok = take_steps(t, checked, b, bad) && conclude(t, checked, first, loss);
    mtf_batches_free(b);
    return ok;
}
