/* Attention masks: numbers added to logits to hide positions. */
#include "nn/masks.h"

/* -1e9 where `hidden`, else 0; f16 has no such number. */
mtf_tensor *mask_hide(mtf_tensor *hidden, mtf_dtype type)
{
    return mtf_scale(mtf_cast(hidden, type), type == MTF_F16 ? -6e4 : -1e9);
}

mtf_tensor *mtf_rename_length_to_memory_length(mtf_tensor *x)
{
    mtf_dim length;
    if (!graph_of(x) || !layer_last(x, "rename_length_to_memory_length", 0, &length)) return NULL;
    if (mtf_shape_find(x->shape, "length") >= 0) length.name = "length";
    return mtf_rename_dimension(x, length.name, "memory_length");
}

mtf_tensor *mtf_attention_mask_ignore_padding(mtf_tensor *inputs, mtf_dtype type)
{
    mtf_graph  *g = graph_of(inputs);
    mtf_tensor *memory = mtf_rename_length_to_memory_length(inputs);
    if (!memory) return NULL;
    return mask_hide(mtf_equal(memory, mtf_constant(g, 0, memory->type, mtf_shape())), type);
}

mtf_tensor *mtf_attention_mask_autoregressive(mtf_tensor *positions, mtf_dtype type)
{
    return mask_hide(mtf_less(positions, mtf_rename_length_to_memory_length(positions)), type);
}

mtf_tensor *mtf_attention_mask_same_segment(mtf_tensor *query_segment, mtf_tensor *memory_segment,
                                            mtf_dtype type)
{
    if (!memory_segment) memory_segment = query_segment;
    mtf_tensor *memory = mtf_shape_find(mtf_shape_of_tensor(memory_segment), "memory_length") >= 0
                             ? memory_segment
                             : mtf_rename_length_to_memory_length(memory_segment);
    return mask_hide(mtf_not_equal(query_segment, memory), type);
}

/* ---- a block and those before it ---- */

mtf_tensor *mtf_attention_bias_local_block(mtf_graph *g, mtf_dim own, mtf_dim memory,
                                           mtf_dtype type)
{
    if (!g || !mtf_ok(g->session)) return NULL;
    memory.size = 2 * own.size;
    mtf_tensor *query = mtf_add_scalar(mtf_range(g, own, MTF_I32), (double)own.size);
    return mask_hide(mtf_greater(mtf_range(g, memory, MTF_I32), query), type);
}

/* Where the memory is later than the query inside the block itself: a later row, or the same row and
 * a later column.  The blocks above and to the left come first in the image. */
mtf_tensor *mtf_attention_bias_local_2d_block(mtf_graph *g, mtf_dim h, mtf_dim w, mtf_dim memory_h,
                                              mtf_dim memory_w, mtf_dtype type)
{
    if (!g || !mtf_ok(g->session)) return NULL;
    memory_h.size = 2 * h.size;
    memory_w.size = 2 * w.size;
    mtf_tensor *row = mtf_add_scalar(mtf_range(g, h, MTF_I32), (double)h.size);
    mtf_tensor *column = mtf_add_scalar(mtf_range(g, w, MTF_I32), (double)w.size);
    mtf_tensor *memory_row = mtf_range(g, memory_h, MTF_I32);
    mtf_tensor *memory_column = mtf_range(g, memory_w, MTF_I32);
    mtf_tensor *own_row =
        mtf_greater_equal(memory_row, mtf_constant(g, (double)h.size, MTF_I32, mtf_shape()));
    mtf_tensor *own_column =
        mtf_greater_equal(memory_column, mtf_constant(g, (double)w.size, MTF_I32, mtf_shape()));
    mtf_tensor *later = mtf_logical_or(
        mtf_greater(memory_row, row),
        mtf_logical_and(mtf_equal(memory_row, row), mtf_greater(memory_column, column)));
    mtf_tensor *hidden = mtf_logical_and(mtf_logical_and(own_row, own_column), later);
    return mtf_transpose(mask_hide(hidden, type), mtf_shape(h, w, memory_h, memory_w));
}
