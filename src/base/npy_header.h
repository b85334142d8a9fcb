/* The header of a .npy file: a small Python dictionary. */
#ifndef BASE_NPY_HEADER_H
#define BASE_NPY_HEADER_H

#include "base/raw_type.h"

typedef struct npy_header {
    raw_type type;          /* an mtf_dtype, unless other types were asked for */
    bool     fortran_order; /* the first dimension runs fastest */
    int      ndims;
    int64_t  size[MTF_MAX_DIMS];
    int64_t  count;   /* product of the sizes; count * element bytes fits size_t */
    size_t   data_at; /* where the elements begin; never past the end */
} npy_header;

/* Reads the header of a file that is `n` bytes long; an error names the file.  Types that no tensor
 * has, such as "<u2", are an error unless the caller takes them. */
bool npy_header_parse(mtf_session *s, const char *name, const unsigned char *bytes, size_t n,
                      bool takes_foreign, npy_header *h);

/* Writes magic word, version 1.0 and dictionary; returns their length, a multiple of 64. */
enum { NPY_HEADER_ROOM = 640 };
size_t npy_header_print(mtf_dtype type, int ndims, const int64_t *sizes,
                        char header[NPY_HEADER_ROOM]);

#endif
