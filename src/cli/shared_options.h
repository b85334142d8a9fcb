/* Tables of options that several commands share. */
#ifndef CLI_SHARED_OPTIONS_H
#define CLI_SHARED_OPTIONS_H

#include "cli/options.h"

extern const option_spec mesh_options[];     /* mesh, layout, state-layout, machine */
extern const option_spec planning_options[]; /* of commands that only plan: after mesh_options */
extern const option_spec running_options[];  /* of commands that run programs on this machine */
extern const option_spec
    model_options[]; /* sizes of built-in models; setup_concerns selects a model's */
extern const option_spec file_options[];     /* of a model file: its loss */
extern const option_spec judging_options[];  /* of a model file: figures of evaluation */
extern const option_spec training_options[]; /* how a step changes the variables */
extern const option_spec step_options[];     /* everything that describes a planned training step */

#endif
