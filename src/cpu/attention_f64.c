/* Attention in f64. */
#include "cpu/attention_steps.h"

#define REAL double
#define REAL_TYPE MTF_F64
#define NAME(name) name##_f64
#define GEMM cblas_dgemm
#define LOOPS_OF attention_loops_f64
#define LOOPS_HERE (&attention_loops()->f64)
#include "cpu/attention_real.h"

#include "cpu/attention_few.h"
