/* Copies checkpoints of the original, Mesh TensorFlow, and checkpoints for it.
 *
 * The original's variables, with its optimizers' state and global_step, have the names, shapes and types that
 * they have in this library, so that every tensor is copied as it is.
 */
#ifndef MODEL_BUNDLE_COPY_H
#define MODEL_BUNDLE_COPY_H

#include "checkpoint/reading.h"

typedef struct bundle_copy {
    const char *to;    /* a folder */
    const char *gin;   /* the text of a configuration that is kept with it; NULL: none */
    bool        force; /* replaces what exists */
    /* What was done: how many tensors were written, and the names of those that were not, with their types,
     * since mtf lacks these; NULL: none. */
    int         tensors;
    const char *spare;
} bundle_copy;

/* Makes a checkpoint of mtf, of the step that global_step says, from a bundle that is open. */
bool bundle_import(mtf_session *s, reader *from, bundle_copy *c);
/* Makes a folder that the original continues from: model.ckpt-STEP, and "checkpoint", which names it. */
bool bundle_export(mtf_session *s, reader *from, bundle_copy *c);

#endif
