/* Built-in models: networks by name, with options and data.
 *
 * A model is a constant struct.  Its settings are strings that users may choose;
 * they are parsed when the network is built.
 */
#ifndef MODEL_READY_H
#define MODEL_READY_H

#include "base/session.h"
#include "mtf_bert.h"
#include "mtf_data.h"

typedef struct model model;

/* An option of a model; model_options.h explains each name. */
typedef struct model_option {
    const char *name, *otherwise;
} model_option;

enum { MOST_MODEL_OPTIONS = 16, MOST_FIELDS = 16, MOST_SCORES = 8, PICTURES = 3 };

typedef struct settings {
    mtf_session *session;
    const model *model;
    const char  *values[MOST_MODEL_OPTIONS]; /* in the order of the model's options */
} settings;

/* A figure of each example, [batch]; evaluation tells the mean. */
typedef struct network_score {
    const char *name;
    mtf_tensor *value;
} network_score;

/* What a report shows of the first examples: f32 [batch, rows, columns]. */
typedef struct network_picture {
    const char *name;
    mtf_tensor *value;
    int64_t
        classes; /* the elements are classes; 0: they are shades, from the least to the largest */
} network_picture;

typedef struct network {
    mtf_graph  *graph;
    mtf_tensor *loss;
    mtf_tensor
        *right; /* [batch], 1 where the prediction is right, else 0; NULL: not a classifier */
    /* [batch], for models of text: the sum of the tokens' losses, and their number; `right` is then the
     * number of right tokens.  NULL: not a model of text. */
    mtf_tensor *token_losses, *token_counts;
    /* [batch], likewise: 1 where a row has tokens; 1 where it has tokens and all of them are right. */
    mtf_tensor *sequences, *sequences_right;
    /* In evaluation, further figures, and pictures beside each other; those without a value are none. */
    network_score scores[MOST_SCORES];
    int           nscores;
    /* In evaluation of answers to questions: logits f32 [batch, 2, length] of where they begin and end; NULL: it
     * is something else. */
    mtf_tensor     *spans;
    network_picture pictures[PICTURES];
} network;

struct model {
    const char         *name, *says;
    const char         *reads;   /* what the folder of --data-dir has; NULL: there is none */
    const model_option *options; /* the last has the name NULL */
    /* The network without its optimizer; `training`: with dropout and the like. */
    bool (*build)(const settings *v, bool training, network *n);
    /* The data for training or for evaluation; NULL: the network generates it. */
    bool (*fields)(const settings *v, bool training, mtf_field fields[MOST_FIELDS]);
    /* The same as a dataset, which is NULL where there is none. */
    bool (*data)(const settings *v, bool training, mtf_dataset **data);
    /* Of a model whose network has spans: for answers among the rows of the data. */
    bool (*answers)(const settings *v, mtf_dataset *data, mtf_bert_answers **answers);
    /* For optimizers: which variables are not decayed, and the largest norm of all gradients; NULL and 0: all
     * are, and any. */
    const char *undecayed;
    double      clip_norm;
};

extern const model model_mnist, model_mnist_conv, model_toy, model_unet;
extern const model model_bert_pretrain, model_bert_classify, model_bert_span;

/* The n-th model, NULL after the last; a model by name, NULL where there is none. */
const model *model_nth(int n);
const model *model_find(const char *name);

settings settings_of(mtf_session *s, const model *m);
/* False where the model has no such option, which is an error. */
bool settings_set(settings *v, const char *name, const char *value);
bool settings_has(const settings *v, const char *name);
/* The value as text; "" where the model has no such option. */
const char *setting_text(const settings *v, const char *name);
/* The value as a whole number from `least` on, or as a number; false after an error. */
bool setting_count(const settings *v, const char *name, int64_t least, int64_t *value);
bool setting_number(const settings *v, const char *name, double *value);

#endif
