/* How long the threads of OpenMP spin before they sleep. */
#ifndef CLI_WAITING_H
#define CLI_WAITING_H

/* Their usual time, milliseconds, is more than most steps of a small model take.  Where other processes use the cores,
 * a thread that spins holds one from the thread that it waits for, and a run takes many times as long.  A runtime reads
 * its settings when it is loaded: so the command starts itself again with shorter ones, unless the user has set any.
 */
void waiting_shorten(char **argv);

#endif
