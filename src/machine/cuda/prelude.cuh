/* What kernels are written in: types, arithmetic, and threads that work together.
 *
 * NVRTC compiles this for a card, without any header.  MTF_HOST_CUDA compiles it for the
 * host: what a card has by itself then comes from the file that defines it.
 */
typedef signed char        i8;
typedef unsigned char      u8;
typedef unsigned short     u16;
typedef int                i32;
typedef unsigned int       u32;
typedef long long          i64;
typedef unsigned long long u64;
typedef float              f32;
typedef double             f64;

/* Short floats are kept as bits and computed with as f32. */
struct bf16 { u16 bits; };
struct f16 { u16 bits; };

struct step_words { u64 seed; u32 step, unused; };

#ifndef MTF_HOST_CUDA
#define KERNEL extern "C" __global__
#define DEVICE static __device__ __forceinline__
#define SHARED __shared__
#define THREAD ((int)threadIdx.x)
#define THREADS ((int)blockDim.x)
#define BLOCK ((i64)blockIdx.x)
#define BLOCKS ((i64)gridDim.x)
#define SYNC() __syncthreads()
#endif
