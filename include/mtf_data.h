/* Examples from files, batch by batch.
 *
 * A dataset is a numbered list of examples; each has the same named fields.
 * The order of the examples in batches depends on the seed alone: not on the
 * mesh, nor on how far a background thread has read ahead.
 */
#ifndef MTF_DATA_H
#define MTF_DATA_H

#include "mtf.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mtf_dataset mtf_dataset;
typedef struct mtf_batches mtf_batches;

/* One field of every example: the files that hold it and how they are read. */
typedef struct mtf_field {
    const char *name;   /* the program's input that it feeds                                      */
    const char *files;  /* a path or a pattern ("train-*.tfrecord.gz"), whose files are sorted    */
    const char *format; /* "idx", "npy", "csv", "tsv", "text", "bytes", "u16", "u32", "tfrecord";
                           default: detected by the first file's content, else by its name        */
    const char *part;   /* csv, tsv: columns, by number from 0 or by name: "3", "0-15", "age,4-6";
                           default all.  tfrecord: the feature's name                             */
    double      scale;  /* numbers are multiplied by it; default 1                                */
    int64_t     length; /* texts and lists are cut to it or padded with zeros; bytes, u16, u32: the
                           length of a window.  Default: every example has as many elements as the
                           input takes; a column is then a number                                 */
    bool        header; /* csv, tsv: the first line has the names of the columns; implied where a
                           field of the same files names a column                                 */
    int64_t     shift; /* bytes, u16, u32: windows begin this many elements later; 1 for the targets
                           of a language model; default 0                                         */
    double      least, most; /* a number outside this range is an error; both 0: no range         */
} mtf_field;

/* All fields have the same number of examples; the list ends with the name NULL.  Files may be gzip;
 * they must not change before the session closes: until then the dataset lives. */
MTF_API mtf_dataset *mtf_dataset_open(mtf_session *s, const mtf_field *fields);
/* Examples; large text is read for it (mtf_text.h), 0 after an error. */
MTF_API int64_t mtf_dataset_size(const mtf_dataset *d);
/* Reads all `count` elements of one field of example `index`, converted to `type`. */
MTF_API bool mtf_dataset_read(mtf_dataset *d, const char *field, int64_t index, mtf_dtype type,
                              int64_t count, void *out);

typedef enum mtf_remainder {
    MTF_DROP, /* an epoch ends with its last full batch                                       */
    MTF_FILL, /* the last batch is filled with zeros; mtf_batches_real says how many are real */
    MTF_WRAP, /* a batch may span two epochs; the last batch of all is full or dropped         */
    MTF_REPEAT /* the remaining examples form batches in which each is repeated equally often, so that
                  a mean over such a batch is the mean of its first mtf_batches_real examples.  The
                  remainder is split into divisors of the batch size: 7 of 50 into 5 and 2    */
} mtf_remainder;

typedef struct mtf_batches_opts {
    int64_t       epochs;    /* default 0: unlimited                                 */
    bool          shuffle;   /* another order in each epoch                          */
    uint64_t      seed;      /* of the order                                         */
    mtf_remainder remainder; /* default MTF_DROP                                     */
    int           ahead;     /* batches that a thread prefetches; default 2; -1: none */
    const char   *batch;     /* the dimension that counts examples; default "batch"  */
} mtf_batches_opts;

/* Batches for the inputs of p that are named like fields.  The program determines sizes, types and
 * which parts the processors of this process need. */
MTF_API mtf_batches *mtf_batches_new(mtf_dataset *d, mtf_program *p, const mtf_batches_opts *opts);
MTF_API void         mtf_batches_free(mtf_batches *b); /* optional; the session frees the rest */
/* Feeds the next batch to the program.  False at the end, and after an error. */
MTF_API bool    mtf_batches_next(mtf_batches *b);
MTF_API int64_t mtf_batches_real(const mtf_batches *b); /* real examples in the batch fed last */
MTF_API int64_t
             mtf_batches_position(const mtf_batches *b); /* batches fed since the beginning     */
MTF_API bool mtf_batches_seek(mtf_batches *b, int64_t position); /* continues from there        */

#ifdef __cplusplus
}
#endif
#endif
