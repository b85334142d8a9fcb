/* Gives arbitrary bytes to the readers of texts, and reads every row.
 *
 * The first four bytes choose format, objective and lengths.  A row's segments must grow by one, each
 * with positions from 0 on, and be the same number on both sides.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mtf_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

enum { MOST = 64 };

/* How many segments a row has on one side. */
static int32_t check_row(mtf_dataset *d, const char *side, int64_t row, int64_t length)
{
    char    name[40];
    int32_t ids[MOST], segments[MOST], positions[MOST], last = 0;
    snprintf(name, sizeof name, "%s_segmentation", side);
    if (!mtf_dataset_read(d, side, row, MTF_I32, length, ids)) return -1; /* an id that is none */
    if (!mtf_dataset_read(d, name, row, MTF_I32, length, segments)) abort();
    snprintf(name, sizeof name, "%s_position", side);
    if (!mtf_dataset_read(d, name, row, MTF_I32, length, positions)) abort();
    for (int64_t i = 0; i < length; i++) {
        bool begins = segments[i] && segments[i] == last + 1 && positions[i] == 0;
        bool goes_on =
            i && segments[i] && segments[i] == last && positions[i] == positions[i - 1] + 1;
        if (segments[i] ? !begins && !goes_on : ids[i] || positions[i]) abort();
        if (!segments[i]) break;
        last = segments[i];
    }
    if (!last) abort();
    return last;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static const char *const formats[] = {"text", "tsv", "tfrecord", "u16", "u32", NULL};
    static char              path[] = "/tmp/mtf_fuzz_XXXXXX";
    if (n < 4) return 0;
    if (path[strlen(path) - 1] == 'X') close(mkstemp(path));
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(bytes + 4, 1, n - 4, f) != n - 4 || fclose(f) != 0) abort();
    mtf_session  *s = mtf_open_with(NULL);
    mtf_text_opts o = {.files = path,
                       .format = formats[bytes[0] % 6],
                       .objective = (mtf_text_objective)(bytes[0] / 6 % 6),
                       .vocabulary = mtf_vocabulary_open(s, "bytes:extra=40"),
                       .documents = (mtf_documents)(bytes[1] % 4),
                       .overlong = (mtf_overlong)(bytes[1] / 4 % 2),
                       .joined = bytes[1] / 8 % 2,
                       .pack = bytes[1] / 16 % 2,
                       .ensure_end = bytes[1] / 32 % 2,
                       .length = bytes[2] % MOST,
                       .inputs_length = bytes[3] % MOST};
    mtf_dataset  *d = mtf_text_open(s, &o);
    bool          inputs = o.objective == MTF_TEXT_PAIRS || o.objective == MTF_TEXT_SPANS ||
                  o.objective == MTF_TEXT_PREFIX;
    if (!d == mtf_ok(s)) abort();
    for (int64_t row = 0; d && mtf_ok(s) && row < mtf_dataset_size(d); row++) {
        int32_t count = check_row(d, "targets", row, o.length), other = count;
        if (inputs && count >= 0)
            other = check_row(d, "inputs", row, o.inputs_length ? o.inputs_length : o.length);
        if (other >= 0 && other != count) abort();
    }
    mtf_close(s);
    unlink(path);
    return 0;
}
