/* Copies, folds and running sums of the exact device. */
#include "verify/exact.h"

bool exact_move(exact *x, const instr *i)
{
    operand_view in = view_of(x, i, &i->in[0]), out = view_of(x, i, &i->out[0]);
    for (turns t = turns_begin(i, 0, i->nloops); !t.done; turns_next(&t))
        out.at[turns_offset(&t, &out)] = in.at[turns_offset(&t, &in)];
    return true;
}

bool exact_add_into(exact *x, const instr *i)
{
    operand_view in = view_of(x, i, &i->in[0]), out = view_of(x, i, &i->out[0]);
    for (turns t = turns_begin(i, 0, i->nloops); !t.done; turns_next(&t)) {
        cell *sum = &out.at[turns_offset(&t, &out)];
        *sum = exact_add(x, out.type, *sum, in.at[turns_offset(&t, &in)]);
    }
    return true;
}

/* The value, or the position, that the reduced loops come to. */
static cell fold_one(const exact *x, const instr *i, const operand_view *in, const cell *at)
{
    fold_kind kind = i->fold.kind;
    bool      largest = kind == FOLD_ARGMAX, position = largest || kind == FOLD_ARGMIN;
    cell      best = at[0], where = 0;
    int64_t   number = 0;
    turns     t = turns_begin(i, i->fold.nkept, i->nloops);
    for (turns_next(&t), number++; !t.done; turns_next(&t), number++) {
        cell next = at[turns_offset(&t, in)];
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
    for (turns t = turns_begin(i, 0, i->fold.nkept); !t.done; turns_next(&t))
        out.at[turns_offset(&t, &out)] = fold_one(x, i, &in, in.at + turns_offset(&t, &in));
    return true;
}

bool exact_scan(exact *x, const instr *i)
{
    const scan_args *how = &i->scan;
    operand_view     in = view_of(x, i, &i->in[0]), out = view_of(x, i, &i->out[0]);
    for (turns t = turns_begin(i, 0, i->nloops); !t.done; turns_next(&t)) {
        const cell *from = in.at + turns_offset(&t, &in);
        cell       *to = out.at + turns_offset(&t, &out), sum = 0;
        for (int64_t k = 0; k < how->along; k++) {
            int64_t at = how->reverse ? how->along - 1 - k : k;
            cell    before = sum;
            sum = exact_add(x, in.type, sum, from[at * how->in_stride * in.step]);
            to[at * how->out_stride * out.step] = how->exclusive ? before : sum;
        }
    }
    return true;
}
