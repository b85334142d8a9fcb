/* The step as a picture: memory and work over predicted time. */
#ifndef PAGE_PLAN_PICTURE_H
#define PAGE_PLAN_PICTURE_H

#include "page/plan_view.h"

/* The scale that two pictures share, so that they can be compared. */
typedef struct picture_scale {
    double  seconds;
    int64_t bytes;
} picture_scale;

/* Memory by kind above, and below a lane for all work, one for all collectives and one for each layer,
 * over one axis of time.  `number` identifies a picture of the page. */
void plan_write_picture(const plan_view *v, picture_scale scale, int number, textbuf *t);

#endif
