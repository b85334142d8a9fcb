/* The step as a picture: memory and work over predicted time. */
#ifndef PAGE_PLAN_PICTURE_H
#define PAGE_PLAN_PICTURE_H

#include "page/plan_view.h"

/* What two pictures share, to be compared by eye. */
typedef struct picture_scale {
    double  seconds;
    int64_t bytes;
} picture_scale;

/* Memory by kind above, a lane for all work, one for all collectives and one for each layer below,
 * over one axis of time.  `number` tells the pictures of a page apart. */
void plan_write_picture(const plan_view *v, picture_scale scale, int number, textbuf *t);

#endif
