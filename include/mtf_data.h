/* Examples from files, batch by batch.
 *
 * A dataset is a numbered list of examples; each has the same named fields.
 * Batches take them in an order that depends on the seed alone: not on the
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

/* One field of every example: which files have it, and as what it arrives in a program. */
typedef struct mtf_field {
    const char *name;   /* of the program's input that it feeds                                   */
    const char *files;  /* a path or a pattern ("train-*.tfrecord.gz"); sorted, one after another */
    const char *format; /* "idx", "npy", "csv", "tsv", "text", "bytes", "u16", "u32", "tfrecord";
                           default: told by the first file's bytes, else by its name              */
    const char *part;   /* csv, tsv: columns, by number from 0 or by name: "3", "0-15", "age,4-6";
                           default all.  tfrecord: the feature's name                             */
    double      scale;  /* numbers are multiplied by it; default 1                                */
    int64_t     length; /* of texts and lists: they are cut to it, or filled with zeros; bytes, u16,
                           u32: of a window.  Default: all have as many elements as the input
                           takes; a column is then a number                                       */
    bool        header; /* csv, tsv: the first line has the names of the columns; so it has where a
                           field of the same files asks for a column by name                      */
    int64_t     shift;  /* bytes, u16, u32: windows begin so many elements later, 1 for what a
                           language model is to predict; default 0                                */
    double      least, most; /* a number outside of them is an error; default, both 0: none is    */
} mtf_field;

/* Fields with the same number of examples; the last has the name NULL.  Files may be gzip; they
 * must not change before the session closes, which is as long as the dataset lives. */
MTF_API mtf_dataset *mtf_dataset_open(mtf_session *s, const mtf_field *fields);
MTF_API int64_t      mtf_dataset_size(const mtf_dataset *d); /* examples */
/* Example number `index` of the field, all its `count` elements, as `type`. */
MTF_API bool mtf_dataset_read(mtf_dataset *d, const char *field, int64_t index, mtf_dtype type,
                              int64_t count, void *out);

typedef enum mtf_remainder {
    MTF_DROP, /* an epoch ends with its last full batch                                       */
    MTF_FILL, /* the last batch is filled with zeros; mtf_batches_real says how many are real */
    MTF_WRAP, /* epochs follow without a seam: a batch may span two; the last is full or none  */
    MTF_REPEAT /* the last examples come in batches of their own, each filled with them over and over,
                  all equally often: a mean over the batch is the mean of its first
                  mtf_batches_real examples.  It takes a batch for each divisor of the batch size that
                  the remainder is a sum of: 7 of 50 are 5 and 2                              */
} mtf_remainder;

typedef struct mtf_batches_opts {
    int64_t       epochs;    /* default 0: without end                               */
    bool          shuffle;   /* another order in each epoch                          */
    uint64_t      seed;      /* of the order                                         */
    mtf_remainder remainder; /* default MTF_DROP                                     */
    int           ahead;     /* batches read ahead by a thread; default 2; -1: none  */
    const char   *batch;     /* the dimension that counts examples; default "batch"  */
} mtf_batches_opts;

/* Batches for the inputs of p that carry the names of fields: sizes, types and the parts that the
 * processors of this process need are the program's. */
MTF_API mtf_batches *mtf_batches_new(mtf_dataset *d, mtf_program *p, const mtf_batches_opts *opts);
MTF_API void         mtf_batches_free(mtf_batches *b); /* optional; the session frees the rest */
/* Feeds the next batch to the program.  False at the end, and after an error. */
MTF_API bool    mtf_batches_next(mtf_batches *b);
MTF_API int64_t mtf_batches_real(const mtf_batches *b);     /* real examples in the batch fed last */
MTF_API int64_t mtf_batches_position(const mtf_batches *b); /* batches fed since the beginning     */
MTF_API bool    mtf_batches_seek(mtf_batches *b, int64_t position); /* goes on from there          */

#ifdef __cplusplus
}
#endif
#endif
