/* Why a gzip file gives no more bytes. */
#ifndef DATA_GZIP_OVER_H
#define DATA_GZIP_OVER_H

#include <zlib.h>

#include "base/fault.h"

/* After gzread, before which errno was 0, has given nothing: true at the end of the file; false where
 * it is cut short, damaged or cannot be read.  `done` bytes were unpacked before. */
bool gzip_over(fault *why, gzFile gz, const char *path, int64_t done);

#endif
