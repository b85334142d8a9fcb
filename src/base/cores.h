/* Cores that this process may use, by the system's numbers. */
#ifndef BASE_CORES_H
#define BASE_CORES_H

int cores_count(void);            /* how many this process may use at a time; at least 1 */
int cores_machine(void);          /* all cores of the machine, or of the container's quota */
int cores_current(void);          /* the one that the caller runs on */
int cores_after(int core, int k); /* the k-th usable core after it, wrapping around */
/* Moves the calling thread to a core, without pinning it there.  The system sometimes puts threads
 * that wake together on one core and takes many milliseconds to separate them.  It cannot fail. */
void cores_move(int core);

#endif
