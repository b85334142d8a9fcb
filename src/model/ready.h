/* Ready models: networks by name, with their options and data.
 *
 * A model is a constant struct.  What users may choose are settings, texts that
 * are read when the network is built.
 */
#ifndef MODEL_READY_H
#define MODEL_READY_H

#include "base/session.h"
#include "mtf_data.h"

typedef struct model model;

/* A choice that a model offers; model_options.h says what each name means. */
typedef struct model_option {
    const char *name, *otherwise;
} model_option;

enum { MOST_MODEL_OPTIONS = 16, MOST_FIELDS = 16 };

typedef struct settings {
    mtf_session *session;
    const model *model;
    const char  *values[MOST_MODEL_OPTIONS]; /* as in the model's list */
} settings;

typedef struct network {
    mtf_graph  *graph;
    mtf_tensor *loss;
    mtf_tensor
        *right; /* [batch], 1 where the answer is right, else 0; NULL: nothing is right or wrong */
    /* [batch], of models of text: the sum of the tokens' losses and their number, of which `right`
     * counts the right ones; NULL: there are no tokens. */
    mtf_tensor *token_losses, *token_counts;
    /* [batch], likewise: 1 where a row has tokens, and where it has and all of them are right. */
    mtf_tensor *sequences, *sequences_right;
} network;

struct model {
    const char         *name, *says;
    const model_option *options; /* the last has the name NULL */
    /* The network without its optimizer; `training`: with what only training does, as dropout. */
    bool (*build)(const settings *v, bool training, network *n);
    /* The data for training or for evaluation; NULL: the network makes its own. */
    bool (*fields)(const settings *v, bool training, mtf_field fields[MOST_FIELDS]);
};

extern const model model_mnist, model_mnist_conv, model_toy;

/* The n-th, NULL after the last; by name, NULL where there is none. */
const model *model_nth(int n);
const model *model_find(const char *name);

settings settings_of(mtf_session *s, const model *m);
/* False where the model has no such option, which is an error. */
bool settings_set(settings *v, const char *name, const char *value);
bool settings_has(const settings *v, const char *name);
/* The value as it stands; "" where the model has no such option. */
const char *setting_text(const settings *v, const char *name);
/* As a whole number from `least` on, or as a number; false after an error. */
bool setting_count(const settings *v, const char *name, int64_t least, int64_t *value);
bool setting_number(const settings *v, const char *name, double *value);

#endif
