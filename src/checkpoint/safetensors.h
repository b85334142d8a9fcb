/* safetensors files: a JSON header, then tensors without gaps.
 *
 * Eight bytes, little-endian, hold the header's length; for each tensor the
 * header has type, sizes, and where its elements begin and end after it.
 * The format has no names of dimensions: mtf writes them into __metadata__,
 * as "dims:NAME": "rows,cols".  Files are untrusted: every number in them is
 * checked against the file's real size.
 */
#ifndef CHECKPOINT_SAFETENSORS_H
#define CHECKPOINT_SAFETENSORS_H

#include "checkpoint/contents.h"

/* The length of the header, including the eight bytes before it; 0 after an error.  `head` holds the
 * first bytes of a file of `file_bytes` bytes. */
enum { SAFETENSORS_START = 8 };
int64_t safetensors_header_bytes(const char *path, const unsigned char head[SAFETENSORS_START],
                                 int64_t file_bytes, fault *f);
/* Adds the tensors of file number `file`, whose header (with the eight bytes) is given. */
bool safetensors_parse(contents *c, int file, const char *path, const unsigned char *header,
                       int64_t header_bytes, int64_t file_bytes);
/* The header of a file whose tensors' places are assigned, in the arena; NULL after an error. */
const char *safetensors_print(contents *c, int file, int64_t *header_bytes);

#endif
