/* The guard bytes that the check device needs between buffers. */
#ifndef MACHINE_CHECK_GUARD_H
#define MACHINE_CHECK_GUARD_H

enum { CHECK_GUARD = 64 };

#endif
