/* Makes a program that it is linked into count the bytes that it sends by MPI.
 *
 * At its end each rank writes "rank R sent N bytes" to standard error.  The wire moves tensors by MPI_Isend
 * alone; a wire that used other calls would be found to send less than was planned.  Broadcasts are not
 * counted: by them ranks agree now and then whether to go on, as time passes.
 */
#include <inttypes.h>
#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>

static _Atomic int64_t sent;

int MPI_Isend(const void *data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request *r)
{
    int bytes;
    PMPI_Type_size(type, &bytes);
    atomic_fetch_add(&sent, (int64_t)n * bytes);
    return PMPI_Isend(data, n, type, to, tag, comm, r);
}

int MPI_Finalize(void)
{
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    fprintf(stderr, "rank %d sent %" PRId64 " bytes\n", rank, atomic_load(&sent));
    return PMPI_Finalize();
}
