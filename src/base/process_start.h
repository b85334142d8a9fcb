/* When a process began: process ids are reused. */
#ifndef BASE_PROCESS_START_H
#define BASE_PROCESS_START_H

#include <stdint.h>

/* In ticks since the host started; 0: not known. */
int64_t process_start(int64_t process);

#endif
