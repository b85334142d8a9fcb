/* Layouts: which dimension is cut along which axes. */
#include "space/layout.h"

#include <string.h>

#include "space/pieces.h"

/* Where rules come from: the session, the mesh, the name of the option. */
typedef struct rule_source {
    mtf_session *session;
    const mesh  *mesh;
    const char  *option;
} rule_source;

static bool unknown_axis(const rule_source *from, const char *rule, const char *axis)
{
    const mesh *m = from->mesh;
    nearest     near = {.wanted = axis};
    char        hint[100], text[200] = "";
    for (int i = 0; i < m->naxes; i++) nearest_offer(&near, m->name[i]);
    for (int i = 0; i < m->naxes; i++) {
        if (i) strncat(text, ", ", sizeof text - strlen(text) - 1);
        strncat(text, m->name[i], sizeof text - strlen(text) - 1);
    }
    return fail(&from->session->fault, ERR_USAGE,
                "%s %s: the mesh has no axis \"%s\"; its axes are: %s%s", from->option, rule, axis,
                m->naxes ? text : "none", nearest_hint(&near, hint, sizeof hint));
}

/* Removes the mark from the end of a rule; false: it has none. */
static bool take_mark(char *piece, char mark)
{
    size_t n = strlen(piece);
    if (n == 0 || piece[n - 1] != mark) return false;
    piece[n - 1] = 0;
    return true;
}

static bool no_rule(const rule_source *from, const char *rule)
{
    return fail(
        &from->session->fault, ERR_USAGE,
        "%s: \"%s\" is not a layout rule; write dimension:axis, dimension:axis+axis or auto",
        from->option, rule);
}

/* A ? or ! that is left in a rule after those at its end were taken. */
static bool fail_mark(const rule_source *from, const char *piece, const layout_rule *r)
{
    char  mark = *strpbrk(piece, "?!"), *right = arena_text(&from->session->arena, r->text);
    char *to = right;
    TRY(right != NULL);
    if (mark == '?' ? r->optional : r->firm)
        return fail(&from->session->fault, ERR_USAGE, "%s %s: a rule ends in one %c at most",
                    from->option, r->text, mark);
    for (const char *c = r->text; *c; c++)
        if (*c != mark) *to++ = *c;
    *to = 0;
    return fail(&from->session->fault, ERR_USAGE, "%s %s: a rule has its %c at its end: %s%c",
                from->option, r->text, mark, right, mark);
}

/* dim:axis+axis, optionally with `?` or `!` or both at the end. */
static bool parse_rule(const rule_source *from, char *piece, layout_rule *r, bool *keep)
{
    mtf_session *s = from->session;
    r->text = arena_text(&s->arena, piece);
    TRY(r->text != NULL);
    r->firm = take_mark(piece, '!');
    r->optional = take_mark(piece, '?');
    if (!r->firm) r->firm = take_mark(piece, '!');
    if (strpbrk(piece, "?!")) return fail_mark(from, piece, r);
    char *colon = strchr(piece, ':');
    if (!colon || colon == piece || !colon[1] || strchr(colon + 1, ':'))
        return no_rule(from, r->text);
    *colon = 0;
    r->dim = piece;
    *keep = true;
    char *rest = colon + 1;
    for (char *axis; (axis = strsep(&rest, "+")) != NULL;) {
        if (!*axis)
            return fail(&s->fault, ERR_USAGE,
                        "%s %s: an axis is missing beside +; write dimension:axis+axis",
                        from->option, r->text);
        int a = mesh_axis(from->mesh, axis);
        if (a < 0 && r->optional) return !(*keep = false);
        if (a < 0) return unknown_axis(from, r->text, axis);
        if (cut_axes(&r->cut) >> a & 1)
            return fail(&s->fault, ERR_USAGE, "%s %s names axis \"%s\" twice", from->option,
                        r->text, axis);
        r->cut.axis[r->cut.n++] = (uint8_t)a;
    }
    return true;
}

/* Planning calls this for every dimension of every node, so it compares first letters before whole
 * names. */
static const layout_rule *find_rule(const layout_rule *rules, int n, const char *dim)
{
    for (int i = 0; i < n; i++) {
        const char *name = rules[i].dim;
        if (name == dim || (name[0] == dim[0] && strcmp(name, dim) == 0)) return &rules[i];
    }
    return NULL;
}

static bool parse_rules(const rule_source *from, const char *text, layout_rule **rules, int *n,
                        bool *asks)
{
    mtf_session *s = from->session;
    pieces       p = {.rest = arena_text(&s->arena, text ? text : "")};
    TRY(p.rest != NULL);
    *rules = arena_array(&s->arena, layout_rule, strlen(p.rest) / 2 + 1);
    TRY(*rules != NULL);
    for (char *piece; (piece = pieces_next(&p)) != NULL;) {
        bool        keep = false;
        layout_rule r = {0};
        if (strcmp(piece, "auto") == 0) {
            *asks = true;
            continue;
        }
        TRY(parse_rule(from, piece, &r, &keep));
        if (!keep) continue;
        const layout_rule *known = find_rule(*rules, *n, r.dim);
        if (known && !cut_equal(&known->cut, &r.cut))
            return fail(&s->fault, ERR_USAGE,
                        "%s: rules \"%s\" and \"%s\" contradict each other; write %s:axis+axis "
                        "to cut along both",
                        from->option, known->text, r.text, r.dim);
        if (!known) (*rules)[(*n)++] = r;
    }
    if (!p.missing) return true;
    return fail(&s->fault, ERR_USAGE,
                "%s %s: a rule is missing; write dimension:axis,dimension:axis", from->option,
                text);
}

static bool check_marks(mtf_session *s, const layout *l)
{
    for (int r = 0; r < l->nrules; r++)
        if (l->rules[r].firm)
            return fail(&s->fault, ERR_USAGE,
                        "--layout %s: only a rule of --state-layout can end in !",
                        l->rules[r].text);
    return true;
}

bool layout_parse(mtf_session *s, const char *text, const mesh *m, layout *l)
{
    *l = (layout){.mesh = m};
    return parse_rules(&(rule_source){s, m, "--layout"}, text, &l->rules, &l->nrules, &l->asks) &&
           check_marks(s, l);
}

bool layout_parse_state(mtf_session *s, const char *text, layout *l)
{
    return parse_rules(&(rule_source){s, l->mesh, "--state-layout"}, text, &l->state, &l->nstate,
                       &l->asks_state);
}

const layout_rule *layout_find(const layout *l, const char *dim)
{
    return find_rule(l->rules, l->nrules, dim);
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
            if (user[axis] && !f) return false;
            if (user[axis])
                return fail(f, ERR_USAGE,
                            "--layout: \"%s\" %s has two dimensions on axis \"%s\", by the rules "
                            "\"%s\" and "
                            "\"%s\"; leave one out, "
                            "or rename \"%s\" in this tensor",
                            what, shape_text(shape, text), l->mesh->name[axis], user[axis]->text,
                            r->text, shape->dims[i].name);
            user[axis] = r;
        }
    }
    return true;
}

bool layout_refine(const layout *l, const mtf_shape *shape, placement *where)
{
    unsigned used = placement_axes(where, shape->ndims);
    bool     finer = false;
    for (int r = 0; r < l->nstate; r++) {
        const axis_list *more = &l->state[r].cut;
        int              d = shape_find(shape, l->state[r].dim);
        if (d < 0 || cut_axes(more) & used || cut_parts(l->mesh, more) == 1) continue;
        for (int k = 0; k < more->n; k++) where->dim[d].axis[where->dim[d].n++] = more->axis[k];
        used |= cut_axes(more);
        finer = true;
    }
    return finer;
}
