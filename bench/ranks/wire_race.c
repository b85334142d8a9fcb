/* Races collectives: on threads, over MPI, by plain MPI calls.
 *
 * Run as `mpirun -n P wire_race`.  The P ranks run the MPI wire and the plain
 * calls; in between they sleep while P threads of the first rank run the
 * threads' wire.  Prints a line for each collective and size: its name, the
 * bytes of its operand or result, whichever has more, and the best seconds of
 * threads, MPI, plain MPI.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "machine/ranks.h"
#include "machine/wire.h"
#include "program/program.h"

enum { MOST_BYTES_OF_ALL = 64 << 20, MOST_RANKS = 16, LEAST_ROUNDS = 3, MOST_ROUNDS = 15 };
static const double most_seconds = 1.5; /* for one collective of one size */

/* One processor's operands and instruction. */
typedef struct member {
    float *in, *out;
} member;

typedef struct race {
    mtf_session  *session;
    mesh          mesh;
    int           processors, rank;
    wire         *threads, *ranks; /* threads: in the first rank only */
    member        members[MOST_RANKS];
    int64_t       elements; /* of the larger of operand and result */
    int           runs;
    instr         instr;
    access        in, out;
    exchange_args gather;
} race;

/* ---- what is raced ---- */

typedef struct collective {
    const char *name;
    void (*write)(race *r);                  /* the instruction */
    void (*call)(race *r, const member *me); /* the same in plain MPI */
} collective;

static void write_all_reduce(race *r)
{
    r->instr.kind = INSTR_REDUCE;
    r->instr.reduce = (reduce_args){FOLD_SUM, 1};
}

static void call_all_reduce(race *r, const member *me)
{
    MPI_Allreduce(me->in, me->out, (int)r->elements, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static void write_all_gather(race *r)
{
    r->gather = (exchange_args){.shape = {.ndims = 1, .dims = {{"elements", r->elements}}},
                                .from.dim[0] = {.n = 1, .axis = {0}}};
    r->instr.kind = INSTR_EXCHANGE;
    r->instr.exchange = &r->gather;
}

static void call_all_gather(race *r, const member *me)
{
    int part = (int)(r->elements / r->processors);
    MPI_Allgather(me->in, part, MPI_FLOAT, me->out, part, MPI_FLOAT, MPI_COMM_WORLD);
}

static void write_reduce_scatter(race *r)
{
    r->instr.kind = INSTR_REDUCE_SCATTER;
    r->instr.reduce_scatter = (scatter_args){
        .kind = FOLD_SUM, .to = {.n = 1, .axis = {0}}, .size = r->elements, .row = 1};
}

static void call_reduce_scatter(race *r, const member *me)
{
    MPI_Reduce_scatter_block(me->in, me->out, (int)(r->elements / r->processors), MPI_FLOAT,
                             MPI_SUM, MPI_COMM_WORLD);
}

static const collective collectives[] = {
    {"all_reduce", write_all_reduce, call_all_reduce},
    {"reduce_scatter", write_reduce_scatter, call_reduce_scatter},
    {"all_gather", write_all_gather, call_all_gather},
};

/* ---- who races ---- */

/* Seconds of one run for this processor; the first collective, untimed, lets all begin together. */
static double run_wire(race *r, wire *w, int me, const member *m)
{
    void  *base[] = {m->in, m->out};
    double begin = 0;
    bool   ok = true;
    for (int k = 0; ok && k <= r->runs; k++) {
        if (k == 1) begin = clock_seconds();
        ok = w->run(w, me, &r->instr, base);
    }
    if (!ok) {
        fprintf(stderr, "wire_race: %s\n", mtf_error(r->session));
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return (clock_seconds() - begin) / r->runs;
}

typedef struct runner {
    race     *race;
    int       number;
    pthread_t thread;
    double    seconds;
} runner;

static void *run_thread(void *what)
{
    runner *t = what;
    t->seconds = run_wire(t->race, t->race->threads, t->number, &t->race->members[t->number]);
    return NULL;
}

/* The others sleep meanwhile, because waiting in MPI keeps a core busy. */
static double race_threads(race *r)
{
    MPI_Request     request;
    struct timespec nap = {.tv_nsec =
                               10000000}; /* a rank that wakes takes a core from the threads */
    runner          runners[MOST_RANKS];
    int             done = 0;
    for (int k = 0; r->rank == 0 && k < r->processors; k++) {
        runners[k] = (runner){.race = r, .number = k};
        if (pthread_create(&runners[k].thread, NULL, run_thread, &runners[k])) abort();
    }
    for (int k = 0; r->rank == 0 && k < r->processors; k++) pthread_join(runners[k].thread, NULL);
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    for (;;) {
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        if (done) return r->rank == 0 ? runners[0].seconds : 0;
        nanosleep(&nap, NULL);
    }
}

static double race_ranks(race *r)
{
    return run_wire(r, r->ranks, r->rank, &r->members[r->rank]);
}

static double race_plain(race *r, const collective *c)
{
    const member *me = &r->members[r->rank];
    c->call(r, me);
    double begin = clock_seconds();
    for (int k = 0; k < r->runs; k++) c->call(r, me);
    return (clock_seconds() - begin) / r->runs;
}

/* ---- the race ---- */

static double lesser(double a, double b)
{
    return a < b ? a : b;
}

/* Short collectives are repeated so that a run takes about five milliseconds. */
static int runs_for(int64_t bytes)
{
    return 1 + (int)(5e-3 / (3e-6 + (double)bytes / 1e9));
}

/* On a busy machine a round may take long: the first rank decides when there were enough. */
static bool goes_on(int round, double begin)
{
    int more =
        round < LEAST_ROUNDS || (round < MOST_ROUNDS && clock_seconds() - begin < most_seconds);
    MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return more;
}

static void race_one(race *r, const collective *c, int64_t bytes)
{
    double on_threads = 1e9, on_ranks = 1e9, plain = 1e9;
    r->elements = bytes / (int64_t)sizeof(float);
    r->runs = runs_for(bytes);
    r->in = (access){.buffer = 0, .type = MTF_F32, .stride = {1}};
    r->out = (access){.buffer = 1, .type = MTF_F32, .stride = {1}};
    r->instr = (instr){.nin = 1, .nout = 1, .in = &r->in, .out = &r->out, .nloops = 1};
    r->instr.size[0] = r->elements;
    c->write(r);
    program alone = {.instrs = &r->instr, .ninstrs = 1};
    if (!r->ranks->prepare(r->ranks, r->rank, &alone)) MPI_Abort(MPI_COMM_WORLD, 1);
    double begin = clock_seconds();
    for (int k = 0; goes_on(k, begin); k++) {
        on_threads = lesser(on_threads, race_threads(r));
        on_ranks = lesser(on_ranks, race_ranks(r));
        plain = lesser(plain, race_plain(r, c));
    }
    if (r->rank == 0)
        printf("%s %ld %.9f %.9f %.9f\n", c->name, (long)bytes, on_threads, on_ranks, plain);
    fflush(stdout);
}

static void make_members(race *r)
{
    for (int k = 0; k < r->processors; k++) {
        if (r->rank != 0 && r->rank != k) continue;
        r->members[k].in = malloc(MOST_BYTES_OF_ALL);
        r->members[k].out = malloc(MOST_BYTES_OF_ALL);
        if (!r->members[k].in || !r->members[k].out) abort();
        for (int64_t i = 0; i < MOST_BYTES_OF_ALL / (int64_t)sizeof(float); i++)
            r->members[k].in[i] = (float)(i % 7), r->members[k].out[i] = 0;
    }
}

int main(void)
{
    race r = {.session = mtf_open_with(&(mtf_session_opts){.threads = 1})};
    int  has;
    char text[20];
    MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &has);
    MPI_Comm_rank(MPI_COMM_WORLD, &r.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &r.processors);
    snprintf(text, sizeof text, "x:%d", r.processors);
    ranks *all = r.session && r.processors <= MOST_RANKS ? ranks_open(r.session, false) : NULL;
    if (!all || !mesh_parse(r.session, text, &r.mesh)) return 1;
    r.threads = r.rank == 0 ? wire_threads_open(r.session, &r.mesh, NULL) : NULL;
    r.ranks = wire_mpi_open(r.session, &r.mesh, all, r.rank, r.rank + 1);
    if (!r.ranks || (r.rank == 0 && !r.threads)) return 1;
    make_members(&r);

    for (size_t c = 0; c < sizeof collectives / sizeof *collectives; c++)
        for (int64_t bytes = 1 << 10; bytes <= MOST_BYTES_OF_ALL; bytes *= 4)
            race_one(&r, &collectives[c], bytes);

    for (int k = 0; k < r.processors; k++) free(r.members[k].in), free(r.members[k].out);
    r.ranks->close(r.ranks);
    if (r.threads) r.threads->close(r.threads);
    ranks_part(all);
    ranks_close(all);
    MPI_Finalize();
    return mtf_close(r.session);
}
