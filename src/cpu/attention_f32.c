/* Attention in f32 by BLAS; short floats are widened. */
#include "cpu/attention_steps.h"
#include "cpu/contract_way.h"

#if !MTF_OWN_PRODUCTS /* else attention_tiled.c */

#define REAL float
#define REAL_TYPE MTF_F32
#define NAME(name) name##_f32
#define GEMM cblas_sgemm
#define LOOPS_OF attention_loops_f32
#define LOOPS_HERE (&attention_loops()->f32)
#include "cpu/attention_real.h"

#include "cpu/attention_few.h"

#else
typedef int attention_by_blas; /* C forbids an empty translation unit */
#endif
