/* What processors of one process do in each other's memory. */
#ifndef CUDA_WIRE_CUDA_PEERS_H
#define CUDA_WIRE_CUDA_PEERS_H

#include "machine/device_peers.h"

extern const device_peers cuda_peers; /* without what other files add */

#endif
