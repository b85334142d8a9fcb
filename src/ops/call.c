/* Helpers for composites and for ops with a dimension as attribute. */
#include "ops/call.h"

bool call_dim(const op *o, const mtf_tensor *x, const char *name, mtf_dim *dim)
{
    *dim = (mtf_dim){0};
    if (!graph_of(x)) return false;
    if (!name) name = "";
    *dim = mtf_shape_dim(x->shape, name);
    if (dim->name) return true;
    char    text[SHAPE_TEXT], hint[100];
    nearest near = {.wanted = name};
    for (int i = 0; i < x->shape.ndims; i++) nearest_offer(&near, x->shape.dims[i].name);
    return fail(&x->node->graph->session->fault, ERR_SHAPE,
                "%s: \"%s\" %s has no dimension \"%s\"%s", o->name, tensor_name(x),
                shape_text(&x->shape, text), name, nearest_hint(&near, hint, sizeof hint));
}

bool call_positions(const op *o, mtf_graph *g, int64_t elements)
{
    if (elements <= (int64_t)INT32_MAX + 1) return true;
    return fail(&g->session->fault, ERR_SHAPE,
                "%s: its positions are i32, at most 2147483647, and there are %lld elements; take "
                "parts of them",
                o->name, (long long)elements);
}

bool call_attr_dim(const op_call *c, int which, mtf_dim *dim)
{
    return call_dim(c->op, c->in[0], c->attrs[which].text, dim);
}

bool call_targets(const char *loss, const mtf_tensor *logits, const mtf_tensor *targets,
                  mtf_shape wanted)
{
    char a[SHAPE_TEXT], b[SHAPE_TEXT];
    if (wanted.ndims == targets->shape.ndims &&
        mtf_shape_minus(wanted, targets->shape).ndims == 0 &&
        shape_within(&targets->shape, &wanted))
        return true;
    return fail(&logits->node->graph->session->fault, ERR_SHAPE,
                "%s: the targets \"%s\" are %s; with the logits \"%s\" they must be %s", loss,
                tensor_name(targets), shape_text(&targets->shape, a), tensor_name(logits),
                shape_text(&wanted, b));
}
