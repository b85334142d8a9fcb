/* Plans as JSON. */
#include "cli/plan_json.h"

#include "cli/plan_text.h"

static void add_texts(cJSON *to, const estimate *e, arena *a)
{
    textbuf m = {.arena = a}, l = {.arena = a};
    plan_write_mesh(e->opts.mesh, &m);
    plan_write_layout(e->opts.layout, &l);
    json_text(to, "mesh", text_done(&m));
    json_text(to, "layout", text_done(&l));
    cJSON *list = json_list(to, "declined");
    for (int r = 0; r < e->opts.layout->ndeclined; r++) {
        const declined_rule *d = &e->opts.layout->declined[r];
        cJSON               *item = cJSON_CreateObject();
        json_text(item, "rule", d->text);
        json_int(item, "peak_without", d->without);
        json_int(item, "peak_with", d->with);
        if (!cJSON_AddItemToArray(list, item)) cJSON_Delete(item);
    }
}

static void add_axes(cJSON *to, const char *key, const mesh *m, unsigned axes)
{
    cJSON *list = json_list(to, key);
    for (int a = 0; a < m->naxes; a++)
        if (axes >> a & 1) json_append(list, m->name[a]);
}

static void add_memory(cJSON *to, const estimate *e)
{
    cJSON *m = json_object(to, "memory");
    json_int(m, "processor", e->largest);
    json_int(m, "parameters", e->memory.parameters);
    json_int(m, "state", e->memory.state);
    json_int(m, "inputs", e->memory.inputs);
    json_int(m, "constants", e->memory.constants);
    json_int(m, "activations", e->memory.activations);
    json_int(m, "scratch", e->memory.scratch);
    json_int(m, "wire", e->memory.wire);
    json_int(m, "peak", e->memory.peak);
    json_int(m, "bound", e->memory.bound);
    json_text(m, "peak_at", e->memory.at ? mtf_name_of_tensor(e->memory.at) : "");
}

static void add_collectives(cJSON *to, estimate *e)
{
    collective_sum *sums;
    int             n = collective_sums(e, true, &sums);
    cJSON          *list = json_list(to, "collectives");
    for (int i = 0; i < n; i++) {
        cJSON *item = cJSON_CreateObject();
        json_text(item, "kind", sums[i].kind);
        add_axes(item, "axes", e->opts.mesh, sums[i].axes);
        json_int(item, "group", sums[i].group);
        json_int(item, "count", sums[i].count);
        json_int(item, "elements", sums[i].elements);
        json_int(item, "bytes", sums[i].bytes);
        json_text(item, "cause", sums[i].cause);
        cJSON_AddNumberToObject(item, "seconds", sums[i].seconds);
        if (!cJSON_AddItemToArray(list, item)) cJSON_Delete(item);
    }
}

static void add_duplicates(cJSON *to, const estimate *e)
{
    double flops = e->price.flops > 0 ? (double)e->price.flops : 1;
    cJSON *d = json_object(to, "duplicate");
    cJSON_AddNumberToObject(d, "share", e->duplicate / flops);
    cJSON *along = json_object(d, "along");
    for (int a = 0; a < e->opts.mesh->naxes; a++)
        cJSON_AddNumberToObject(along, e->opts.mesh->name[a], e->duplicate_along[a] / flops);
}

static void add_instructions(cJSON *to, const estimate *e)
{
    cJSON *list = json_list(to, "instructions");
    for (int k = 0; k < e->program->ninstrs; k++) {
        const price_line *line = &e->price.lines[k];
        cJSON            *item = cJSON_CreateObject();
        json_text(item, "kind",
                  line->collective ? line->collective : instr_name(e->program->instrs[k].kind));
        json_text(item, "tensor", mtf_name_of_tensor(line->tensor));
        json_int(item, "executions", line->executions);
        json_int(item, "flops", line->flops);
        json_int(item, "bytes", line->bytes);
        cJSON_AddNumberToObject(item, "seconds", line->seconds);
        add_axes(item, "duplicate", e->opts.mesh, line->duplicate);
        if (line->collective) {
            add_axes(item, "axes", e->opts.mesh, line->axes);
            json_int(item, "sent_bytes", line->sent_bytes);
            json_int(item, "received_bytes", line->received_bytes);
            json_text(item, "cause", line->cause);
        }
        if (!cJSON_AddItemToArray(list, item)) cJSON_Delete(item);
    }
}

static void add_counters(cJSON *to, const estimate *e)
{
    cJSON *all = json_object(to, "counters");
    for (int i = 0; i < e->program->ncounters; i++) {
        const mtf_counter *c = &e->program->counters[i];
        cJSON             *item = json_object(all, c->name);
        json_int(item, "elements", c->elements);
        json_int(item, "bytes", c->bytes);
    }
}

static void add_hint(cJSON *to, const hint *h)
{
    if (!h->found) {
        cJSON_AddNullToObject(to, "hint");
        return;
    }
    cJSON *item = json_object(to, "hint");
    if (h->add) json_text(item, "add", h->add);
    if (h->remove) json_text(item, "remove", h->remove);
    cJSON_AddNumberToObject(item, "seconds", h->seconds);
    cJSON_AddNumberToObject(item, "seconds_now", h->seconds_now);
    json_int(item, "peak_bytes", h->peak);
    json_int(item, "peak_bytes_now", h->peak_now);
}

cJSON *plan_json(estimate *e, const hint *h, bool all)
{
    const price *p = &e->price;
    cJSON       *root = cJSON_CreateObject();
    add_texts(root, e, &e->arena);
    json_int(root, "processors", e->processors);
    if (e->batch.name)
        json_int(root, "batch", e->batch.size), json_int(root, "microbatches", e->parts);
    json_int(root, "processor", e->processor);
    json_int(root, "peak_bytes", e->memory.peak);
    if (e->parts > 1 && e->opts.unparted)
        json_text(root, "undivided_loop", mtf_name_of_tensor(e->opts.unparted));
    if (e->opts.undivided) json_int(root, "undivided_peak_bytes", e->opts.undivided);
    json_int(root, "flops", p->flops);
    json_int(root, "sent_bytes", p->sent_bytes);
    json_int(root, "received_bytes", p->received_bytes);
    json_int(root, "sent_messages", p->out_messages);
    json_int(root, "received_messages", p->in_messages);
    json_int(root, "sent_outside", p->out_outside);
    json_int(root, "received_outside", p->in_outside);
    cJSON_AddNumberToObject(root, "seconds", p->seconds);
    cJSON_AddNumberToObject(root, "end_seconds", p->end_seconds);
    cJSON_AddNumberToObject(root, "hidden_seconds", p->hidden_seconds);
    json_flag(root, "open_ended", p->open_ended);
    cJSON *total = json_object(root, "total");
    json_int(total, "flops", e->flops);
    json_int(total, "sent_bytes", e->sent_bytes);
    json_flag(total, "exact", !e->approximate);
    add_memory(root, e);
    add_duplicates(root, e);
    cJSON *machine = json_object(root, "machine");
    json_text(machine, "device", p->rates.gpu ? "cuda" : "cpu");
    if (p->rates.named) json_text(machine, "name", p->rates.named);
    cJSON_AddNumberToObject(machine, "flops", p->rates.flops);
    cJSON_AddNumberToObject(machine, "memory", p->rates.memory);
    cJSON_AddNumberToObject(machine, "wire", p->rates.wire);
    cJSON_AddNumberToObject(machine, "latency", p->rates.latency);
    add_collectives(root, e);
    if (e->opts.count) add_counters(root, e);
    if (h) add_hint(root, h);
    if (all) add_instructions(root, e);
    return root;
}
