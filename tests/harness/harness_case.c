/* Reads case files: the text goes to the library as it is, directives are comments to it. */
#include "harness_case.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *read_file(const char *file)
{
    FILE *in = fopen(file, "rb");
    if (!in) return NULL;
    char  *text = NULL;
    size_t size = 0, room = 0;
    for (;;) {
        if (size + 1 >= room) {
            room = room ? 2 * room : 4096;
            char *more = realloc(text, room);
            if (!more) break;
            text = more;
        }
        size_t got = fread(text + size, 1, room - size - 1, in);
        if (!got) break;
        size += got;
    }
    fclose(in);
    if (text) text[size] = 0;
    return text;
}

/* Whether the text declares `name` as a variable: a feed then sets its value. */
static bool is_variable(const char *text, const char *name)
{
    size_t length = strlen(name);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (!strncmp(line, name, length) && line[length] == ':') {
            const char *end = strchr(line, '\n'), *word = strstr(line, "= variable");
            return word && (!end || word < end);
        }
    }
    return false;
}

/* "name = numbers" or "name: [shape] = numbers", in place. */
static bool split_directive(char *line, case_values *v)
{
    char *equals = strstr(line, " = ");
    if (!equals) return false;
    *equals = 0;
    v->name = line;
    v->numbers = equals + 3;
    v->shape = strstr(line, ": [");
    if (v->shape) {
        *v->shape = 0;
        v->shape += 2;
    }
    return true;
}

static bool append(case_values **list, int *n, const case_values *v)
{
    case_values *more = realloc(*list, (size_t)(*n + 1) * sizeof **list);
    if (!more) return false;
    *list = more;
    more[(*n)++] = *v;
    return true;
}

static bool take_option(test_case *c, const char *line)
{
    if (sscanf(line, "gradient %d", &c->gradient) == 1) return true;
    if (sscanf(line, "steps %d", &c->steps) == 1) return c->steps > 0;
    if (!strcmp(line, "nan")) return c->nan = true;
    if (!strcmp(line, "outside")) return c->outside = true;
    if (!strcmp(line, "relative")) return c->relative = true;
    return false;
}

/* A line after "#<" or "#>"; the copy it stands in lives as long as the case. */
static bool take_values(test_case *c, char kind, char *line)
{
    case_values v = {0};
    if (!split_directive(line, &v)) return false;
    v.variable = is_variable(c->text, v.name);
    if (strstr(v.numbers, "nan")) c->nan = true;
    return kind == '<' ? append(&c->feeds, &c->nfeeds, &v)
                       : append(&c->expected, &c->nexpected, &v);
}

static bool take_line(test_case *c, char *line)
{
    if (line[0] != '#' || !line[1] || !strchr("<>~!", line[1])) return true;
    char *rest = line + 2;
    while (*rest == ' ') rest++;
    char *copy = strdup(rest);
    if (!copy) return false;
    bool good = false, kept = false;
    switch (line[1]) {
    case '~': good = sscanf(copy, "%lf", &c->tolerance) == 1; break;
    case '!': good = take_option(c, copy); break;
    default: kept = good = take_values(c, line[1], copy); break;
    }
    if (!kept) free(copy);
    return good;
}

bool case_take(test_case *c, char *text, const char *path, char *error, int room)
{
    *c = (test_case){.path = path, .text = text, .tolerance = -1, .gradient = 1, .steps = 1};
    if (!c->text) {
        snprintf(error, (size_t)room, "cannot be read");
        return false;
    }
    const char *line = c->text;
    for (int number = 1; *line; number++) {
        size_t length = strcspn(line, "\n");
        char  *copy = strndup(line, length);
        bool   good = copy && take_line(c, copy);
        free(copy);
        if (!good) {
            snprintf(error, (size_t)room, "line %d: a directive that is none", number);
            return false;
        }
        line += length + (line[length] == '\n');
    }
    return true;
}

bool case_read(test_case *c, const char *file, const char *path, char *error, int room)
{
    return case_take(c, read_file(file), path, error, room);
}

void case_free(test_case *c)
{
    for (int i = 0; i < c->nfeeds; i++) free(c->feeds[i].name);
    for (int i = 0; i < c->nexpected; i++) free(c->expected[i].name);
    free(c->feeds);
    free(c->expected);
    free(c->text);
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '/';
}

char *case_in_f64(const test_case *c)
{
    static const char *const types[] = {"f32", "f16", "bf16"};
    char                    *copy = strdup(c->text), *out = copy;
    if (!copy) return NULL;
    for (const char *in = c->text; *in;) {
        size_t length = 0;
        while (is_word(in[length])) length++;
        if (!length) {
            *out++ = *in++;
            continue;
        }
        bool shorter = false;
        for (size_t i = 0; i < sizeof types / sizeof *types; i++)
            if (strlen(types[i]) == length && !strncmp(in, types[i], length)) shorter = true;
        memcpy(out, shorter ? "f64" : in, shorter ? 3 : length);
        out += shorter ? 3 : length;
        in += length;
    }
    *out = 0;
    return copy;
}
