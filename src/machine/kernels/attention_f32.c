/* Attention in f32, which short floats are widened to. */
#include "machine/kernels/attention_steps.h"

#define REAL float
#define REAL_TYPE MTF_F32
#define NAME(name) name##_f32
#define GEMM cblas_sgemm
#define LOOPS_OF attention_loops_f32
#define LOOPS_HERE (&attention_loops()->f32)
#include "machine/kernels/attention_real.h"
