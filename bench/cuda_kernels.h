/* Kernels of the device cuda: against copies, other kernels, and PyTorch's. */
#ifndef BENCH_CUDA_KERNELS_H
#define BENCH_CUDA_KERNELS_H

#include "bench.h"
#include "mtf.h"

void cuda_measure_kernels(bench *b);
void cuda_measure_convolutions(bench *b);
void cuda_measure_attention(bench *b, bool torch); /* `torch`: is there a PyTorch with a GPU? */
/* `mtf train` of configurations, as users type it. */
void cuda_measure_presets(bench *b, bool torch);
void cuda_measure_trainings(bench *b, bool torch); /* of a U-Net and of BERT */
void cuda_measure_attention_forms(bench *b);
void cuda_measure_experts(bench *b, bool torch); /* beside dense layers and PyTorch */
/* A ratio of times; tiny sizes have no target. */
void cuda_add(bench *b, const char *name, const char *versus, double seconds, double other,
              double target);
/* Feeds an input of bf16 or f32 with numbers that bf16 has, of magnitudes from 1/2 to 1. */
bool cuda_feed_random(mtf_program *p, mtf_tensor *x, uint32_t state);

#endif
