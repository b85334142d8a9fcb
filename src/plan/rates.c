/* Descriptions of machines, read and written. */
#include "plan/rates.h"

#include <libgen.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/dtype.h"
#include "base/numbers.h"
#include "mtf_build.h"
#include "plan/machine_assets.h"

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
    return fail(f, ERR_SYNTAX,
                "%s:%d: \"%s\" is not a line of a machine file; a line has a name and a number, the "
                "name one of %s; or is \"product TYPE SIDE FLOPS\", \"window TYPE CHANNELS FLOPS\", "
                "\"cache BYTES MEMORY\", \"multiplies TYPE\" or \"axis NAME WIRE LATENCY\"; of a card "
                "also \"device cuda\", \"product TYPE TERMS RESULTS FLOPS\", \"pass KIND MEMORY\", "
                "\"attention TYPE KEY FORWARD BACKWARD\" or \"convolution TYPE CHANNELS FLOPS\"",
                r->file, r->line, what, known);
}

static bool complain_of_value(const reading *r, const char *name, bool zero, const char *value)
{
    fault      *f = &r->session->fault;
    const char *right = zero ? "of at least 0" : "above 0";
    if (!r->file)
        return fail(f, ERR_USAGE, "--machine: %s takes a number %s, not \"%s\"", name, right,
                    value);
    return fail(f, ERR_SYNTAX, "%s:%d: %s takes a number %s, not \"%s\"", r->file, r->line, name,
                right, value);
}

static bool number(const char *text, bool zero, double *to)
{
    char  *end;
    double v = text ? number_read(text, &end) : 0;
    bool   sound = text && end > text && !*end && isfinite(v) && (v > 0 || (v == 0 && zero));
    if (sound) *to = v;
    return sound;
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
            if (!number(value, fields[i].zero, fields[i].to))
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
    TRY(take_type(words[1], &p.type) && number(words[2], true, &p.side));
    TRY(number(words[3], false, &p.flops));
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
    for (; at > 0 && stands_after(&r->windows[at - 1], &w); at--) r->windows[at] = r->windows[at - 1];
    r->windows[at] = w;
}

static bool take_window(price_rates *r, char **words)
{
    window_rate w = {.library = strcmp(words[0], "convolution") == 0};
    TRY(w.library ? card_factors_parse(words[1], &w.type, &w.rounded) : take_type(words[1], &w.type));
    TRY(number(words[2], false, &w.channels));
    TRY(number(words[3], false, &w.flops) && r->nwindows < MAX_WINDOW_RATES);
    rates_add_window(r, w);
    return true;
}

static bool take_cache(price_rates *r, char **words)
{
    cache_rate c;
    TRY(number(words[1], false, &c.bytes) && number(words[2], false, &c.memory));
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
    TRY(number(words[2], false, &a->wire) && number(words[3], true, &a->latency));
    strcpy(a->axis, words[1]);
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

/* The rates of a card, which are there from now on; NULL after an error. */
static card_rates *card_of(const reading *r)
{
    if (!r->rates->card) r->rates->card = arena_new(&r->session->arena, card_rates);
    return r->rates->card;
}

static bool take_device(const reading *r, const char *name, const char *whole)
{
    if (strcmp(name, "cpu") == 0) return true;
    return strcmp(name, "cuda") == 0 ? card_of(r) != NULL : complain(r, whole);
}

static bool is_card_line(int n, char **words)
{
    return n == 5 || (n == 3 && strcmp(words[0], "pass") == 0);
}

static bool take_line(const reading *r, char *line)
{
    enum { MOST = 6 }; /* words, and one more to see that there are too many */
    char *words[MOST] = {0}, *rest = line, *whole = arena_text(&r->session->arena, line);
    int   n = 0;
    TRY(whole != NULL);
    while (n < MOST && (words[n] = strtok_r(rest, " \t\r", &rest))) n++;
    if (n == 0) return true;
    bool ability = n == 2 && strcmp(words[0], "multiplies") == 0;
    if (n == 2 && strcmp(words[0], "device") == 0) return take_device(r, words[1], whole);
    if (n == 2 && !ability) return take_number(r, words[0], words[1], whole);
    if (is_card_line(n, words)) {
        card_rates *c = card_of(r);
        return c && (card_take_line(c, n, words) || complain(r, whole));
    }
    if (strcmp(words[0], "convolution") == 0) TRY(card_of(r)); /* only cards have the library */
    static const struct {
        const char *name;
        int         words;
        bool (*take)(price_rates *r, char **words);
    } lines[] = {{"product", 4, take_product},
                 {"window", 4, take_window},
                 {"convolution", 4, take_window},
                 {"axis", 4, take_axis},
                 {"cache", 3, take_cache},
                 {"multiplies", 2, take_ability}};
    bool ok = false;
    for (size_t k = 0; k < sizeof lines / sizeof *lines && !ok; k++)
        ok = n == lines[k].words && strcmp(words[0], lines[k].name) == 0 &&
             lines[k].take(r->rates, words);
    return ok || complain(r, whole);
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
    if (!abilities_of_card(s->opts.device)) return true;
    char *text = arena_array(&s->arena, char, asset_h200_bytes + 1);
    TRY(text != NULL);
    memcpy(text, asset_h200, asset_h200_bytes);
    TRY(rates_read(s, text, "h200", r));
    r->named = "h200, the default";
    return true;
}

void rates_plan_for(const price_rates *r, mtf_session *s)
{
    const unsigned f8 = 1u << MTF_F8E4M3 | 1u << MTF_F8E5M2;
    if (!r->described) return;
    s->can.products = r->can.products;
    if (!abilities_of_card(s->opts.device)) s->can.products &= ~f8; /* no CPU does */
}

void rates_write(const price_rates *r, textbuf *t)
{
    if (r->card) text_add(t, "device cuda\n");
    text_add(t, "flops %.3g\n", r->flops);
    if (r->rows > 0) text_add(t, "rows %.3g\n", r->rows);
    for (int k = 0; k < r->nproducts; k++)
        text_add(t, "product %s %g %.3g\n", mtf_dtype_name(r->products[k].type),
                 r->products[k].side, r->products[k].flops);
    if (r->card) card_write(r->card, t);
    for (int type = MTF_F32; type < DTYPES; type++)
        if (dtype_compute((mtf_dtype)type) != (mtf_dtype)type &&
            abilities_multiply(r->can, (mtf_dtype)type))
            text_add(t, "multiplies %s\n", mtf_dtype_name((mtf_dtype)type));
    for (int k = 0; k < r->nwindows; k++) {
        const window_rate *w = &r->windows[k];
        text_add(t, "%s %s %g %.3g\n", w->library ? "convolution" : "window",
                 card_factors_name(w->type, w->rounded), w->channels, w->flops);
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

/* Looks where mtf was installed, then beside the running program, in case the installation was moved
 * or the program runs from its build folder. */
static FILE *open_machine(const char *name)
{
    static const char *const beside[] = {"/../share/mtf/machines", "/../share/machines"};
    char                     path[PATH_MAX + 200], program[PATH_MAX];
    FILE                    *f = fopen(name, "r");
    if (f || strchr(name, '/')) return f;
    snprintf(path, sizeof path, "%s/%s.machine", MTF_BUILD_MACHINES, name);
    f = fopen(path, "r");
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length > 0 ? length : 0] = 0;
    const char *folder = dirname(program);
    for (int k = 0; k < 2 && !f; k++) {
        snprintf(path, sizeof path, "%s%s/%s.machine", folder, beside[k], name);
        f = fopen(path, "r");
    }
    return f;
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
    fclose(f);
    TRY(whole && n < LONGEST && rates_read(s, whole, text, r));
    if (r->card || !abilities_of_card(s->opts.device)) return true;
    return fail(&s->fault, ERR_USAGE,
                "--machine %s describes no card, and the device is cuda: mtf calibrate --device cuda "
                "measures one; a file that describes one has the line \"device cuda\"",
                text);
}
