/* Quotas: what time and memory the system grants a group of processes.
 *
 * Containers and batch systems limit time rather than cores: all cores of the
 * machine can be seen then, and whoever starts a thread on each is stopped again
 * and again.  Likewise all of its memory can be seen, and whoever takes more than
 * is granted is killed.
 */
#ifndef BASE_QUOTA_H
#define BASE_QUOTA_H

#include <stdint.h>

/* Of the control groups that `membership` lists, below `root`: for a process itself
 * /proc/self/cgroup and /sys/fs/cgroup.  Whole cores, at least 1; 0: there is no limit. */
int quota_cores(const char *membership, const char *root);
/* Likewise bytes of memory; 0: there is no limit. */
int64_t quota_memory(const char *membership, const char *root);

#endif
