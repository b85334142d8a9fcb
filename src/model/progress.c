/* What training prints while it runs. */
#include "model/progress.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/numbers.h"
#include "base/printable.h"
#include "machine/launch.h"

static const double terminal_seconds = 0.1, plain_seconds = 2; /* between two lines */
static const double recent_seconds = 5, recent_steps = 50;     /* time constants of recent means */

static void show_on_stdout(void *context, const char *text)
{
    (void)context;
    fputs(text, stdout);
    fflush(stdout);
}

/* Whether a line can be overwritten.  Not under mpirun and srun, which give each rank a pseudo-terminal
 * even where their own output is a file. */
static bool is_terminal(void)
{
    const char *kind = getenv("TERM");
    return launch_find().size == 1 && isatty(STDOUT_FILENO) && kind && strcmp(kind, "dumb") != 0;
}

/* Called for each line, because windows are resized. */
static int terminal_columns(void)
{
    struct winsize size;
    const char    *said = getenv("COLUMNS");
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
    int columns = said ? atoi(said) : 0;
    return columns > 0 ? columns : 80;
}

progress progress_begin(mtf_session *s, void (*show)(void *, const char *), void *context)
{
    return (progress){.session = s,
                      .show = show ? show : show_on_stdout,
                      .context = context,
                      .terminal = !show && is_terminal(),
                      .quiet = !mtf_is_first(s),
                      .begin = clock_seconds(),
                      .shown = clock_seconds()};
}

/* "0.3 s", "3 s", "2 min 05 s", "1 h 02 min" */
static const char *duration_text(double seconds, char *text, size_t room)
{
    long s = lround(seconds);
    if (seconds < 0.95)
        number_format(text, room, "%.1f s", seconds);
    else if (s < 60)
        snprintf(text, room, "%ld s", s);
    else if (s < 3600)
        snprintf(text, room, "%ld min %02ld s", s / 60, s % 60);
    else
        snprintf(text, room, "%ld h %02ld min", s / 3600, s / 60 % 60);
    return text;
}

/* ---- lines ---- */

static void finish_line(progress *p)
{
    if (p->standing) p->show(p->context, "\n");
    p->standing = 0;
}

static void show_line(progress *p, const char *line)
{
    char text[600];
    int  length = (int)strlen(line);
    if (p->terminal)
        snprintf(text, sizeof text, "\r%s%*s", line,
                 p->standing > length ? p->standing - length : 0, "");
    else
        snprintf(text, sizeof text, "%s\n", line);
    p->show(p->context, text);
    p->standing = p->terminal ? length : 0;
}

/* The pieces of a line, in order; where the terminal is too narrow, the least useful are dropped. */
enum { STEP, LOSS, SMOOTHED, RATE, SPEED, WIRE, TIME, PIECES };
static const int drop_first[] = {WIRE, RATE, SMOOTHED, SPEED, TIME};

typedef struct line {
    char pieces[PIECES][60]; /* "" where there is none */
} line;

static void set(line *l, int piece, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void set(line *l, int piece, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    number_vformat(l->pieces[piece], sizeof l->pieces[piece], format, args);
    va_end(args);
}

static int line_length(const line *l)
{
    int length = 0;
    for (int i = 0; i < PIECES; i++) length += (int)strlen(l->pieces[i]);
    return length;
}

/* "1234 examples/s", "0.3 steps/s" */
static void set_speed(const progress *p, line *l)
{
    double      speed = progress_speed(p);
    const char *what = p->recent.examples > 0 ? "example" : "step";
    char        number[40];
    number_format(number, sizeof number, speed < 100 ? "%.1f" : "%.0f", speed);
    if (strcmp(number, "1.0") == 0) number[1] = 0;
    set(l, SPEED, "   %5s %s%s/s", number, what, strcmp(number, "1") == 0 ? "" : "s");
}

void progress_step_text(int64_t step, int64_t steps, char *text, size_t room)
{
    int width = snprintf(NULL, 0, "%lld", (long long)steps);
    if (steps)
        snprintf(text, room, "step %*lld of %lld", width, (long long)step, (long long)steps);
    else
        snprintf(text, room, "step %lld", (long long)step);
}

static void fill_line(const progress *p, const progress_now *now, line *l)
{
    double spent = clock_seconds() - p->begin, steps = (double)(now->step - p->first);
    bool   last = p->steps && now->step >= p->steps;
    char   time[40];
    progress_step_text(now->step, p->steps, l->pieces[STEP], sizeof l->pieces[STEP]);
    set(l, LOSS, "   loss %-8.5g", now->loss);
    set(l, SMOOTHED, " (smoothed %.5g)", p->recent.loss / p->recent.losses);
    if (!isnan(now->rate)) set(l, RATE, "   rate %-8.3g", now->rate);
    set_speed(p, l);
    if (!isnan(now->wire)) set(l, WIRE, "   wire %2.0f %%", 100 * now->wire);
    if (last)
        set(l, TIME, "   in %s", duration_text(spent, time, sizeof time));
    else if (p->steps)
        set(l, TIME, "   %s left",
            duration_text(spent / steps * (double)(p->steps - now->step), time, sizeof time));
    else
        set(l, TIME, "   after %s", duration_text(spent, time, sizeof time));
}

/* A line as wide as the terminal would wrap. */
static void write_line(const progress *p, const progress_now *now, char *text, size_t room)
{
    enum { DROPS = sizeof drop_first / sizeof *drop_first };
    line l = {.pieces = {""}};
    int  most = p->terminal ? terminal_columns() - 1 : (int)room - 1, used = 0;
    fill_line(p, now, &l);
    for (int i = 0; i < DROPS && line_length(&l) > most; i++) l.pieces[drop_first[i]][0] = 0;
    for (int i = 0; i < PIECES; i++)
        used += snprintf(text + used, room - (size_t)used, "%s", l.pieces[i]);
    if (used > most) text[most] = 0;
}

/* ---- JSON ---- */

static const char *number_text(double x, char *text, size_t room)
{
    if (isfinite(x))
        number_format(text, room, "%.9g", x);
    else
        snprintf(text, room, "\"%s\"", isnan(x) ? "nan" : x > 0 ? "inf" : "-inf");
    return text;
}

static void show_json(progress *p, const progress_now *now)
{
    char text[200], loss[40], rate[60] = "", number[40];
    if (!isnan(now->rate))
        snprintf(rate, sizeof rate, ",\"rate\":%s", number_text(now->rate, number, sizeof number));
    snprintf(text, sizeof text, "{\"step\":%lld,\"loss\":%s%s}\n", (long long)now->step,
             number_text(now->loss, loss, sizeof loss), rate);
    p->show(p->context, text);
}

/* ---- steps ---- */

static void remember(recent *r, const progress_now *now)
{
    double by_time = exp(-now->seconds / recent_seconds), by_step = 1 - 1 / recent_steps;
    r->loss = r->loss * by_step + now->loss;
    r->losses = r->losses * by_step + 1;
    r->examples = r->examples * by_time + (double)now->examples;
    r->steps = r->steps * by_time + 1;
    r->seconds = r->seconds * by_time + now->seconds;
}

double progress_speed(const progress *p)
{
    const recent *r = &p->recent;
    double        done = r->examples > 0 ? r->examples : r->steps;
    return r->seconds > 0 ? done / r->seconds : 0;
}

void progress_step(progress *p, const progress_now *now)
{
    double clock = clock_seconds();
    bool   last = now->step == p->steps;
    remember(&p->recent, now);
    if (p->quiet) return;
    if (p->json) {
        show_json(p, now);
    } else if (last || clock - p->shown >= (p->terminal ? terminal_seconds : plain_seconds)) {
        char text[PIECES * 60];
        write_line(p, now, text, sizeof text);
        show_line(p, text);
        p->shown = clock;
    }
}

static void say(progress *p, const char *format, va_list args)
{
    char text[1500];
    int  n = number_vformat(text, sizeof text - 1, format, args);
    if (n < 0) return;
    if (n > (int)sizeof text - 2) n = (int)sizeof text - 2;
    text[n] = '\n', text[n + 1] = 0;
    if (p->json || p->quiet)
        session_say(p->session, text);
    else
        progress_text(p, text);
}

void progress_say(progress *p, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (!p->quiet) say(p, format, args);
    va_end(args);
}

void progress_warn(progress *p, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (mtf_is_first(p->session)) say(p, format, args);
    va_end(args);
}

void progress_asked(progress *p, const char *text)
{
    if (p->json || !mtf_is_first(p->session)) return;
    finish_line(p);
    printable_show(text, p->show, p->context);
}

void progress_text(progress *p, const char *text)
{
    if (!p->quiet) progress_asked(p, text);
}

void progress_end(progress *p)
{
    if (!p->quiet) finish_line(p);
}
