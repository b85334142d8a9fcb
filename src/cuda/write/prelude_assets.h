/* Files of kernels and their patterns, as bytes; made by cmake/embed.cmake. */
#ifndef CUDA_WRITE_PRELUDE_ASSETS_H
#define CUDA_WRITE_PRELUDE_ASSETS_H

#include <stddef.h>

/* What stands before kernels. */
extern const unsigned char asset_prelude[], asset_scalars[], asset_attention[],
    asset_attention_grad[], asset_attention_matrix[], asset_attention_matrix_forward[],
    asset_attention_matrix_grad[], asset_attention_matrix_bias[], asset_attention_slim[],
    asset_tiles[];
extern const size_t asset_prelude_bytes, asset_scalars_bytes, asset_attention_bytes,
    asset_attention_grad_bytes, asset_attention_matrix_bytes, asset_attention_matrix_forward_bytes,
    asset_attention_matrix_grad_bytes, asset_attention_matrix_bias_bytes,
    asset_attention_slim_bytes, asset_tiles_bytes;

/* What they are written from (kernel_text.h). */
extern const unsigned char asset_contract[], asset_draw[], asset_fold[], asset_gather[],
    asset_grouped[], asset_grouped_matrix[], asset_grouped_tiles[], asset_move[], asset_order[],
    asset_scan[], asset_scatter[], asset_slim[], asset_sort[], asset_window[];
extern const size_t asset_contract_bytes, asset_draw_bytes, asset_fold_bytes, asset_gather_bytes,
    asset_grouped_bytes, asset_grouped_matrix_bytes, asset_grouped_tiles_bytes, asset_move_bytes,
    asset_order_bytes, asset_scan_bytes, asset_scatter_bytes, asset_slim_bytes, asset_sort_bytes,
    asset_window_bytes;

#endif
