/* Models that configurations describe, for tests. */
#ifndef TESTS_CONFIG_MODELS_H
#define TESTS_CONFIG_MODELS_H

#include "graph/node.h"
#include "mtf_config.h"

typedef struct opened {
    mtf_session     *session;
    mtf_config      *config;
    mtf_config_run   run;
    mtf_config_model model;
} opened;

/* Either fails the test where the configuration is refused. */
opened open_config(const mtf_config_opts *o, int64_t vocab);
opened open_names(const char *first, const char *second, const char *parameter, int64_t vocab);
/* These lines after the configuration of a tiny model, whose vocabulary has so many tokens. */
enum { TINY_VOCAB = 100 };
opened open_tiny(const char *lines);
/* They are refused, at the latest where the model is made, with a sentence that has this piece. */
void refuse_tiny(const char *lines, const char *piece);
/* Prints them, too. */
int count_warnings(const mtf_config *c);

/* The model in a graph, trained on a short text. */
mtf_graph *build(const opened *o);
int64_t    count_parameters(mtf_graph *g);
/* Is there a variable of this name and shape, [a, b] or, where b is 0, [a]? */
void check_shape(mtf_graph *g, const char *name, int64_t a, int64_t b);
/* The operative configuration, read without defaults, gives the same again. */
void check_same_again(const opened *o, int64_t vocab);
/* So does that of a tiny model, which is closed without an error. */
void check_tiny_ends(opened *o);

#endif
