/* How much memory files of examples take, before they are opened. */
#include "data/file_memory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/input_file.h"

static int64_t memory_of(const char *path)
{
    struct stat about;
    uint8_t     mark[2] = {0};
    int         file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int64_t     bytes = 0;
    if (file < 0) return 0;
    if (fstat(file, &about) == 0 && S_ISREG(about.st_mode) && pread(file, mark, 2, 0) == 2) {
        bytes = about.st_size < INPUT_LEAST_MAPPED ? about.st_size : 0;
        if (mark[0] == 0x1f && mark[1] == 0x8b)
            bytes = (int64_t)input_unpacked_guess(file, (size_t)about.st_size, SIZE_MAX) - 1;
    }
    close(file);
    return bytes;
}

int64_t file_memory(mtf_session *s, const char *pattern)
{
    const char **paths;
    struct stat  about;
    int64_t      bytes = 0;
    if (stat(pattern, &about) == 0) return memory_of(pattern);
    int n = input_paths(s, pattern, &paths);
    if (!n) fault_clear(&s->fault);
    for (int k = 0; k < n; k++) bytes += memory_of(paths[k]);
    return bytes;
}
