/* A conversion of weights, and the checks before it. */
#ifndef MODEL_CONVERSION_H
#define MODEL_CONVERSION_H

#include "checkpoint/reading.h"
#include "model/published/weight_names.h"

/* Either direction: tensors of `source` are converted to those of `target`. */
typedef struct conversion {
    mtf_session            *session;
    published_config        config;
    const published_weight *weights;
    int                     nweights;
    bool                    imports; /* else it exports */
    contents                source, target;
    reader                  reader; /* of `source` */
    /* tensors of `source` that no variable needs, or that published files have no place for; NULL: none */
    const char *spare;
    bool        unlike; /* these have biases that choose among experts */
} conversion;

/* The tensor of the source with this weight; NULL where absent. */
kept_tensor *conversion_source(const conversion *v, const published_weight *w);
/* Finds out which heads a model has.  Configurations do not tell reliably whether the logits' weights are tied: an old one of T5 implies it by
 * the scaling of logits, a later one says so for all models.  So the weights themselves decide. */
bool conversion_settle_heads(conversion *v);
/* Whether the source has every weight in its shape.  What else it has is listed in `spare`; of published
 * files only tensors that no variable needs are allowed. */
bool conversion_check(conversion *v);
/* Export: whether config.json, at this path, describes the model that the checkpoint's own configuration
 * builds, as far as shapes do not tell; an error names a member that does not. */
bool published_agrees(const conversion *v, const char *path);

#endif
