/* Work that must end its program with a sentence, done in a child. */
#ifndef TESTS_MACHINE_STOPS_H
#define TESTS_MACHINE_STOPS_H

#include <stdbool.h>
#include <stddef.h>

/* True where a signal ended the child; what it said goes to `said`. */
bool stops(void (*work)(void *context), void *context, char *said, size_t room);

#endif
