/* Quotas: what time and memory the system grants a group of processes.
 *
 * Containers and batch systems limit time rather than cores: a process sees all
 * cores of the machine then, and is throttled when it starts a thread on each.
 * Likewise it sees all of the memory, and is killed when it takes more than is
 * granted.
 */
#ifndef BASE_QUOTA_H
#define BASE_QUOTA_H

#include <stdint.h>

/* The limit of the control groups that `membership` lists, below `root`; for the calling process
 * these are /proc/self/cgroup and /sys/fs/cgroup.  Whole cores, at least 1; 0: no limit. */
int quota_cores(const char *membership, const char *root);
/* Likewise bytes of memory; 0: there is no limit. */
int64_t quota_memory(const char *membership, const char *root);

#endif
