/* What NVIDIA's GPUs can do, known where none is. */
#ifndef CUDA_KNOWN_CUDA_ABILITIES_H
#define CUDA_KNOWN_CUDA_ABILITIES_H

#include "base/abilities.h"

abilities cuda_abilities(void);

#endif
