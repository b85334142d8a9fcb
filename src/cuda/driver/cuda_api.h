/* NVIDIA's libraries, opened when a GPU is asked for.
 *
 * A program built with CUDA starts on machines that have no driver: nothing here
 * is linked.  Functions are called through these tables, as in
 * api->driver.cuInit(0); the lists below are all that is used of a library.
 */
#ifndef CUDA_DRIVER_CUDA_API_H
#define CUDA_DRIVER_CUDA_API_H

#include <cublasLt.h>
#include <cuda.h>
#include <nvrtc.h>

#include "base/session.h"
#include "mtf_build.h"
#if MTF_HAVE_NCCL
#include <nccl.h>
#endif
#if MTF_HAVE_CUDNN
#include <cudnn.h>
#endif

/* clang-format off */
#define CUDA_DRIVER(F)                                                                             \
    F(cuInit) F(cuDriverGetVersion) F(cuGetErrorName) F(cuGetErrorString)                          \
    F(cuDeviceGetCount) F(cuDeviceGet) F(cuDeviceGetName) F(cuDeviceGetAttribute)                  \
    F(cuDeviceTotalMem) F(cuDeviceGetUuid) F(cuDeviceCanAccessPeer)                                \
    F(cuDevicePrimaryCtxRetain) F(cuDevicePrimaryCtxRelease) F(cuCtxSetCurrent)                    \
    F(cuCtxEnablePeerAccess) F(cuCtxSynchronize)                                                   \
    F(cuMemGetInfo) F(cuMemAlloc) F(cuMemFree) F(cuMemHostAlloc) F(cuMemFreeHost)                  \
    F(cuMemcpyHtoDAsync) F(cuMemcpyDtoHAsync) F(cuMemcpyDtoDAsync) F(cuMemsetD8Async)              \
    F(cuMemcpy2DAsync)                                                                             \
    F(cuStreamCreate) F(cuStreamCreateWithPriority) F(cuStreamDestroy) F(cuStreamSynchronize)      \
    F(cuStreamQuery) F(cuStreamWaitEvent)                                                          \
    F(cuEventCreate) F(cuEventDestroy) F(cuEventRecord) F(cuEventSynchronize) F(cuEventQuery)      \
    F(cuEventElapsedTime)                                                                          \
    F(cuModuleLoadData) F(cuModuleUnload) F(cuModuleGetFunction) F(cuFuncSetAttribute)             \
    F(cuLaunchKernel) F(cuLaunchKernelEx)                                                          \
    F(cuStreamBeginCapture) F(cuStreamEndCapture) F(cuGraphInstantiate) F(cuGraphLaunch)           \
    F(cuGraphDestroy) F(cuGraphExecDestroy)

/* Drivers from 12.4 on have these. */
#define CUDA_LOOPS(F)                                                                              \
    F(cuGraphConditionalHandleCreate) F(cuGraphAddNode_v2) F(cuStreamGetCaptureInfo_v3)            \
    F(cuStreamUpdateCaptureDependencies_v2) F(cuStreamBeginCaptureToGraph)

#define CUDA_NVRTC(F)                                                                              \
    F(nvrtcVersion) F(nvrtcGetErrorString) F(nvrtcCreateProgram) F(nvrtcCompileProgram)            \
    F(nvrtcGetProgramLogSize) F(nvrtcGetProgramLog) F(nvrtcGetCUBINSize) F(nvrtcGetCUBIN)          \
    F(nvrtcDestroyProgram)

#define CUDA_PRODUCTS(F)                                                                           \
    F(cublasLtCreate) F(cublasLtDestroy) F(cublasLtGetVersion) F(cublasLtGetStatusString)          \
    F(cublasLtMatmul) F(cublasLtMatmulAlgoGetHeuristic) F(cublasLtMatmulAlgoCheck)                 \
    F(cublasLtMatmulDescCreate) F(cublasLtMatmulDescDestroy) F(cublasLtMatmulDescSetAttribute)     \
    F(cublasLtMatrixLayoutCreate) F(cublasLtMatrixLayoutDestroy)                                   \
    F(cublasLtMatrixLayoutSetAttribute)                                                            \
    F(cublasLtMatmulPreferenceCreate) F(cublasLtMatmulPreferenceDestroy)                           \
    F(cublasLtMatmulPreferenceSetAttribute)

#define CUDA_COLLECTIVES(F)                                                                        \
    F(ncclGetVersion) F(ncclGetErrorString) F(ncclGetLastError) F(ncclGetUniqueId)                 \
    F(ncclCommInitRankConfig) F(ncclCommInitRank) F(ncclCommSplit) F(ncclCommDestroy)              \
    F(ncclCommFinalize) F(ncclCommAbort) F(ncclCommGetAsyncError)                                  \
    F(ncclAllReduce) F(ncclReduceScatter) F(ncclAllGather) F(ncclSend) F(ncclRecv)                 \
    F(ncclGroupStart) F(ncclGroupEnd)

#define CUDA_DNN(F)                                                                                \
    F(cudnnGetVersion) F(cudnnGetErrorString) F(cudnnGetLastErrorString) F(cudnnCreate)            \
    F(cudnnDestroy) F(cudnnSetStream) F(cudnnBackendCreateDescriptor)                              \
    F(cudnnBackendDestroyDescriptor) F(cudnnBackendSetAttribute) F(cudnnBackendGetAttribute)       \
    F(cudnnBackendFinalize) F(cudnnBackendExecute)
/* clang-format on */

#define POINTER(name) __typeof__(&name) name;
/* Members have the names that programs write; the library's own may carry a version, as cuMemAlloc_v2
 * does.  cuda.h makes the one of the other by macros, which hold here as well. */
typedef struct cuda_driver {
    CUDA_DRIVER(POINTER)
} cuda_driver;

typedef struct cuda_loops {
    CUDA_LOOPS(POINTER)
} cuda_loops;

typedef struct cuda_nvrtc {
    CUDA_NVRTC(POINTER)
} cuda_nvrtc;

typedef struct cuda_products {
    CUDA_PRODUCTS(POINTER)
} cuda_products;

#if MTF_HAVE_NCCL
typedef struct cuda_collectives {
    CUDA_COLLECTIVES(POINTER)
} cuda_collectives;
#endif
#if MTF_HAVE_CUDNN
typedef struct cuda_dnn {
    CUDA_DNN(POINTER)
} cuda_dnn;
#endif
#undef POINTER

typedef struct cuda_api {
    cuda_driver   driver;
    cuda_loops    loops; /* if has_loops */
    bool          has_loops;
    cuda_nvrtc    nvrtc;
    cuda_products products;
#if MTF_HAVE_NCCL
    cuda_collectives nccl; /* after cuda_open_nccl */
#endif
#if MTF_HAVE_CUDNN
    cuda_dnn dnn; /* if has_dnn: after cuda_open_dnn */
    bool     has_dnn;
#endif
    void *opened[5]; /* what dlopen gave */
} cuda_api;

/* Opens the driver, the compiler and the products.  False, with a sentence, where one is missing. */
bool cuda_api_open(cuda_api *api, fault *f);
#if MTF_HAVE_NCCL
bool cuda_open_nccl(cuda_api *api, fault *f);
#endif
#if MTF_HAVE_CUDNN
bool cuda_open_dnn(cuda_api *api, fault *f);
#endif
void cuda_api_close(cuda_api *api);

/* Records what a call of the driver returned, and what it was for; true: all is well. */
bool        cuda_ok(const cuda_api *api, fault *f, CUresult result, const char *what);
const char *cuda_says(const cuda_api *api, CUresult result); /* the driver's words for it */

#endif
