/* Sublayers: the steps around a layer, by name. */
#ifndef MODEL_SUBLAYERS_H
#define MODEL_SUBLAYERS_H

#include "model/transformer/stack_call.h"

/* A name may end with numbers, as in "dropout(0.2)": they replace the sublayer's defaults. */
enum { SUBLAYER_NUMBERS = 3 };
typedef struct sublayer {
    const char *name;
    mtf_tensor *(*apply)(stack_call *c, mtf_tensor *x,
                         const double *number); /* NULL: the stack does */
    int least, most;                            /* how many numbers it takes           */
    void (*usual)(const mtf_stack_opts *o,
                  double               *number);       /* NULL: there are none                */
    bool (*right)(const double *number); /* NULL: any number is                 */
} sublayer;

const sublayer *sublayer_find(const char *word); /* NULL: there is none */
mtf_tensor     *sublayer_apply(stack_call *c, const char *word, mtf_tensor *x);
const sublayer *sublayer_nth(int n); /* NULL after the last */

#endif
