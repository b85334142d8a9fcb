/* What a GPU has by itself, for kernels that are compiled for the host.
 *
 * It stands before src/cuda/write/prelude.cuh.  The threads of a block take turns on
 * one thread of the host; where they wait for one another, the driver of host_driver.c
 * runs those that can go on.
 */
/* clang-format off */
#ifndef HOST_CUDA_H
#define HOST_CUDA_H

#include "host_headers.h"

#include "host_calls.h"

extern "C" {
__attribute__((visibility("default"))) const host_calls *host_cuda;
}

#define KERNEL extern "C"
#define INLINE inline __attribute__((unused))
#define SHARED static thread_local /* all threads of a block run in one thread of the host */
#define UNROLL
#define UNROLL_4
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define THREAD (host_cuda->now()->thread)
#define THREADS (host_cuda->now()->threads)
#define BLOCK (host_cuda->now()->block)
#define BLOCKS (host_cuda->now()->blocks)
#define SYNC() host_cuda->sync(__LINE__)
#define WARP_SYNC() host_cuda->warp(0, HOST_WARP_SYNC, __LINE__)
#define MEET(place, threads) host_cuda->meet(place, threads, 1, __LINE__)
#define COME(place, threads) host_cuda->meet(place, threads, 0, __LINE__)
#define DYNAMIC_SHARED (host_cuda->now()->shared)
#define FENCE() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define MUST_BE_ALIGNED(address, bytes)                                                            \
    do {                                                                                           \
        if ((size_t)(address) % (bytes) != 0)                                                      \
            host_cuda->stop("an access of several elements is not aligned");                       \
    } while (0)

/* Kernels run one after another. */
static INLINE void wait_for_turn() {}
static INLINE void fetch_early(const void *) {}
template <class T> static INLINE T *on_gpu(u64 address) { return (T *)address; }
/* Blocks run in their order: those of a cluster leave their values here for the last one. */
enum { HOST_CLUSTER = 8, HOST_CLUSTER_VALUES = 2048 };
static thread_local float host_cluster[HOST_CLUSTER][HOST_CLUSTER_VALUES];
template <int S> static INLINE void cluster_meet(const float *values, int n)
{
    static_assert(S <= HOST_CLUSTER, "a cluster is too large");
    if (n > HOST_CLUSTER_VALUES) host_cuda->stop("a cluster has too many values");
    SYNC();
    if (THREAD == 0) memcpy(host_cluster[BLOCK % S], values, sizeof *values * (size_t)n);
    SYNC();
}
template <int S> static INLINE void cluster_values(const float *, int k, float (&to)[S])
{
    for (int s = 0; s < S; s++) to[s] = host_cluster[s][k];
}
template <int S> static INLINE void cluster_leave() {}
/* A handle is the address of the condition. */
static INLINE void cudaGraphSetConditional(u64 loop, u32 value) { *(u32 *)loop = value; }

template <class T> static T host_of_bits(unsigned long long bits)
{
    T v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

template <class T> static unsigned long long host_bits(T v)
{
    unsigned long long bits = 0;
    memcpy(&bits, &v, sizeof v);
    return bits;
}

template <class T> static INLINE T raw_shuffle(T v, int lane)
{
    const unsigned long long *all = host_cuda->warp(host_bits(v), HOST_WARP_SHUFFLE, __LINE__);
    return host_of_bits<T>(all[lane & 31]);
}

static INLINE unsigned warp_ballot(bool v)
{
    const unsigned long long *all = host_cuda->warp(v, HOST_WARP_BALLOT, __LINE__);
    unsigned                  set = 0;
    for (int k = 0; k < 32; k++) set |= (unsigned)(all[k] & 1) << k;
    return set;
}

static INLINE unsigned           bits_of(float v) { return (unsigned)host_bits(v); }
static INLINE unsigned long long bits_of(double v) { return host_bits(v); }
static INLINE float              f32_of_bits(unsigned v) { return host_of_bits<float>(v); }
static INLINE double             f64_of_bits(unsigned long long v) { return host_of_bits<double>(v); }

/* Rounds to nearest, ties to even, as base/dtype.h does. */
static INLINE bf16 narrow_bf16(float v)
{
    unsigned bits = bits_of(v);
    bool     nan = v != v;
    return bf16{(unsigned short)((nan ? bits | 0x400000u : bits + 0x7fffu + (bits >> 16 & 1u)) >> 16)};
}

static INLINE f16 narrow_f16(float v)
{
    unsigned bits = bits_of(v), rest = bits & 0x7fffffffu, sign = bits >> 16 & 0x8000u, r;
    if (rest > 0x7f800000u)
        r = 0x7e00u;
    else if (rest >= 0x477ff000u)
        r = 0x7c00u;
    else if (rest < 0x38800000u)
        r = bits_of(f32_of_bits(rest) + 0.5f) - 0x3f000000u;
    else
        r = (rest + 0xfffu + (rest >> 13 & 1u) - 0x38000000u) >> 13;
    return f16{(unsigned short)(r | sign)};
}

static INLINE float widen(f16 v)
{
    unsigned rest = (v.bits & 0x7fffu) << 13, sign = (v.bits & 0x8000u) << 16;
    unsigned most = rest >= 0x0f800000u ? 0x7f800000u : 0;
    return f32_of_bits(bits_of(f32_of_bits(rest) * 0x1p112f) | most | sign);
}

static INLINE float quotient(float a, float b) { return a / b; }
static INLINE float reciprocal_fast(float x) { return x != x ? x : fabsf(x) < 0x1p126f ? 1 / x : 0; }
static INLINE float round_bf16(float v) { return f32_of_bits((unsigned)narrow_bf16(v).bits << 16); }
static INLINE float larger_f32(float a, float b) { return b > a || b != b ? b : a; }
static INLINE float smaller_f32(float a, float b) { return b < a || b != b ? b : a; }

/* Other blocks may run in other threads of the host: launches on several streams. */
template <class T, class F> static T host_atomic(T *at, F change)
{
    T was, next;
    __atomic_load(at, &was, __ATOMIC_SEQ_CST);
    do next = change(was);
    while (!__atomic_compare_exchange(at, &was, &next, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
    return was;
}

template <class T> static INLINE T atomic_add(T *at, T v)
{
    return host_atomic(at, [v](T was) { return (T)(was + v); });
}

template <class T> static INLINE T atomic_max(T *at, T v)
{
    return host_atomic(at, [v](T was) { return was > v ? was : v; });
}

template <class T> static INLINE T atomic_min(T *at, T v)
{
    return host_atomic(at, [v](T was) { return was < v ? was : v; });
}

template <class T> static INLINE T atomic_swap_if(T *at, T expected, T v)
{
    return host_atomic(at, [=](T was) { return was == expected ? v : was; });
}

/* ---- small matrices, a warp's 32 threads together ---- */

/* Copies that a thread has not waited for: until then the bytes are not there. */
struct host_copy { void *to; const void *from; size_t bytes; };
static thread_local std::vector<host_copy> host_copies[1024];
static thread_local std::vector<size_t> host_commits[1024]; /* how many had been begun at each */

static INLINE void host_copy_ahead(void *to, const void *from, size_t bytes, bool live)
{
    memset(to, 0xfb, bytes);
    host_copies[THREAD].push_back(host_copy{to, live ? from : nullptr, bytes});
}

template <class T> static INLINE void copy_ahead(T *to, const T *from, bool live)
{
    MUST_BE_ALIGNED(to, 16);
    MUST_BE_ALIGNED(from, 16);
    host_copy_ahead(to, from, 16, live);
}
static INLINE void copy_ahead_one(float *to, const float *from, bool live) { host_copy_ahead(to, from, 4, live); }
static INLINE void copies_commit() { host_commits[THREAD].push_back(host_copies[THREAD].size()); }

static INLINE void host_copies_end(size_t n)
{
    std::vector<host_copy> &all = host_copies[THREAD];
    for (size_t k = 0; k < n; k++) {
        if (all[k].from)
            memcpy(all[k].to, all[k].from, all[k].bytes);
        else
            memset(all[k].to, 0, all[k].bytes);
    }
    all.erase(all.begin(), all.begin() + n);
}

static INLINE void copies_wait()
{
    host_copies_end(host_copies[THREAD].size());
    host_commits[THREAD].clear();
}

template <int N> static INLINE void copies_wait_but()
{
    std::vector<size_t> &commits = host_commits[THREAD];
    if (commits.size() <= N) return;
    size_t done = commits[commits.size() - 1 - N];
    host_copies_end(done);
    commits.erase(commits.begin(), commits.end() - N);
    for (size_t &c : commits) c -= done;
}

/* What all threads of the warp give. */
static INLINE void host_give(unsigned long long mine, unsigned long long (&all)[32])
{
    memcpy(all, host_cuda->warp(mine, HOST_WARP_MATRIX, __LINE__), sizeof all);
}

static INLINE void host_load_matrices(unsigned (&r)[4], const void *row, bool transposed)
{
    unsigned long long rows[32];
    int                lane = THREAD % 32;
    MUST_BE_ALIGNED(row, 16);
    host_give((unsigned long long)row, rows);
    for (int m = 0; m < 4; m++) {
        unsigned short pair[2];
        for (int e = 0; e < 2; e++) {
            int line = transposed ? lane % 4 * 2 + e : lane / 4, at = transposed ? lane / 4 : lane % 4 * 2 + e;
            pair[e] = ((const unsigned short *)rows[8 * m + line])[at];
        }
        r[m] = pair[0] | (unsigned)pair[1] << 16;
    }
}
static INLINE void load_matrices(unsigned (&r)[4], const void *row) { host_load_matrices(r, row, false); }
static INLINE void load_matrices_transposed(unsigned (&r)[4], const void *row) { host_load_matrices(r, row, true); }

static INLINE float host_widen(bf16 v) { return f32_of_bits((unsigned)v.bits << 16); }
static INLINE float host_widen(f16 v) { return widen(v); }

/* Element k of the 16 that a row of a, or a column of b, has: threads 4 line .. 4 line + 3 have them by
 * pairs, the first 8 in `first`. */
template <class T>
static INLINE float host_element(const unsigned long long (&all)[32], int line, int k, bool upper)
{
    unsigned long long has = all[4 * line + k % 8 / 2];
    unsigned           pair = (unsigned)(upper ? has >> 32 : has);
    return host_widen(T{(unsigned short)(k % 2 ? pair >> 16 : pair)});
}

template <class T>
static INLINE void matrix_product(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1)
{
    unsigned long long low[32], high[32], right[32];
    int                lane = THREAD % 32;
    host_give(a[0] | (unsigned long long)a[1] << 32, low); /* rows below 8, and from 8 on */
    host_give(a[2] | (unsigned long long)a[3] << 32, high);
    host_give(b0 | (unsigned long long)b1 << 32, right);
    for (int e = 0; e < 4; e++)
        for (int k = 0; k < 16; k++)
            d[e] += host_element<T>(k < 8 ? low : high, lane / 4, k, e / 2) *
                    host_element<T>(right, lane % 4 * 2 + e % 2, k, k >= 8);
}

template <class T> static T host_narrow(float v);
template <> INLINE bf16 host_narrow<bf16>(float v) { return narrow_bf16(v); }
template <> INLINE f16 host_narrow<f16>(float v) { return narrow_f16(v); }
template <class T> static INLINE unsigned narrow_pair(float low, float high)
{
    return host_narrow<T>(low).bits | (unsigned)host_narrow<T>(high).bits << 16;
}

static INLINE float exp2_fast(float x) { return exp2f(x); }

/* How the driver calls a kernel: with the addresses of its parameters, pointers or numbers of 64 bits. */
template <class... A, size_t... K>
static void host_call(void (*kernel)(A...), void **parameters, std::index_sequence<K...>)
{
    kernel(*(A *)parameters[K]...);
}

template <class... A> static constexpr int host_count(void (*)(A...))
{
    static_assert(((sizeof(A) == sizeof(void *)) && ...), "parameters are pointers or numbers of 64 bits");
    return (int)sizeof...(A);
}

template <class... A> static void host_enter(void (*kernel)(A...), void **parameters)
{
    host_call(kernel, parameters, std::index_sequence_for<A...>{});
}

#define HOST_KERNEL(name)                                                                          \
    extern "C" __attribute__((visibility("default"))) void host_enter_##name(void **parameters)    \
    {                                                                                              \
        host_enter(name, parameters);                                                              \
    }                                                                                              \
    extern "C" {                                                                                   \
    __attribute__((visibility("default"))) extern const int host_count_##name;                     \
    const int host_count_##name = host_count(name);                                                \
    }

#endif
