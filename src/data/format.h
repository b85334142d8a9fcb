/* Formats: how a file is a list of examples. */
#ifndef DATA_FORMAT_H
#define DATA_FORMAT_H

#include "base/crc32c.h"
#include "data/convert.h"
#include "data/input_file.h"
#include "mtf_data.h"

typedef struct field field;

/* Columns of a table, from the first to the last. */
typedef struct column_span {
    int64_t first, last;
} column_span;

/* One file of a field. */
typedef struct shard {
    input_file        *file;
    int64_t            first, count; /* its examples: their numbers in the dataset */
    const uint8_t     *elements;     /* of arrays: where they begin */
    const int64_t     *sizes;        /* of arrays: of the dimensions of an example */
    int                nsizes;
    const column_span *spans; /* of tables */
    int                nspans;
} shard;

/* What only some formats have a use for. */
enum { TAKES_PART = 1, TAKES_HEADER = 2, TAKES_SHIFT = 4 };
enum { PLACE_ROOM = 80 };

typedef struct format {
    const char *name;
    const char *ending; /* of the files' names, before ".gz"; NULL: it is known by its bytes */
    bool        seeks;  /* an element is found without reading those before it */
    unsigned    takes;
    /* Can a file that begins like this have the format?  NULL: only its name shows that. */
    bool (*begins)(const field *f, const uint8_t *bytes, size_t n);
    /* Counts the shard's examples and checks what all reading relies on. */
    bool (*open)(mtf_session *s, field *f, shard *part);
    /* Prefetches the shard's example k, which will be read soon; NULL: it cannot. */
    void (*expect)(const field *f, const shard *part, int64_t k);
    /* Offers all elements of the shard's example k.  Several threads may read at once. */
    bool (*read)(const field *f, const shard *part, int64_t k, wanted *w, fault *why);
    /* Where in the file an element of example k is: "line 3, column 0".  NULL: "example 2". */
    void (*where)(const field *f, const shard *part, int64_t k, int64_t element,
                  char text[PLACE_ROOM]);
} format;

struct field {
    mtf_field            as; /* as the user gave it, defaults filled in */
    const format        *format;
    int64_t              elements; /* of every example; 0: each has its own number */
    raw_type             type;     /* arrays: of their elements */
    const crc32c_tables *crc;
    shard               *shards;
    int                  nshards;
    const void          *inside; /* private to its format */
};

extern const format format_idx, format_npy;               /* arrays.c   */
extern const format format_text;                          /* text.c     */
extern const format format_bytes, format_u16, format_u32; /* windows.c  */
extern const format format_csv, format_tsv;               /* table.c    */
extern const format format_tfrecord;                      /* tfrecord.c */

/* Offsets of the file's lines, made once; line k ends before at[k + 1] - 1. */
bool lines_index(mtf_session *s, input_file *f);
/* Line k without the "\n" or "\r\n" at its end. */
const char *lines_at(const input_file *f, int64_t k, int64_t *length);
/* The number, from 1, of the line that has this place. */
int64_t lines_number(const input_file *f, const char *at);
/* Does the part list columns by numbers alone? */
bool columns_are_numbers(const char *part);

#endif
