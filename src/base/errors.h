/* The kinds of error, one row each. */
/* clang-format off */
/*    kind     word in messages */
ERROR(USAGE,   "usage")
ERROR(SHAPE,   "shape")
ERROR(TYPE,    "type")
ERROR(NAME,    "name")
ERROR(SYNTAX,  "syntax")
ERROR(GRADIENT, "gradient")
ERROR(FILE,    "file")
ERROR(DAMAGED, "file") /* its contents are not what was written */
ERROR(MEMORY,  "memory")
ERROR(VALUE,   "value")
ERROR(LATE,    "late")
ERROR(LOST,    "lost")
ERROR(MPI,     "mpi")
ERROR(DEVICE,  "device")
ERROR(INTERNAL, "internal")
