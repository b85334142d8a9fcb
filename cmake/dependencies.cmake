# Finds what mtf stands on and writes it down in mtf_build.h.
#
# MTF_LIBRARIES is what the library links; MTF_LINK_FLAGS is the same list as plain
# linker flags, for those who link the installed archive.

find_package(PkgConfig REQUIRED)
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
pkg_check_modules(ZLIB REQUIRED IMPORTED_TARGET zlib)
pkg_check_modules(CJSON REQUIRED IMPORTED_TARGET libcjson)

# ---- BLAS ----------------------------------------------------------------------------------------

pkg_check_modules(BLAS REQUIRED IMPORTED_TARGET openblas)
set(MTF_BUILD_BLAS "OpenBLAS ${BLAS_VERSION}")

set(MTF_LIBRARIES PkgConfig::BLAS PkgConfig::ZLIB PkgConfig::CJSON Threads::Threads m)
set(MTF_LINK_FLAGS ${BLAS_LDFLAGS} -lz ${CJSON_LDFLAGS} -pthread -lm)

# ---- OpenMP --------------------------------------------------------------------------------------

set(MTF_BUILD_OPENMP none)
if(MTF_OPENMP)
    find_package(OpenMP COMPONENTS C)
endif()
if(MTF_OPENMP AND OpenMP_C_FOUND)
    set(MTF_BUILD_OPENMP ${OpenMP_C_VERSION})
    list(APPEND MTF_LIBRARIES OpenMP::OpenMP_C)
    if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
        list(APPEND MTF_LINK_FLAGS -lgomp)
    else()
        list(APPEND MTF_LINK_FLAGS ${OpenMP_C_LIBRARIES})
    endif()
else()
    list(APPEND MTF_WARNINGS -Wno-unknown-pragmas)
endif()

# ---- MPI -----------------------------------------------------------------------------------------

# Through CMake's own module, which asks mpicc; else through the library's pkg-config file.
set(MTF_HAVE_MPI 0)
set(MTF_BUILD_MPI none)
if(NOT MTF_MPI STREQUAL "OFF")
    find_program(MTF_MPICC mpicc)
    set(MPI_DETERMINE_LIBRARY_VERSION TRUE)
    if(MTF_MPICC)
        find_package(MPI QUIET COMPONENTS C)
    endif()
    if(NOT MPI_C_FOUND)
        pkg_search_module(MPI_PC QUIET IMPORTED_TARGET ompi-c mpich)
    endif()
    if(MPI_C_FOUND)
        set(MTF_HAVE_MPI 1)
        set(MTF_BUILD_MPI "MPI ${MPI_C_VERSION}")
        # "Open MPI v4.1.4, package: ..." or "MPICH Version: 4.0.2 ..."
        if(MPI_C_LIBRARY_VERSION_STRING MATCHES "^(Open MPI|MPICH)( Version:|)[ \t]*v?([0-9.]+)")
            set(MTF_BUILD_MPI "${CMAKE_MATCH_1} ${CMAKE_MATCH_3}")
        endif()
        list(APPEND MTF_LIBRARIES MPI::MPI_C)
        list(APPEND MTF_LINK_FLAGS ${MPI_C_LIBRARIES})
    elseif(MPI_PC_FOUND)
        set(MTF_HAVE_MPI 1)
        set(MTF_BUILD_MPI "${MPI_PC_MODULE_NAME} ${MPI_PC_VERSION}")
        list(APPEND MTF_LIBRARIES PkgConfig::MPI_PC)
        list(APPEND MTF_LINK_FLAGS ${MPI_PC_LDFLAGS})
    elseif(MTF_MPI STREQUAL "ON")
        message(FATAL_ERROR "MTF_MPI is ON, but no MPI was found; Debian has it as libopenmpi-dev")
    endif()
endif()
# MPICH's MPI_STATUSES_IGNORE is the address 1, which gcc takes for an array without elements.
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
    set_source_files_properties(src/machine/ranks_mpi.c PROPERTIES COMPILE_OPTIONS
        -Wno-stringop-overflow)
endif()

# ---- vocabularies --------------------------------------------------------------------------------

# Splitting by Unicode's classes, which GPT-2's vocabulary and lists of subwords need.
pkg_check_modules(PCRE2 QUIET IMPORTED_TARGET libpcre2-8)
set(MTF_HAVE_PCRE2 0)
set(MTF_BUILD_PCRE2 none)
if(PCRE2_FOUND)
    set(MTF_HAVE_PCRE2 1)
    set(MTF_BUILD_PCRE2 ${PCRE2_VERSION})
    list(APPEND MTF_LIBRARIES PkgConfig::PCRE2)
    list(APPEND MTF_LINK_FLAGS ${PCRE2_LDFLAGS})
endif()

# SentencePiece is C++: one file of ours calls it.  Its package lists the library that trains models,
# too, which nobody needs here.
include(CheckLanguage)
pkg_check_modules(SENTENCEPIECE QUIET sentencepiece)
find_library(MTF_SENTENCEPIECE sentencepiece HINTS ${SENTENCEPIECE_LIBRARY_DIRS})
find_path(MTF_SENTENCEPIECE_HEADERS sentencepiece_processor.h HINTS ${SENTENCEPIECE_INCLUDE_DIRS})
# Sanitizers need both compilers of one kind.
if(CMAKE_C_COMPILER_ID MATCHES Clang AND NOT CMAKE_CXX_COMPILER)
    string(REGEX REPLACE "clang(-[0-9]+|)$" "clang++\\1" clangxx "${CMAKE_C_COMPILER}")
    if(EXISTS "${clangxx}")
        set(CMAKE_CXX_COMPILER "${clangxx}")
    endif()
endif()
check_language(CXX)
set(MTF_HAVE_SENTENCEPIECE 0)
set(MTF_BUILD_SENTENCEPIECE none)
if(SENTENCEPIECE_FOUND AND MTF_SENTENCEPIECE AND MTF_SENTENCEPIECE_HEADERS AND CMAKE_CXX_COMPILER)
    enable_language(CXX)
    set(MTF_HAVE_SENTENCEPIECE 1)
    set(MTF_BUILD_SENTENCEPIECE ${SENTENCEPIECE_VERSION})
    list(APPEND MTF_LIBRARIES ${MTF_SENTENCEPIECE} stdc++)
    list(APPEND MTF_LINK_FLAGS -lsentencepiece -lstdc++)
endif()

# ---- HTTP ----------------------------------------------------------------------------------------

# For `mtf serve`.
pkg_check_modules(MICROHTTPD QUIET IMPORTED_TARGET libmicrohttpd)
set(MTF_HAVE_MICROHTTPD 0)
set(MTF_BUILD_MICROHTTPD none)
if(MICROHTTPD_FOUND)
    set(MTF_HAVE_MICROHTTPD 1)
    set(MTF_BUILD_MICROHTTPD ${MICROHTTPD_VERSION})
    list(APPEND MTF_LIBRARIES PkgConfig::MICROHTTPD)
    list(APPEND MTF_LINK_FLAGS ${MICROHTTPD_LDFLAGS})
endif()

# ---- CUDA ----------------------------------------------------------------------------------------

# Only headers: the libraries are opened when the device is asked for.
set(MTF_HAVE_CUDA 0)
set(MTF_HAVE_NCCL 0)
set(MTF_HAVE_CUDNN 0)
set(MTF_BUILD_CUDA none)
set(MTF_CUDA_HEADERS "")
if(NOT MTF_CUDA STREQUAL "OFF")
    find_package(CUDAToolkit 12.4 QUIET)
    find_path(MTF_CUBLASLT_HEADER cublasLt.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
    find_path(MTF_NVRTC_HEADER nvrtc.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
    if(CUDAToolkit_FOUND AND MTF_CUBLASLT_HEADER AND MTF_NVRTC_HEADER)
        set(MTF_HAVE_CUDA 1)
        set(MTF_BUILD_CUDA "${CUDAToolkit_VERSION}")
        set(MTF_CUDA_HEADERS ${CUDAToolkit_INCLUDE_DIRS})
        find_path(MTF_NCCL_HEADER nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
        find_path(MTF_CUDNN_HEADER cudnn.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
        if(MTF_NCCL_HEADER)
            set(MTF_HAVE_NCCL 1)
            list(APPEND MTF_CUDA_HEADERS ${MTF_NCCL_HEADER})
            string(APPEND MTF_BUILD_CUDA " with NCCL")
        endif()
        if(MTF_CUDNN_HEADER)
            set(MTF_HAVE_CUDNN 1)
            list(APPEND MTF_CUDA_HEADERS ${MTF_CUDNN_HEADER})
            string(APPEND MTF_BUILD_CUDA " with cuDNN")
        endif()
        string(REPLACE "with NCCL with cuDNN" "with NCCL and cuDNN" MTF_BUILD_CUDA
            "${MTF_BUILD_CUDA}")
        list(APPEND MTF_LIBRARIES ${CMAKE_DL_LIBS})
    elseif(MTF_CUDA STREQUAL "ON")
        message(FATAL_ERROR "MTF_CUDA is ON, but no CUDA toolkit from 12.4 on, with the headers of "
            "cuBLASLt and NVRTC, was found")
    endif()
endif()

# ---- what was found ------------------------------------------------------------------------------

string(REPLACE GNU gcc compiler "${CMAKE_C_COMPILER_ID}")
string(TOLOWER "${compiler} ${CMAKE_C_COMPILER_VERSION}" MTF_BUILD_COMPILER)
string(TOLOWER "${CMAKE_BUILD_TYPE}" MTF_BUILD_TYPE)
if(MTF_SANITIZE)
    string(APPEND MTF_BUILD_TYPE " (${MTF_SANITIZE})")
endif()

set(MTF_GENERATED ${PROJECT_BINARY_DIR}/generated)
configure_file(cmake/mtf_build.h.in ${MTF_GENERATED}/mtf_build.h @ONLY)

message(STATUS "mtf ${PROJECT_VERSION}: ${MTF_BUILD_TYPE}, ${MTF_BUILD_COMPILER}, "
    "BLAS ${MTF_BUILD_BLAS}, OpenMP ${MTF_BUILD_OPENMP}, "
    "MPI ${MTF_BUILD_MPI}, PCRE2 ${MTF_BUILD_PCRE2}, SentencePiece ${MTF_BUILD_SENTENCEPIECE}, "
    "microhttpd ${MTF_BUILD_MICROHTTPD}, "
    "CUDA ${MTF_BUILD_CUDA}")
