/* What mtf train and mtf eval share: the model, its data, its session. */
#ifndef CLI_TRAIN_SETUP_H
#define CLI_TRAIN_SETUP_H

#include "cli/options.h"
#include "model/ready.h"

/* Rows of option tables, for both commands. */
/* clang-format off */
#define MODEL_OPTION(name, argument, says) {name, argument, false, says},
#define SETUP_OPTIONS                                                                                       \
    {"mesh", "AXIS:SIZE,...", false, "the grid of processors, as in rows:2,cols:2; default: one"},          \
    {"layout", "DIM:AXIS,...", false, "which dimension is cut along which axis"},                           \
    {"state-layout", "DIM:AXIS,...", false, "cut variables further between steps, as in hidden:rows"},      \
    {"seed", "N", false, "the seed of every random number and of the order of examples; default 0"},        \
    {"patience", "SECONDS", false, "how long a processor waits for another; default 600"},                  \
    {"threads", "N", false, "threads to use; default: all cores it may use"},                               \
    {"device", "cpu|check", false, "check: find the first NaN and any stray write; slower"},                \
    {"memory", "BYTES", false, "refuse to run with more than this: 4096, 64K, 100M, 2G"},                   \
    {"loss", "NAME", false, "FILE.mtf: the scalar to minimize; default loss"},                              \
    {"right", "NAME", false, "FILE.mtf: a number for each example, whose mean is the accuracy"}
/* clang-format on */

typedef struct setup {
    const options *options;
    mtf_session   *session;
    const char    *word;  /* the model as the user calls it */
    bool           ready; /* it is one of the ready models, not a file */
    const char    *text;  /* of the file, once it was read */
    settings       settings;
} setup;

/* Opens the session, finds the model and takes its options; false: a usage error was said, or one
 * is in the session where there is one. */
bool setup_open(const options *o, setup *s);
/* The network, without an optimizer. */
bool setup_network(setup *s, bool training, network *n);
/* The data that `--data` or `--eval-data` and the model name; `*data` is NULL where there is none. */
bool setup_data(setup *s, bool training, mtf_dataset **data);

#endif
