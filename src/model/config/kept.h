/* The configuration that is kept with a model's checkpoints. */
#ifndef MODEL_CONFIG_KEPT_H
#define MODEL_CONFIG_KEPT_H

#define CONFIG_KEPT "operative_config.gin"

#endif
