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
/* Prints them, too. */
int count_warnings(const mtf_config *c);

/* The model in a graph, trained on a short text. */
mtf_graph *build(const opened *o);
int64_t    count_parameters(mtf_graph *g);
/* Is there a variable of this name and shape, [a, b] or, where b is 0, [a]? */
void check_shape(mtf_graph *g, const char *name, int64_t a, int64_t b);
/* The operative configuration, read without defaults, gives the same again. */
void check_same_again(const opened *o, int64_t vocab);

#endif
