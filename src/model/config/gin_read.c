/* Parses gin: statements and values, each with its place. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/ascii.h"
#include "model/config/gin_scan.h"

enum { MOST_NESTED = 64, MOST_INCLUDED = 20 };

static gin_scanner scanner_of(gin_file *g, const char *text, const char *name)
{
    return (gin_scanner){.gin = g, .name = name, .at = text, .line_start = text, .line = 1};
}

/* ---- values ---- */

static bool read_value(gin_scanner *s, gin_value *v);

static bool append(gin_scanner *s, gin_value *list, int count, const gin_value *item)
{
    TRY(arena_push(&s->gin->session->arena, list->items, count, list->room) != NULL);
    list->items[count] = *item;
    return true;
}

/* Values up to the closing bracket; a dictionary has pairs of them. */
static bool read_items(gin_scanner *s, char close, gin_value *v)
{
    bool pairs = close == '}', comma = false;
    v->kind = pairs ? GIN_DICT : close == ']' ? GIN_LIST : GIN_TUPLE;
    if (s->brackets == MOST_NESTED) return scan_fail(s, "fewer nested brackets");
    s->at++;
    s->brackets++;
    while (!scan_take(s, close)) {
        gin_value item;
        if (v->n && !comma)
            return scan_fail(s, pairs          ? "\",\" or \"}\""
                                : close == ']' ? "\",\" or \"]\""
                                               : "\",\" or \")\"");
        TRY(read_value(s, &item) && append(s, v, pairs ? 2 * v->n : v->n, &item));
        if (pairs) {
            if (!scan_take(s, ':')) return scan_fail(s, "\":\"");
            TRY(read_value(s, &item) && append(s, v, 2 * v->n + 1, &item));
        }
        v->n++;
        comma = scan_take(s, ',');
    }
    s->brackets--;
    if (close == ')' && v->n == 1 && !comma) *v = v->items[0]; /* parentheses around one value */
    return true;
}

/* Splits "a/b/name" at its last "/". */
static bool split_scope(gin_scanner *s, const char *name, const char **scope, const char **rest)
{
    const char *slash = strrchr(name, '/');
    *scope = "";
    *rest = slash ? slash + 1 : name;
    if (!slash) return true;
    char *copy = arena_text(&s->gin->session->arena, name);
    TRY(copy != NULL);
    copy[slash - name] = 0;
    *scope = copy;
    return true;
}

static bool read_reference(gin_scanner *s, gin_value *v)
{
    s->at++;
    const char *name = scan_name(s);
    TRY(name != NULL);
    v->kind = GIN_REFERENCE;
    TRY(split_scope(s, name, &v->scope, &v->text));
    if (*s->at != '(') return true;
    s->at++;
    v->called = scan_take(s, ')');
    return v->called || scan_fail(s, "\")\": arguments are bindings of their own, and");
}

static bool read_word(gin_scanner *s, gin_value *v)
{
    static const char *const words[] = {"None", "False", "True"};
    for (int k = 0; k < 3; k++) {
        size_t n = strlen(words[k]);
        if (strncmp(s->at, words[k], n) != 0 || ascii_is_alnum(s->at[n]) || s->at[n] == '_')
            continue;
        v->kind = k ? GIN_BOOL : GIN_NONE;
        v->truth = k == 2;
        s->at += n;
        return true;
    }
    return scan_fail(s,
                     "a value (a string has quotes, a macro begins with \"%\", a name with \"@\")");
}

static bool read_value(gin_scanner *s, gin_value *v)
{
    scan_blanks(s);
    *v = (gin_value){.at = scan_place(s)};
    switch (*s->at) {
    case '[': return read_items(s, ']', v);
    case '(': return read_items(s, ')', v);
    case '{': return read_items(s, '}', v);
    case '@': return read_reference(s, v);
    case '%':
        s->at++;
        v->kind = GIN_MACRO;
        v->text = scan_name(s);
        return v->text != NULL;
    default:
        if (scan_starts_text(s)) return scan_text(s, v);
        return ascii_is_letter(*s->at) || *s->at == '_' ? read_word(s, v) : scan_number(s, v);
    }
}

/* ---- statements ---- */

static bool bind(gin_scanner *s, gin_binding b)
{
    gin_file  *g = s->gin;
    gin_value *v = arena_new(&g->session->arena, gin_value);
    TRY(v && read_value(s, v));
    b.value = v;
    b.quiet = g->reading_own;
    TRY(arena_push(&g->session->arena, g->bindings, g->nbindings, g->room) != NULL);
    g->bindings[g->nbindings++] = b;
    return true;
}

/* "NAME = value", "scope/selector.parameter = value". */
static bool read_binding(gin_scanner *s, const char *name, gin_place at)
{
    gin_binding b = {.scope = "", .parameter = name, .at = at};
    const char *rest, *slash = strrchr(name, '/'), *dot = strrchr(name, '.');
    if (!dot || (slash && dot < slash)) return bind(s, b); /* a macro */
    TRY(split_scope(s, name, &b.scope, &rest));
    char *selector = arena_text(&s->gin->session->arena, rest);
    TRY(selector != NULL);
    *strrchr(selector, '.') = 0;
    b.selector = selector;
    b.parameter = dot + 1;
    return bind(s, b);
}

/* "scope/selector:", then a parameter on each indented line. */
static bool read_block(gin_scanner *s, const char *name)
{
    gin_binding b = {0};
    TRY(split_scope(s, name, &b.scope, &b.selector));
    if (!scan_at_end(s)) return scan_fail(s, "the end of the line");
    for (scan_line_end(s); *s->at; scan_line_end(s)) {
        if (scan_at_end(s)) continue;
        if (s->at == s->line_start) return true;
        b.at = scan_place(s);
        b.parameter = scan_name(s);
        TRY(b.parameter != NULL);
        if (strpbrk(b.parameter, "./"))
            return gin_fail(s->gin, &b.at, ERR_SYNTAX,
                            "\"%s\": inside of a block a parameter has its name alone",
                            b.parameter);
        if (!scan_take(s, '=')) return scan_fail(s, "\"=\"");
        TRY(bind(s, b));
        if (!scan_at_end(s)) return scan_fail(s, "the end of the line");
    }
    return true;
}

static bool read_include(gin_scanner *s, gin_place at)
{
    gin_value v = {0};
    scan_blanks(s);
    if (!scan_starts_text(s)) return scan_fail(s, "the name of a file in quotes");
    return scan_text(s, &v) && gin_read_file(s->gin, v.text, &at);
}

static bool read_statement(gin_scanner *s)
{
    gin_place   at = scan_place(s);
    const char *name = scan_name(s);
    TRY(name != NULL);
    if (strcmp(name, "include") == 0) return read_include(s, at);
    if (strcmp(name, "import") == 0 || strcmp(name, "from") == 0) {
        scan_blanks(s);
        gin_say(s->gin, &at, false, "\"%s %.*s\" has no effect: everything is known already", name,
                (int)strcspn(s->at, "\r\n#"), s->at);
        s->at += strcspn(s->at, "\r\n#");
        return true;
    }
    if (scan_take(s, ':')) return read_block(s, name);
    if (!scan_take(s, '=')) return scan_fail(s, "\"=\"");
    return read_binding(s, name, at);
}

bool gin_read_text(gin_file *g, const char *text, const char *name)
{
    gin_scanner s = scanner_of(g, text, name);
    while (*s.at) {
        if (scan_at_end(&s)) {
            scan_line_end(&s);
            continue;
        }
        TRY(read_statement(&s));
        bool after_block = s.at == s.line_start;
        if (!after_block && !scan_at_end(&s)) return scan_fail(&s, "the end of the line");
    }
    return mtf_ok(g->session);
}

const gin_value *gin_read_value(gin_file *g, const char *text, const char *name)
{
    gin_scanner s = scanner_of(g, text, name);
    gin_value  *v = arena_new(&g->session->arena, gin_value);
    if (!v || !read_value(&s, v)) return NULL;
    if (!scan_at_end(&s)) return scan_fail(&s, "the end of the value"), NULL;
    return v;
}

/* ---- files ---- */

/* The text of a file; NULL after an error. */
static char *file_text(gin_file *g, const char *path, const gin_place *from)
{
    struct stat about;
    FILE       *f = fopen(path, "r");
    size_t      size = f && fstat(fileno(f), &about) == 0 ? (size_t)about.st_size : 0, n = 0;
    if (size > GIN_LONGEST) size = GIN_LONGEST + 1;
    char *text = arena_array(&g->session->arena, char, size + 1);
    if (f && text) n = fread(text, 1, size, f);
    bool bad = f && ferror(f);
    if (f) fclose(f);
    if (!text) return NULL;
    if (!f || bad) return gin_fail(g, from, ERR_FILE, "\"%s\" cannot be read", path), NULL;
    if (n > GIN_LONGEST)
        return gin_fail(g, from, ERR_FILE, "\"%s\" is larger than %d bytes", path, GIN_LONGEST),
               NULL;
    if (memchr(text, 0, n))
        return gin_fail(g, from, ERR_FILE, "\"%s\" is not a text: it has a zero byte", path), NULL;
    text[n] = 0;
    return text;
}

bool gin_read_file(gin_file *g, const char *path, const gin_place *from)
{
    const char *found = gin_find(g, path, from ? from->file : NULL);
    if (!found) {
        nearest near = {.wanted = path};
        char    hint[120];
        gin_offer_names(g, &near);
        return gin_fail(g, from, ERR_FILE,
                        "there is no file \"%s\", and none of that name came with mtf%s", path,
                        nearest_hint(&near, hint, sizeof hint));
    }
    if (g->including == MOST_INCLUDED)
        return gin_fail(g, from, ERR_FILE, "more than %d files include each other", MOST_INCLUDED);
    char *text = file_text(g, found, from);
    TRY(text != NULL);
    bool outer = g->reading_own;
    g->including++;
    g->reading_own = outer || gin_is_own(found);
    bool ok = gin_read_text(g, text, found);
    g->including--;
    g->reading_own = outer;
    return ok;
}
