/* mtf ckpt ls, verify, show: inspects checkpoints. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/dtype.h"
#include "base/numbers.h"
#include "base/printable.h"
#include "base/session.h"
#include "base/textbuf.h"
#include "base/units.h"
#include "checkpoint/folder.h"
#include "checkpoint/opening.h"
#include "checkpoint/writing.h"
#include "cli/ckpt.h"
#include "cli/json_out.h"
#include "cli/show_values.h"

static int64_t all_bytes(const contents *c)
{
    int64_t sum = 0;
    for (int i = 0; i < c->ntensors; i++) sum += c->tensors[i]->bytes;
    return sum;
}

static cJSON *json_item(cJSON *list)
{
    cJSON *item = cJSON_CreateObject();
    if (cJSON_AddItemToArray(list, item)) return item;
    cJSON_Delete(item);
    return NULL;
}

/* Removes the session's error, so that the next checkpoint can be examined; returns its sentence without
 * the kind of error, NULL where there was none. */
static const char *take_error(mtf_session *s)
{
    if (mtf_ok(s)) return NULL;
    char        text[sizeof s->fault.text];
    const char *colon = strstr(s->fault.text, ": ");
    snprintf(text, sizeof text, "%s", colon ? colon + 2 : s->fault.text);
    fault_clear(&s->fault);
    const char *copy = arena_text(&s->arena, text);
    return copy ? copy : "there is no memory for the message";
}

/* ---- ls ---- */

static void list_step(mtf_session *s, const char *folder, int64_t step, cJSON *list)
{
    contents    c = contents_make(&s->arena);
    const char *path = folder_step_path(&s->arena, folder, step);
    bool        ok = path && checkpoint_open(&c, path, NEWEST);
    const char *wrong = take_error(s);
    path = path ? path : "";
    if (!ok && access(path, F_OK) != 0) return; /* a training has deleted it meanwhile */
    cJSON *item = list ? json_item(list) : NULL;
    json_int(item, "step", step);
    json_text(item, "path", path);
    if (!ok) {
        json_text(item, "error", wrong);
        if (!item)
            printable_print(stdout, "%10lld %10s %8s %9s  %s: damaged: %s\n", (long long)step, "-",
                            "-", "-", path, wrong ? wrong : "");
        return;
    }
    json_int(item, "position", c.position);
    json_int(item, "tensors", c.ntensors);
    json_int(item, "bytes", all_bytes(&c));
    if (!item)
        printable_print(stdout, "%10lld %10lld %8d %9s  %s\n", (long long)step,
                        (long long)c.position, c.ntensors, unit_bytes(all_bytes(&c)).s, path);
}

static void list_steps(const options *o, mtf_session *s, cJSON *root, int n, const int64_t *steps)
{
    cJSON *list = root ? json_list(root, "checkpoints") : NULL;
    if (!root)
        printable_print(stdout, "%10s %10s %8s %9s  %s\n", "step", "position", "tensors", "bytes",
                        "path");
    for (int i = 0; i < n; i++) list_step(s, o->words[1], steps[i], list);
}

static void list_tensors(const contents *c, cJSON *root)
{
    cJSON *list = root ? json_list(root, "tensors") : NULL;
    int    name = 4, shape = 5;
    for (int i = 0; i < c->ntensors; i++) {
        int n = (int)strlen(c->tensors[i]->shown);
        int k = (int)strlen(contents_shape_text(c, c->tensors[i]));
        name = n > name ? n : name;
        shape = k > shape ? k : shape;
    }
    if (!root)
        printable_print(stdout, "%-*s  %-5s %-*s %9s\n", name, "name", "type", shape, "shape",
                        "bytes");
    for (int i = 0; i < c->ntensors; i++) {
        const kept_tensor *t = c->tensors[i];
        cJSON *item = list ? json_item(list) : NULL, *sizes = json_object(item, "shape");
        json_text(item, "name", t->name);
        json_text(item, "type", ckpt_type(t));
        for (int d = 0; d < t->shape.ndims; d++)
            json_int(sizes, t->shape.dims[d].name, t->shape.dims[d].size);
        json_int(item, "bytes", t->bytes);
        if (!root)
            printable_print(stdout, "%-*s  %-5s %-*s %9s\n", name, t->shown, ckpt_type(t), shape,
                            contents_shape_text(c, t), unit_bytes(t->bytes).s);
    }
    if (!root)
        printable_print(stdout, "%d tensor%s, %s, in %d file%s: %s\n", c->ntensors,
                        c->ntensors == 1 ? "" : "s", unit_bytes(all_bytes(c)).s, c->nfiles,
                        c->nfiles == 1 ? "" : "s", c->path);
}

bool ckpt_list(mtf_session *s, const options *o)
{
    int64_t *steps;
    int      n;
    cJSON   *root = option_given(o, "json") ? cJSON_CreateObject() : NULL;
    if (folder_steps(&s->arena, o->words[1], &steps, &n)) {
        contents c = contents_make(&s->arena);
        if (n)
            list_steps(o, s, root, n, steps);
        else if (checkpoint_open(&c, o->words[1], NEWEST))
            list_tensors(&c, root);
    }
    return root ? json_print(s, root) && mtf_ok(s) : mtf_ok(s);
}

/* ---- verify ---- */

/* A sentence on the damage; NULL: none. */
static const char *verify_one(mtf_session *s, const char *path, cJSON *list)
{
    ckpt_source c;
    int         summed = 0;
    bool        ok = ckpt_open(&c, s, path) && reader_verify(&c.reader, &summed);
    const char *wrong = take_error(s), *called = c.contents.path[0] ? c.contents.path : path;
    cJSON      *item = list ? json_item(list) : NULL;
    json_text(item, "path", called);
    json_int(item, "tensors", c.contents.ntensors);
    json_int(item, "summed", summed);
    json_flag(item, "sound", ok);
    if (!ok) json_text(item, "error", wrong);
    if (ok && !list)
        printable_print(stdout, "%s: sound: %d tensor%s, %s%s\n", called, c.contents.ntensors,
                        c.contents.ntensors == 1 ? "" : "s", unit_bytes(all_bytes(&c.contents)).s,
                        summed ? "" : "; it has no sums to compare with");
    ckpt_close(&c);
    return ok ? NULL : wrong ? wrong : "";
}

/* Examines all checkpoints, even after damage in one. */
static void verify_steps(mtf_session *s, const char *folder, int n, const int64_t *steps,
                         cJSON *list)
{
    const char *newest = NULL;
    int         damaged = 0;
    for (int i = 0; i < n; i++) {
        const char *path = folder_step_path(&s->arena, folder, steps[i]);
        if (!path || access(path, F_OK) != 0) continue; /* a training has deleted it meanwhile */
        const char *wrong = verify_one(s, path, list);
        if (wrong && !list) printable_print(stdout, "%s: damaged: %s\n", path, wrong);
        if (wrong) newest = wrong, damaged++;
    }
    if (damaged)
        fail(&s->fault, ERR_DAMAGED,
             "%d of the %d checkpoints in \"%s\" %s damaged; in the newest %s", damaged, n, folder,
             damaged == 1 ? "is" : "are", newest);
}

bool ckpt_verify(mtf_session *s, const options *o)
{
    int64_t    *steps;
    int         n;
    cJSON      *root = option_given(o, "json") ? cJSON_CreateObject() : NULL;
    cJSON      *list = root ? json_list(root, "checkpoints") : NULL;
    bool        ok = folder_steps(&s->arena, o->words[1], &steps, &n);
    const char *wrong = ok && n == 0 ? verify_one(s, o->words[1], list) : NULL;
    if (ok && n > 0) verify_steps(s, o->words[1], n, steps, list);
    if (wrong) fail(&s->fault, ERR_DAMAGED, "%s", wrong);
    return root ? json_print(s, root) && mtf_ok(s) : mtf_ok(s);
}

/* ---- show ---- */

bool ckpt_show(mtf_session *s, const options *o)
{
    ckpt_source        c;
    bool               ok = ckpt_open(&c, s, o->words[1]);
    const kept_tensor *t = ok ? ckpt_find(&c, o->words[2]) : NULL;
    double             low = INFINITY, high = -INFINITY, sum = 0, squares = 0;
    char   *buffer = t ? block_alloc(&s->allocator, &s->fault, STAGE_BYTES, false) : NULL;
    int64_t count = t ? shape_size(&t->shape) : 0, room = t ? reader_room(t) : 1, bad = 0;
    for (int64_t at = 0; buffer && mtf_ok(s) && at < count; at += room) {
        int64_t n = count - at < room ? count - at : room;
        if (!ckpt_get(&c, t, at, buffer, n)) break;
        for (int64_t i = 0; i < n; i++) {
            double v = dtype_load(t->type, buffer, i);
            bad += !isfinite(v);
            low = fmin(low, v), high = fmax(high, v);
            sum += v, squares += v * v;
        }
    }
    ok = buffer && mtf_ok(s);
    if (ok && option_given(o, "json")) {
        cJSON *root = cJSON_CreateObject();
        json_text(root, "name", t->name);
        json_text(root, "type", ckpt_type(t));
        json_int(root, "elements", count);
        cJSON_AddNumberToObject(root, "min", low);
        cJSON_AddNumberToObject(root, "max", high);
        cJSON_AddNumberToObject(root, "mean", sum / (double)count);
        cJSON_AddNumberToObject(root, "norm", sqrt(squares));
        json_int(root, "not_finite", bad);
        ok = json_print(s, root);
    } else if (ok) {
        textbuf   text = {.arena = &s->arena};
        mtf_shape shape = t->shape;
        for (int d = 0; d < shape.ndims; d++) {
            const char *name = text_printable(&s->arena, shape.dims[d].name);
            shape.dims[d].name = name ? name : "";
        }
        if (count <= room && ckpt_get(&c, t, 0, buffer, count))
            value_show(&text, t->shown, t->type, &shape, buffer);
        fputs(text_done(&text) ? text.text : "", stdout);
        number_print(stdout, "%lld element%s: min %.6g, max %.6g, mean %.6g, norm %.6g",
                     (long long)count, count == 1 ? "" : "s", low, high, sum / (double)count,
                     sqrt(squares));
        printf(bad ? ", %lld not finite\n" : "\n", (long long)bad);
    }
    block_free(&s->allocator, buffer);
    ckpt_close(&c);
    return ok && mtf_ok(s);
}
