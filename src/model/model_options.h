/* What the options of ready models mean, one row each. */
/* clang-format off */
/*           name         argument   what it chooses */
MODEL_OPTION("batch",     "N",       "examples in a step")
MODEL_OPTION("hidden",    "N",       "units of a hidden layer")
MODEL_OPTION("layers",    "N",       "toy: hidden layers")
MODEL_OPTION("io",        "N",       "toy: numbers that come in, and out")
MODEL_OPTION("dropout",   "RATE",    "mnist: share of hidden units that a training step leaves out")
MODEL_OPTION("nan-step",  "N",       "toy: the step that shall fail with a NaN; -1: none")
MODEL_OPTION("master-type", "TYPE",  "toy: the type of variables in checkpoints")
MODEL_OPTION("slice-type", "TYPE",   "toy: the type in which variables are kept")
MODEL_OPTION("activation-type", "TYPE", "toy: the type that the network computes in")
MODEL_OPTION("data-dir",  "DIR",     "mnist, mnist-conv: where the four IDX files are")
