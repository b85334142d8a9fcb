/* How programs of the benchmark are started as ranks. */
#ifndef BENCH_MPIRUN_H
#define BENCH_MPIRUN_H

/* The command and its flags, to which "-n RANKS PROGRAM" is added; sets the environment it needs. */
const char *mpirun(void);

#endif
