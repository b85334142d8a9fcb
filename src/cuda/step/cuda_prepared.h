/* Programs whose instructions are ready to be queued. */
#ifndef CUDA_STEP_CUDA_PREPARED_H
#define CUDA_STEP_CUDA_PREPARED_H

#include "cuda/driver/cuda_device.h"
#include "cuda/driver/cuda_modules.h"
#include "cuda/library/library_calls.h"
#include "cuda/library/products.h"
#include "cuda/step/cuda_beside.h"
#include "cuda/step/cuda_tables.h"

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
    step_words     *words; /* on the GPU */
    cuda_tables     tables;
    bool            uses_words;
    bool            alone;  /* nothing else is queued between its instructions */
    bool            proven; /* a step has shown that no kernel fails */
    cuda_beside     beside;
} prepared_program;

#endif
