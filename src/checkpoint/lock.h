/* A lock on a folder: one process at a time writes there.
 *
 * The file .lock holds who has it, and is itself locked (flock), which ends
 * with the process however that ends, on the hosts of a shared file system
 * too.  Where the file system has no such locks, or keeps them to each host,
 * the words in the file decide: a process of this host is looked for, one of
 * another host is taken for alive.
 */
#ifndef CHECKPOINT_LOCK_H
#define CHECKPOINT_LOCK_H

#include <limits.h>

#include "base/fault.h"

typedef struct folder_lock {
    char path[PATH_MAX]; /* of the file */
    int  descriptor;     /* -1: nothing is locked */
    bool locked;         /* with flock; else only the words in the file tell */
    char before[200];    /* whose lock was taken over, "process 7 on host b"; "": nobody */
} folder_lock;

/* False where another has it, whom the error names, and where no file can be made. */
bool lock_take(folder_lock *l, const char *folder, fault *f);
bool lock_is_of(const folder_lock *l, const char *folder); /* is this folder locked by it? */
void lock_release(folder_lock *l);

#endif
