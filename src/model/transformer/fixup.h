/* Fixup: initial weights that need no norms. */
#ifndef MODEL_FIXUP_H
#define MODEL_FIXUP_H

#include "base/session.h"
#include "mtf_transformer.h"

/* Checks the options, and fills in defaults. */
bool fixup_complete(fault *f, const char *layer, const char *init, mtf_fixup *o);
/* The initialiser of weights of these fans: `scale` times the variance of the usual one. */
enum { FIXUP_INIT = 80 };
void fixup_init(const mtf_fixup *o, double scale, int64_t in, int64_t out, char text[FIXUP_INIT]);

#endif
