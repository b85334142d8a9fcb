/* What NVIDIA's GPUs can do, as plans know it on machines without one, too. */
#ifndef CUDA_KNOWN_CUDA_ABILITIES_H
#define CUDA_KNOWN_CUDA_ABILITIES_H

#include "base/abilities.h"

abilities cuda_abilities(void);

#endif
