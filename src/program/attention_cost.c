/* Attention instructions: visible pairs, flops, operands. */
#include "program/attention_cost.h"

#include "base/saturate.h"

bool attention_within_index(const attention_args *a)
{
    return a->at[ATTENTION_READ] < 0 && a->at[ATTENTION_WRITE] < 0;
}

bool attention_by_index(const attention_args *a)
{
    return attention_within_index(a) && a->at[ATTENTION_QUERY_SEGMENT] < 0;
}

bool attention_is_plain(const instr *i)
{
    const attention_args *a = i->attention;
    return attention_by_index(a) && a->at[ATTENTION_BIAS] < 0 && a->dropout == 0 && !a->parts;
}

static int64_t between(int64_t low, int64_t x, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

span attention_seen(const attention_args *a, int64_t query)
{
    int64_t here = a->first_query + query - a->first_memory; /* the query's own position */
    int64_t begin = between(0, here + a->min, a->memory);
    int64_t end = between(begin, here + a->max + 1, a->memory);
    return (span){begin, end - begin};
}

static int64_t attention_pairs(const instr *i)
{
    const attention_args *a = i->attention;
    int64_t               rows = instr_elements(i), queries = a->query < 0 ? 1 : i->size[a->query];
    int64_t               seen = 0;
    if (rows == 0) return 0;
    if (!attention_within_index(a)) return saturate_times(rows, a->memory);
    for (int64_t q = 0; q < queries; q++) seen = saturate_plus(seen, attention_seen(a, q).size);
    return saturate_times(seen, rows / queries);
}

/* Besides the products: the maximum, the difference, its exponential, the sum. */
int64_t attention_pair_flops(const instr *i)
{
    const attention_args *a = i->attention;
    bool                  grad = i->kind == INSTR_ATTENTION_GRAD;
    return grad ? 6 * a->key + 4 * a->value + 12 : 2 * a->key + 2 * a->value + 12;
}

int64_t attention_flops(const instr *i)
{
    return saturate_times(attention_pairs(i), attention_pair_flops(i));
}

/* ---- operands ---- */

/* The outputs of the gradient have the shapes of its inputs q, k, v, bias; those of attention the
 * shapes of dy, lse. */
static attention_operand role_of(const instr *i, int operand)
{
    static const attention_operand grads[] = {ATTENTION_Q, ATTENTION_K, ATTENTION_V,
                                              ATTENTION_BIAS};
    if (operand < i->nout && i->kind == INSTR_ATTENTION_GRAD) return grads[operand];
    if (operand < i->nout) return operand == 0 ? ATTENTION_DY : ATTENTION_LSE;
    for (int r = 0; r < ATTENTION_OPERANDS; r++)
        if (i->attention->at[r] == operand - i->nout) return (attention_operand)r;
    return ATTENTION_OPERANDS; /* a loop's iteration number */
}

static int64_t step_of(const instr *i, int operand)
{
    attention_operand role = role_of(i, operand);
    if (role == ATTENTION_OPERANDS) return 0;
    if (operand < i->nout) return i->attention->out_step[operand];
    return i->attention->step[role];
}

bool attention_lies_along(const instr *i, int operand)
{
    attention_operand role = role_of(i, operand);
    return role == ATTENTION_K || role == ATTENTION_V || role == ATTENTION_WRITE ||
           role == ATTENTION_MEMORY_SEGMENT || (role == ATTENTION_BIAS && step_of(i, operand) != 0);
}

/* The number of elements of each row, or of each position of the memory. */
static int64_t wide(const instr *i, attention_operand role)
{
    const attention_args *a = i->attention;
    if (role == ATTENTION_Q || role == ATTENTION_K) return a->key;
    return role == ATTENTION_V || role == ATTENTION_DY || role == ATTENTION_Y ? a->value : 1;
}

int64_t attention_operand_elements(const instr *i, int operand, int64_t rows)
{
    const attention_args *a = i->attention;
    attention_operand     role = role_of(i, operand);
    int64_t               n = saturate_times(rows, wide(i, role));
    if (role == ATTENTION_BIAS && a->relative && a->query >= 0 && i->size[a->query] > 0)
        return saturate_times(n / i->size[a->query], i->size[a->query] + a->memory - 1);
    return attention_lies_along(i, operand) ? saturate_times(n, a->memory) : n;
}

int64_t attention_reach(const instr *i, int operand)
{
    int64_t along = (i->attention->memory - 1) * step_of(i, operand);
    return (attention_lies_along(i, operand) ? along : 0) + wide(i, role_of(i, operand)) - 1;
}
