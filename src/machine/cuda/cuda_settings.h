/* What environment variables ask of cards. */
#ifndef MACHINE_CUDA_SETTINGS_H
#define MACHINE_CUDA_SETTINGS_H

#include "base/fault.h"

/* Refuses wrong values, which would otherwise have no effect. */
bool cuda_settings_check(fault *f);

#endif
