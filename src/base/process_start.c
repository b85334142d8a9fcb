/* When a process began: process ids are reused. */
#include "base/process_start.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* "PID (COMMAND) STATE ...": the 22nd field is the start time; COMMAND may contain spaces and
 * parentheses. */
int64_t process_start(int64_t process)
{
    enum { STATE = 3, STARTED = 22 };
    char path[40], text[1024];
    snprintf(path, sizeof path, "/proc/%lld/stat", (long long)process);
    int     file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = file < 0 ? -1 : read(file, text, sizeof text - 1);
    if (file >= 0) close(file);
    text[n < 0 ? 0 : n] = 0;
    const char *at = strrchr(text, ')');
    for (int word = STATE; at && word <= STARTED; word++) at = strchr(at + 1, ' ');
    return at ? strtoll(at, NULL, 10) : 0;
}
