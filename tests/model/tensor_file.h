/* A safetensors file or checkpoint, read whole, for tests. */
#ifndef TESTS_TENSOR_FILE_H
#define TESTS_TENSOR_FILE_H

#include "checkpoint/reading.h"
#include "mtf.h"

typedef struct tensor_file {
    mtf_session *session; /* of its own: whatever is read lives as long */
    contents     contents;
    reader       reader;
} tensor_file;

void tensor_file_open(tensor_file *t, const char *path);
void tensor_file_close(tensor_file *t);
/* The elements of a tensor that must be there, as they are kept. */
const void *tensor_file_get(tensor_file *t, const char *name, mtf_dtype type, int64_t *count);
/* A size of such a tensor. */
int64_t tensor_file_size(const tensor_file *t, const char *name, int dim);

#endif
