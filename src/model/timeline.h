/* A timeline of all processors, for Perfetto or Chrome. */
#ifndef MODEL_TIMELINE_H
#define MODEL_TIMELINE_H

#include "run/compiled.h"

/* Allocates memory, because a step must not. */
bool timeline_prepare(mtf_program *p);
void timeline_record(mtf_program *p, bool on);
/* All ranks call it; one after the other adds its processors to the file. */
bool timeline_write(const mtf_program *p, const char *path);

#endif
