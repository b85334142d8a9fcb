/* What a schedule without a number means. */
#ifndef CLI_RATE_NOTE_H
#define CLI_RATE_NOTE_H

#include "cli/train_setup.h"

/* Warns of a rate that goes up to 1 because its schedule has no number. */
void rate_note(const setup *s);
/* Notes, where no step had a rate above 0, that nothing was trained. */
void rate_note_zero(const setup *s, bool none);

#endif
