/* Benchmarks: ratios measured in one run, beside their targets.
 *
 * A machine may be twice as fast a minute later, so nothing is compared with a
 * stored number: both sides of a ratio run alternately, and the best time of
 * each counts.
 */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* AT_LEAST: how many times as fast as the other; AT_MOST: how many times as long it takes. */
typedef enum bench_aim { AT_LEAST, AT_MOST } bench_aim;

/* One line of the table. */
typedef struct figure {
    const char *group;
    char        name[64];   /* what is measured */
    char        versus[48]; /* "threads : MPI": what takes `seconds`, and what takes `other` */
    double      seconds, other;
    bool        bytes; /* both are bytes of memory, not seconds */
    bench_aim   aim;
    double      target;
} figure;

typedef struct bench {
    const char *folder; /* where the programs of the benchmark lie */
    const char *match;  /* what a contest's name must contain, or NULL */
    bool        json, progress;
    figure     *figures;
    int         count, room;
    int         errors; /* how many figures could not be measured */
} bench;

void bench_figure(bench *b, const figure *f);
/* Reports that something could not be measured, at once and by the exit status. */
void bench_error(bench *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Whether the figure of this name is to be measured. */
bool bench_wants(const bench *b, const char *name);
/* From here on a signal ends the benchmark at the next progress message, with the table so far; a second
 * interrupt ends it at once. */
void bench_heed_signals(void);
/* Prints a progress line, on a terminal. */
void bench_progress(const bench *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void bench_print_machine(const bench *b);
void bench_print_table(const bench *b); /* and how many missed */
double bench_ratio(const figure *f);
/* "1 KiB" or "64 MiB". */
const char *bench_bytes(int64_t bytes, char *text, size_t room);

/* One side of a comparison. */
typedef struct racer {
    void (*run)(void *context);
    void  *context;
    double best;                   /* seconds of its fastest run */
    void (*before)(void *context); /* each run, not timed; or NULL */
} racer;

/* Runs all alternately, repeatedly, for about `seconds` in total, but at least five times. */
void bench_race(int n, racer *racers, double seconds);
/* The same for code of one thread: measures the thread's CPU time. */
void bench_race_single(int n, racer *racers, double seconds);

#endif
