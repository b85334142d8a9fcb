/* Closing: one process prints the first error of all. */
#include "base/session.h"
#include "machine/launch.h"
#include "machine/ranks.h"

bool mtf_is_first(const mtf_session *s)
{
    return s && s->ranks ? ranks_number(s->ranks) == 0 : launch_find().rank == 0;
}

/* In a launched process every close is a barrier, even if nothing was compiled: other ranks may be
 * ahead, and wait there. */
int mtf_close(mtf_session *s)
{
    if (!s) return 1;
    session_finish(s);
    session_knows_options(s);
    if (!s->ranks && launch_find().size > 1 && !ranks_over()) s->ranks = ranks_open(s, false);
    bool speaks = s->ranks ? ranks_part(s->ranks) : mtf_is_first(s);
    if (speaks) session_say_error(s);
    if (s->ranks) ranks_close(s->ranks);
    bool ok = mtf_ok(s);
    session_free(s);
    return ok ? 0 : 1;
}
