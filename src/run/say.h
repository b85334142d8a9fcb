/* Prints tensors for the session's user: print and scalar_summary. */
#ifndef RUN_SAY_H
#define RUN_SAY_H

#include "machine/device.h"

void say_value(mtf_session *s, device_context *c, const instr *i, void *const *base);

#endif
