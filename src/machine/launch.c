/* Whether an MPI starter launched this process, from the environment. */
#include "machine/launch.h"

#include <stdlib.h>

/* What each starter tells its processes.  Slurm sets its own names in batch scripts too, which
 * are no ranks: there the PMI names must be set as well. */
static const struct {
    const char *rank, *size;
} starters[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
    {"PMI_RANK", "PMI_SIZE"},
    {"PMIX_RANK", "SLURM_STEP_NUM_TASKS"},
    {"PMIX_RANK", "SLURM_NTASKS"},
    {"PMI_RANK", "SLURM_STEP_NUM_TASKS"},
};

launch launch_find(void)
{
    for (size_t i = 0; i < sizeof starters / sizeof *starters; i++) {
        const char *rank = getenv(starters[i].rank), *size = getenv(starters[i].size);
        launch      l = {rank ? atoi(rank) : 0, size ? atoi(size) : 0};
        if (rank && size && l.size > 1 && l.rank >= 0 && l.rank < l.size) return l;
    }
    return (launch){0, 1};
}
