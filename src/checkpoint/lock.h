/* A lock that admits one writing process to a folder.
 *
 * The file .lock names its owner and is itself locked (flock).  The system
 * releases that lock when the process ends in any way, on other hosts of a
 * shared file system too.  Where the file system has no such locks, or does
 * not share them between hosts, the owner's name decides: the lock is free if
 * that process ran on this host and has ended; on another host it counts as
 * alive.
 */
#ifndef CHECKPOINT_LOCK_H
#define CHECKPOINT_LOCK_H

#include <limits.h>

#include "base/fault.h"

typedef struct folder_lock {
    char path[PATH_MAX]; /* of the file */
    int  descriptor;     /* -1: nothing is locked */
    bool locked;         /* with flock; else only the file's text excludes others */
    char before[200]; /* the owner that it was taken over from, "process 7 on host b"; "": none */
} folder_lock;

/* False where another process has it, which the error names, and where no file can be made. */
bool lock_take(folder_lock *l, const char *folder, fault *f);
bool lock_is_of(const folder_lock *l, const char *folder); /* whether it locks this folder */
void lock_release(folder_lock *l);

#endif
