/* A model ready for requests: weights loaded, vocabulary open. */
#ifndef SERVE_OPENED_MODEL_H
#define SERVE_OPENED_MODEL_H

#include "data/text/vocabulary.h"
#include "model/transformer/transformer.h"

/* All of it lives as long as the session. */
typedef struct opened_model {
    mtf_session          *session;
    mtf_transformer      *model;
    const mtf_vocabulary *vocabulary;        /* of its output */
    const mtf_vocabulary *inputs_vocabulary; /* of an encoder's inputs; NULL: the same */
    const char           *name;
    int64_t               step;       /* of its checkpoint; 0: its weights are random */
    int64_t               max_length; /* of a sequence, its prompt included; 0: the model's */
    int64_t               max_inputs; /* of an encoder's inputs; 0: the model's */
} opened_model;

/* max_length and max_inputs with defaults filled in; max_inputs is 0 without an encoder. */
int64_t model_max_length(const opened_model *m);
int64_t model_max_inputs(const opened_model *m);
/* The largest number of tokens of a prompt, including its end token. */
int64_t model_max_prompt(const opened_model *m);

/* An empty list that any thread may use: other threads must not allocate from the session while a
 * program runs.  `why` receives errors, and need not outlive the list. */
id_list model_ids(fault *why);
/* A text as ids. */
typedef struct id_row {
    const int32_t *ids;
    int64_t        n;
} id_row;

/* The ids of a prompt in the form that the model needs, to be freed with ids_free: with an end token for
 * an encoder's input or a prefix, and never empty where a model needs a first token.  Any thread may
 * call it; false: no memory, or text that cannot be encoded, which the list's fault reports. */
bool model_encode_prompt(const opened_model *m, const char *text, size_t bytes, id_list *to);
/* The same for a prompt that is given as ids; an end token that it has already is not doubled. */
bool model_take_prompt(const opened_model *m, const int32_t *ids, int64_t n, id_list *to);
/* The ids of a text that the model is to continue with, without the end token. */
bool model_encode_target(const opened_model *m, const char *text, size_t bytes, id_list *to);

/* The text of ids, to be freed; NULL: no memory.  Any thread may call it. */
char *model_text(const opened_model *m, const int32_t *ids, int64_t n);

#endif
