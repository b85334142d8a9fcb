#include "cuda/write/grouped_form.h"

#include "base/dtype.h"
#include "base/whole.h"

grouped_form grouped_form_of(const instr *i, bool turned, bool joined)
{
    enum { ROWS, N, K };
    int            row = i->nloops - 3;
    const int64_t *size = i->size + row;
    bool           sums = i->grouped.sums;
    uint32_t       adds = 0;
    grouped_form   f = {0, 1, ROWS, N, K, size[ROWS], size[N], {0}, {0}};
    if (sums && turned) f = (grouped_form){1, 0, N, K, ROWS, size[N], size[K], {0}, {0}};
    if (sums && !turned) f = (grouped_form){0, 1, K, N, ROWS, size[K], size[N], {0}, {0}};
    for (int l = 0; l < row; l++)
        if (sums ? i->out[0].stride[l] == 0 : joined && i->in[1].stride[l] == 0)
            adds |= (uint32_t)1 << l;
    f.batch = nest_of(i, loops_between(0, row) & ~adds, NULL, 0);
    f.summed = nest_of(i, adds, NULL, 0);
    return f;
}

static int64_t magnitude(int64_t stride)
{
    return stride < 0 ? -stride : stride;
}

static void set_factor(kernel_text *k, const instr *i, int operand, const char *name,
                       const char *term, const char *fast, int lane_loop, int term_loop)
{
    const int64_t *stride = i->in[operand].stride + i->nloops - 3;
    kernel_set_number(k, name, stride[lane_loop]);
    kernel_set_number(k, term, stride[term_loop]);
    kernel_set_number(k, fast, magnitude(stride[term_loop]) < magnitude(stride[lane_loop]));
}

static void set_loops(kernel_text *k, const instr *i, const grouped_form *f)
{
    static const char *const names[] = {"A", "B", "ENDS"}, *const more[] = {"MOREA", "MOREB",
                                                                            "MOREENDS"};
    const int input[] = {f->left, f->right, 2};
    kernel_set_loops(k, "LOOPS", &f->batch, 'l', "number", 1);
    kernel_set_loops(k, "MORELOOPS", &f->summed, 'm', "more", 1);
    kernel_set_number(k, "SUMMED", f->summed.elements);
    kernel_set_offset(k, "OUT", &f->batch, 'l', &i->out[0]);
    kernel_set_offset(k, "MOREOUT", &f->summed, 'm', &i->out[0]);
    for (int o = 0; o < 3; o++) {
        kernel_set_offset(k, names[o], &f->batch, 'l', &i->in[input[o]]);
        kernel_set_offset(k, more[o], &f->summed, 'm', &i->in[input[o]]);
    }
}

int64_t grouped_set_words(kernel_text *k, const instr *i, const grouped_form *f, int tile_high,
                          int tile_wide)
{
    const grouped_args *how = &i->grouped;
    const int64_t      *size = i->size + i->nloops - 3, *out = i->out[0].stride + i->nloops - 3;
    int64_t             strips = ceil_div(f->wide, tile_wide), groups = how->groups;
    /* Each group, and the rows before and after all of them, may end with a tile that is not full. */
    int64_t rows = f->high * f->summed.elements;
    int64_t tiles = how->sums ? ceil_div(f->high, tile_high)
                              : kernel_least(rows, rows / tile_high + groups + 2);
    kernel_set(k, "T", "%s", kernel_type(i->in[0].type));
    kernel_set(k, "D", "%s", kernel_type(i->out[0].type));
    kernel_set_number(k, "ROWS", size[0]);
    kernel_set_number(k, "HIGH", f->high);
    kernel_set_number(k, "COLUMNS", f->wide);
    kernel_set_number(k, "TERMS", size[f->terms]);
    kernel_set_number(k, "GROUPS", groups);
    kernel_set_number(k, "APART", how->group_stride);
    kernel_set_number(k, "FIRSTGROUP", how->first_group);
    kernel_set_number(k, "FIRSTROW", how->first_row);
    kernel_set_number(k, "ENDSTEP", how->ends_stride);
    kernel_set_number(k, "OUTDOWN", out[f->down]);
    kernel_set_number(k, "OUTALONG", out[f->along]);
    kernel_set_number(k, "LEFTIN", f->left);
    kernel_set_number(k, "RIGHTIN", f->right);
    kernel_set_number(k, "STRIPS", strips);
    kernel_set_number(k, "TILES", tiles);
    set_factor(k, i, f->left, "LEFT", "LEFTTERM", "LEFTFAST", f->down, f->terms);
    set_factor(k, i, f->right, "RIGHT", "RIGHTTERM", "RIGHTFAST", f->along, f->terms);
    set_loops(k, i, f);
    return f->batch.elements * strips * tiles * (how->sums ? groups : 1);
}
