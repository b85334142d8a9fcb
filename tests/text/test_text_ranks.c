/* Batches of text on ranks: tests/shell/mpi.sh.
 *
 * Every rank makes the batches of two epochs of corrupted spans on the mesh that the arguments give, and
 * compares them with the rows that it reads itself, in the order of the batches.
 *
 * Usage: mpirun -n N test_text_ranks MESH LAYOUT     without arguments: one process, one processor
 */
#include "data/dataset.h"
#include "mtf_text.h"

#include "ground.h"

enum { BATCH = 6, LENGTH = 24, EPOCHS = 2 };

static void say(void *context, const char *text)
{
    (void)context;
    fputs(text, stderr);
}

static mtf_dataset *open_book(mtf_session *s)
{
    return mtf_text_open(s, &(mtf_text_opts){.files = MTF_SOURCE_DIR "/tests/text/subwords.txt",
                                             .vocabulary = mtf_vocabulary_open(s, "bytes:extra=20"),
                                             .documents = MTF_DOCUMENTS_LINE,
                                             .objective = MTF_TEXT_SPANS,
                                             .length = LENGTH,
                                             .noise = 0.3,
                                             .mean_span = 1.5,
                                             .pack = true});
}

/* What the dataset itself has in that epoch. */
static bool row_is(mtf_dataset *d, const char *name, int64_t row, int64_t epoch, const int32_t *got)
{
    int32_t want[LENGTH];
    fault   why = {0};
    wanted  w = {.end = LENGTH, .type = MTF_I32, .out = want, .epoch = epoch};
    return field_read(dataset_field(d, name), row, LENGTH, &w, &why) &&
           memcmp(want, got, sizeof want) == 0;
}

/* How many batches have another row than they should. */
static int count_wrong(mtf_session *s, int64_t *batches)
{
    mtf_graph   *g = mtf_graph_new(s);
    mtf_shape    shape = mtf_shape((mtf_dim){"batch", BATCH}, (mtf_dim){"length", LENGTH});
    mtf_tensor  *inputs = mtf_scale(mtf_input(g, "inputs", MTF_I32, shape), 1);
    mtf_tensor  *targets = mtf_scale(mtf_input(g, "targets", MTF_I32, shape), 1);
    mtf_program *p = mtf_compile(g, inputs, targets);
    mtf_dataset *d = open_book(s);
    mtf_batches *b = mtf_batches_new(d, p, &(mtf_batches_opts){.epochs = EPOCHS});
    int64_t      per_epoch = mtf_dataset_size(d) / BATCH, k = 0;
    int          wrong = 0;
    for (; mtf_batches_next(b) && mtf_step(p); k++) {
        int32_t ids[2][BATCH][LENGTH];
        bool    right = mtf_fetch(p, inputs, ids[0]) && mtf_fetch(p, targets, ids[1]);
        for (int64_t i = 0; i < BATCH; i++) {
            int64_t row = k % per_epoch * BATCH + i, epoch = k / per_epoch;
            right = right && row_is(d, "inputs", row, epoch, ids[0][i]) &&
                    row_is(d, "targets", row, epoch, ids[1][i]);
        }
        wrong += !right;
    }
    *batches = k;
    return wrong + (k == 0 || k != EPOCHS * per_epoch);
}

int main(int argc, char **argv)
{
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.threads = 1,
                                                       .mesh = argc > 2 ? argv[1] : NULL,
                                                       .layout = argc > 2 ? argv[2] : NULL,
                                                       .say = say,
                                                       .patience = 20});
    int64_t      batches = 0;
    int          wrong = count_wrong(s, &batches);
    if (mtf_is_first(s))
        printf("test_text_ranks: %d passed, %d failed\n", (int)batches - wrong, wrong);
    return mtf_close(s) || wrong;
}
