/* All optimizers, one row each. */
/* clang-format off */
/*        name         method      its options in mtf_minimize_opts */
OPTIMIZER("sgd",       sgd,        sgd)
OPTIMIZER("momentum",  momentum,   momentum)
OPTIMIZER("nesterov",  momentum,   momentum)
OPTIMIZER("adam",      adam,       adam)
OPTIMIZER("adamw",     adam,       adam)
OPTIMIZER("adafactor", adafactor,  adafactor)
