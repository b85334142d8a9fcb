/* The chip that this process runs on, and what it can do. */
#include "base/chip.h"

#if defined(__aarch64__)
#include <sys/auxv.h>

bool chip_has_bfmmla(void)
{
    return getauxval(AT_HWCAP2) >> 14 & 1;
}

bool chip_has_avx512_bf16(void)
{
    return false;
}

bool chip_has_amx_bf16(void)
{
    return false;
}

#elif defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

bool chip_has_bfmmla(void)
{
    return false;
}

bool chip_has_avx512_bf16(void)
{
    unsigned a = 0, b, c, d;
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __get_cpuid_count(7, 1, &a, &b, &c, &d) &&
           (a >> 5 & 1);
}

/* A process must ask the system before it uses the large registers of AMX. */
bool chip_has_amx_bf16(void)
{
    enum { REQUEST = 0x1023, TILE_DATA = 18 }; /* of arch_prctl(2) */
    unsigned a, b, c, d = 0;
    return chip_has_avx512_bf16() && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d >> 22 & 1) &&
           (d >> 24 & 1) && syscall(SYS_arch_prctl, REQUEST, TILE_DATA) == 0;
}

#else

bool chip_has_bfmmla(void)
{
    return false;
}

bool chip_has_avx512_bf16(void)
{
    return false;
}

bool chip_has_amx_bf16(void)
{
    return false;
}

#endif
