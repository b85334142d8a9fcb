/* What is kept with a model's checkpoints to describe it: its configuration, or its file. */
#ifndef MODEL_CONFIG_KEPT_H
#define MODEL_CONFIG_KEPT_H

#define CONFIG_KEPT "operative_config.gin"
#define FILE_KEPT "model.mtf"

#endif
