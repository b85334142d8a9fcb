/* Programs whose instructions are ready to be queued. */
#ifndef MACHINE_CUDA_PREPARED_H
#define MACHINE_CUDA_PREPARED_H

#include "machine/cuda/cuda_device.h"
#include "machine/cuda/library_calls.h"
#include "machine/cuda/products.h"

typedef struct prepared_launch {
    CUfunction function;
    unsigned   blocks, threads, shared;
} prepared_launch;

/* An instruction ready to be queued. */
typedef struct prepared_instr {
    int                    nlaunches;
    prepared_launch        launch[MOST_LAUNCHES];
    void                 **addresses;  /* of outputs, inputs, working space, the step's words */
    uint64_t              *numbers;    /* the plan's */
    void                 **parameters; /* where each address and each number stands */
    product_plan          *product;    /* NULL: the kernels do it */
    library_calls         *library;    /* likewise */
    int                    nafter;     /* what is queued after it: an epilogue in parts */
    struct prepared_instr *after;
} prepared_instr;

typedef struct prepared_program {
    arena           arena;
    prepared_instr *instrs;
    kernel_hold     held;  /* their kernels */
    step_words     *words; /* on the card */
    cuda_tables     tables;
    bool            uses_words;
    bool            alone;  /* nothing else is queued between its instructions */
    bool            proven; /* a step has shown that no kernel fails */
    cuda_beside     beside;
} prepared_program;

#endif
