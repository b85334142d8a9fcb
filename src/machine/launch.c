/* Whether an MPI starter launched this process, from the environment. */
#include "machine/launch.h"

#include <stdlib.h>

/* The environment variables that each starter sets.  Slurm also sets its own names in batch
 * scripts, which are not ranks: for Slurm the PMI names must be set as well. */
static const struct {
    const char *rank, *size, *name;
} starters[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "Open MPI's mpirun"},
    {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MVAPICH's mpirun"},
    {"PMI_RANK", "PMI_SIZE", "MPICH's mpirun or another that speaks PMI"},
    {"PMIX_RANK", "SLURM_STEP_NUM_TASKS", "Slurm"},
    {"PMIX_RANK", "SLURM_NTASKS", "Slurm"},
    {"PMI_RANK", "SLURM_STEP_NUM_TASKS", "Slurm"},
};

launch launch_find(void)
{
    for (size_t i = 0; i < sizeof starters / sizeof *starters; i++) {
        const char *rank = getenv(starters[i].rank), *size = getenv(starters[i].size);
        launch      l = {rank ? atoi(rank) : 0, size ? atoi(size) : 0, starters[i].name};
        if (rank && size && l.size > 1 && l.rank >= 0 && l.rank < l.size) return l;
    }
    return (launch){0, 1, NULL};
}
