/* The device cpu: this machine's processor. */
#ifndef CPU_DEVICE_CPU_H
#define CPU_DEVICE_CPU_H

#include "machine/device.h"

extern const device_kind device_cpu;

#endif
