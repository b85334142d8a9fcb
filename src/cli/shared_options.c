/* Tables of options that several commands share. */
#include "cli/config_setup.h"
#include "cli/shared_options.h"

/* clang-format off */
#define TF32_OPTION \
    {"tf32", NULL, false, "on GPUs, round the factors of f32 products and convolutions to 11 significant bits: faster"}

const option_spec mesh_options[] = {
    OPTION_GROUP("mesh and layout"),
    {"mesh", "AXIS:SIZE,...", false, "the grid of processors, as in rows:2,cols:4; auto:8 finds the best shape for 8, and a layout where none is given; default: one processor"},
    {"layout", "DIM:AXIS,...", false, "which dimension is cut along which axis; DIM:AXIS+AXIS cuts along both; auto finds the best"},
    {"state-layout", "DIM:AXIS,...", false, "cut variables further between steps; each takes the first rules whose axes are free"},
    {"machine", "FILE|RATES", false, "what auto and predicted times are for: a file, a name such as h100-node, or flops=30e9,memory=10e9,wire=5e9,latency=10e-6"},
    {0},
};

const option_spec planning_options[] = {
    {"device", "cpu|cuda", false, "what the program is for; none needs to be here; default: what --machine describes, or cpu", "cpu|cuda"},
    TF32_OPTION,
    {0},
};

const option_spec running_options[] = {
    OPTION_GROUP("running"),
    {"seed", "N", false, "the seed of every random number and of the order of examples; default 0"},
    {"threads", "N", false, "threads to use; default: all cores it may use"},
    {"memory", "BYTES", false, "refuse to run with more than this: 4096, 64K, 100M, 2G"},
    {"device", "cpu|cuda|check", false, "cuda: NVIDIA's GPUs; check, check:cuda: find the first NaN and any stray write; slower", "cpu|cuda|check|check:cuda"},
    {"patience", "SECONDS", false, "how long a processor waits for another; default 600"},
    TF32_OPTION,
    {"oversubscribe", NULL, false, "start far more threads than this machine has cores, for a mesh or with --threads"},
    {0},
};

#define MODEL_OPTION(name, argument, says) {name, argument, false, says},
const option_spec model_options[] = {
    OPTION_GROUP("the model"),
#include "model/model_options.h"
    {0},
};

const option_spec file_options[] = {
    OPTION_GROUP("a model file"),
    {"loss", "NAME", false, "the scalar to minimize; default loss"},
    {0},
};

const option_spec judging_options[] = {
    {"right", "NAME", false, "1 where right, [batch] or [batch, length]: its mean is the accuracy; default: right, where the file compares that"},
    {"eval-data", "NAME=FILES[:...]", true, "the input NAME for evaluation, as --data has it"},
    {"perplexity", NULL, false, "evaluate e to the loss as well: for a mean over words"},
    {0},
};

#define OPTIMIZER(name, method, opts) "|" name
static const char optimizers[] =
#include "nn/optimizers.h"
    ;
#undef OPTIMIZER
#define OPTIMIZER(name, method, opts) ", " name
static const char optimizer_list[] =
#include "nn/optimizers.h"
    ;

const option_spec training_options[] = {
    OPTION_GROUP("the optimizer"),
    {"optimizer", "NAME", false, optimizer_list + 2, optimizers + 1},
    {"rate", "R", false, "the learning rate, or a schedule: 0.001 * linear_warmup(100)"},
    {"weight-decay", "D", false, "adam, adamw: a step subtracts rate * D of each weight; default of adamw 0.01"},
    {"no-decay", "PATTERN", false, "adam, adamw: variables whose names match are not decayed"},
    {"clip-norm", "N", false, "scale gradients so that the norm of all together is at most N"},
    {"clip-value", "V", false, "clip each element of a gradient to at most V in magnitude"},
    {"momentum", "M", false, "momentum, nesterov: how much of a step the next one repeats; default 0.9"},
    {"beta1", "B", false, "adam, adamw, adafactor: how much of the mean gradient a step keeps; default 0.9, adafactor none"},
    {"beta2", "B", false, "adam, adamw, adafactor: how much of the mean square a step keeps; default 0.999"},
    {"epsilon", "E", false, "adam, adamw, adafactor: added against division by zero; default 1e-8, adafactor 1e-30"},
    {"average", "KEEP", false, "keep running averages of the variables, as with 0.999, and evaluate with them"},
    {"loss-scale", "S|dynamic", false, "for f16: differentiate the loss times S; dynamic: adapt it"},
    {"dtype", "TYPE", false, "the type in which the network computes in place of f32; variables and inputs stay f32", "f32|bf16|f16|f64"},
    {"microbatches", "N|auto", false, "compute a step in N parts of the batch, one after the other; auto, the default: in as few as fit the memory"},
    {0},
};

const option_spec step_options[] = {
    OPTION_TABLE(config_options),
    OPTION_TABLE(model_options),
    OPTION_TABLE(file_options),
    OPTION_TABLE(training_options),
    {"steps", "N", false, "the total number of steps for schedules of the rate; default 1000"},
    {0},
};
/* clang-format on */
