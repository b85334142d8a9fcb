/* A model that is ready to answer: weights loaded, vocabulary open. */
#ifndef SERVE_OPENED_MODEL_H
#define SERVE_OPENED_MODEL_H

#include "data/text/vocabulary.h"
#include "model/transformer/transformer.h"

/* All of it lives as long as the session. */
typedef struct opened_model {
    mtf_session          *session;
    mtf_transformer      *model;
    const mtf_vocabulary *vocabulary;        /* of what it says */
    const mtf_vocabulary *inputs_vocabulary; /* of an encoder's inputs; NULL: the same */
    const char           *name;
    int64_t               step;       /* of its checkpoint; 0: it was never trained */
    int64_t               max_length; /* of a sequence, its prompt included; 0: the model's */
    int64_t               max_inputs; /* of an encoder's inputs; 0: the model's */
} opened_model;

/* These two with all defaults filled in; max_inputs is 0 without an encoder. */
int64_t model_max_length(const opened_model *m);
int64_t model_max_inputs(const opened_model *m);
/* The largest number of tokens of a prompt, that which ends it included. */
int64_t model_max_prompt(const opened_model *m);

/* An empty list for any thread: while a program runs, nothing may be taken from the session.  `why`
 * receives errors, and may be gone when the list is freed. */
id_list model_ids(fault *why);
/* The ids of a prompt as the model wants it, to be freed with ids_free: with an end where it is an
 * encoder's input or a prefix, and never empty where a model needs a first token.  Any thread may
 * call it; false: no memory, or text that cannot be encoded, as the list's fault says. */
bool model_encode_prompt(const opened_model *m, const char *text, size_t bytes, id_list *to);
/* The ids of a text that the model is to say, without its end. */
bool model_encode_target(const opened_model *m, const char *text, size_t bytes, id_list *to);

/* The text of ids, to be freed; NULL: no memory.  Any thread may call it. */
char *model_text(const opened_model *m, const int32_t *ids, int64_t n);

#endif
