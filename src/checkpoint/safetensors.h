/* safetensors files: a JSON header, then tensors without gaps.
 *
 * Eight bytes, little-endian, say how long the header is; for each tensor it
 * has type, sizes, and where its elements begin and end after the header.
 * The format knows no names of dimensions: mtf writes them into __metadata__,
 * as "dims:NAME": "rows,cols".  Files are data from outside: every number in
 * them is checked against the file's real size.
 */
#ifndef CHECKPOINT_SAFETENSORS_H
#define CHECKPOINT_SAFETENSORS_H

#include "checkpoint/contents.h"

/* How long header and its length's eight bytes are together; 0 after an error.  `head` has the
 * first bytes of a file that is `file_bytes` long. */
enum { SAFETENSORS_START = 8 };
int64_t safetensors_header_bytes(const char *path, const unsigned char head[SAFETENSORS_START],
                                 int64_t file_bytes, fault *f);
/* Adds the tensors of file number `file`, whose header (with the eight bytes) is given. */
bool safetensors_parse(contents *c, int file, const char *path, const unsigned char *header,
                       int64_t header_bytes, int64_t file_bytes);
/* The header of a file whose tensors have their places, in the arena; NULL after an error. */
const char *safetensors_print(contents *c, int file, int64_t *header_bytes);

#endif
