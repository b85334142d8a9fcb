/* Refuses far more threads than there are cores. */
#include "cli/thread_limit.h"

#include "base/cores.h"
#include "base/session.h"
#include "machine/launch.h"
#include "space/mesh.h"

/* Thousands of threads on few cores would only wait for each other; those of one processor do so after
 * every instruction. */
bool threads_suit(const options *o, mtf_session *s)
{
    enum { A_CORE = 64, ALWAYS = 256, TOGETHER = 8 };
    mesh m;
    int  ranks = launch_find().size, cores = cores_count();
    TRY(mtf_ok(s) && mesh_parse(s, s->opts.mesh, &m));
    if (option_given(o, "threads") && s->opts.threads > TOGETHER * cores &&
        !option_given(o, "oversubscribe"))
        return fail(
            &s->fault, ERR_USAGE,
            "--threads %d are too many for %d core%s: leave --threads out, or add --oversubscribe "
            "to start them",
            s->opts.threads, cores, cores == 1 ? "" : "s");
    int here = mesh_size(&m) / (ranks > 1 ? ranks : 1);
    if (here <= ALWAYS || here <= A_CORE * cores || option_given(o, "oversubscribe")) return true;
    return fail(
        &s->fault, ERR_USAGE,
        "--mesh %s has %d processors for this process, and the machine has %d core%s: start "
        "more ranks with mpirun -n N, or add --oversubscribe to start %d threads",
        s->opts.mesh, here, cores, cores == 1 ? "" : "s", here);
}
