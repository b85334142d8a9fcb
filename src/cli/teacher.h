/* The weights of a teacher, from its checkpoint. */
#ifndef CLI_TEACHER_H
#define CLI_TEACHER_H

#include "cli/config_setup.h"

/* Loads teacher/NAME from what the teacher's own checkpoint calls NAME, and, where the configuration
 * says so and no step was taken, student/NAME as well, whose shape must be the same.  The graph was
 * compiled. */
bool teacher_load(const config_setup *c, mtf_graph *g);

#endif
