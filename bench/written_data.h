/* Files of random data that rows of the benchmark train on. */
#ifndef BENCH_WRITTEN_DATA_H
#define BENCH_WRITTEN_DATA_H

#include <stdint.h>
#include <stdio.h>

#include "bench.h"

typedef struct random_words {
    FILE    *to;
    uint64_t state;
    int      words; /* in the vocabulary: w0, w1, ... */
} random_words;

/* A new folder in /tmp, whose name replaces the XXXXXX; false, and an error, where there is none. */
bool written_begin(bench *b, char *folder);
void written_end(bench *b, const char *folder);

/* "FOLDER/NAME" opened for writing; NULL with an error of the benchmark. */
FILE *written_open(bench *b, const char *folder, const char *name);
/* So many words in a line, which ends with that character. */
void written_words(random_words *r, int n, char end);
/* `first`, then w0, w1, ... as many as `words`, each in a line. */
bool written_vocabulary(bench *b, const char *folder, const char *name, const char *first,
                        int words);
/* What `mtf train unet` reads, a few batches of it: volumes and their labels, from 0 to 2. */
bool written_volumes(bench *b, const char *folder, int64_t batch, int64_t size, int64_t depth);

#endif
