/* Copies, folds and running sums of the exact device. */
#include "verify/exact.h"

bool exact_move(exact *x, const instr *i)
{
    operand_view in = view_of(x, i, &i->in[0]), out = view_of(x, i, &i->out[0]);
    for (iterations t = iterations_begin(i, 0, i->nloops, &in, &out, NULL); !t.done;
         iterations_next(&t))
        out.at[t.at[1]] = in.at[t.at[0]];
    return true;
}

bool exact_add_into(exact *x, const instr *i)
{
    operand_view in = view_of(x, i, &i->in[0]), out = view_of(x, i, &i->out[0]);
    for (iterations t = iterations_begin(i, 0, i->nloops, &in, &out, NULL); !t.done;
         iterations_next(&t))
        out.at[t.at[1]] = exact_add(out.type, out.at[t.at[1]], in.at[t.at[0]]);
    return true;
}

/* The result of the reduced loops: a value, or a position. */
static cell fold_one(const exact *x, const instr *i, const operand_view *in, const cell *at)
{
    fold_kind  kind = i->fold.kind;
    bool       largest = kind == FOLD_ARGMAX, position = largest || kind == FOLD_ARGMIN;
    cell       best = at[0], where = 0;
    int64_t    number = 0;
    iterations t = iterations_begin(i, i->fold.nkept, i->nloops, in, NULL, NULL);
    for (iterations_next(&t), number++; !t.done; iterations_next(&t), number++) {
        cell next = at[t.at[0]];
        if (!position) {
            best = exact_combine(x, kind, in->type, best, next);
            continue;
        }
        int64_t mine = exact_order(x, in->type, next), held = exact_order(x, in->type, best);
        if (largest ? mine > held : mine < held) best = next, where = (cell)number;
    }
    return position ? where : best;
}

bool exact_fold(exact *x, const instr *i)
{
    operand_view in = view_of(x, i, &i->in[0]), out = view_of(x, i, &i->out[0]);
    for (iterations t = iterations_begin(i, 0, i->fold.nkept, &in, &out, NULL); !t.done;
         iterations_next(&t))
        out.at[t.at[1]] = fold_one(x, i, &in, in.at + t.at[0]);
    return true;
}

bool exact_scan(exact *x, const instr *i)
{
    const scan_args *how = &i->scan;
    operand_view     in = view_of(x, i, &i->in[0]), out = view_of(x, i, &i->out[0]);
    for (iterations t = iterations_begin(i, 0, i->nloops, &in, &out, NULL); !t.done;
         iterations_next(&t)) {
        const cell *from = in.at + t.at[0];
        cell       *to = out.at + t.at[1], sum = 0;
        for (int64_t k = 0; k < how->along; k++) {
            int64_t at = how->reverse ? how->along - 1 - k : k;
            cell    before = sum;
            sum = exact_add(in.type, sum, from[at * how->in_stride * in.step]);
            to[at * how->out_stride * out.step] = how->exclusive ? before : sum;
        }
    }
    return true;
}
