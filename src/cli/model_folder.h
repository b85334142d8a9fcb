/* Folders of checkpoints as models: they keep a configuration, a model file, or a built-in model's options. */
#ifndef CLI_MODEL_FOLDER_H
#define CLI_MODEL_FOLDER_H

#include "cli/train_setup.h"

/* A word that is such a folder becomes the value of --checkpoint-dir, where the command has that; what
 * the folder keeps becomes the first --gin_file, or the word with its options.  -1, or the exit status
 * after an error, which was reported. */
int model_folder_take(options *o);
/* Reports that the folder does not say what its model is; STATUS_USAGE. */
int model_folder_lacks(const options *o, const char *folder);
/* Writes what describes the model into the folder of its checkpoints; a built-in model needs nothing. */
bool model_folder_keep(const setup *s, const char *folder);

#endif
