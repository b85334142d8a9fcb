/* Kernels to shared libraries of the host, kept by what they say. */
#ifndef HOST_COMPILE_H
#define HOST_COMPILE_H

#include <stdbool.h>
#include <stddef.h>

/* A text that begins so has its headers before it; it is what takes the place of a cubin. */
#define HOST_IMAGE "// kernels for the host\n"

/* Compiles a text unless a library of the same text is there; the path goes to `path`.  False after
 * an error, with what the compiler said in `log`, which the caller frees. */
bool host_compile(const char *text, char *path, size_t room, char **log);

#endif
