/* Files of random data that rows of the benchmark train on. */
#include "written_data.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool written_begin(bench *b, char *folder)
{
    if (mkdtemp(folder)) return true;
    bench_error(b, "no folder could be made in /tmp");
    return false;
}

void written_end(bench *b, const char *folder)
{
    char remove[200];
    snprintf(remove, sizeof remove, "rm -rf %s", folder);
    if (system(remove) != 0) bench_error(b, "%s could not be removed", folder);
}

FILE *written_open(bench *b, const char *folder, const char *name)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    if (!f) bench_error(b, "%s could not be written", path);
    return f;
}

static uint32_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

/* ---- text ---- */

void written_words(random_words *r, int n, char end)
{
    for (int k = 0; k < n; k++)
        fprintf(r->to, "w%d%c", (int)(next_random(&r->state) % (uint32_t)r->words),
                k == n - 1 ? end : ' ');
}

bool written_vocabulary(bench *b, const char *folder, const char *name, const char *first,
                        int words)
{
    FILE *f = written_open(b, folder, name);
    if (f) fputs(first, f);
    for (int k = 0; f && k < words; k++) fprintf(f, "w%d\n", k);
    return f && fclose(f) == 0;
}

/* ---- volumes ---- */

/* The head of a file of NumPy's; its length is a multiple of 64. */
static void put_npy_head(FILE *f, const char *type, int64_t count, int64_t size, int64_t depth)
{
    enum { LENGTH = 128, BEFORE = 10 };
    char head[LENGTH];
    snprintf(head, sizeof head,
             "{'descr': '%s', 'fortran_order': False, 'shape': (%lld, %lld, %lld, %lld), }", type,
             (long long)count, (long long)size, (long long)size, (long long)depth);
    fwrite("\x93NUMPY\x01\x00", 1, 8, f);
    fputc(LENGTH - BEFORE, f), fputc(0, f);
    fprintf(f, "%-*s\n", LENGTH - BEFORE - 1, head);
}

/* PART-volumes.npy and PART-labels.npy: [count, size, size, depth], labels from 0 to 2. */
static bool write_part(bench *b, const char *folder, const char *part, int64_t count, int64_t size,
                       int64_t depth)
{
    char names[2][40];
    snprintf(names[0], sizeof names[0], "%s-volumes.npy", part);
    snprintf(names[1], sizeof names[1], "%s-labels.npy", part);
    FILE    *volumes = written_open(b, folder, names[0]);
    FILE    *labels = written_open(b, folder, names[1]);
    bool     opened = volumes && labels;
    uint64_t state = 1;
    if (opened) put_npy_head(volumes, "<f4", count, size, depth);
    if (opened) put_npy_head(labels, "|u1", count, size, depth);
    for (int64_t k = 0; opened && k < count * size * size * depth; k++) {
        uint32_t drawn = next_random(&state);
        float    x = (float)(drawn >> 8) / (1 << 23);
        fwrite(&x, sizeof x, 1, volumes);
        fputc((int)(drawn % 3), labels);
    }
    bool done = volumes && fclose(volumes) == 0;
    return labels && fclose(labels) == 0 && done;
}

bool written_volumes(bench *b, const char *folder, int64_t batch, int64_t size, int64_t depth)
{
    enum { BATCHES = 8 };
    return write_part(b, folder, "train", BATCHES * batch, size, depth) &&
           write_part(b, folder, "test", batch, size, depth);
}
