/* Each rank reads its own examples of a batch and no others: tests/shell/mpi.sh.
 *
 * Every rank has its own file, in which the examples of other ranks are not
 * numbers.  A rank that reads one of them stops with an error.
 *
 * Usage: mpirun -n N test_batch_ranks PARTS MESH     where MESH begins with an axis x of PARTS
 * Without arguments one process reads all.
 */
#include "machine/launch.h"

#include "scratch.h"

enum { BATCH = 10, BATCHES = 7 };

/* Example i is the number i, where place i of its batch lies in this part. */
static const char *write_own(const char *name, const char *head, const char *others, int part,
                             int parts)
{
    char text[BATCH * BATCHES * 24] = "", *end = text;
    int  first = part * BATCH / parts, last = (part + 1) * BATCH / parts;
    end += sprintf(end, "%s", head);
    for (int i = 0; i < BATCH * BATCHES; i++)
        end += i % BATCH >= first && i % BATCH < last ? sprintf(end, "%d\n", i)
                                                      : sprintf(end, "%s\n", others);
    return write_text(name, text);
}

/* How many batches have another sum than they should. */
static int count_wrong(mtf_session *s, const char *path, const char *part)
{
    mtf_graph   *g = mtf_graph_new(s);
    mtf_tensor  *x = mtf_input(g, "x", MTF_F32, mtf_shape((mtf_dim){"batch", BATCH}));
    mtf_tensor  *sum = mtf_reduce_sum(x, MTF_ALL);
    mtf_program *p = mtf_compile(g, sum);
    mtf_dataset *d = open_field(s, (mtf_field){.name = "x", .files = path, .part = part});
    mtf_batches *b = mtf_batches_new(d, p, &(mtf_batches_opts){.epochs = 1});
    int          wrong = BATCHES;
    for (int k = 0; mtf_batches_next(b) && mtf_step(p); k++)
        wrong -= mtf_fetch_scalar(p, sum) == BATCH * BATCH * k + BATCH * (BATCH - 1) / 2;
    return wrong;
}

static void say(void *context, const char *text)
{
    (void)context;
    fputs(text, stderr);
}

int main(int argc, char **argv)
{
    launch l = launch_find();
    int    parts = argc > 2 ? atoi(argv[1]) : 1;
    if (scratch_make(NULL) != 0) return 1;
    int          part = l.rank * parts / l.size;
    const char  *tsv = write_own("own.tsv", "", "nobody's", part, parts);
    const char  *csv = write_own("own.csv", "number\n", "\"nobody\n\"\"s\"\"\"", part, parts);
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.threads = 1,
                                                       .mesh = argc > 2 ? argv[2] : NULL,
                                                       .layout = argc > 2 ? "batch:x" : NULL,
                                                       .say = say,
                                                       .patience = 20});
    int          wrong = count_wrong(s, tsv, "0") + count_wrong(s, csv, "number");
    if (mtf_is_first(s))
        printf("test_batch_ranks: %d passed, %d failed\n", 2 * BATCHES - wrong, wrong);
    scratch_drop(NULL);
    return mtf_close(s) || wrong;
}
