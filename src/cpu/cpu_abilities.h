/* What this machine's processor can do. */
#ifndef CPU_CPU_ABILITIES_H
#define CPU_CPU_ABILITIES_H

#include "base/abilities.h"

abilities cpu_abilities(void);

#endif
