/* Cores: those that this process may use, by the numbers that the system has for them. */
#ifndef BASE_CORES_H
#define BASE_CORES_H

int cores_count(void);   /* that this process may use at a time; at least 1 */
int cores_machine(void); /* that all processes in its place may: the machine's, or a quota */
int cores_current(void); /* the one that runs the caller */
int cores_after(int core, int k); /* k after it, of those that may be used, around the end */
/* Puts the calling thread there and lets it go: the system puts threads that wake together on one
 * core at times, and takes many milliseconds to part them.  A mere wish: nothing can fail. */
void cores_move(int core);

#endif
