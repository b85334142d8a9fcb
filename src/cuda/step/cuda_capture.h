/* Whole steps, captured once and replayed. */
#ifndef CUDA_STEP_CUDA_CAPTURE_H
#define CUDA_STEP_CUDA_CAPTURE_H

#include "machine/device_recorder.h"

extern const device_recorder cuda_recorder;

#endif
