/* Benchmarks: ratios measured in one run, beside their targets.
 *
 * A machine may be twice as fast a minute later, so nothing is compared with a
 * stored number: what is measured and what it is measured against race each
 * other, turn by turn, and the best time of each counts.
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
    int         errors; /* things that could not be measured */
} bench;

void bench_figure(bench *b, const figure *f);
/* Something could not be measured: said at once, and by the exit status at the end. */
void bench_error(bench *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Is a contest of this name to be held? */
bool bench_wants(const bench *b, const char *name);
/* From here on a signal to end is answered by the table as it is then, at the next progress; a second
 * interrupt ends at once. */
void bench_heed_signals(void);
/* What is being done, where somebody watches. */
void bench_progress(const bench *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void bench_print_machine(const bench *b);
void bench_print_table(const bench *b); /* and how many missed */
double bench_ratio(const figure *f);
/* "1 KiB" or "64 MiB". */
const char *bench_bytes(int64_t bytes, char *text, size_t room);

/* One of those who race. */
typedef struct racer {
    void (*run)(void *context);
    void  *context;
    double best;                   /* seconds of its fastest run */
    void (*before)(void *context); /* each run, not timed; or NULL */
} racer;

/* Lets all run in turn, again and again, for about `seconds` in all but at least five times. */
void bench_race(int n, racer *racers, double seconds);
/* The same for what one thread does: only its own time counts, whoever else is busy. */
void bench_race_single(int n, racer *racers, double seconds);

#endif
