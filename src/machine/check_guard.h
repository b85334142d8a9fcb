/* How many guard bytes the check device wants between buffers. */
#ifndef MACHINE_CHECK_GUARD_H
#define MACHINE_CHECK_GUARD_H

enum { CHECK_GUARD = 64 };

#endif
