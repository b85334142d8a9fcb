/* What commands on models share: model, session, training step. */
#ifndef CLI_TRAIN_SETUP_H
#define CLI_TRAIN_SETUP_H

#include "cli/config_setup.h"
#include "cli/options.h"
#include "model/ready.h"
#include "mtf_nn.h"

typedef struct setup {
    const options    *options;
    mtf_session      *session;
    const char       *word;  /* the model as the user calls it */
    bool              ready; /* it is one of the ready models, not a file */
    const char       *text;  /* of the file, once it was read */
    settings          settings;
    config_setup     *config;   /* of models that configuration files describe; NULL: none */
    mtf_minimize_opts minimize; /* what the options say about the optimizer, but for its rate */
    uint64_t          microbatches;
    mtf_dtype         type; /* what the network computes in where it says f32 */
} setup;

/* Opens the session, finds the model and takes its options; false: a usage error was said, or one
 * is in the session where there is one. */
bool setup_open(const options *o, setup *s);
/* The same in a session that is open. */
bool setup_take(const options *o, mtf_session *session, setup *s);
/* Reads what the options say about the step; setup_take calls it. */
bool step_read_options(setup *s);
/* The network, without an optimizer. */
bool setup_network(setup *s, bool training, network *n);
/* Has every input of a file's network that the loss needs, in evaluation also what is right, data? */
bool setup_check_feeds(setup *s, bool training, const network *n);
/* Makes a training step of the network, for so many steps; `*rate` is the learning rate, or NULL. */
bool setup_minimize(setup *s, network *n, int64_t steps, mtf_tensor **rate);
/* The data that `--data` or `--eval-data` and the model name; `*data` is NULL where there is none. */
bool setup_data(setup *s, bool training, mtf_dataset **data);

/* What a command that plans works on: the step that mtf train runs with the same options, where the
 * word is a ready model or one of these options is given; else the file as it is, and the network's
 * loss is NULL.  NULL after an error. */
mtf_graph *setup_graph(const options *o, mtf_session *session, network *n, mtf_tensor **rate);
/* The same, and what --fetch asks for, else what mtf train fetches, or what the file is there for. */
mtf_graph *setup_plan(const options *o, mtf_session *session, int *nfetches,
                      mtf_tensor ***fetches);

/* For help: does the option matter to the model?  And a list of the ready models. */
bool setup_concerns(const option_spec *spec, const char *word, char *more, size_t room);
void setup_list_models(const command *c, const char *word);

#endif
