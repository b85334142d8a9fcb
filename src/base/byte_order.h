/* Byte order: files store elements as memory does.
 *
 * .npy, safetensors and TFRecord files are little-endian.  A big-endian machine neither reads nor
 * writes them, since that has not been tested.
 */
#ifndef BASE_BYTE_ORDER_H
#define BASE_BYTE_ORDER_H

#include "base/fault.h"

#define HOST_IS_LITTLE_ENDIAN (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)

/* False, with an error, on a big-endian machine. */
static inline bool byte_order_suits(fault *f, const char *path, bool host_is_little_endian)
{
    if (host_is_little_endian) return true;
    return fail(f, ERR_FILE,
                "\"%s\": its elements are little-endian, and this machine is big-endian: mtf reads "
                "and writes such files on little-endian machines only",
                path);
}

#endif
