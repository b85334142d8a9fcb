/* Opening a session: its device, mesh and rules are read at once.
 *
 * Errors in these are reported before the program builds a graph, reads data or
 * waits for other processes.  Only errors that depend on the model come later.
 */
#include "base/textbuf.h"
#include "run/devices.h"
#include "space/layout.h"
#include "space/shape.h"

static const char *mesh_as_text(mtf_session *s)
{
    const mtf_shape *m = &s->opts.mesh_shape;
    textbuf          t = {.arena = &s->arena};
    if (!shape_check(m, "mesh", &s->fault)) return NULL;
    for (int i = 0; i < m->ndims; i++)
        text_add(&t, "%s%s:%lld", i ? "," : "", m->dims[i].name, (long long)m->dims[i].size);
    return text_done(&t);
}

static const char *rules_as_text(mtf_session *s, const mtf_rule *rules)
{
    textbuf t = {.arena = &s->arena};
    for (const mtf_rule *r = rules; r && r->dim; r++) {
        text_add(&t, "%s%s", r == rules ? "" : ",", r->dim);
        for (int a = 0; a < 8 && r->axes[a]; a++) text_add(&t, "%s%s", a ? "+" : ":", r->axes[a]);
        text_add(&t, "%s%s", r->optional ? "?" : "", r->firm ? "!" : "");
    }
    return text_done(&t);
}

/* Converts options given as values and lists to text, so that one parser serves both. */
static bool put_in_words(mtf_session *s)
{
    mtf_session_opts *o = &s->opts;
    if (!o->mesh) o->mesh = mesh_as_text(s);
    if (!o->layout) o->layout = rules_as_text(s, o->rules);
    if (!o->state_layout) o->state_layout = rules_as_text(s, o->state_rules);
    return o->mesh && o->layout && o->state_layout;
}

/* A mesh that is still to be found has no names of axes yet, so rules cannot be checked. */
static void look(mtf_session *s)
{
    const mtf_session_opts *o = &s->opts;
    mesh                    m;
    layout                  l;
    if (!mtf_ok(s) || !put_in_words(s) || !mesh_parse(s, o->mesh, &m) || mesh_asks(&m)) return;
    if (layout_parse(s, o->layout, &m, &l)) layout_parse_state(s, o->state_layout, &l);
}

static mtf_session *opened(mtf_session *s)
{
    if (s && devices_use(s, s->opts.device)) look(s);
    return s;
}

mtf_session *mtf_open_with(const mtf_session_opts *opts)
{
    return opened(session_new(opts));
}

mtf_session *mtf_open(int argc, char **argv)
{
    return opened(session_new_from(argc, argv));
}
