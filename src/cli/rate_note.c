/* What a schedule without a number means. */
#include "cli/rate_note.h"

#include <stdio.h>

#include "base/numbers.h"
#include "base/printable.h"
#include "nn/schedule_text.h"

void rate_note(const setup *s)
{
    const mtf_minimize_opts *m = &s->minimize;
    const char              *rate = m->schedule;
    bool                     typed = option_given(s->options, "rate") || !s->config;
    if (!rate || m->rate != 0 || !schedule_lacks_rate(rate) || !mtf_is_first(s->session)) return;
    if (typed)
        printable_print(stderr,
                        "mtf: warning: the rate \"%s\" has no number among its factors, so it goes "
                        "up to 1; \"0.001 * %s\" goes up to 0.001\n",
                        rate, rate);
    else
        printable_print(
            stderr,
            "mtf: warning: run.learning_rate_schedule, %s, has no number among its "
            "factors, so the rate goes up to 1; with [0.001, ...] it goes up to 0.001\n",
            rate);
}

void rate_note_zero(const setup *s, bool none)
{
    const char *rate = s->minimize.schedule;
    char       *end;
    if (!none || !rate || !mtf_is_first(s->session)) return;
    if (number_read(rate, &end) == 0 && !*end) return; /* as it was asked for */
    printable_print(
        stderr,
        "mtf: note: the rate was 0 in every step, so nothing was trained: \"%s\" begins "
        "or ends at 0; take more steps, or a number, as with --rate 0.0001\n",
        rate);
}
