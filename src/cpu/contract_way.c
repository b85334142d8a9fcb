/* Which way a contraction takes through the library of matrix products. */
#include "cpu/contract_way.h"

#include "base/saturate.h"

enum {
    TINY_PRODUCT = 512,   /* below this many multiply-adds a library call costs more */
    PLENTY_OF_BATCH = 32, /* with this many products all threads have work without splitting */
    SLIM_LONG = 32,       /* the least length of the other sides of a product with few columns, */
    TERMS_LONG = 64       /* and of one with few terms */
};

typedef struct sizes {
    mtf_dtype type; /* of the operands */
    int64_t   batch, m, n, k;
} sizes;

static bool is_small(const sizes *s)
{
    bool floats = s->type == MTF_F32 || s->type == MTF_F64 || s->type == MTF_BF16;
    return !floats || saturate_times(saturate_times(s->m, s->n), s->k) < TINY_PRODUCT;
}

static bool is_dot(const sizes *s)
{
    return s->m == 1 && s->n == 1;
}

static bool has_vector(const sizes *s)
{
    return s->m == 1 || s->n == 1;
}

static bool has_few_terms(const sizes *s)
{
    return !MTF_OWN_PRODUCTS && s->type == MTF_F32 && s->k <= MOST_TERMS && s->m >= TERMS_LONG &&
           s->n >= TERMS_LONG;
}

static bool is_slim(const sizes *s)
{
    int64_t few = s->m < s->n ? s->m : s->n, many = s->m < s->n ? s->n : s->m;
    return s->type == MTF_F32 && few <= SLIM_WIDE && many >= SLIM_LONG && s->k >= SLIM_LONG &&
           saturate_times(saturate_times(s->m, s->n), s->k) >= SLIM_WORK;
}

static bool has_tiles(const sizes *s)
{
    return MTF_OWN_PRODUCTS && s->type == MTF_F32;
}

static bool is_short(const sizes *s)
{
    return s->type == MTF_BF16;
}

static bool has_batch(const sizes *s)
{
    return s->batch >= PLENTY_OF_BATCH;
}

/* The first row whose condition holds; if none does, GEMM. */
static const struct {
    contract_way way;
    bool (*holds)(const sizes *s);
} rules[] = {{CONTRACT_PLAIN, is_small},  {CONTRACT_DOT, is_dot},
             {CONTRACT_GEMV, has_vector}, {CONTRACT_TERMS, has_few_terms},
             {CONTRACT_SLIM, is_slim},    {CONTRACT_TILED, has_tiles},
             {CONTRACT_SHORT, is_short},  {CONTRACT_BATCHED, has_batch}};

contract_way contract_way_of(const instr *i)
{
    int   m = i->nloops - 3;
    sizes s = {i->in[0].type, 1, i->size[m], i->size[m + 1], i->size[m + 2]};
    for (int l = 0; l < m; l++) s.batch *= i->size[l];
    for (size_t k = 0; k < sizeof rules / sizeof *rules; k++)
        if (rules[k].holds(&s)) return rules[k].way;
    return CONTRACT_GEMM;
}

const char *contract_way_name(contract_way way)
{
    static const char *const names[] = {
#define WAY(id, name, says) [CONTRACT_##id] = name,
        CONTRACT_WAYS(WAY)
#undef WAY
    };
    return names[way];
}
