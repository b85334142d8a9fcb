/* Unpacked gzip files that the processes of a machine share.
 *
 * The first process unpacks into a file of the temporary folder, whose name says what it was made of; the
 * others wait for it and map the same.  The last one that closes it removes it.
 */
#ifndef DATA_SHARED_UNPACK_H
#define DATA_SHARED_UNPACK_H

#include <stdint.h>

#include "base/memory.h"

typedef struct shared_unpacked {
    const char    *path; /* of the unpacked file */
    int            file;
    const uint8_t *bytes;
    size_t         size;
} shared_unpacked;

/* Of a gzip file that is open.  *to is NULL where nothing can be shared, as in a full folder; fails
 * only where the gzip file itself is damaged, or memory is short. */
bool shared_unpack(arena *a, int file, const char *path, shared_unpacked **to, fault *why);
void shared_close(shared_unpacked *u);

#endif
