/* Products of large tiles of short floats, by 128 threads together: what stands before kernels that use them.
 *
 * GPUs of compute capability 9.0 multiply tiles where they lie in shared memory (wgmma); on all others, and on
 * the host, each warp loads its part of them.
 *
 * Tiles begin at multiples of 1024 bytes and have lines of 64 elements: 8 pieces of 8, of which piece p of line n
 * is at place p ^ n % 8, so that a piece of 8 lines in a row is read from all banks.  A tile that is FAST along
 * its 64 terms has a line for each lane; another has a line for each term of its first 64 lanes, then as many for
 * the next 64.
 */
enum { TILE_LINE = 64, TILE_ALIGN = 1024 };
static INLINE int tile_place(int line, int piece) { return line * TILE_LINE + (piece ^ line % 8) * 8; }
template <bool FAST> static INLINE int tile_piece(int lane, int term)
{
    return FAST ? tile_place(lane, term / 8) : tile_place(lane / 64 * 64 + term, lane % 64 / 8);
}
/* The first tile of a block. */
template <class T> static INLINE T *tiles_begin(char *shared)
{
    return (T *)(((u64)shared + TILE_ALIGN - 1) / TILE_ALIGN * TILE_ALIGN);
}

/* LANES lanes, 64 terms of each, on their way by B threads, of which this is number `self`.  What is not among the first `lanes` and `terms`, multiples
 * of 8 where they are adjacent, is zero. */
template <bool FAST, int LANES, int B, class T>
static INLINE void tile_ahead(int self, T *to, const T *from, i64 lane_step, i64 term_step, i64 lanes, i64 terms)
{
    enum { PIECES = FAST ? 8 : LANES / 8 };
    UNROLL for (int k = 0; k < LANES * 8 / B; k++) {
        const int  e = self + k * B;
        const int  lane = FAST ? e / PIECES : e % PIECES * 8, term = FAST ? e % PIECES * 8 : e / PIECES;
        const bool live = lane < lanes && term < terms;
        copy_ahead(to + tile_piece<FAST>(lane, term), live ? from + lane * lane_step + term * term_step : from, live);
    }
}
/* The same with lanes side by side, term t at from[at[t][WHICH]]. */
template <int LANES, int B, int WHICH, class T>
static INLINE void tile_ahead_of(int self, T *to, const T *from, const i64 (*at)[2], i64 lanes, i64 terms)
{
    enum { PIECES = LANES / 8 };
    UNROLL for (int k = 0; k < LANES * 8 / B; k++) {
        const int  e = self + k * B;
        const int  lane = e % PIECES * 8, term = e / PIECES;
        const bool live = lane < lanes && term < terms;
        copy_ahead(to + tile_piece<false>(lane, term), live ? from + at[term][WHICH] + lane : from, live);
    }
}

/* tile_product: d += a b, 64 x 16 times 16 x N, of terms t .. t + 15 of two tiles.  Thread 32 w + l has what it
 * has after matrix_product() of rows 16 w and columns 0, 8, ...  Between tiles_ready() and tiles_wait_but<K>()
 * the tiles are read and d is written, but for the last K times that tiles_commit() was called. */
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
static INLINE void tiles_ready() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
static INLINE void tiles_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int K, int N> static INLINE void tiles_wait_but(f32 (&d)[N][4])
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(K) : "memory");
    if (K == 0)
        UNROLL for (int n = 0; n < N; n++)
            asm volatile("" : "+f"(d[n][0]), "+f"(d[n][1]), "+f"(d[n][2]), "+f"(d[n][3])::"memory");
}
/* What this thread has copied is seen by such products of all whom it meets afterwards. */
static INLINE void tiles_copied() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

/* A matrix of a tile: where it begins, how far its blocks of 64 lanes and of 8 lines are apart, how pieces lie. */
template <bool FAST> static INLINE u64 tile_matrix(const void *tile, int t)
{
    const u32 at = (u32)__cvta_generic_to_shared(tile) + (FAST ? 2 * t : 2 * TILE_LINE * t);
    return (u64)(at >> 4) | (u64)(64 * TILE_LINE * 2 >> 4) << 16 | (u64)(8 * TILE_LINE * 2 >> 4) << 32 | (u64)1 << 62;
}
#define SUMS_8(d, n) "+f"(d[n][0]), "+f"(d[n][1]), "+f"(d[n][2]), "+f"(d[n][3]), \
    "+f"(d[n + 1][0]), "+f"(d[n + 1][1]), "+f"(d[n + 1][2]), "+f"(d[n + 1][3])
#define SUMS_64(d, n) SUMS_8(d, n), SUMS_8(d, n + 2), SUMS_8(d, n + 4), SUMS_8(d, n + 6), SUMS_8(d, n + 8), \
    SUMS_8(d, n + 10), SUMS_8(d, n + 12), SUMS_8(d, n + 14)
#define SUM_NAMES_64 \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, " \
    "%22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, " \
    "%42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, " \
    "%62, %63"
#define SUM_NAMES_128 \
    SUM_NAMES_64 ", " \
    "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, " \
    "%84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, " \
    "%103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119, " \
    "%120, %121, %122, %123, %124, %125, %126, %127"
#define TILE_WORDS(T)                                                                                                \
    template <int N, bool LEFT_FAST, bool RIGHT_FAST>                                                                \
    static INLINE void tile_product(f32 (&d)[N / 8][4], const T *left, const T *right, int t)                        \
    {                                                                                                                \
        const u64 a = tile_matrix<LEFT_FAST>(left, t), b = tile_matrix<RIGHT_FAST>(right, t);                        \
        if constexpr (N == 256)                                                                                      \
            asm volatile("{ .reg .pred p;\n setp.ne.b32 p, %130, 0;\n wgmma.mma_async.sync.aligned.m64n256k16.f32."  \
                         #T "." #T " {" SUM_NAMES_128 "}, %128, %129, p, 1, 1, %131, %132;\n}"                       \
                         : SUMS_64(d, 0), SUMS_64(d, 16)                                                             \
                         : "l"(a), "l"(b), "r"(1), "n"(!LEFT_FAST), "n"(!RIGHT_FAST));                               \
        else                                                                                                         \
            asm volatile("{ .reg .pred p;\n setp.ne.b32 p, %66, 0;\n wgmma.mma_async.sync.aligned.m64n128k16.f32."   \
                         #T "." #T " {" SUM_NAMES_64 "}, %64, %65, p, 1, 1, %67, %68;\n}"                            \
                         : SUMS_64(d, 0)                                                                             \
                         : "l"(a), "l"(b), "r"(1), "n"(!LEFT_FAST), "n"(!RIGHT_FAST));                               \
    }
TILE_WORDS(bf16)
TILE_WORDS(f16)
#undef TILE_WORDS
#else
static INLINE void tiles_ready() {}
static INLINE void tiles_commit() {}
static INLINE void tiles_copied() {}
/* Nobody may write to a tile that others of the 128 threads still read. */
template <int K, int N> static INLINE void tiles_wait_but(f32 (&)[N][4]) {}
template <int N, bool LEFT_FAST, bool RIGHT_FAST, class T>
static INLINE void tile_product(f32 (&d)[N / 8][4], const T *left, const T *right, int t)
{
    const int row = WARP_OF_BLOCK % 4 * 16;
    u32       x[4], y[4];
    if constexpr (LEFT_FAST)
        load_matrices(x, left + tile_piece<true>(row + LANE % 16, t + LANE / 16 * 8));
    else
        load_matrices_transposed(x, left + tile_piece<false>(row + LANE / 8 % 2 * 8, t + LANE % 8 + LANE / 16 * 8));
    UNROLL for (int n = 0; n < N / 8; n += 2) {
        if constexpr (RIGHT_FAST)
            load_matrices(y, right + tile_piece<true>(n * 8 + LANE % 8 + LANE / 16 * 8, t + LANE / 8 % 2 * 8));
        else
            load_matrices_transposed(y, right + tile_piece<false>(n * 8 + LANE / 16 * 8, t + LANE % 16));
        matrix_product<T>(d[n], x, y[0], y[1]);
        matrix_product<T>(d[n + 1], x, y[2], y[3]);
    }
}
#endif
