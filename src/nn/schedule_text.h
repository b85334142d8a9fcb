/* Schedules written as text. */
#ifndef NN_SCHEDULE_TEXT_H
#define NN_SCHEDULE_TEXT_H

#include <stdbool.h>

/* Whether the text is a schedule whose factors all go up to 1, such as a warm-up or a cosine, without a number:
 * so its rate goes up to 1. */
bool schedule_lacks_rate(const char *text);

#endif
