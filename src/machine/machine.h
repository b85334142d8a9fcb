/* The machine: opens devices by name. */
#ifndef MACHINE_MACHINE_H
#define MACHINE_MACHINE_H

#include "machine/device.h"
#include "program/site.h"

/* The device that the session's options name; NULL after an error.  The device's close function
 * closes it. */
device *machine_open(mtf_session *s);
/* One process, of the session's device, whose processors have so many threads each. */
site machine_site(const mtf_session *s, int threads);
/* Bytes that each of `processors` processors of a process may use; 0: not known. */
int64_t machine_memory_each(const mtf_session *s, int processors);
/* How that device carries out instructions. */
instr_way *machine_way(const mtf_session *s);
bool machine_checks(const mtf_session *s); /* does the session's device check what runs on it? */
/* Unused bytes that the device needs between buffers. */
int64_t machine_guard(const mtf_session *s);

/* What the device cuda is to the functions above.  Programs link without it: then &machine_cuda is
 * NULL. */
typedef struct card_functions {
    device *(*open)(mtf_session *s);
    int64_t (*scratch_bytes)(const program *p, int threads);
    int64_t (*memory_each)(int processors);
    instr_way *way;
} card_functions;

extern const card_functions machine_cuda __attribute__((weak));

#endif
