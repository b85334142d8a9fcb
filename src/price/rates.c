/* Descriptions of machines, read and written. */
#include "price/rates.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/dtype.h"
#include "base/installed.h"
#include "base/numbers.h"

/* ---- reading ---- */

typedef struct reading {
    mtf_session *session;
    const char  *file; /* NULL: an option's text */
    int          line;
    price_rates *rates;
} reading;

static const char known[] =
    "flops, memory, wire, pauses (each in a second), latency, message, start, pause (in "
    "seconds), capacity (in bytes), alone, most, half, quarter, rows, flat_left, flat_right, "
    "flat_result, node, outer_wire, outer_latency and outer_message";

static bool complain(const reading *r, const char *what)
{
    fault *f = &r->session->fault;
    if (!r->file)
        return fail(f, ERR_USAGE,
                    "--machine takes %s, as in \"flops=30e9,latency=1e-5\", not \"%s\"", known,
                    what);
    return fail(
        f, ERR_SYNTAX,
        "%s:%d: \"%s\" is not a line of a machine file; a line has a name and a number, the "
        "name one of %s; or is \"product TYPE SIDE FLOPS\", \"window TYPE CHANNELS FLOPS\", "
        "\"cache BYTES MEMORY\", \"multiplies TYPE\" or \"axis NAME WIRE LATENCY\"; of a GPU "
        "also \"device " GPU_DEVICE "\", \"multiprocessors COUNT\", \"product TYPE TERMS RESULTS "
        "FLOPS\", \"pass KIND MEMORY\", "
        "\"attention TYPE KEY FORWARD BACKWARD\" or \"convolution TYPE CHANNELS FLOPS\"",
        r->file, r->line, what, known);
}

static bool complain_of_value(const reading *r, const char *name, bool zero, const char *value)
{
    fault      *f = &r->session->fault;
    const char *or_none = zero ? "0 or " : "";
    if (!r->file)
        return fail(f, ERR_USAGE, "--machine: %s takes %sa number from 1e-30 to 1e30, not \"%s\"",
                    name, or_none, value);
    return fail(f, ERR_SYNTAX, "%s:%d: %s takes %sa number from 1e-30 to 1e30, not \"%s\"", r->file,
                r->line, name, or_none, value);
}

static bool take_number(const reading *in, const char *name, const char *value, const char *whole)
{
    price_rates *r = in->rates;
    double       node = r->node;
    const struct {
        const char *name;
        double     *to;
        bool        zero; /* may be 0 */
    } fields[] = {{"flops", &r->flops, false},
                  {"memory", &r->memory, false},
                  {"wire", &r->wire, false},
                  {"latency", &r->latency, true},
                  {"message", &r->message, true},
                  {"start", &r->start, true},
                  {"pauses", &r->pauses, true},
                  {"pause", &r->pause, true},
                  {"rows", &r->rows, true},
                  {"flat_left", &r->flat.left, true},
                  {"flat_right", &r->flat.right, true},
                  {"flat_result", &r->flat.result, true},
                  {"alone", &r->alone, true},
                  {"most", &r->most, true},
                  {"half", &r->half, true},
                  {"quarter", &r->quarter, true},
                  {"capacity", &r->capacity, true},
                  {"node", &node, true},
                  {"outer_wire", &r->outer_wire, false},
                  {"outer_latency", &r->outer_latency, true},
                  {"outer_message", &r->outer_message, true}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (strcmp(fields[i].name, name) == 0) {
            if (!rate_parse(value, fields[i].zero, fields[i].to))
                return complain_of_value(in, name, fields[i].zero, value);
            r->node = (int)fmin(node, MAX_PROCESSORS);
            return true;
        }
    return complain(in, whole);
}

void rates_add_product(price_rates *r, product_rate p)
{
    int at = r->nproducts++;
    for (; at > 0; at--) {
        const product_rate *before = &r->products[at - 1];
        if (before->type < p.type || (before->type == p.type && before->side <= p.side)) break;
        r->products[at] = *before;
    }
    r->products[at] = p;
}

static bool take_type(const char *word, mtf_dtype *type)
{
    return word && dtype_parse(word, type) && *type != MTF_BOOL;
}

static bool take_product(price_rates *r, char **words)
{
    product_rate p;
    TRY(take_type(words[1], &p.type) && rate_parse(words[2], true, &p.side));
    TRY(rate_parse(words[3], false, &p.flops));
    TRY(r->nproducts < MAX_PRODUCT_RATES);
    rates_add_product(r, p);
    return true;
}

static bool stands_after(const window_rate *a, const window_rate *b)
{
    if (a->library != b->library) return a->library;
    if (a->type != b->type) return a->type > b->type;
    return a->channels > b->channels;
}

void rates_add_window(price_rates *r, window_rate w)
{
    int at = r->nwindows++;
    for (; at > 0 && stands_after(&r->windows[at - 1], &w); at--)
        r->windows[at] = r->windows[at - 1];
    r->windows[at] = w;
}

static bool take_window(price_rates *r, char **words)
{
    window_rate w = {.library = strcmp(words[0], "convolution") == 0};
    TRY(w.library ? gpu_factors_parse(words[1], &w.type, &w.rounded)
                  : take_type(words[1], &w.type));
    TRY(rate_parse(words[2], false, &w.channels));
    TRY(rate_parse(words[3], false, &w.flops) && r->nwindows < MAX_WINDOW_RATES);
    rates_add_window(r, w);
    return true;
}

static bool take_cache(price_rates *r, char **words)
{
    cache_rate c;
    TRY(rate_parse(words[1], false, &c.bytes) && rate_parse(words[2], false, &c.memory));
    TRY(r->ncaches < MAX_CACHE_RATES);
    int at = r->ncaches++;
    for (; at > 0 && r->caches[at - 1].bytes > c.bytes; at--) r->caches[at] = r->caches[at - 1];
    r->caches[at] = c;
    return true;
}

static bool take_axis(price_rates *r, char **words)
{
    TRY(r->naxes < MAX_AXES && words[1] && strlen(words[1]) < MAX_RATE_NAME);
    axis_rate *a = &r->axes[r->naxes];
    TRY(rate_parse(words[2], false, &a->wire) && rate_parse(words[3], true, &a->latency));
    memcpy(a->axis, words[1], strlen(words[1]) + 1);
    r->naxes++;
    return true;
}

static bool take_ability(price_rates *r, char **words)
{
    mtf_dtype type;
    TRY(take_type(words[1], &type));
    r->can.products |= 1u << type;
    return true;
}

static bool take_device(const reading *r, const char *name, const char *whole)
{
    price_rates *p = r->rates;
    if (strcmp(name, "cpu") == 0) return true;
    if (strcmp(name, GPU_DEVICE) != 0) return complain(r, whole);
    if (!p->gpu) p->gpu = arena_new(&r->session->arena, gpu_rates);
    return p->gpu != NULL;
}

static bool take_of_gpu(price_rates *r, char **words)
{
    int n = 0;
    while (words[n]) n++;
    return gpu_take_line(r->gpu, n, words);
}

/* A line of several words, the first as it is, and how many there are and may be. */
typedef struct line_form {
    const char *words;
    bool (*take)(price_rates *r, char **words);
    int  lines, most;
    bool gpu;
} line_form;

static bool is_of_form(const line_form *f, int n, char **words)
{
    size_t length = strlen(words[0]);
    for (const char *c = f->words; *c; c++) n -= *c == ' ';
    return n == 1 && strncmp(f->words, words[0], length) == 0 && f->words[length] == ' ';
}

static bool take_as(const reading *r, const line_form *f, char **words, const char *whole)
{
    fault *to = &r->session->fault;
    if (f->gpu && !r->rates->gpu)
        return fail(to, ERR_SYNTAX,
                    "%s:%d: \"%s\" is a line of GPUs: write \"device " GPU_DEVICE "\" above it",
                    r->file, r->line, whole);
    if (f->most && f->lines == f->most)
        return fail(to, ERR_SYNTAX, "%s:%d: there may be %d lines \"%s\", and this is one more",
                    r->file, r->line, f->most, f->words);
    if (f->take(r->rates, words)) return true;
    return fail(
        to, ERR_SYNTAX,
        "%s:%d: \"%s\" is not a line \"%s\": types are those of elements%s, and numbers from "
        "1e-30 to 1e30",
        r->file, r->line, whole, f->words, f->gpu ? " or tf32" : "");
}

static bool take_line(const reading *r, char *line)
{
    enum { MOST = 6 }; /* words, and one more to see that there are too many */
    char *words[MOST + 1] = {0}, *rest = line, *whole = arena_text(&r->session->arena, line);
    int   n = 0;
    TRY(whole != NULL);
    while (n < MOST && (words[n] = strtok_r(rest, " \t\r", &rest))) n++;
    if (n == 0) return true;
    const price_rates *p = r->rates;
    const gpu_rates    none = {0}, *c = p->gpu ? p->gpu : &none;
    const line_form    forms[] = {
           {"product TYPE SIDE FLOPS", take_product, p->nproducts, MAX_PRODUCT_RATES, false},
           {"window TYPE CHANNELS FLOPS", take_window, p->nwindows, MAX_WINDOW_RATES, false},
           {"cache BYTES MEMORY", take_cache, p->ncaches, MAX_CACHE_RATES, false},
           {"axis NAME WIRE LATENCY", take_axis, p->naxes, MAX_AXES, false},
           {"multiplies TYPE", take_ability, 0, 0, false},
           {"product TYPE TERMS RESULTS FLOPS", take_of_gpu, c->nproducts, MAX_GPU_PRODUCTS, true},
           {"attention TYPE KEY FORWARD BACKWARD", take_of_gpu, c->nattentions, MAX_GPU_ATTENTIONS,
            true},
           {"multiprocessors COUNT", take_of_gpu, 0, 0, true},
           {"pass KIND MEMORY", take_of_gpu, c->npasses, MAX_GPU_PASSES, true},
           {"convolution TYPE CHANNELS FLOPS", take_window, p->nwindows, MAX_WINDOW_RATES, true},
    };
    for (size_t k = 0; k < sizeof forms / sizeof *forms; k++)
        if (is_of_form(&forms[k], n, words)) return take_as(r, &forms[k], words, whole);
    if (n != 2) return complain(r, whole);
    if (strcmp(words[0], "device") == 0) return take_device(r, words[1], whole);
    return take_number(r, words[0], words[1], whole);
}

/* Links between nodes default to those within a node. */
static void complete(price_rates *r)
{
    if (r->outer_wire == 0) r->outer_wire = r->wire;
    if (r->outer_latency == 0) r->outer_latency = r->latency;
    if (r->outer_message == 0) r->outer_message = r->message;
}

bool rates_read(mtf_session *s, const char *text, const char *file, price_rates *r)
{
    char *rest = arena_text(&s->arena, text);
    *r = PRICE_RATES;
    TRY(rest != NULL);
    reading in = {.session = s, .file = file, .rates = r};
    for (char *line; (line = strsep(&rest, "\n"));) {
        in.line++;
        line[strcspn(line, "#")] = 0;
        TRY(take_line(&in, line));
    }
    r->described = true;
    r->named = arena_text(&s->arena, file);
    complete(r);
    return r->named != NULL;
}

bool rates_default(mtf_session *s, price_rates *r)
{
    *r = PRICE_RATES;
    if (!s->can.machine) return true;
    const char *text = gpu_machine(&s->arena, s->can.machine);
    TRY(text && rates_read(s, text, s->can.machine, r));
    textbuf named = {.arena = &s->arena};
    text_add(&named, "%s, the default", s->can.machine);
    r->named = text_done(&named);
    return r->named != NULL;
}

void rates_plan_for(const price_rates *r, mtf_session *s)
{
    if (r->described) s->can.products = r->can.products & ~s->can.never;
    if (r->gpu && r->gpu->multiprocessors > 0) s->can.multiprocessors = r->gpu->multiprocessors;
}

void rates_write(const price_rates *r, textbuf *t)
{
    if (r->gpu) text_add(t, "device " GPU_DEVICE "\n");
    text_add(t, "flops %.3g\n", r->flops);
    if (r->rows > 0) text_add(t, "rows %.3g\n", r->rows);
    for (int k = 0; k < r->nproducts; k++)
        text_add(t, "product %s %g %.3g\n", mtf_dtype_name(r->products[k].type),
                 r->products[k].side, r->products[k].flops);
    if (r->gpu) gpu_write(r->gpu, t);
    for (int type = MTF_F32; type < DTYPES; type++)
        if (dtype_compute((mtf_dtype)type) != (mtf_dtype)type &&
            abilities_multiply(r->can, (mtf_dtype)type))
            text_add(t, "multiplies %s\n", mtf_dtype_name((mtf_dtype)type));
    for (int k = 0; k < r->nwindows; k++) {
        const window_rate *w = &r->windows[k];
        text_add(t, "%s %s %g %.3g\n", w->library ? "convolution" : "window",
                 gpu_factors_name(w->type, w->rounded), w->channels, w->flops);
    }
    for (int k = 0; k < r->ncaches; k++)
        text_add(t, "cache %.3g %.3g\n", r->caches[k].bytes, r->caches[k].memory);
    text_add(t, "memory %.3g\nwire %.3g\nlatency %.3g\nstart %.3g\n", r->memory, r->wire,
             r->latency, r->start);
    if (r->message > 0) text_add(t, "message %.3g\n", r->message);
    if (r->pauses > 0) text_add(t, "pauses %.3g\npause %.3g\n", r->pauses, r->pause);
    if (r->flat.left > 0) text_add(t, "flat_left %.3g\n", r->flat.left);
    if (r->flat.right > 0) text_add(t, "flat_right %.3g\n", r->flat.right);
    if (r->flat.result > 0) text_add(t, "flat_result %.3g\n", r->flat.result);
    if (r->alone > 1.01) text_add(t, "alone %.3g\n", r->alone);
    if (r->alone > 1.01 && r->most > 0) text_add(t, "most %.3g\n", r->most);
    if (r->alone > 1.01 && r->half > 0 && r->quarter > 0)
        text_add(t, "half %.3g\nquarter %.3g\n", r->half, r->quarter);
    if (r->capacity > 0) text_add(t, "capacity %.3g\n", r->capacity);
    if (r->node)
        text_add(t, "node %d\nouter_wire %.3g\nouter_latency %.3g\nouter_message %.3g\n", r->node,
                 r->outer_wire, r->outer_latency, r->outer_message);
    for (int k = 0; k < r->naxes; k++)
        text_add(t, "axis %s %.3g %.3g\n", r->axes[k].axis, r->axes[k].wire, r->axes[k].latency);
}

static bool read_pairs(mtf_session *s, const char *text, price_rates *r)
{
    char   *rest = arena_text(&s->arena, text);
    reading in = {.session = s, .rates = r};
    TRY(rest != NULL);
    for (char *piece; (piece = strtok_r(rest, ",; ", &rest));) {
        char *equals = strchr(piece, '='), *whole = arena_text(&s->arena, piece);
        TRY(whole != NULL);
        if (equals) *equals = 0;
        if (!equals) return complain(&in, whole);
        TRY(take_number(&in, piece, equals + 1, whole));
    }
    complete(r);
    return true;
}

typedef struct wanted_machine {
    const char *name;
    FILE       *file;
} wanted_machine;

static bool open_installed(void *context, const char *folder)
{
    wanted_machine *w = context;
    char            path[PATH_MAX + 200];
    snprintf(path, sizeof path, "%s/%s.machine", folder, w->name);
    w->file = fopen(path, "r");
    return w->file != NULL;
}

/* A file, or a machine that came with mtf; NULL: neither. */
static FILE *open_machine(const char *name)
{
    wanted_machine w = {name, fopen(name, "r")};
    if (!w.file && !strchr(name, '/')) installed_each("machines", open_installed, &w);
    return w.file;
}

bool rates_choose(mtf_session *s, const char *text, price_rates *r)
{
    enum { LONGEST = 1 << 16 };
    if (strchr(text, '=')) return read_pairs(s, text, r);
    FILE *f = open_machine(text);
    if (!f)
        return fail(
            &s->fault, ERR_FILE,
            "--machine: there is no file \"%s\", and no machine of that name came with mtf; "
            "mtf calibrate writes one",
            text);
    char  *whole = arena_array(&s->arena, char, LONGEST);
    size_t n = whole ? fread(whole, 1, LONGEST - 1, f) : 0;
    int    why = whole && ferror(f) ? errno : 0;
    fclose(f);
    TRY(whole != NULL);
    if (why) return fail(&s->fault, ERR_FILE, "--machine: \"%s\": %s", text, strerror(why));
    if (n == LONGEST - 1 || strlen(whole) < n)
        return fail(&s->fault, ERR_FILE,
                    "--machine: \"%s\" is not a machine file, which is a text of less than 64 KiB",
                    text);
    TRY(rates_read(s, whole, text, r));
    if (r->gpu || !s->can.machine) return true;
    return fail(&s->fault, ERR_USAGE,
                "--machine %s describes no GPU, and the device is " GPU_DEVICE
                ": mtf calibrate --device " GPU_DEVICE
                " measures one; a file that describes one has the line \"device " GPU_DEVICE "\"",
                text);
}
