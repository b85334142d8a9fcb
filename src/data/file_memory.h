/* How much memory files of examples take, before they are opened. */
#ifndef DATA_FILE_MEMORY_H
#define DATA_FILE_MEMORY_H

#include "base/session.h"

/* Bytes of the process for the files that a pattern names: a gzip file is unpacked, a small one is read, a
 * large one is mapped and takes none.  Files that are not there count nothing. */
int64_t file_memory(mtf_session *s, const char *pattern);

#endif
