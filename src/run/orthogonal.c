/* Random matrices with orthonormal rows or columns.
 *
 * The Q of the QR decomposition of a normal random matrix, with a positive
 * diagonal of R: it is uniformly distributed over all such matrices.  No part
 * of it can be computed alone, so each processor computes the whole matrix.
 */
#include "run/orthogonal.h"

#include <math.h>

/* The number at a position, as docs/random.md draws normal numbers in f64. */
static double normal_at(philox_stream s, uint64_t position)
{
    philox_block b = philox_at(s, position);
    uint64_t     first = (uint64_t)b.word[0] << 32 | b.word[1];
    uint64_t     second = (uint64_t)b.word[2] << 32 | b.word[3];
    double       p = (double)(first >> 11) * 0x1p-53, q = (double)(second >> 11) * 0x1p-53;
    return sqrt(-2 * log(1 - p)) * cos(6.283185307179586 * q);
}

static double dot(const double *a, const double *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* Subtracts from v its projections onto the first `count` vectors; twice, because one pass leaves
 * rounding errors. */
static void make_orthogonal(double *v, const double *vectors, int64_t count, int64_t length)
{
    for (int round = 0; round < 2; round++)
        for (int64_t k = 0; k < count; k++) {
            const double *u = vectors + k * length;
            double        along = dot(u, v, length);
            for (int64_t i = 0; i < length; i++) v[i] -= along * u[i];
        }
}

bool orthogonal_fill(arena *scratch, philox_stream from, int64_t rows, int64_t cols, double gain,
                     double *out)
{
    int64_t length = rows > cols ? rows : cols, count = rows > cols ? cols : rows;
    double *vectors = arena_array(scratch, double, length *count); /* [count, length] */
    if (!vectors) return false;
    for (int64_t k = 0; k < count; k++) {
        double *v = vectors + k * length;
        for (int64_t i = 0; i < length; i++) v[i] = normal_at(from, (uint64_t)(i * count + k));
        make_orthogonal(v, vectors, k, length);
        double size = sqrt(dot(v, v, length));
        for (int64_t i = 0; i < length; i++) v[i] /= size;
    }
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < cols; c++)
            out[r * cols + c] =
                gain * (rows > cols ? vectors[c * length + r] : vectors[r * length + c]);
    return true;
}
