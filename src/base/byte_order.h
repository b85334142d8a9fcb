/* Byte order: elements lie in files as they lie in memory.
 *
 * .npy, safetensors and TFRecord files are little-endian.  They are neither read nor written
 * on a machine that is not, since nobody has tried it there.
 */
#ifndef BASE_BYTE_ORDER_H
#define BASE_BYTE_ORDER_H

#include "base/fault.h"

#define HOST_IS_LITTLE_ENDIAN (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)

/* False, with an error, where this machine's numbers are not those of the file. */
static inline bool byte_order_suits(fault *f, const char *path, bool host_is_little_endian)
{
    if (host_is_little_endian) return true;
    return fail(f, ERR_FILE,
                "\"%s\": its elements are little-endian, and this machine is big-endian: mtf reads "
                "and writes such files on little-endian machines only",
                path);
}

#endif
