/* What kernels are written in: types, arithmetic, and threads that work together.
 *
 * NVRTC compiles this for a GPU, without any header but the table of scalar functions.
 * MTF_HOST_CUDA compiles it for the host: what a GPU has by itself then comes from a
 * header of the tests, which defines the words of the first section.
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
struct f8e4m3 { u8 bits; };
struct f8e5m2 { u8 bits; };

struct step_words { u64 seed; u32 step, unused; };

/* ---- threads ---- */

#ifdef MTF_HOST_CUDA
#include "host_cuda.h"
#else
#define KERNEL extern "C" __global__
#define INLINE __device__ __forceinline__
#define SHARED __shared__
#define UNROLL _Pragma("unroll")
#define UNROLL_4 _Pragma("unroll 4")
#define THREAD ((int)threadIdx.x)
#define THREADS ((int)blockDim.x)
#define BLOCK ((i64)blockIdx.x)
#define BLOCKS ((i64)gridDim.x)
#define SYNC() __syncthreads()
#define WARP_SYNC() __syncwarp()
/* So many threads of the block meet at place 1 .. 15, each waiting for the others or not. */
#define MEET(place, threads) asm volatile("bar.sync %0, %1;" ::"r"((int)(place)), "n"((int)(threads)) : "memory")
#define COME(place, threads) asm volatile("bar.arrive %0, %1;" ::"r"((int)(place)), "n"((int)(threads)) : "memory")
#define MUST_BE_ALIGNED(address, bytes) (void)0

/* Waits until the kernels before are done; before that a kernel reads only what no kernel writes.  The
 * next kernel may begin to wait in the same way as soon as all blocks of this one have begun. */
static INLINE void wait_for_turn()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/* ---- clusters ----
 * Blocks in a row; the last one of S reads values that the others have in shared memory.  All wait for one
 * another in cluster_meet, and in cluster_leave, before which nobody may end. */

template <int S> static INLINE void cluster_wait()
{
    if constexpr (S > 1)
        asm volatile("barrier.cluster.arrive.aligned;\n barrier.cluster.wait.aligned;" ::: "memory");
    else SYNC();
}
template <int S> static INLINE void cluster_meet(const f32 *, int) { cluster_wait<S>(); }
template <int S> static INLINE void cluster_leave()
{
    if constexpr (S > 1) cluster_wait<S>();
}

/* Value k of each block; they are on their way together. */
template <int S> static INLINE void cluster_values(const f32 *values, int k, f32 (&to)[S])
{
    if constexpr (S == 1) to[0] = values[k];
    else {
        u32 me;
        asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(me));
        UNROLL for (int s = 0; s < S; s++) {
            u32 there;
            asm("mapa.shared::cluster.u32 %0, %1, %2;"
                : "=r"(there) : "r"((u32)__cvta_generic_to_shared(values + k)), "r"(me - (S - 1) + s));
            asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(to[s]) : "r"(there) : "memory");
        }
    }
}

/* For kernels that say whether a loop of a captured step goes on. */
extern "C" __device__ void cudaGraphSetConditional(u64 loop, u32 value);

/* Memory that will be read soon. */
static INLINE void fetch_early(const void *at) { asm volatile("prefetch.global.L2 [%0];" ::"l"(__cvta_generic_to_global(at))); }

/* An address in the GPU's memory, as tables of operands have it: so that the compiler knows that it is one. */
template <class T> static INLINE T *on_gpu(u64 address) { return (T *)__cvta_global_to_generic(address); }

/* The block's dynamic shared memory, aligned to 16 bytes. */
extern __shared__ __align__(16) char dynamic_shared[];
#define DYNAMIC_SHARED dynamic_shared

/* Each of a warp's 32 threads takes part in these, and says the same word. */
template <class T> static INLINE T raw_shuffle(T v, int lane) { return __shfl_sync(~0u, v, lane); }
static INLINE u32 warp_ballot(bool v) { return __ballot_sync(~0u, v); }

static INLINE u32 bits_of(f32 v) { return __float_as_uint(v); }
static INLINE u64 bits_of(f64 v) { return (u64)__double_as_longlong(v); }
static INLINE f32 f32_of_bits(u32 v) { return __uint_as_float(v); }
static INLINE f64 f64_of_bits(u64 v) { return __longlong_as_double((i64)v); }

static INLINE bf16 narrow_bf16(f32 v)
{
    bf16 r;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(r.bits) : "f"(v));
    return r;
}

static INLINE f16 narrow_f16(f32 v)
{
    f16 r;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r.bits) : "f"(v));
    return r;
}

static INLINE f32 widen(f16 v)
{
    f32 r;
    asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(v.bits));
    return r;
}

/* The nearest bf16, as an f32: its bits are the upper half. */
static INLINE f32 round_bf16(f32 v)
{
    u32 r;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(v), "f"(0.0f));
    return f32_of_bits(r);
}

/* a / b to two units in the last place, for |b| below 2^126. */
static INLINE f32 quotient(f32 a, f32 b) { return __fdividef(a, b); }

/* 1 / x to one unit in the last place; 0 for |x| from 2^126 on. */
static INLINE f32 reciprocal_fast(f32 x)
{
    f32 r;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
    return r;
}

/* The larger, the smaller; NaN where one is. */
static INLINE f32 larger_f32(f32 a, f32 b)
{
    f32 r;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
    return r;
}

static INLINE f32 smaller_f32(f32 a, f32 b)
{
    f32 r;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
    return r;
}

/* The value before; another thread's counts, too. */
template <class T> static INLINE T atomic_add(T *at, T v) { return atomicAdd(at, v); }
static INLINE u32 atomic_max(u32 *at, u32 v) { return atomicMax(at, v); }
static INLINE i32 atomic_max(i32 *at, i32 v) { return atomicMax(at, v); }
static INLINE i32 atomic_min(i32 *at, i32 v) { return atomicMin(at, v); }
static INLINE u64 atomic_max(u64 *at, u64 v) { return atomicMax(at, v); }
static INLINE u32 atomic_swap_if(u32 *at, u32 was, u32 v) { return atomicCAS(at, was, v); }
static INLINE u64 atomic_swap_if(u64 *at, u64 was, u64 v) { return atomicCAS(at, was, v); }
#define FENCE() __threadfence() /* what was written is seen by other blocks */

/* ---- small matrices, a warp's 32 threads together ---- */

/* 16 bytes to shared memory, zeros where they are not `live`; both addresses are multiples of 16.  They
 * are there after copies_commit(), copies_wait() and, for other threads, SYNC(). */
template <class T> static INLINE void copy_ahead(T *to, const T *from, bool live)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"((u32)__cvta_generic_to_shared(to)), "l"(from),
                 "r"(live ? 16 : 0)
                 : "memory");
}
/* The same for one number. */
static INLINE void copy_ahead_one(f32 *to, const f32 *from, bool live)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"((u32)__cvta_generic_to_shared(to)), "l"(from),
                 "r"(live ? 4 : 0)
                 : "memory");
}
static INLINE void copies_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
static INLINE void copies_wait() { asm volatile("cp.async.wait_group 0;" ::: "memory"); }
/* The same for what was committed, but for the last N times. */
template <int N> static INLINE void copies_wait_but() { asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory"); }

/* Four matrices of 8 x 8 elements of 16 bits; threads 8 k .. 8 k + 7 name the rows of matrix k.  A thread
 * gets elements 2 (LANE % 4) and the next of row LANE / 4, or, transposed, of column LANE / 4. */
static INLINE void load_matrices(u32 (&r)[4], const void *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"((u32)__cvta_generic_to_shared(row)));
}
static INLINE void load_matrices_transposed(u32 (&r)[4], const void *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"((u32)__cvta_generic_to_shared(row)));
}

/* d += a b, 16 x 16 times 16 x 8: mma.m16n8k16. */
template <class T> static INLINE void matrix_product(f32 (&d)[4], const u32 (&a)[4], u32 b0, u32 b1);
/* Two numbers rounded, the first in the lower half. */
template <class T> static INLINE u32 narrow_pair(f32 low, f32 high);
#define MATRIX_WORDS(T)                                                                            \
    template <> INLINE void matrix_product<T>(f32 (&d)[4], const u32 (&a)[4], u32 b0, u32 b1)      \
    {                                                                                              \
        asm("mma.sync.aligned.m16n8k16.row.col.f32." #T "." #T ".f32 {%0, %1, %2, %3}, "           \
            "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                                        \
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                       \
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));                       \
    }                                                                                              \
    template <> INLINE u32 narrow_pair<T>(f32 low, f32 high)                                       \
    {                                                                                              \
        u32 r;                                                                                     \
        asm("cvt.rn." #T "x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));                    \
        return r;                                                                                  \
    }
MATRIX_WORDS(bf16)
MATRIX_WORDS(f16)
#undef MATRIX_WORDS

/* 2^x, to about 2 units in the last place. */
static INLINE f32 exp2_fast(f32 x)
{
    f32 r;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
    return r;
}
#endif

/* e^x where it is at most about 1: what is lost of x is lost where the result is small. */
static INLINE f32 exp_fast(f32 x) { return exp2_fast(x * 1.44269504f); }

enum { WARP = 32 };
#define LANE (THREAD % WARP)
#define WARP_OF_BLOCK (THREAD / WARP)

/* What thread `lane` of the warp has. */
static INLINE f32 shuffle(f32 v, int lane) { return raw_shuffle(v, lane); }
static INLINE f64 shuffle(f64 v, int lane) { return raw_shuffle(v, lane); }
static INLINE i32 shuffle(i32 v, int lane) { return raw_shuffle(v, lane); }
static INLINE u32 shuffle(u32 v, int lane) { return raw_shuffle(v, lane); }
static INLINE i64 shuffle(i64 v, int lane) { return raw_shuffle(v, lane); }
static INLINE u64 shuffle(u64 v, int lane) { return raw_shuffle(v, lane); }
static INLINE u8 shuffle(u8 v, int lane) { return (u8)raw_shuffle((u32)v, lane); }
/* What the thread has whose lane differs in the bits of `mask`. */
template <class T> static INLINE T shuffle_xor(T v, int mask) { return shuffle(v, LANE ^ mask); }
static INLINE bool warp_any(bool v) { return warp_ballot(v) != 0; }

/* ---- memory ---- */

static INLINE f32 widen(f32 v) { return v; }
static INLINE f64 widen(f64 v) { return v; }
static INLINE i32 widen(i32 v) { return v; }
static INLINE i64 widen(i64 v) { return v; }
static INLINE u8 widen(u8 v) { return v; }
static INLINE f32 widen(bf16 v) { return f32_of_bits((u32)v.bits << 16); }

/* f8, as in base/dtype.h: with plain arithmetic, which every GPU has. */
static INLINE f32 widen(f8e5m2 v) { return widen(f16{(u16)(v.bits << 8)}); }
static INLINE f32 widen(f8e4m3 v)
{
    u32 rest = (u32)(v.bits & 0x7fu) << 20, nan = rest == 0x07f00000u ? 0x7fc00000u : 0;
    return f32_of_bits(bits_of(f32_of_bits(rest) * 0x1p120f) | nan | (u32)(v.bits & 0x80u) << 24);
}
static INLINE u32 f8_rounded(u32 rest, int shift, u32 bias, u32 normal, f32 align)
{
    u32 small = bits_of(f32_of_bits(rest) + align) - bits_of(align);
    u32 large = (rest + ((1u << (shift - 1)) - 1) + (rest >> shift & 1u) - (bias << 23)) >> shift;
    return rest < normal ? small : large;
}
static INLINE f8e4m3 narrow_f8e4m3(f32 v)
{
    u32 bits = bits_of(v), rest = bits & 0x7fffffffu, sign = bits >> 24 & 0x80u, most = 0x43e00000u;
    u32 rounded = f8_rounded(rest < most ? rest : most, 20, 120, 0x3c800000u, 0x1p14f);
    return f8e4m3{(u8)(v != v ? 0x7fu : sign | rounded)};
}
static INLINE f8e5m2 narrow_f8e5m2(f32 v)
{
    u32 bits = bits_of(v), rest = bits & 0x7fffffffu, sign = bits >> 24 & 0x80u, most = 0x47600000u;
    u32 rounded = f8_rounded(rest < most ? rest : most, 21, 112, 0x38800000u, 0x1p7f);
    return f8e5m2{(u8)(v != v ? 0x7fu : sign | rounded)};
}

static INLINE f32 narrow_f32(f32 v) { return v; }
static INLINE f64 narrow_f64(f64 v) { return v; }
static INLINE i32 narrow_i32(i32 v) { return v; }
static INLINE i64 narrow_i64(i64 v) { return v; }
static INLINE u8 narrow_u8(u8 v) { return v; }

/* One element, rounded to the type in memory. */
static INLINE void store(f32 *to, f32 v) { *to = v; }
static INLINE void store(f64 *to, f64 v) { *to = v; }
static INLINE void store(i32 *to, i32 v) { *to = v; }
static INLINE void store(i64 *to, i64 v) { *to = v; }
static INLINE void store(u8 *to, u8 v) { *to = v; }
static INLINE void store(bf16 *to, f32 v) { *to = narrow_bf16(v); }
static INLINE void store(f16 *to, f32 v) { *to = narrow_f16(v); }
static INLINE void store(f8e4m3 *to, f32 v) { *to = narrow_f8e4m3(v); }
static INLINE void store(f8e5m2 *to, f32 v) { *to = narrow_f8e5m2(v); }
template <class T> static INLINE auto load(const T *from) { return widen(*from); }

/* LANES x TERMS short floats to shared memory, by B threads: lines of what is adjacent, the terms or, unless
 * FAST, the lanes, each 8 elements longer than it need be, so that 8 of them begin in different banks.  What is
 * not among the first `lanes` and `terms` is zero. */
template <bool FAST, int LANES, int TERMS, int B, class T>
static INLINE void lines_ahead(T *to, const T *from, i64 lane_step, i64 term_step, i64 lanes, i64 terms)
{
    enum { LONG = FAST ? TERMS : LANES, LINES = FAST ? LANES : TERMS, PIECES = LONG / 8, ALL = LINES * PIECES };
    UNROLL for (int k = 0; k < (ALL + B - 1) / B; k++) {
        int  e = THREAD + k * B, line = e / PIECES, at = e % PIECES * 8, lane = FAST ? line : at, term = FAST ? at : line;
        bool live = lane < lanes && term < terms;
        if (ALL % B == 0 || e < ALL)
            copy_ahead(to + line * (LONG + 8) + at, live ? from + lane * lane_step + term * term_step : from, live);
    }
}

/* N elements side by side, at most 16 bytes, moved at once; N is a power of two. */
template <class T, int N> struct alignas(N * sizeof(T)) pack { T at[N]; };

template <int N, class T> static INLINE pack<T, N> load_pack(const T *from)
{
    MUST_BE_ALIGNED(from, sizeof(pack<T, N>));
    return *(const pack<T, N> *)from;
}

template <int N, class T> static INLINE void store_pack(T *to, pack<T, N> v)
{
    MUST_BE_ALIGNED(to, sizeof(pack<T, N>));
    *(pack<T, N> *)to = v;
}

/* Element e of several that were loaded as words: they take fewer registers until they are used. */
template <class T> static INLINE f32 element_of(const u32 *words, int e);
template <> INLINE f32 element_of<f32>(const u32 *words, int e) { return f32_of_bits(words[e]); }
template <> INLINE f32 element_of<bf16>(const u32 *words, int e)
{
    return f32_of_bits(e % 2 ? words[e / 2] & 0xffff0000u : words[e / 2] << 16);
}
template <> INLINE f32 element_of<f16>(const u32 *words, int e)
{
    return widen(f16{(u16)(words[e / 2] >> e % 2 * 16)});
}

/* N elements in packs of W: from[0 .. N-1] to at[0 .. N-1]. */
template <int W, int N, class T> static INLINE void load_packs(T (&at)[N], const T *from)
{
    UNROLL for (int k = 0; k < N / W; k++) {
        pack<T, W> p = load_pack<W>(from + k * W);
        UNROLL for (int e = 0; e < W; e++) at[k * W + e] = p.at[e];
    }
}

template <int W, int N, class T> static INLINE void store_packs(T *to, const T (&at)[N])
{
    UNROLL for (int k = 0; k < N / W; k++) {
        pack<T, W> p;
        UNROLL for (int e = 0; e < W; e++) p.at[e] = at[k * W + e];
        store_pack<W>(to + k * W, p);
    }
}

/* The same of 16-bit floats, as words: see element_of. */
template <int W, int N, class T> static INLINE void load_words(u32 (&at)[N], const T *from)
{
    UNROLL for (int k = 0; k < 2 * N / W; k++) {
        pack<u32, W / 2> p = load_pack<W / 2>((const u32 *)(from + k * W));
        UNROLL for (int e = 0; e < W / 2; e++) at[k * W / 2 + e] = p.at[e];
    }
}

/* The same of numbers that are rounded first; two of 16 bits become a word at once. */
template <int W, int N, class C, class T> static INLINE void store_packs(T *to, const C (&at)[N])
{
    UNROLL for (int k = 0; k < N / W; k++) {
        pack<T, W> p;
        UNROLL for (int e = 0; e < W; e++) store(&p.at[e], at[k * W + e]);
        store_pack<W>(to + k * W, p);
    }
}

template <class T, int W, int N> static INLINE void store_pairs(T *to, const f32 (&at)[N])
{
    UNROLL for (int k = 0; k < N / W; k++) {
        pack<u32, W / 2> p;
        UNROLL for (int e = 0; e < W; e += 2)
            p.at[e / 2] = narrow_pair<T>(at[k * W + e], at[k * W + e + 1]);
        store_pack<W / 2>((u32 *)(to + k * W), p);
    }
}
template <int W, int N> static INLINE void store_packs(bf16 *to, const f32 (&at)[N]) { store_pairs<bf16, W>(to, at); }
template <int W, int N> static INLINE void store_packs(f16 *to, const f32 (&at)[N]) { store_pairs<f16, W>(to, at); }

/* ---- random numbers: base/philox.h ---- */

struct philox_block { u32 word[4]; };
struct philox_stream { u64 seed; u32 op, step; };

template <int ROUNDS> static INLINE philox_block philox_rounds(philox_block c, u32 key0, u32 key1)
{
    UNROLL for (int round = 0; round < ROUNDS; round++) {
        u64 a = (u64)0xD2511F53u * c.word[0], b = (u64)0xCD9E8D57u * c.word[2];
        c = philox_block{{(u32)(b >> 32) ^ c.word[1] ^ key0, (u32)b,
                          (u32)(a >> 32) ^ c.word[3] ^ key1, (u32)a}};
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
    return c;
}

/* Block number `index` of a stream; of flags, of which it has eight. */
template <int ROUNDS = 10> static INLINE philox_block philox_at(philox_stream s, u64 index)
{
    return philox_rounds<ROUNDS>(philox_block{{(u32)index, (u32)(index >> 32), s.op, s.step}}, (u32)s.seed,
                                 (u32)(s.seed >> 32));
}
static INLINE philox_block philox_flags_at(philox_stream s, u64 index) { return philox_at<7>(s, index); }

/* Number e of 15 bits, which decides about flag e of a block: is it below share? */
static INLINE u32 philox_flag(const philox_block &b, int e)
{
    u32 word = e < 4 ? e < 2 ? b.word[0] : b.word[1] : e < 6 ? b.word[2] : b.word[3];
    return word >> e % 2 * 16 & 0x7fffu;
}

/* All flags of a block, number e as bit e.  Two numbers of a word at once: what is not below share carries
 * into their highest bit. */
static INLINE u32 philox_flags(const philox_block &b, u32 share)
{
    u32 rest = (0x8000u - share) * 0x10001u, unset = 0;
    UNROLL for (int w = 0; w < 4; w++) unset |= ((b.word[w] & 0x7fff7fffu) + rest) >> (15 - 2 * w) & 0x10001u << 2 * w;
    return ~(unset | unset >> 15) & 0xffu;
}

/* The random stream of an iteration of a loop and of one of a loop inside it; 0: there is no such loop. */
static INLINE philox_stream philox_iterations(philox_stream s, u32 outer, u32 inner)
{
    philox_block b = philox_at(s, (u64)inner << 32 | outer);
    return philox_stream{(u64)b.word[1] << 32 | b.word[0], b.word[2], b.word[3]};
}

static INLINE philox_stream stream_of(const step_words *words, u32 op)
{
    return philox_stream{words->seed, op, words->step};
}

/* ---- the words that the values in scalars.h are written in (see scalar_text.h) ---- */

namespace scalar {
/* of one operand: the library's own */
#define BOTH1(name)                                                                                \
    static INLINE f32 name(f32 x) { return ::name##f(x); }                                         \
    static INLINE f64 name(f64 x) { return ::name(x); }
BOTH1(exp) BOTH1(expm1) BOTH1(log) BOTH1(log1p) BOTH1(sin) BOTH1(cos) BOTH1(tanh) BOTH1(erf)
BOTH1(erfc) BOTH1(sqrt) BOTH1(floor) BOTH1(ceil) BOTH1(rint) BOTH1(fabs)
#undef BOTH1
static INLINE f32 pow(f32 x, f32 y) { return ::powf(x, y); }
static INLINE f64 pow(f64 x, f64 y) { return ::pow(x, y); }

/* a / b where a few units in the last place do not matter */
static INLINE f32 RATIO(f32 a, f32 b) { return quotient(a, b); }
static INLINE f64 RATIO(f64 a, f64 b) { return a / b; }
static INLINE f32 LARGER(f32 x, f32 y) { return larger_f32(x, y); }
static INLINE f32 SMALLER(f32 x, f32 y) { return smaller_f32(x, y); }
static INLINE f64 LARGER(f64 x, f64 y) { return (y > x) | (y != y) ? y : x; }
static INLINE f64 SMALLER(f64 x, f64 y) { return (y < x) | (y != y) ? y : x; }

#define FLOATS(T)                                                                                  \
    static INLINE T ADD(T x, T y) { return x + y; }                                                \
    static INLINE T SUB(T x, T y) { return x - y; }                                                \
    static INLINE T MUL(T x, T y) { return x * y; }                                                \
    static INLINE T NEG(T x) { return -x; }                                                        \
    static INLINE T CHOOSE(bool yes, T x, T y) { return yes ? x : y; }                             \
    static INLINE T AT_LEAST_0(T x) { return x < 0 ? (T)0 : x; }                                   \
    static INLINE T FLOORDIV(T x, T y) { return floor(x / y); }                                    \
    static INLINE T MOD(T x, T y) { return x - y * floor(x / y); }                                 \
    /* x sigmoid(v); from some point on downwards it is the limit, 0. */                           \
    static INLINE T GATE(T x, T v)                                                                 \
    {                                                                                              \
        T e = exp(-fabs(v));                                                                       \
        return RATIO((x < -800 ? (T)-800 : x) * (v < 0 ? e : (T)1), 1 + e);                        \
    }                                                                                              \
    static INLINE T SIGMOID(T x) { return GATE((T)1, x); }                                         \
    static INLINE T SILU(T x) { return GATE(x, x); }                                               \
    static INLINE T GELU_EXACT(T x)                                                                \
    {                                                                                              \
        return (x < -800 ? (T)-800 : x) * erfc(-x * (T)0.70710678118654752440) / 2;                \
    }                                                                                              \
    static INLINE T SOFTPLUS(T x) { return (x < 0 ? (T)0 : x) + log1p(exp(-fabs(x))); }
FLOATS(f32)
FLOATS(f64)
#undef FLOATS

/* Gelu is x sigmoid(v), where v = x (1.5957691 + 0.0713548 x^2).  In f32 it is x / (1 + 2^t), where t is
 * -v log2(e): what is lost in t is lost where 2^t is small beside 1, or the result small beside x.  Beyond
 * these limits of x the sigmoid is 0 or 1: 2^t has no reciprocal there. */
static INLINE f32 gelu_limited(f32 x) { return smaller_f32(larger_f32(x, -10.04f), 10.04f); }
static INLINE f32 gelu_power(f32 in) { return exp2_fast(in * fmaf(in * in, -0.102943240f, -2.30220819f)); }

static INLINE f64 GELU(f64 x) { return GATE(x, 1.59576912160573071176 * (x + 0.044715 * x * x * x)); }
static INLINE f32 GELU(f32 x)
{
    return larger_f32(x, -10.04f) * reciprocal_fast(1 + gelu_power(gelu_limited(x)));
}

/* s (1 + x v' (1 - s)), where s = sigmoid(v). */
static INLINE f64 GELU_GRAD(f64 x)
{
    f64 in = x < -40 ? -40 : x > 40 ? 40 : x, square = in * in;
    f64 v = in * (1.5957691216057308 + 0.0713548162726002516 * square);
    f64 slope = 1.5957691216057308 + 0.21406444881780076 * square;
    f64 e = exp(-fabs(v)), rest = (v < 0 ? 1 : e) / (1 + e);
    return (v < 0 ? e : 1) * (1 + in * slope * rest) / (1 + e);
}
static INLINE f32 GELU_GRAD(f32 x)
{
    f32 in = gelu_limited(x), square = in * in;
    f32 e = gelu_power(in), s = reciprocal_fast(1 + e);
    return s * fmaf(in * fmaf(square, 0.214064449f, 1.59576912f), e * s, 1);
}

/* Through unsigned, where overflow is defined.  Division by -1 is negation, which covers the one
 * quotient that does not fit. */
#define INTEGERS(T, U)                                                                             \
    static INLINE T ADD(T x, T y) { return (T)((U)x + (U)y); }                                     \
    static INLINE T SUB(T x, T y) { return (T)((U)x - (U)y); }                                     \
    static INLINE T MUL(T x, T y) { return (T)((U)x * (U)y); }                                     \
    static INLINE T NEG(T x) { return (T)(0 - (U)x); }                                             \
    static INLINE T LARGER(T x, T y) { return y > x ? y : x; }                                     \
    static INLINE T SMALLER(T x, T y) { return y < x ? y : x; }                                    \
    static INLINE T AT_LEAST_0(T x) { return x < 0 ? 0 : x; }                                      \
    static INLINE T FLOORDIV(T x, T y)                                                             \
    {                                                                                              \
        if (y == 0) return 0;                                                                      \
        if (y == -1) return (T)(0 - (U)x);                                                         \
        return x / y - (x % y != 0 && (x < 0) != (y < 0));                                         \
    }                                                                                              \
    static INLINE T MOD(T x, T y)                                                                  \
    {                                                                                              \
        if (y == 0 || y == -1) return 0;                                                           \
        T rest = x % y;                                                                            \
        return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;                               \
    }
INTEGERS(i32, u32)
INTEGERS(i64, u64)
#undef INTEGERS

static INLINE i32 RANDOM_BITS(i32 x, i32 y)
{
    return (i32)philox_rounds<10>(philox_block{{(u32)x, 0, 0, 0}}, (u32)y, 0).word[0];
}
static INLINE i64 RANDOM_BITS(i64 x, i64 y)
{
    u64          at = (u64)x, key = (u64)y;
    philox_block b = philox_rounds<10>(philox_block{{(u32)at, (u32)(at >> 32), 0, 0}}, (u32)key, (u32)(key >> 32));
    return (i64)((u64)b.word[1] << 32 | b.word[0]);
}

/* Flags: a sum is `or`, a product is `and`. */
static INLINE u8 ADD(u8 x, u8 y) { return x | y; }
static INLINE u8 MUL(u8 x, u8 y) { return x & y; }
static INLINE u8 LARGER(u8 x, u8 y) { return x | y; }
static INLINE u8 SMALLER(u8 x, u8 y) { return x & y; }

/* ---- fn_NAME: the functions of scalars.h, for each type that they take ---- */

namespace functions {
#define SELU_SCALE ((decltype(x))1.05070098735548049342)
#define SELU_SCALE_ALPHA ((decltype(x))1.75809934084737685994)
#define ONE(R, T, name, value) static INLINE R fn_##name(T x) { return (R)(value); }
#define TWO(R, T, name, value) static INLINE R fn_##name(T x, T y) { return (R)(value); }
#define REAL1(name, value, ...) ONE(f32, f32, name, value) ONE(f64, f64, name, value)
#define REAL2(name, value, ...) TWO(f32, f32, name, value) TWO(f64, f64, name, value)
#define ANY1(name, value, ...)                                                                     \
    REAL1(name, value) ONE(i32, i32, name, value) ONE(i64, i64, name, value)
#define ANY2(name, value, ...)                                                                     \
    REAL2(name, value) TWO(i32, i32, name, value) TWO(i64, i64, name, value)
#define BITS2(name, value, ...) TWO(i32, i32, name, value) TWO(i64, i64, name, value)
#define TEST1(name, value, ...) ONE(u8, f32, name, value) ONE(u8, f64, name, value)
#define COMPARE(name, value, ...)                                                                  \
    TWO(u8, f32, name, value) TWO(u8, f64, name, value) TWO(u8, i32, name, value)                  \
    TWO(u8, i64, name, value) TWO(u8, u8, name, value)
#define LOGIC1(name, value, ...) ONE(u8, u8, name, value)
#define LOGIC2(name, value, ...) TWO(u8, u8, name, value)
#include "program/scalars.h"
#undef REAL1
#undef REAL2
#undef ANY1
#undef ANY2
#undef BITS2
#undef TEST1
#undef COMPARE
#undef LOGIC1
#undef LOGIC2
#undef ONE
#undef TWO
} // namespace functions
} // namespace scalar
using namespace scalar::functions;
using scalar::ADD;
using scalar::LARGER;
using scalar::MUL;
using scalar::SMALLER;

/* a * b + c, rounded once: products and sums that are written apart are rounded apart. */
static INLINE f32 fused(f32 a, f32 b, f32 c) { return fmaf(a, b, c); }
static INLINE f64 fused(f64 a, f64 b, f64 c) { return fma(a, b, c); }

/* cast_TYPE: a float beyond the integers' range gives the nearest of them, NaN gives 0; an integer
 * wraps around; a cast to a short float leaves an f32 that such a number can hold. */
template <class T> static INLINE f32 cast_f32(T x) { return (f32)x; }
template <class T> static INLINE f64 cast_f64(T x) { return (f64)x; }
template <class T> static INLINE f32 cast_bf16(T x) { return round_bf16((f32)x); }
template <class T> static INLINE f32 cast_f16(T x) { return widen(narrow_f16((f32)x)); }
template <class T> static INLINE f32 cast_f8e4m3(T x) { return widen(narrow_f8e4m3((f32)x)); }
template <class T> static INLINE f32 cast_f8e5m2(T x) { return widen(narrow_f8e5m2((f32)x)); }
template <class T> static INLINE u8 cast_u8(T x) { return (u8)(x != 0); }
template <class T> static INLINE i32 cast_i32(T x) { return (i32)(u32)(u64)(i64)x; }
template <class T> static INLINE i64 cast_i64(T x) { return (i64)x; }
static INLINE i32 cast_i32(f64 x)
{
    if (x != x) return 0;
    return x <= -2147483648.0 ? -2147483647 - 1 : x >= 2147483648.0 ? 2147483647 : (i32)x;
}
static INLINE i64 cast_i64(f64 x)
{
    if (x != x) return 0;
    return x <= -9223372036854775808.0  ? -9223372036854775807LL - 1
           : x >= 9223372036854775808.0 ? 9223372036854775807LL
                                        : (i64)x;
}
static INLINE i32 cast_i32(f32 x) { return cast_i32((f64)x); }
static INLINE i64 cast_i64(f32 x) { return cast_i64((f64)x); }

/* ---- folds between threads, in a fixed order ---- */

/* What changes no maximum, and no minimum. */
template <class T> static INLINE T lowest();
template <> INLINE f32 lowest<f32>() { return f32_of_bits(0xff800000u); }
template <> INLINE f64 lowest<f64>() { return f64_of_bits(0xfff0000000000000ull); }
template <> INLINE i32 lowest<i32>() { return -2147483647 - 1; }
template <> INLINE i64 lowest<i64>() { return -9223372036854775807LL - 1; }
template <> INLINE u8 lowest<u8>() { return 0; }
template <class T> static INLINE T highest();
template <> INLINE f32 highest<f32>() { return f32_of_bits(0x7f800000u); }
template <> INLINE f64 highest<f64>() { return f64_of_bits(0x7ff0000000000000ull); }
template <> INLINE i32 highest<i32>() { return 2147483647; }
template <> INLINE i64 highest<i64>() { return 9223372036854775807LL; }
template <> INLINE u8 highest<u8>() { return 1; }

/* warp_NAME<N>(v): over each N neighbours of a warp, N a power of two, 32 by default.
 * block_NAME<N>(v): over a block of N threads, whole warps.
 * group_NAME<N>(v): the one or the other.  All threads get the result.
 * rows_NAME<N, PLACE>(v): over a block, of several numbers at once, in place.
 * A PLACE is memory that no other fold uses: then threads need not wait for each other before the fold
 * is made again, if they wait for another reason in between. */
#define FOLDS(name, join)                                                                          \
    template <int N = WARP, class T> static INLINE T warp_##name(T v)                              \
    {                                                                                              \
        UNROLL for (int mask = N / 2; mask > 0; mask /= 2) v = join(v, shuffle_xor(v, mask));      \
        return v;                                                                                  \
    }                                                                                              \
    template <int N, int PLACE = -1, class T> static INLINE T block_##name(T v)                    \
    {                                                                                              \
        enum { WARPS = N / WARP };                                                                 \
        SHARED T part[WARPS];                                                                      \
        v = warp_##name(v);                                                                        \
        if (N == WARP) return v;                                                                   \
        if (LANE == 0) part[WARP_OF_BLOCK] = v;                                                    \
        SYNC();                                                                                    \
        if constexpr ((WARPS & (WARPS - 1)) == 0) {                                                \
            v = warp_##name<WARPS>(part[THREAD % WARPS]);                                          \
        } else {                                                                                   \
            v = part[0];                                                                           \
            UNROLL for (int w = 1; w < WARPS; w++) v = join(v, part[w]);                           \
        }                                                                                          \
        if (PLACE < 0) SYNC();                                                                     \
        return v;                                                                                  \
    }                                                                                              \
    template <int N, int PLACE = -1, class T> static INLINE T group_##name(T v)                    \
    {                                                                                              \
        if constexpr (N > WARP) return block_##name<N, PLACE>(v);                                  \
        else return warp_##name<N>(v);                                                             \
    }                                                                                              \
    template <int N, int PLACE, int R, class T> static INLINE void rows_##name(T (&v)[R])          \
    {                                                                                              \
        SHARED T part[R][N / WARP];                                                                \
        UNROLL for (int r = 0; r < R; r++) v[r] = warp_##name(v[r]);                               \
        UNROLL for (int r = 0; r < R; r++)                                                         \
            if (LANE == 0) part[r][WARP_OF_BLOCK] = v[r];                                          \
        SYNC();                                                                                    \
        UNROLL for (int r = 0; r < R; r++) {                                                       \
            v[r] = part[r][0];                                                                     \
            UNROLL for (int w = 1; w < N / WARP; w++) v[r] = join(v[r], part[r][w]);               \
        }                                                                                          \
        if (PLACE < 0) SYNC();                                                                     \
    }
FOLDS(sum, ADD)
FOLDS(max, LARGER)
FOLDS(min, SMALLER)
#undef FOLDS

/* ---- kernels ---- */

