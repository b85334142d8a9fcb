/* Layouts: which dimension is cut along which axes. */
#include "space/layout.h"

#include <string.h>

static bool unknown_axis(mtf_session *s, const mesh *m, const char *rule, const char *axis)
{
    nearest near = {.wanted = axis};
    char    hint[100], text[200] = "";
    for (int i = 0; i < m->naxes; i++) nearest_offer(&near, m->name[i]);
    for (int i = 0; i < m->naxes; i++) {
        if (i) strncat(text, ", ", sizeof text - strlen(text) - 1);
        strncat(text, m->name[i], sizeof text - strlen(text) - 1);
    }
    return fail(&s->fault, ERR_NAME,
                "layout rule \"%s\": the mesh has no axis \"%s\"; its axes are: %s%s", rule, axis,
                m->naxes ? text : "none", nearest_hint(&near, hint, sizeof hint));
}

/* dim:axis+axis, with an optional `?` at the end. */
static bool parse_rule(mtf_session *s, char *piece, const mesh *m, layout_rule *r, bool *keep)
{
    r->text = arena_text(&s->arena, piece);
    TRY(r->text != NULL);
    size_t n = strlen(piece);
    if (n && piece[n - 1] == '?') {
        r->optional = true;
        piece[n - 1] = 0;
    }
    char *colon = strchr(piece, ':');
    if (!colon || colon == piece || !colon[1] || strchr(colon + 1, ':'))
        return fail(&s->fault, ERR_SYNTAX,
                    "\"%s\" is no layout rule; write dimension:axis or dimension:axis+axis",
                    r->text);
    *colon = 0;
    r->dim = piece;
    *keep = true;
    char *rest = colon + 1;
    for (char *axis; (axis = strtok_r(rest, "+", &rest));) {
        int a = mesh_axis(m, axis);
        if (a < 0 && r->optional) return !(*keep = false);
        if (a < 0) return unknown_axis(s, m, r->text, axis);
        if (cut_axes(&r->cut) >> a & 1)
            return fail(&s->fault, ERR_NAME, "layout rule \"%s\" names axis \"%s\" twice", r->text,
                        axis);
        r->cut.axis[r->cut.n++] = (uint8_t)a;
    }
    return true;
}

bool layout_parse(mtf_session *s, const char *text, const mesh *m, layout *l)
{
    *l = (layout){.mesh = m};
    char *rest = arena_text(&s->arena, text ? text : "");
    TRY(rest != NULL);
    l->rules = arena_array(&s->arena, layout_rule, strlen(rest) / 2 + 1);
    TRY(l->rules != NULL);
    for (char *piece; (piece = strtok_r(rest, ",.; \t\n", &rest));) {
        bool        keep = false;
        layout_rule r = {0};
        TRY(parse_rule(s, piece, m, &r, &keep));
        if (!keep) continue;
        const layout_rule *known = layout_find(l, r.dim);
        if (known && !cut_equal(&known->cut, &r.cut))
            return fail(&s->fault, ERR_NAME,
                        "layout rules \"%s\" and \"%s\" contradict each other; write %s:axis+axis "
                        "to cut along both",
                        known->text, r.text, r.dim);
        if (!known) l->rules[l->nrules++] = r;
    }
    return true;
}

/* Planning asks this for every dimension of every node: most names differ in their first letter. */
const layout_rule *layout_find(const layout *l, const char *dim)
{
    for (int i = 0; i < l->nrules; i++) {
        const char *name = l->rules[i].dim;
        if (name == dim || (name[0] == dim[0] && strcmp(name, dim) == 0)) return &l->rules[i];
    }
    return NULL;
}

bool layout_place(const layout *l, const mtf_shape *shape, const char *what, fault *f,
                  placement *where)
{
    const layout_rule *user[MAX_AXES] = {0};
    *where = (placement){0};
    for (int i = 0; i < shape->ndims; i++) {
        const layout_rule *r = layout_find(l, shape->dims[i].name);
        if (!r) continue;
        where->dim[i] = r->cut;
        for (int k = 0; k < r->cut.n; k++) {
            int  axis = r->cut.axis[k];
            char text[SHAPE_TEXT];
            if (user[axis])
                return fail(f, ERR_SHAPE,
                            "\"%s\" %s has two dimensions on axis \"%s\", by the rules \"%s\" and "
                            "\"%s\"; leave one out, "
                            "or rename \"%s\" in this tensor",
                            what, shape_text(shape, text), l->mesh->name[axis], user[axis]->text,
                            r->text, shape->dims[i].name);
            user[axis] = r;
        }
    }
    return true;
}
