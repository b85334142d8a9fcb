/* Benchmarks: ratios measured in one run, beside their targets. */
#include "bench.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "mtf.h"

/* ---- measuring ---- */

static double read_clock(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A run shorter than this is repeated, so that the clock does not matter. */
static const double shortest_run = 1e-3;

enum { LEAST_ROUNDS = 5, MOST_ROUNDS = 200 };

static double run_for(const racer *r, int runs, clockid_t clock)
{
    if (r->before) r->before(r->context);
    double begin = read_clock(clock);
    for (int k = 0; k < runs; k++) r->run(r->context);
    return (read_clock(clock) - begin) / runs;
}

static void race(int n, racer *racers, double seconds, clockid_t clock)
{
    int    runs = 1;
    double begin = read_clock(CLOCK_MONOTONIC), fastest = 1;
    for (int k = 0; k < n; k++) { /* the first run warms up, the second measures the duration */
        run_for(&racers[k], 1, clock);
        racers[k].best = run_for(&racers[k], 1, clock);
        if (racers[k].best < fastest) fastest = racers[k].best;
    }
    if (fastest < shortest_run) runs = (int)(shortest_run / (fastest + 1e-9)) + 1;
    for (int round = 0; round < MOST_ROUNDS; round++) {
        if (round >= LEAST_ROUNDS && read_clock(CLOCK_MONOTONIC) - begin > seconds) break;
        for (int k = 0; k < n; k++) {
            double took = run_for(&racers[k], runs, clock);
            if (took < racers[k].best) racers[k].best = took;
        }
    }
}

void bench_race(int n, racer *racers, double seconds)
{
    race(n, racers, seconds, CLOCK_MONOTONIC);
}

void bench_race_single(int n, racer *racers, double seconds)
{
    race(n, racers, seconds, CLOCK_THREAD_CPUTIME_ID);
}

/* ---- figures ---- */

void bench_figure(bench *b, const figure *f)
{
    if (b->count == b->room) {
        b->room = b->room ? 2 * b->room : 64;
        b->figures = realloc(b->figures, sizeof *b->figures * (size_t)b->room);
        if (!b->figures) abort();
    }
    b->figures[b->count++] = *f;
}

double bench_ratio(const figure *f)
{
    return f->aim == AT_LEAST ? f->other / f->seconds : f->seconds / f->other;
}

static bool is_missed(const figure *f)
{
    double ratio = bench_ratio(f);
    return !(f->aim == AT_LEAST ? ratio >= f->target : ratio <= f->target);
}

static int count_missed(const bench *b)
{
    int missed = 0;
    for (int i = 0; i < b->count; i++) missed += is_missed(&b->figures[i]);
    return missed;
}

/* ---- output ---- */

void bench_error(bench *b, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "mtf_bench: ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
    b->errors++;
}

bool bench_wants(const bench *b, const char *name)
{
    return !b->match || strstr(name, b->match);
}

static volatile sig_atomic_t signalled; /* by which signal; 0: none */

static void note_signal(int signal)
{
    signalled = signal;
}

void bench_heed_signals(void)
{
    struct sigaction first = {.sa_handler = note_signal, .sa_flags = (int)SA_RESETHAND};
    struct sigaction each = {.sa_handler = note_signal}; /* timeout(1) sends two */
    sigaction(SIGINT, &first, NULL);
    sigaction(SIGTERM, &each, NULL);
}

void bench_progress(const bench *b, const char *format, ...)
{
    va_list arguments;
    if (signalled) {
        bench_print_table(b);
        exit(128 + signalled);
    }
    if (!b->progress) return;
    va_start(arguments, format);
    fprintf(stderr, "\r\033[K");
    vfprintf(stderr, format, arguments);
    fflush(stderr);
    va_end(arguments);
}

const char *bench_bytes(int64_t bytes, char *text, size_t room)
{
    bool large = bytes >= 1 << 20;
    snprintf(text, room, "%lld %s", (long long)(large ? bytes >> 20 : bytes >> 10),
             large ? "MiB" : "KiB");
    return text;
}

static const char *time_text(double seconds, char *text, size_t room)
{
    static const char *const units[] = {"s", "ms", "us", "ns"};
    int                      u = 0;
    while (u < 3 && seconds < 1) seconds *= 1000, u++;
    snprintf(text, room, "%.*f %s", seconds < 10 ? 2 : seconds < 100 ? 1 : 0, seconds, units[u]);
    return text;
}

/* What lscpu calls the processor; the kernel's own list has no name on every architecture. */
static void cpu_model(char *model, size_t room)
{
    char  line[256];
    FILE *f = popen("LC_ALL=C lscpu 2>/dev/null", "r");
    snprintf(model, room, "unknown processor");
    while (f && fgets(line, sizeof line, f)) {
        static const char key[] = "Model name:";
        if (strncmp(line, key, sizeof key - 1) != 0) continue;
        char *name = line + sizeof key - 1;
        name += strspn(name, " ");
        name[strcspn(name, "\n")] = 0;
        snprintf(model, room, "%s", name);
        break;
    }
    if (f) pclose(f);
}

void bench_print_machine(const bench *b)
{
    char           model[200];
    struct utsname system;
    long           cores = sysconf(_SC_NPROCESSORS_ONLN);
    cpu_model(model, sizeof model);
    uname(&system);
    if (!b->json) {
        printf("machine  %s, %ld cores, %s\nbuild    %s\n\n", model, cores, system.machine,
               mtf_version());
        return;
    }
    cJSON *machine = cJSON_CreateObject();
    cJSON_AddStringToObject(machine, "machine", model);
    cJSON_AddNumberToObject(machine, "cores", (double)cores);
    cJSON_AddStringToObject(machine, "architecture", system.machine);
    cJSON_AddStringToObject(machine, "build", mtf_version());
    char *text = cJSON_PrintUnformatted(machine);
    puts(text);
    cJSON_free(text);
    cJSON_Delete(machine);
}

static void print_json(const figure *f)
{
    cJSON *line = cJSON_CreateObject();
    cJSON_AddStringToObject(line, "group", f->group);
    cJSON_AddStringToObject(line, "name", f->name);
    cJSON_AddStringToObject(line, "versus", f->versus);
    cJSON_AddNumberToObject(line, f->bytes ? "bytes" : "seconds", f->seconds);
    cJSON_AddNumberToObject(line, f->bytes ? "other_bytes" : "other_seconds", f->other);
    cJSON_AddNumberToObject(line, "ratio", bench_ratio(f));
    cJSON_AddStringToObject(line, "aim", f->aim == AT_LEAST ? "at least" : "at most");
    cJSON_AddNumberToObject(line, "target", f->target);
    cJSON_AddBoolToObject(line, "missed", is_missed(f));
    char *text = cJSON_PrintUnformatted(line);
    puts(text);
    cJSON_free(text);
    cJSON_Delete(line);
}

static int longest(const bench *b, size_t offset)
{
    size_t most = 0;
    for (int i = 0; i < b->count; i++) {
        size_t length = strlen((const char *)&b->figures[i] + offset);
        if (length > most) most = length;
    }
    return (int)most;
}

static const char *amount_text(const figure *f, double amount, char *text, size_t room)
{
    if (f->bytes) return bench_bytes((int64_t)amount, text, room);
    return time_text(amount, text, room);
}

static void print_row(const figure *f, int name_width, int versus_width)
{
    char here[32], there[32], target[32] = "";
    if (f->target > 0)
        snprintf(target, sizeof target, "%s %-5g", f->aim == AT_LEAST ? ">=" : "<=", f->target);
    printf("%-10s %-*s  %-*s %9s %9s %7.2f  %s %s\n", f->group, name_width, f->name, versus_width,
           f->versus, amount_text(f, f->seconds, here, sizeof here),
           amount_text(f, f->other, there, sizeof there), bench_ratio(f), target,
           is_missed(f) ? "MISSED" : "");
}

void bench_print_table(const bench *b)
{
    int name_width = longest(b, offsetof(figure, name));
    int versus_width = longest(b, offsetof(figure, versus));
    if (!b->json)
        printf("%-10s %-*s  %-*s %9s %9s %7s  %s\n", "group", name_width, "figure", versus_width,
               "this : that", "this", "that", "ratio", "target");
    for (int i = 0; i < b->count; i++)
        if (b->json)
            print_json(&b->figures[i]);
        else
            print_row(&b->figures[i], name_width, versus_width);
    if (!b->json)
        printf("\n%s%d figures, %d missed\n", signalled ? "broken off: " : "", b->count,
               count_missed(b));
}
