/* A trial of a GPU: how fast its kernels run in captured steps.
 *
 * Each rate comes from two programs of the session's device, one of which does the same
 * work several times more.  The difference is divided by what the instructions of the
 * longer program do beyond those of the shorter one, which is counted on the programs.
 * Sizes grow as far as the device is fast enough for them.
 */
#ifndef MEASURE_TRIAL_GPU_H
#define MEASURE_TRIAL_GPU_H

#include "measure/trial.h"

/* Fills in all rates; `tell`, which may be NULL, is called before and after each part.  Without
 * other processors, rates of the wire are those of the default GPU. */
bool trial_gpu_run(const trial *t, void (*tell)(void *context, int done, int parts), void *context,
                   price_rates *r);

#endif
