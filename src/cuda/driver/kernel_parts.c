/* Kernels shared out among compilations that run side by side.
 *
 * How long the compiler takes for a kernel is guessed from its text.  The longest ones
 * come first, each goes to the part that has the least so far.
 */
#include "cuda/driver/kernel_parts.h"

#include <stdlib.h>
#include <string.h>

#include "cuda/write/prelude_assets.h"

enum {
    PART_WORTH = 2000, /* characters of kernels that take longer than the prelude once more */
    /* Text that calls a long function, which the compiler unrolls, counts as several times as long. */
    LONG_CALL = 4,
};

typedef struct shared_kernel {
    const char *text;
    size_t      bytes, cost;
    int         number; /* in the whole text */
} shared_kernel;

/* ---- what stands before kernels ---- */

/* Word of the kernels of attention. */
static const char attends_word[] = "attention_";

/* The prelude, then what only some kernels are written in: those whose text has the word. */
static const struct {
    const unsigned char *bytes;
    const size_t        *size;
    const char          *word;
} before[] = {
    {asset_prelude, &asset_prelude_bytes, ""},
    {asset_tiles, &asset_tiles_bytes, "tile_product"},
    {asset_attention, &asset_attention_bytes, attends_word},
    {asset_attention_grad, &asset_attention_grad_bytes, attends_word},
    {asset_attention_matrix, &asset_attention_matrix_bytes, attends_word},
    {asset_attention_matrix_forward, &asset_attention_matrix_forward_bytes, attends_word},
    {asset_attention_matrix_grad, &asset_attention_matrix_grad_bytes, attends_word},
    {asset_attention_matrix_bias, &asset_attention_matrix_bias_bytes, attends_word},
    {asset_attention_slim, &asset_attention_slim_bytes, attends_word},
};
enum { BEFORE = sizeof before / sizeof *before };

const void *kernel_before(int k, size_t *bytes)
{
    if (k >= BEFORE) return NULL;
    *bytes = *before[k].size;
    return before[k].bytes;
}

/* ---- a text as kernels ---- */

static const char kernel_word[] = "\nKERNEL ";

static int count_kernels(const char *text)
{
    int n = 1;
    for (const char *at = text; (at = strstr(at, kernel_word)); at++) n++;
    return n;
}

static bool has(const shared_kernel *k, const char *word)
{
    return memmem(k->text, k->bytes, word, strlen(word)) != NULL;
}

static bool attends(const shared_kernel *k)
{
    return has(k, attends_word);
}

static shared_kernel kernel_at(const char *text, int number)
{
    const char   *next = strstr(text, kernel_word);
    shared_kernel k = {.text = text, .number = number};
    k.bytes = next ? (size_t)(next + 1 - text) : strlen(text);
    k.cost = k.bytes * (attends(&k) || has(&k, "philox_") ? LONG_CALL : 1);
    return k;
}

/* The longest first; equal ones in the order of the text. */
static int by_cost(const void *x, const void *y)
{
    const shared_kernel *a = x, *b = y;
    if (a->cost != b->cost) return a->cost < b->cost ? 1 : -1;
    return a->number - b->number;
}

/* ---- parts ---- */

static size_t put_bytes(char *to, size_t at, const void *from, size_t bytes)
{
    if (to) memcpy(to + at, from, bytes);
    return at + bytes;
}

/* The text of a part; its length with a zero byte. */
static size_t put_part(char *to, const shared_kernel *kernels, const int *part_of, int n, int part)
{
    size_t at = 0;
    for (int b = 0; b < BEFORE; b++) {
        bool wanted = false;
        for (int k = 0; k < n && !wanted; k++)
            wanted = part_of[k] == part && has(&kernels[k], before[b].word);
        if (wanted) at = put_bytes(to, at, before[b].bytes, *before[b].size);
    }
    for (int k = 0; k < n; k++)
        if (part_of[k] == part) at = put_bytes(to, at, kernels[k].text, kernels[k].bytes);
    return put_bytes(to, at, "", 1);
}

/* The longest kernel takes its time, however few the others' parts have: half as much is little enough. */
static int parts_worth(const shared_kernel *kernels, int n, int most)
{
    size_t whole = 0, each = kernels[0].cost / 2;
    if (each < PART_WORTH) each = PART_WORTH;
    for (int k = 0; k < n; k++) whole += kernels[k].cost;
    whole /= each;
    most = n < most ? n : most;
    return whole < 1 ? 1 : whole < (size_t)most ? (int)whole : most;
}

/* costs[p]: of what part p has. */
static void share_out(const shared_kernel *kernels, int n, int parts, size_t *costs, int *part_of)
{
    for (int k = 0; k < n; k++) {
        int least = 0;
        for (int p = 1; p < parts; p++)
            if (costs[p] < costs[least]) least = p;
        part_of[k] = least;
        costs[least] += kernels[k].cost;
    }
}

int kernel_parts_of(const char *text, int most, arena *a, char *parts[])
{
    int            n = count_kernels(text);
    shared_kernel *kernels = arena_array(a, shared_kernel, n);
    int           *part_of = arena_array(a, int, n);
    size_t        *costs = arena_array(a, size_t, most);
    if (!kernels || !part_of || !costs) return 0;
    for (int k = 0; k < n; text += kernels[k++].bytes) kernels[k] = kernel_at(text, k);
    qsort(kernels, (size_t)n, sizeof *kernels, by_cost);
    int count = parts_worth(kernels, n, most);
    share_out(kernels, n, count, costs, part_of);
    for (int p = 0; p < count; p++) {
        size_t bytes = put_part(NULL, kernels, part_of, n, p);
        if (!(parts[p] = block_alloc(a->from, a->fault, bytes, false))) return 0;
        put_part(parts[p], kernels, part_of, n, p);
    }
    return count;
}
