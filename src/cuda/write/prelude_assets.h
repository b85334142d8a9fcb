/* Files that stand before kernels, as bytes; made by cmake/embed.cmake. */
#ifndef CUDA_WRITE_PRELUDE_ASSETS_H
#define CUDA_WRITE_PRELUDE_ASSETS_H

#include <stddef.h>

extern const unsigned char asset_prelude[], asset_scalars[], asset_attention[],
    asset_attention_grad[], asset_attention_matrix[], asset_attention_matrix_forward[],
    asset_attention_matrix_grad[], asset_attention_matrix_bias[], asset_attention_slim[];
extern const size_t asset_prelude_bytes, asset_scalars_bytes, asset_attention_bytes,
    asset_attention_grad_bytes, asset_attention_matrix_bytes, asset_attention_matrix_forward_bytes,
    asset_attention_matrix_grad_bytes, asset_attention_matrix_bias_bytes, asset_attention_slim_bytes;

#endif
