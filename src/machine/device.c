/* What devices do where they have nothing to do. */
#include "machine/device.h"

static void wait_for_nothing(device_context *c)
{
    (void)c;
}

static void set_nothing(device *d)
{
    (void)d;
}

static void announce_nothing(device_context *c, const program *p)
{
    (void)c, (void)p;
}

static bool is_ready(device_context *c, const program *p, run_state *r)
{
    (void)c, (void)p, (void)r;
    return true;
}

static void forget_nothing(device_context *c, const program *p, run_state *r)
{
    (void)c, (void)p, (void)r;
}

void device_complete(device *d)
{
    if (!d->wait) d->wait = wait_for_nothing;
    if (!d->enter) d->enter = set_nothing;
    if (!d->leave) d->leave = set_nothing;
    if (!d->announce) d->announce = announce_nothing;
    if (!d->prepare) d->prepare = is_ready;
    if (!d->forget) d->forget = forget_nothing;
    if (!d->end) d->end = is_ready;
}
