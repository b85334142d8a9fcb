/* Options that several commands take, each table once. */
#ifndef CLI_SHARED_OPTIONS_H
#define CLI_SHARED_OPTIONS_H

#include "cli/options.h"

extern const option_spec mesh_options[];     /* mesh, layout, state-layout, machine */
extern const option_spec running_options[];  /* of commands that run programs on this machine */
extern const option_spec model_options[];    /* sizes of ready models: setup_concerns tells whose */
extern const option_spec file_options[];     /* of a model file: what its loss is */
extern const option_spec judging_options[];  /* of a model file: what it is evaluated by */
extern const option_spec training_options[]; /* how a step changes the variables */
extern const option_spec step_options[];     /* all that a planned training step is made of */

#endif
