/* The options of built-in models, one row each. */
/* clang-format off */
/*           name         argument   what it chooses */
MODEL_OPTION("batch",     "N",       "examples in a step")
MODEL_OPTION("hidden",    "N",       "units of a hidden layer")
MODEL_OPTION("layers",    "N",       "hidden layers")
MODEL_OPTION("io",        "N",       "numbers that come in, and out")
MODEL_OPTION("dropout",   "RATE",    "share of hidden units that a training step leaves out")
MODEL_OPTION("nan-step",  "N",       "the step that shall fail with a NaN; -1: none")
MODEL_OPTION("master-type", "TYPE",  "the type of variables in checkpoints")
MODEL_OPTION("slice-type", "TYPE",   "the type in which variables are kept")
MODEL_OPTION("activation-type", "TYPE", "the type that the network computes in")
MODEL_OPTION("data-dir",  "DIR",     "where the four IDX files are")
