/* The user's wish to stop: SIGINT, SIGTERM, SIGHUP and SIGUSR1.
 *
 * A handler cannot reach a session, and no variable of the library is global.
 * So the system keeps the note: the handler does nothing, but it is taken for
 * one signal only, and where the default is back, the signal has come.
 *
 * Terminals that close send SIGHUP, and batch systems SIGUSR1 before the end.
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
    for (int i = 0; i < INTERRUPTS; i++) /* not what nohup ignores, or the program handles */
        w->ours[i] = is_default(signals[i]) && sigaction(signals[i], &once, NULL) == 0;
}

int interrupt_came(interrupt *w)
{
    int came = 0;
    for (int i = 0; i < INTERRUPTS && !came; i++)
        if (w->ours[i] && is_default(signals[i])) came = signals[i];
    if (came) interrupt_leave(w); /* the second may be of the other kind */
    return came;
}

void interrupt_leave(interrupt *w)
{
    for (int i = 0; i < INTERRUPTS; i++) {
        if (w->ours[i]) signal(signals[i], SIG_DFL);
        w->ours[i] = false;
    }
}
