/* Models that configurations describe, for tests. */
#include "config_models.h"

/* last */
#include "ground.h"

opened open_config(const mtf_config_opts *o, int64_t vocab)
{
    opened r = {.session = mtf_open_with(NULL)};
    r.config = mtf_config_open(r.session, o);
    if (!r.config || !mtf_config_get_run(r.config, &r.run) ||
        !mtf_config_get_model(r.config, vocab, vocab, &r.model) || !mtf_config_finish(r.config))
        fail_msg("%s", mtf_error(r.session));
    return r;
}

opened open_names(const char *first, const char *second, const char *parameter, int64_t vocab)
{
    return open_config(&(mtf_config_opts){.files = (const char *const[]){first, second, NULL},
                                          .params = (const char *const[]){parameter, NULL}},
                       vocab);
}

opened open_tiny(const char *lines)
{
    return open_names("tiny", NULL, lines, TINY_VOCAB);
}

void refuse_tiny(const char *lines, const char *piece)
{
    mtf_session     *s = mtf_open_with(NULL);
    mtf_config_run   run;
    mtf_config_model m;
    mtf_config      *c =
        mtf_config_open(s, &(mtf_config_opts){.files = (const char *const[]){"tiny", NULL},
                                              .params = (const char *const[]){lines, NULL}});
    bool ok = c && mtf_config_get_run(c, &run) &&
              mtf_config_get_model(c, TINY_VOCAB, TINY_VOCAB, &m) &&
              mtf_transformer_new(s, &m.model);
    if (ok) fail_msg("%s: it is accepted", lines);
    assert_contains(mtf_error(s), piece);
    mtf_close(s);
}

int count_warnings(const mtf_config *c)
{
    const mtf_config_note *notes;
    int                    n = mtf_config_notes(c, &notes), warnings = 0;
    for (int k = 0; k < n; k++) {
        if (notes[k].warning) printf("%s\n", notes[k].text);
        warnings += notes[k].warning;
    }
    return warnings;
}

mtf_graph *build(const opened *o)
{
    mtf_graph             *g = mtf_graph_new(o->session);
    mtf_shape              ids = mtf_shape((mtf_dim){"batch", 1}, (mtf_dim){"length", 4});
    mtf_transformer       *m = mtf_transformer_new(o->session, &o->model.model);
    mtf_tensor            *inputs = mtf_input(g, "inputs", MTF_I32, ids);
    mtf_tensor            *targets = mtf_input(g, "targets", MTF_I32, ids);
    mtf_transformer_batch  b = {.inputs = inputs, .targets = targets};
    mtf_transformer_call   how = {.training = true};
    mtf_transformer_result r;
    if (o->model.teacher.stack.layers) {
        mtf_transformer *teacher = mtf_transformer_new(o->session, &o->model.teacher);
        r = mtf_transformer_distill(m, teacher, &b, &how, &o->model.distill);
    } else
        r = mtf_transformer_apply(m, &b, &how);
    if (!r.loss) fail_msg("%s", mtf_error(o->session));
    return g;
}

enum { MOST = 4096 };

static int64_t elements(const mtf_tensor *t)
{
    int64_t n = 1;
    for (int k = 0; k < t->shape.ndims; k++) n *= t->shape.dims[k].size;
    return n;
}

int64_t count_parameters(mtf_graph *g)
{
    static mtf_tensor *list[MOST];
    int                n = mtf_variables(g, list, MOST);
    int64_t            sum = 0;
    assert_true(n > 0 && n <= MOST);
    for (int k = 0; k < n; k++) sum += elements(list[k]);
    return sum;
}

void check_shape(mtf_graph *g, const char *name, int64_t a, int64_t b)
{
    static mtf_tensor *list[MOST];
    int                n = mtf_variables(g, list, MOST);
    for (int k = 0; k < n; k++) {
        if (strcmp(tensor_name(list[k]), name) != 0) continue;
        assert_int_equal(list[k]->shape.dims[0].size, a);
        assert_int_equal(list[k]->shape.ndims, b ? 2 : 1);
        if (b) assert_int_equal(list[k]->shape.dims[1].size, b);
        return;
    }
    fail_msg("there is no variable %s", name);
}

void check_same_again(const opened *o, int64_t vocab)
{
    const char *text = mtf_config_operative(o->config);
    assert_non_null(text);
    opened again = open_config(
        &(mtf_config_opts){.no_defaults = true, .params = (const char *const[]){text, NULL}},
        vocab);
    assert_string_equal(mtf_config_operative(again.config), text);
    assert_int_equal(count_warnings(again.config), 0);
    assert_int_equal(count_parameters(build(&again)), count_parameters(build(o)));
    assert_string_equal(again.run.mesh, o->run.mesh);
    assert_int_equal(again.run.batch, o->run.batch);
    close_well(again.session);
}

void check_tiny_ends(opened *o)
{
    check_same_again(o, TINY_VOCAB);
    close_well(o->session);
}
