/* A build without MPI: one process, no ranks. */
#include "machine/launch.h"
#include "machine/wire.h"
#include "mtf_build.h"

#if !MTF_HAVE_MPI

ranks *ranks_open(mtf_session *s, bool threads)
{
    (void)threads;
    fail(&s->fault, ERR_MPI,
         "%d processes were started for one mesh, but this build of mtf has no MPI: start one, or "
         "build mtf with -DMTF_MPI=ON",
         launch_find().size);
    return NULL;
}

bool ranks_over(void)
{
    return true;
}

int ranks_number(const ranks *r)
{
    (void)r;
    return 0;
}

int ranks_count(const ranks *r)
{
    (void)r;
    return 1;
}

int ranks_cores(const ranks *r)
{
    (void)r;
    return 1;
}

int ranks_place(const ranks *r)
{
    (void)r;
    return 0;
}

void ranks_know_mesh(ranks *r, const mesh *m)
{
    (void)r, (void)m;
}

bool ranks_look(ranks *r, const char *what)
{
    (void)r, (void)what;
    return true;
}

int ranks_silent(ranks *r)
{
    (void)r;
    return -1;
}

bool ranks_alarmed(ranks *r)
{
    (void)r;
    return false;
}

bool ranks_foreign(const ranks *r)
{
    (void)r;
    return false;
}

void ranks_tell(ranks *r)
{
    (void)r;
}

bool ranks_meet(ranks *r, const char *what)
{
    (void)r, (void)what;
    return true;
}

bool ranks_gather(ranks *r, const char *what, const void *mine, void *all, int bytes)
{
    (void)r, (void)what, (void)mine, (void)all, (void)bytes;
    return true;
}

bool ranks_spread(ranks *r, const char *what, int owner, const rank_block *b, void *array)
{
    (void)r, (void)what, (void)owner, (void)b, (void)array;
    return true;
}

bool ranks_part(ranks *r)
{
    (void)r;
    return true;
}

void ranks_close(ranks *r)
{
    (void)r;
}

wire *wire_mpi_open(mtf_session *s, const mesh *m, ranks *r, int first, int end)
{
    (void)m, (void)r, (void)first, (void)end;
    fail(&s->fault, ERR_MPI, "this build has no MPI");
    return NULL;
}

#endif
