/* Signals that stop training: SIGINT, SIGTERM, SIGHUP and SIGUSR1.
 *
 * A handler cannot reach a session, and the library has no global variables.
 * So the state is kept by the system: the handler does nothing, but it is
 * installed for one signal only (SA_RESETHAND); when the default is in effect
 * again, the signal has arrived.
 *
 * A closing terminal sends SIGHUP; batch systems send SIGUSR1 before a job's
 * time ends.
 */
#include "model/interrupt.h"

#include <signal.h>

static const int signals[INTERRUPTS] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};

static bool is_default(int number)
{
    struct sigaction now;
    return sigaction(number, NULL, &now) == 0 && now.sa_handler == SIG_DFL;
}

static void let_pass(int number)
{
    (void)number;
}

void interrupt_watch(interrupt *w)
{
    struct sigaction once = {.sa_handler = let_pass, .sa_flags = (int)SA_RESETHAND | SA_RESTART};
    for (int i = 0; i < INTERRUPTS; i++) /* unless nohup ignores it or the program handles it */
        w->ours[i] = is_default(signals[i]) && sigaction(signals[i], &once, NULL) == 0;
}

int interrupt_came(interrupt *w)
{
    int came = 0;
    for (int i = 0; i < INTERRUPTS && !came; i++)
        if (w->ours[i] && is_default(signals[i])) came = signals[i];
    if (came) interrupt_leave(w); /* the second signal may be a different one */
    return came;
}

void interrupt_leave(interrupt *w)
{
    for (int i = 0; i < INTERRUPTS; i++) {
        if (w->ours[i]) signal(signals[i], SIG_DFL);
        w->ours[i] = false;
    }
}
