/* The groups of figures, in the order of the table. */
#ifndef BENCH_GROUPS_H
#define BENCH_GROUPS_H

#include "bench.h"

void wires_measure(bench *b);
void lowering_measure(bench *b);
void layout_measure(bench *b);
void prediction_measure(bench *b);
void scaling_measure(bench *b);
void kernels_measure(bench *b);
void bf16_measure(bench *b);
void experts_measure(bench *b);
void training_measure(bench *b);
void data_measure(bench *b);
void peers_measure(bench *b);
void transformer_measure(bench *b);
void epochs_measure(bench *b);
void commands_measure(bench *b);
void saving_measure(bench *b);
void cuda_measure(bench *b);

double bf16_target(void); /* how many times as fast as f32 it is to be on this chip */

#endif
