/* The version, and what the build found. */
#include "mtf.h"
#include "mtf_build.h"

const char *mtf_version(void)
{
    return "mtf " MTF_VERSION " (BLAS: " MTF_BUILD_BLAS "; threads: " MTF_BUILD_OPENMP
           "; MPI: " MTF_BUILD_MPI "; PCRE2: " MTF_BUILD_PCRE2
           "; SentencePiece: " MTF_BUILD_SENTENCEPIECE "; microhttpd: " MTF_BUILD_MICROHTTPD
           "; CUDA: " MTF_BUILD_CUDA "; " MTF_BUILD_COMPILER ", " MTF_BUILD_TYPE ")";
}
