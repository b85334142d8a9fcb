/* Built-in models: networks by name, with options and data. */
#include "model/ready.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "base/textbuf.h"

static const model *const all[] = {&model_mnist,    &model_mnist_conv,    &model_toy,
                                   &model_unet,     &model_bert_pretrain, &model_bert_classify,
                                   &model_bert_span};
enum { MODELS = sizeof all / sizeof *all };

const model *model_nth(int n)
{
    return n >= 0 && n < MODELS ? all[n] : NULL;
}

const model *model_find(const char *name)
{
    for (int i = 0; i < MODELS; i++)
        if (strcmp(all[i]->name, name) == 0) return all[i];
    return NULL;
}

/* ---- settings ---- */

static int position(const model *m, const char *name)
{
    for (int i = 0; m->options[i].name; i++)
        if (strcmp(m->options[i].name, name) == 0) return i;
    return -1;
}

settings settings_of(mtf_session *s, const model *m)
{
    settings v = {.session = s, .model = m};
    for (int i = 0; m->options[i].name; i++) {
        assert(i < MOST_MODEL_OPTIONS);
        v.values[i] = m->options[i].otherwise;
    }
    return v;
}

bool settings_has(const settings *v, const char *name)
{
    return position(v->model, name) >= 0;
}

static bool no_setting(const settings *v, const char *name)
{
    textbuf t = {.arena = &v->session->arena};
    for (int i = 0; v->model->options[i].name; i++)
        text_add(&t, "%s--%s", i ? ", " : "", v->model->options[i].name);
    const char *list = text_done(&t);
    return fail(&v->session->fault, ERR_USAGE, "%s has no option --%s; it has %s", v->model->name,
                name, list ? list : "others");
}

bool settings_set(settings *v, const char *name, const char *value)
{
    int i = position(v->model, name);
    if (i < 0) return no_setting(v, name);
    v->values[i] = value;
    return true;
}

const char *setting_text(const settings *v, const char *name)
{
    int i = position(v->model, name);
    return i < 0 ? "" : v->values[i];
}

bool setting_count(const settings *v, const char *name, int64_t least, int64_t *value)
{
    const char *text = setting_text(v, name);
    char       *end;
    errno = 0;
    long long n = strtoll(text, &end, 10);
    if (errno || end == text || *end || n < least)
        return fail(&v->session->fault, ERR_USAGE,
                    "--%s takes a whole number, %lld or more, not \"%s\"", name, (long long)least,
                    text);
    *value = n;
    return true;
}

bool setting_number(const settings *v, const char *name, double *value)
{
    const char *text = setting_text(v, name);
    char       *end;
    double      x = number_read(text, &end);
    if (end == text || *end || !isfinite(x))
        return fail(&v->session->fault, ERR_USAGE, "--%s takes a number, not \"%s\"", name, text);
    *value = x;
    return true;
}
