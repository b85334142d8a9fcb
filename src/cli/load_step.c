/* Loads the checkpoint of one step. */
#include "cli/load_step.h"

#include "base/session.h"
#include "checkpoint/folder.h"

/* For mtf_load step 0 is the newest one: initial weights are named by their path. */
bool load_step(mtf_session *s, const char *folder, int64_t step, mtf_load_opts how,
               mtf_loaded *from)
{
    if (step == 0) folder = folder_step_path(&s->arena, folder, 0);
    how.step = step == NEWEST ? 0 : step;
    return folder && mtf_load(s, folder, &how, from);
}
