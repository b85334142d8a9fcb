/* Meshes and layouts of a configuration. */
#ifndef MODEL_CONFIG_MESH_H
#define MODEL_CONFIG_MESH_H

#include "model/config/config.h"

/* All as texts "name:value,name:value"; the layout without rules for axes that the mesh lacks. */
typedef struct mesh_rules {
    const char *mesh, *layout, *all;
} mesh_rules;

bool    mesh_read(mtf_config *c, const gin_value *shape, const gin_value *rules, mesh_rules *m);
int64_t mesh_splits(const mesh_rules *m,
                    const char       *dimension); /* number of its parts; 1: not cut */
int64_t mesh_replicas(const mesh_rules *m); /* number of parts of batch and outer_batch together */

#endif
