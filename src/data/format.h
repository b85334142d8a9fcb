/* Formats: how a file is a list of examples. */
#ifndef DATA_FORMAT_H
#define DATA_FORMAT_H

#include "base/crc32c.h"
#include "data/convert.h"
#include "data/input_file.h"
#include "mtf_data.h"

typedef struct field field;

/* One file of a field. */
typedef struct shard {
    input_file    *file;
    int64_t        first, count; /* its examples: their numbers in the dataset */
    const uint8_t *elements;     /* of arrays: where they begin */
} shard;

typedef struct format {
    const char *name;
    const char *ending; /* of the files' names, before ".gz"; NULL: it is known by its bytes */
    bool        seeks;  /* any element of an example is reached at once */
    /* Can a file that begins so be one?  NULL: only its name tells. */
    bool (*begins)(const field *f, const uint8_t *bytes, size_t n);
    /* Counts the shard's examples and checks what all reading relies on. */
    bool (*open)(mtf_session *s, field *f, shard *part);
    /* The shard's example k will be read soon; NULL: nothing helps. */
    void (*expect)(const field *f, const shard *part, int64_t k);
    /* Offers all elements of the shard's example k.  Several threads may read at once. */
    bool (*read)(const field *f, const shard *part, int64_t k, wanted *w, fault *why);
} format;

struct field {
    mtf_field            as; /* as the user gave it, defaults filled in */
    const format        *format;
    int64_t              elements; /* of every example; 0: each has its own number */
    raw_type             type;     /* arrays: of their elements */
    int64_t              column;   /* tsv */
    const crc32c_tables *crc;
    shard               *shards;
    int                  nshards;
};

extern const format format_idx, format_npy;    /* arrays.c   */
extern const format format_text, format_bytes; /* text.c     */
extern const format format_tsv;                /* tsv.c      */
extern const format format_tfrecord;           /* tfrecord.c */

/* Offsets of the file's lines, made once; line k ends before at[k + 1] - 1. */
bool lines_index(mtf_session *s, input_file *f);
/* Line k without its end, of "\n" or "\r\n". */
const char *lines_at(const input_file *f, int64_t k, int64_t *length);

#endif
