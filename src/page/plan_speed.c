/* How much a plan's step does: parameters, examples and tokens, speed. */
#include "page/plan_speed.h"

#include <string.h>

#include "base/units.h"
#include "page/page.h"

/* Of whole variables, not of the processor's parts. */
static void figure_parameters(const plan_view *v, textbuf *t)
{
    const program *p = v->e->program;
    textbuf        more = {.arena = v->arena};
    int64_t        elements = 0;
    int            variables = 0;
    for (int b = 0; b < p->nbuffers; b++) {
        const buffer *x = &p->buffers[b];
        if (x->kind != BUFFER_VARIABLE || !price_is_trained(x->cause)) continue;
        elements += mtf_shape_size(x->cause->shape);
        variables++;
    }
    text_add(&more, "in %d variable%s", variables, variables == 1 ? "" : "s");
    page_figure(t, "parameters", unit_count(elements).s, text_done(&more));
}

static bool is_integer(mtf_dtype type)
{
    return strchr("iu", mtf_dtype_name(type)[0]) != NULL;
}

/* Positions of an example's longest text; 0: it has none. */
static int64_t tokens_of(const plan_view *v)
{
    int64_t most = 0;
    for (int k = 0; k < v->graph->ntensors; k++) {
        const mtf_tensor *x = v->graph->all[k];
        if (strcmp(x->node->op->name, "input") != 0 || !is_integer(x->type)) continue;
        mtf_dim batch = mtf_shape_dim(x->shape, v->e->batch.name);
        mtf_dim length = mtf_shape_dim(x->shape, "length");
        if (batch.size && length.size > most) most = length.size;
    }
    return most;
}

/* "23.3 k examples a second"; below a thousand also fractions. */
static void write_rate(textbuf *t, double count, double seconds, const char *what)
{
    double rate = count / seconds;
    if (rate < 1000)
        text_add(t, "%.3g%s", rate, what);
    else
        text_add(t, "%s%s", unit_count((int64_t)rate).s, what);
}

static void figure_batch(const plan_view *v, textbuf *t)
{
    const estimate *e = v->e;
    int64_t         tokens = tokens_of(v);
    textbuf         count = {.arena = v->arena}, more = {.arena = v->arena};
    text_add(&count, "%lld", (long long)e->batch.size);
    text_add(&more, "example%s", e->batch.size == 1 ? "" : "s");
    if (tokens) text_add(&more, " of %lld tokens", (long long)tokens);
    if (e->parts > 1)
        text_add(&more, ", in %lld micro-batches one after the other", (long long)e->parts);
    page_figure(t, "batch", text_done(&count), text_done(&more));
    if (e->price.seconds <= 0) return;
    textbuf rate = {.arena = v->arena}, beside = {.arena = v->arena};
    double  examples = (double)e->batch.size;
    write_rate(&rate, examples * (tokens ? (double)tokens : 1), e->price.seconds, "");
    if (tokens) write_rate(&beside, examples, e->price.seconds, " examples a second");
    page_figure(t, tokens ? "tokens a second" : "examples a second", text_done(&rate),
                text_done(&beside));
}

static void figure_speed_up(const plan_view *v, double alone, textbuf *t)
{
    const estimate *e = v->e;
    textbuf         times = {.arena = v->arena}, more = {.arena = v->arena};
    text_add(&times, "%.3g", alone / e->price.seconds);
    text_add(&more, "on %d processors; one alone takes %s", e->processors, unit_seconds(alone).s);
    page_figure(t, "speed-up", text_done(&times), text_done(&more));
}

void plan_write_speed(const plan_view *v, double alone, textbuf *t)
{
    const estimate *e = v->e;
    figure_parameters(v, t);
    if (e->batch.name) figure_batch(v, t);
    if (e->processors > 1 && alone > 0 && e->price.seconds > 0) figure_speed_up(v, alone, t);
}
