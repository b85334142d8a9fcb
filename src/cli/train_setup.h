/* Model, session and training step of commands on models. */
#ifndef CLI_TRAIN_SETUP_H
#define CLI_TRAIN_SETUP_H

#include "cli/config_setup.h"
#include "cli/options.h"
#include "model/ready.h"
#include "mtf_nn.h"

typedef struct setup {
    const options    *options;
    mtf_session      *session;
    const char       *word;  /* the model's name as the user wrote it */
    bool              ready; /* a built-in model, not a file */
    const char       *text;  /* of the file, when it is read */
    settings          settings;
    config_setup     *config;       /* of models that configuration files describe; NULL: none */
    mtf_minimize_opts minimize;     /* the options of the optimizer, except its rate */
    uint64_t          microbatches; /* 0: as few as fit the memory */
    mtf_dtype         type;         /* the type in which the network computes in place of f32 */
    double            peak;         /* flops a second of the machine that --machine names */
    const char       *machine;      /* its name; NULL: none was given, and none is known here */
} setup;

/* Opens the session, finds the model and reads its options; false: a usage error was reported, or is in
 * the session where that is open. */
bool setup_open(const options *o, setup *s);
/* The same in an open session. */
bool setup_take(const options *o, mtf_session *session, setup *s);
/* Reads the options of the training step; setup_take calls it. */
bool step_read_options(setup *s);
/* The network, without an optimizer. */
bool setup_network(setup *s, bool training, network *n);
/* Checks that every input of a file's network has data that the loss needs, or in evaluation --right. */
bool setup_check_feeds(setup *s, bool training, const network *n);
/* Adds the optimizer to the network, for a total of `steps`; `*rate` is the learning rate, or NULL. */
bool setup_minimize(setup *s, network *n, int64_t steps, mtf_tensor **rate);
/* The dataset of --data or --eval-data, or of the model; `*data` is NULL where there is none. */
bool setup_data(setup *s, bool training, mtf_dataset **data);

/* The graph for a command that plans: the step that mtf train runs with the same options, where the word
 * is a built-in model or one of these options is given; else the file unchanged, and the network's loss
 * is NULL.  NULL after an error. */
mtf_graph *setup_graph(const options *o, mtf_session *session, network *n, mtf_tensor **rate);
/* The same, with the tensors of --fetch, or else those that mtf train fetches, or the file's results. */
mtf_graph *setup_plan(const options *o, mtf_session *session, int *nfetches, mtf_tensor ***fetches);

/* Whether the file is planned as it is although `mtf train` would minimize its loss: nothing trains its
 * variables, and no --fetch says that it need not. */
bool setup_leaves_training(const options *o, mtf_graph *g);

/* For help: whether the option applies to the model, and a list of the built-in models. */
bool setup_concerns(const option_spec *spec, const char *word, char *more, size_t room);
void setup_list_models(const command *c, const char *word);

#endif
