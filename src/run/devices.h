/* Devices by name, and what plans need to know of the one that a session's options name. */
#ifndef RUN_DEVICES_H
#define RUN_DEVICES_H

#include "machine/device.h"
#include "program/site.h"

/* What a device can do; of a name that is not a device's, what this machine can. */
abilities devices_abilities(const char *name);
/* Programs are planned for this device from now on; false, with an error, where the user says something
 * impossible about it.  A name that is not a device's is refused when it is opened. */
bool devices_use(mtf_session *s, const char *name);
/* The session's device; NULL after an error.  The device's close function closes it. */
device *devices_open(mtf_session *s);
/* One process, of the session's device, whose processors have so many threads each. */
site devices_site(const mtf_session *s, int threads);
/* Bytes that each of `processors` processors of a process may use; 0: not known. */
int64_t devices_memory_each(const mtf_session *s, int processors);
/* How that device carries out instructions. */
instr_way *devices_way(const mtf_session *s);
/* Unused bytes that the device needs between buffers. */
int64_t devices_guard(const mtf_session *s);

#endif
