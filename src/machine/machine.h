/* The machine: opens devices by name. */
#ifndef MACHINE_MACHINE_H
#define MACHINE_MACHINE_H

#include "machine/device.h"
#include "program/site.h"

/* The device that the session's options name; NULL after an error. Closed by its own close. */
device *machine_open(mtf_session *s);
/* One process whose processors have so many threads each. */
site machine_site(int threads);
bool machine_checks(const mtf_session *s); /* does the session's device check what runs on it? */
/* Unused bytes that the device wants between buffers. */
int64_t machine_guard(const mtf_session *s);

#endif
