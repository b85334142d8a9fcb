/* Where files that can be made again are kept on disk.
 *
 * In $MTF_CACHE_DIR, else $XDG_CACHE_HOME/mtf or ~/.cache/mtf, in a folder for each
 * kind of contents, in files named by two hashes over all that their contents depend on.
 */
#ifndef CUDA_DRIVER_CACHE_FOLDER_H
#define CUDA_DRIVER_CACHE_FOLDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/put_file.h"

/* Characters, at most: of a file's path, and of $MTF_CACHE_DIR. */
enum { CACHE_PATH = 1024, CACHE_FOLDER = 960 };

typedef struct cache_key {
    uint64_t hash[2];
} cache_key;

/* Refuses a value of $MTF_CACHE_DIR that cannot be a folder. */
bool cache_check(fault *f);
/* The file of a key; false: there is no such folder. */
bool cache_path(const char *kind, cache_key key, char path[CACHE_PATH]);
/* Makes the folders that a path goes through; whether that worked is seen when the file is written. */
void cache_make_folders(char *path);
/* Keeps a file that was read now longer than others. */
void cache_used(const char *path);
/* After a file was written: if its folder has more than CACHE_FILES of them, those that were not used for the
 * longest time are deleted, a quarter of all. */
enum { CACHE_FILES = 2048 };
void cache_trim(const char *path);
/* Writes a file unless there is one; of several processes that do so at once, one succeeds. */
bool cache_put_first(const char *path, const piece *whole);

#endif
