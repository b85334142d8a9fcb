/* Kinds of layers: the list of them. */
#include "model/transformer/layer_kind.h"

#define LAYER_KIND_LIST(number, name) [number] = &(name),
static const layer_kind *const kinds[] = {LAYER_KINDS(LAYER_KIND_LIST)};

const layer_kind *layer_kind_of(mtf_layer_kind kind)
{
    size_t k = (size_t)kind;
    return k < sizeof kinds / sizeof *kinds ? kinds[k] : NULL;
}

const char *layer_class_name(const mtf_transformer_layer *l)
{
    const layer_kind *k = layer_kind_of(l->kind);
    return k->name_by ? k->name_by(l) : k->name;
}

bool layer_attends_to_encoder(const mtf_transformer_layer *l)
{
    const layer_kind *k = layer_kind_of(l->kind);
    return k->attends_to_encoder ? k->attends_to_encoder(l) : k->keep != NULL;
}

bool layer_has_experts(const mtf_transformer_layer *l)
{
    const layer_kind *k = layer_kind_of(l->kind);
    return k->has_experts && k->has_experts(l);
}

bool layer_asks_places(const mtf_transformer_layer *l)
{
    const layer_kind *k = layer_kind_of(l->kind);
    return k->asks_places && k->asks_places(l);
}

const mtf_transparent *layer_transparent(const mtf_transformer_layer *l)
{
    const layer_kind *k = layer_kind_of(l->kind);
    return k->transparent ? k->transparent(l) : NULL;
}

bool layer_complete(mtf_session *s, mtf_transformer_layer *l)
{
    const layer_kind *k = layer_kind_of(l->kind);
    if (!k) return fail(&s->fault, ERR_VALUE, "there is no kind %d of layers", (int)l->kind);
    if (!l->name) l->name = layer_class_name(l);
    return k->complete(s, l);
}

bool check_share(fault *f, const char *what, double x)
{
    return (x >= 0 && x < 1) ||
           fail(f, ERR_VALUE, "%s is %g; it must be from 0 up to, not including, 1", what, x);
}
