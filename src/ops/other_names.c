/* What other libraries call operations. */
#include "ops/other_names.h"

#include <stddef.h>
#include <string.h>

#define LAYER                                                                                      \
    "; layers belong to the C interface and to configurations: in text write variables, einsum, "  \
    "..."
#define NEEDLESS "; it is not needed: operations match dimensions by name, and broadcast the others"
#define PRODUCT "; products of all kinds are einsum: the result's dimensions say which"
#define CONSTANT "; write a number, or constant(value=0) with a shape"

/* clang-format off */
static const struct {
    const char *name, *hint;
} others[] = {
    {"dense", LAYER}, {"linear", LAYER}, {"layer_norm", LAYER}, {"batch_norm", LAYER}, {"rms_norm", LAYER},
    {"embedding", LAYER}, {"lstm", LAYER}, {"multihead_attention", LAYER},
    {"dot", PRODUCT}, {"mm", PRODUCT}, {"bmm", PRODUCT}, {"tensordot", PRODUCT}, {"outer", PRODUCT},
    {"unsqueeze", NEEDLESS}, {"expand_dims", NEEDLESS}, {"expand", NEEDLESS}, {"tile", NEEDLESS},
    {"zeros", CONSTANT}, {"ones", CONSTANT}, {"full", CONSTANT},
    {"sum", "; did you mean \"reduce_sum\"?"},
    {"prod", "; did you mean \"reduce_prod\"?"},
    {"max", "; of a dimension it is reduce_max, of two tensors maximum"},
    {"min", "; of a dimension it is reduce_min, of two tensors minimum"},
    {"any", "; did you mean \"reduce_any\"?"},
    {"all", "; did you mean \"reduce_all\"?"},
    {"var", "; write reduce_mean(square(x - reduce_mean(x)))"},
    {"std", "; write sqrt(reduce_mean(square(x - reduce_mean(x))))"},
    {"norm", "; write sqrt(reduce_sum(square(x)))"},
    {"mse", "; write reduce_mean(square(a - b))"},
    {"mse_loss", "; write reduce_mean(square(a - b))"},
    {"l1_loss", "; write reduce_mean(abs(a - b))"},
    {"bce", "; write reduce_mean(softplus(z) - z * label) for logits z"},
    {"binary_cross_entropy", "; write reduce_mean(softplus(z) - z * label) for logits z"},
    {"cat", "; did you mean \"concat\"?"},
    {"view", "; did you mean \"reshape\"?"},
    {"flatten", "; did you mean \"reshape\"?"},
    {"squeeze", "; did you mean \"reshape\"?"},
    {"permute", "; did you mean \"transpose\"?"},
    {"repeat", "; did you mean \"broadcast\"?"},
    {"rand", "; did you mean \"random_uniform\"?"},
    {"randn", "; did you mean \"random_normal\"?"},
};
/* clang-format on */

const char *other_name_hint(const char *name)
{
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(name, others[i].name) == 0) return others[i].hint;
    return NULL;
}
