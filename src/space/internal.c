/* Internal dimensions, which no user can name. */
#include "space/internal.h"

#include "space/shape.h"

/* More names than one shape has room for, so that one is always free. */
#define NAMES(word)                                                                                \
    {                                                                                              \
        "." word, "." word "2", "." word "3", "." word "4", "." word "5"                           \
    }
enum { SAME_KIND = MTF_SHAPE_ROOM - MTF_MAX_DIMS + 1 };

mtf_dim internal_dim(internal_kind kind, int64_t size, const mtf_shape *beside)
{
    static const char *const names[INTERNAL_KINDS][SAME_KIND] = {
        [INTERNAL_TAP] = NAMES("tap"),      [INTERNAL_GROUP] = NAMES("group"),
        [INTERNAL_RANK] = NAMES("rank"),    [INTERNAL_FACTORS] = NAMES("factors"),
        [INTERNAL_ONE] = NAMES("one"),      [INTERNAL_ITERATIONS] = NAMES("iterations"),
        [INTERNAL_RUN] = NAMES("run"),      [INTERNAL_PART] = NAMES("part"),
        [INTERNAL_MEMORY] = NAMES("memory")};
    int k = 0;
    while (k < SAME_KIND - 1 && shape_find(beside, names[kind][k]) >= 0) k++;
    return (mtf_dim){names[kind][k], size};
}
