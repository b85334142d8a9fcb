/* What a schedule without a number means. */
#include "cli/rate_note.h"

#include <stdio.h>

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
