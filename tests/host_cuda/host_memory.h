/* A GPU's memory on the host, with guards around each piece. */
#ifndef HOST_MEMORY_H
#define HOST_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* Aligned to 256 bytes and filled with 0xfb; NULL: there is no more. */
void *host_memory_take(size_t bytes);
bool  host_memory_give(void *memory); /* false: it is none of these */
/* Ends the program where something was written beside a piece; `who` did it. */
void   host_memory_check(const char *who);
size_t host_memory_taken(void);
size_t host_memory_whole(void);

#endif
