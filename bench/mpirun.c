/* How programs of the benchmark are started as ranks. */
#include "mpirun.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mtf_build.h"

enum { TIME_LIMIT = 240 }; /* seconds, for one command */

/* What mpirun must be told: to run as root, more ranks than cores, without binding each to a core,
 * for the threads of one rank take part as well, and on this machine's loopback alone. */
const char *mpirun(void)
{
    char limit[20];
    snprintf(limit, sizeof limit, "%d", TIME_LIMIT);
    setenv("MPIEXEC_TIMEOUT", limit, 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 0);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
    setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", 0); /* containers forbid it */
    setenv("HWLOC_HIDE_ERRORS", "2", 0);                           /* no /sys to look at */
    return strncmp(MTF_BUILD_MPI, "Open MPI", 8) == 0
               ? "mpirun --oversubscribe --quiet --bind-to none --mca oob_tcp_if_include lo"
               : "mpirun";
}
