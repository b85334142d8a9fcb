/* What a training shows while it runs. */
#include "model/progress.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/numbers.h"
#include "machine/launch.h"

static const double terminal_seconds = 0.1, plain_seconds = 2; /* between two lines */

static void show_on_stdout(void *context, const char *text)
{
    (void)context;
    fputs(text, stdout);
    fflush(stdout);
}

/* Starters of ranks read them through a terminal of their own, whatever reads the starter. */
progress progress_begin(mtf_session *s, void (*show)(void *, const char *), void *context)
{
    return (progress){.session = s,
                      .show = show ? show : show_on_stdout,
                      .context = context,
                      .terminal = !show && launch_find().size == 1 && isatty(STDOUT_FILENO),
                      .quiet = !mtf_is_first(s),
                      .begin = clock_seconds(),
                      .shown = clock_seconds()};
}

/* "3 s", "2 min 05 s", "1 h 02 min" */
static const char *duration_text(double seconds, char *text, size_t room)
{
    long s = lround(seconds);
    if (s < 60)
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

/* A line as it grows; what has no room is cut. */
typedef struct line {
    char text[500];
    int  used;
} line;

static void add(line *l, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(line *l, const char *format, ...)
{
    va_list args;
    int     room = (int)sizeof l->text - l->used;
    va_start(args, format);
    int n = number_vformat(l->text + l->used, (size_t)room, format, args);
    va_end(args);
    l->used += n < room ? n : room - 1;
}

static void write_line(const progress *p, const progress_now *now, line *l)
{
    double spent = clock_seconds() - p->begin, steps = (double)(now->step - p->first);
    double each = spent > 0 ? 1 / spent : 0;
    int    width = snprintf(NULL, 0, "%lld", (long long)p->steps);
    char   time[40];
    add(l, "step %*lld", width, (long long)now->step);
    if (p->steps) add(l, " of %lld", (long long)p->steps);
    add(l, "   loss %-9.5g", now->loss);
    if (!isnan(now->rate)) add(l, " rate %-8.3g", now->rate);
    if (p->examples)
        add(l, " %7.0f examples/s", (double)p->examples * each);
    else
        add(l, " %7.1f steps/s", steps * each);
    if (!isnan(now->wire)) add(l, "   wire %2.0f %%", 100 * now->wire);
    bool last = !p->steps || now->step >= p->steps;
    spent = last ? spent : spent / steps * (double)(p->steps - now->step);
    add(l, "   %s %s", duration_text(spent, time, sizeof time), last ? "so far" : "left");
}

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

void progress_step(progress *p, const progress_now *now)
{
    double clock = clock_seconds();
    bool   last = now->step == p->steps;
    p->examples += now->examples;
    if (p->quiet) return;
    if (p->json) {
        show_json(p, now);
    } else if (last || clock - p->shown >= (p->terminal ? terminal_seconds : plain_seconds)) {
        line l = {.used = 0};
        write_line(p, now, &l);
        show_line(p, l.text);
        p->shown = clock;
    }
}

void progress_say(progress *p, const char *format, ...)
{
    char    text[1500];
    va_list args;
    if (p->quiet) return;
    va_start(args, format);
    int n = number_vformat(text, sizeof text - 1, format, args);
    va_end(args);
    if (n < 0) return;
    if (n > (int)sizeof text - 2) n = (int)sizeof text - 2;
    text[n] = '\n', text[n + 1] = 0;
    if (p->json)
        session_say(p->session, text);
    else
        progress_text(p, text);
}

void progress_text(progress *p, const char *text)
{
    if (p->quiet || p->json) return;
    finish_line(p);
    p->show(p->context, text);
}

void progress_end(progress *p)
{
    if (!p->quiet) finish_line(p);
}
