/* Why a gzip file gives no more bytes. */
#include "data/gzip_over.h"

#include <errno.h>
#include <string.h>

bool gzip_over(fault *why, gzFile gz, const char *path, int64_t done)
{
    int         code = Z_OK;
    const char *words = gzerror(gz, &code), *after = strstr(words, ">: ");
    if (code == Z_OK || code == Z_STREAM_END) return true;
    if (code == Z_BUF_ERROR)
        return fail(why, ERR_FILE, "\"%s\" is cut short: its gzip data end after %lld bytes", path,
                    (long long)done);
    if (code == Z_ERRNO)
        words = strerror(errno);
    else if (after)
        words = after + 3; /* zlib, which has no path, begins with "<fd:3>: " */
    return fail(why, ERR_FILE, "\"%s\" is damaged: %s", path, words);
}
