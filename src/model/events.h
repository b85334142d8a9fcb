/* Event files: scalars by step, as TensorBoard reads them. */
#ifndef MODEL_EVENTS_H
#define MODEL_EVENTS_H

#include "base/session.h"

typedef struct events events;

/* Creates a file DIRECTORY/events.out.tfevents.SECONDS.HOST, and the directory where it is missing.
 * NULL after an error. */
events *events_open(mtf_session *s, const char *directory);
bool    events_scalar(events *e, int64_t step, const char *tag, double value);
bool    events_close(events *e); /* false: something could not be written */

#endif
