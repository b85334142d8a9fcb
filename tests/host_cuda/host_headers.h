/* The C++ library's headers that host_cuda.h stands on.
 *
 * They take longer to read than most kernels to compile, so the build compiles them beforehand.
 */
#ifndef HOST_HEADERS_H
#define HOST_HEADERS_H

#include <cmath>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

#endif
