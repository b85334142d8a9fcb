/* Options of commands, as tables. */
#include "cli/options.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "base/printable.h"
#include "base/numbers.h"
#include "cli/colour.h"
#include "mtf.h"

static const option_spec help_option = {"help", NULL, false, "print this"};

int usage_error(const command *c, const char *format, ...)
{
    char    text[1000];
    va_list args;
    if (!mtf_is_first(NULL)) return STATUS_USAGE;
    va_start(args, format);
    number_vformat(text, sizeof text, format, args);
    va_end(args);
    fprintf(stderr, "%smtf:%s ", colour_error(stderr), colour_end(stderr));
    printable_print(stderr, "usage: %s\nsee mtf %s%s--help\n", text, c ? c->name : "",
                    c ? " " : "");
    return STATUS_USAGE;
}

/* ---- tables ----------------------------------------------------------------------------- */

option_walk walk_options(const option_spec *table)
{
    static const option_spec none = {0};
    return (option_walk){.depth = 1, .next = {table ? table : &none}};
}

const option_spec *walk_next(option_walk *w)
{
    while (w->depth > 0) {
        const option_spec *row = w->next[w->depth - 1]++;
        if (row->table) {
            assert(w->depth < WALK_DEPTH);
            w->next[w->depth++] = row->table;
        } else if (row->name || row->says) {
            return row;
        } else {
            w->depth--;
        }
    }
    return NULL;
}

/* ---- parsing ---------------------------------------------------------------------------- */

/* The option whose name is the first `length` characters of `text`, without dashes. */
static const option_spec *find_spec(const command *c, const char *text, size_t length)
{
    option_walk        w = walk_options(c->options);
    const option_spec *spec;
    while ((spec = walk_next(&w)) != NULL)
        if (spec->name && strlen(spec->name) == length && strncmp(spec->name, text, length) == 0)
            return spec;
    if (strlen(help_option.name) == length && strncmp(help_option.name, text, length) == 0)
        return &help_option;
    return NULL;
}

const option_spec *option_spec_of(const command *c, const char *name)
{
    return find_spec(c, name, strlen(name));
}

/* Our name of an option that others call so; NULL: it is none of theirs. */
static const char *option_of_others(const char *name)
{
    static const char *const names[][2] = {{"lr", "rate"},
                                           {"learning-rate", "rate"},
                                           {"learning_rate", "rate"},
                                           {"batch-size", "batch"},
                                           {"batch_size", "batch"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i][0], name) == 0) return names[i][1];
    return NULL;
}

/* The option that a misspelt one may have meant, among those that apply to the first word. */
static int unknown_option(const options *o, const char *argument, int length)
{
    enum { ROOM = 40 };
    const command     *c = o->command;
    char               given[ROOM], hint[100], more[200];
    const char        *dashes = strncmp(argument, "--", 2) == 0 ? "--" : "-";
    const char        *word = o->nwords ? o->words[0] : NULL;
    option_walk        w = walk_options(c->options);
    const option_spec *spec;
    snprintf(given, sizeof given, "%.*s", length - (int)strlen(dashes), argument + strlen(dashes));
    if (c->only_plans && strcmp(given, "data") == 0)
        return usage_error(c, "mtf %s has no option --data: it reads no data; leave it out",
                           c->name);
    nearest     near = {.wanted = given, .before = "--"};
    const char *ours = option_of_others(given), *found = NULL;
    while ((spec = walk_next(&w)) != NULL) {
        if (!spec->name) continue;
        if (word && c->concerns && !c->concerns(spec, word, more, sizeof more)) continue;
        nearest_offer(&near, spec->name);
        if (ours && strcmp(ours, spec->name) == 0) found = spec->name;
    }
    nearest_offer(&near, "help");
    if (found) near.best = found;
    return usage_error(c, "mtf %s has no option %.*s%s", c->name, length, argument,
                       nearest_hint(&near, hint, sizeof hint));
}

/* Checks the value of an option that takes one of a few words. */
static int check_choice(const command *c, const option_spec *spec, const char *value)
{
    enum { ROOM = 400 };
    char words[ROOM], listed[ROOM] = "", hint[100];
    if (!spec->choices) return -1;
    nearest near = {.wanted = strcmp(value, "gpu") == 0 ? "cuda" : value}; /* two names of GPUs */
    snprintf(words, sizeof words, "%s", spec->choices);
    int   n = 0;
    char *rest = words;
    for (char *word; (word = strsep(&rest, "|")) != NULL; n++) {
        if (strcmp(word, value) == 0) return -1;
        nearest_offer(&near, word);
        size_t used = strlen(listed);
        snprintf(listed + used, sizeof listed - used, "%s%s", !n ? "" : rest ? ", " : " or ", word);
    }
    return usage_error(c, "--%s takes %s, not \"%s\"%s", spec->name, listed, value,
                       nearest_hint(&near, hint, sizeof hint));
}

/* Prints help for the first word, which may precede or follow --help. */
static int help(const options *o, int argc, char **argv, int at)
{
    const char *word = o->nwords ? o->words[0] : NULL;
    if (!word && at + 1 < argc && argv[at + 1][0] != '-') word = argv[at + 1];
    print_command_help(o->command, word);
    return STATUS_DONE;
}

/* Reads the option at argv[*at], with its value, which may be the next word. */
static int take_option(options *o, int argc, char **argv, int *at)
{
    const char        *name = argv[*at] + 2, *equals = strchr(name, '=');
    size_t             length = equals ? (size_t)(equals - name) : strlen(name);
    const option_spec *spec = find_spec(o->command, name, length);
    if (!spec) return unknown_option(o, argv[*at], (int)length + 2);
    if (spec == &help_option) return help(o, argc, argv, *at);
    if (!spec->repeatable && option_given(o, spec->name))
        return usage_error(o->command, "--%s was given twice", spec->name);
    const char *value = equals ? equals + 1 : "";
    if (!spec->argument && equals)
        return usage_error(o->command, "--%s takes no value", spec->name);
    if (spec->argument && !equals) {
        bool there = *at + 1 < argc && strncmp(argv[*at + 1], "--", 2) != 0;
        if (!there)
            return usage_error(o->command, "--%s needs a value: --%s %s", spec->name, spec->name,
                               spec->argument);
        value = argv[++*at];
    }
    o->values[o->nvalues++] = (struct option_value){spec, value};
    return check_choice(o->command, spec, value);
}

/* A word of the command line, which is no option. */
static int take_word(options *o, const char *text)
{
    const command *c = o->command;
    size_t         length = strlen(text);
    if (length > 4 && strcmp(text + length - 4, ".gin") == 0 && find_spec(c, "gin_file", 8))
        return usage_error(c, "\"%s\" is a configuration: name it with --gin_file %s", text, text);
    if (o->nwords == c->most)
        return usage_error(c, "mtf %s does not know what to do with \"%s\"%s%s", c->name, text,
                           c->spare ? "; " : "", c->spare ? c->spare : "");
    o->words[o->nwords++] = text;
    return -1;
}

static int take_all(options *o, int argc, char **argv)
{
    bool only_words = false;
    for (int i = 0; i < argc; i++) {
        if (!only_words && strcmp(argv[i], "--") == 0) {
            only_words = true;
        } else if (!only_words && strcmp(argv[i], "-h") == 0) {
            return help(o, argc, argv, i);
        } else if (!only_words && strncmp(argv[i], "--", 2) == 0) {
            int status = take_option(o, argc, argv, &i);
            if (status >= 0) return status;
        } else if (!only_words && argv[i][0] == '-' && argv[i][1]) {
            return unknown_option(o, argv[i], (int)strlen(argv[i]));
        } else {
            int status = take_word(o, argv[i]);
            if (status >= 0) return status;
        }
    }
    /* Configuration files, or a folder that has one, replace the word. */
    bool described = option_given(o, "gin_file") || option_given(o, "gin_param") ||
                     (o->command->from_folder && option_given(o, "checkpoint-dir"));
    if (o->nwords < o->command->least && !described)
        return usage_error(o->command, "mtf %s needs %s", o->command->name,
                           o->command->words ? o->command->words : "more words");
    return -1;
}

int options_parse(const command *c, int argc, char **argv, options *o)
{
    size_t n = (size_t)argc + 1;
    *o = (options){.command = c,
                   .words = calloc(n, sizeof *o->words),
                   .values = calloc(n, sizeof *o->values),
                   .ntyped = argc,
                   .typed = argv};
    if (!o->words || !o->values) {
        fputs("mtf: memory: no memory for the command line\n", stderr);
        return STATUS_FAILED;
    }
    return take_all(o, argc, argv);
}

void options_free(options *o)
{
    for (int k = 0; k < o->nowned; k++) free(o->owned[k]);
    free(o->words);
    free(o->values);
    *o = (options){0};
}

const char *option_own(options *o, const char *text)
{
    char *copy = o->nowned < MOST_OWNED ? strdup(text) : NULL;
    if (copy) o->owned[o->nowned++] = copy;
    return copy;
}

/* ---- values ----------------------------------------------------------------------------- */

bool option_put(options *o, const char *name, const char *value)
{
    const option_spec *spec = option_spec_of(o->command, name);
    if (!spec || !value || !*value) return true;
    size_t      n = (size_t)o->nvalues + 1;
    void       *values = realloc(o->values, n * sizeof *o->values);
    const char *text = option_own(o, value);
    if (values) o->values = values;
    if (!values || !text) return false;
    memmove(o->values + 1, o->values, (size_t)o->nvalues++ * sizeof *o->values);
    o->values[0] = (struct option_value){spec, text};
    return true;
}

bool option_add(options *o, const char *name, const char *value)
{
    return option_given(o, name) || option_put(o, name, value);
}

bool option_given(const options *o, const char *name)
{
    return option_nth(o, name, 0) != NULL;
}

bool option_typed(const options *o, const char *name)
{
    const char *value = option_nth(o, name, 0);
    for (int k = 0; k < o->nowned; k++)
        if (value == o->owned[k]) return false;
    return value != NULL;
}

const char *option_nth(const options *o, const char *name, int n)
{
    for (int i = 0; i < o->nvalues; i++)
        if (strcmp(o->values[i].spec->name, name) == 0 && n-- == 0) return o->values[i].value;
    return NULL;
}

/* Parses leading digits; NULL where there are none or too many. */
static const char *read_digits(const char *text, uint64_t *value)
{
    char *end;
    errno = 0;
    unsigned long long v = strtoull(text, &end, 10);
    if (errno || end == text || *text < '0' || *text > '9') return NULL;
    *value = v;
    return end;
}

/* ", or auto" of an option whose value is N|auto; "": it takes numbers only. */
static const char *or_word(const options *o, const char *name, char *text, size_t room)
{
    const char *other = NULL;
    for (int i = 0; i < o->nvalues && !other; i++)
        if (strcmp(o->values[i].spec->name, name) == 0)
            other = strchr(o->values[i].spec->argument, '|');
    if (!other) return "";
    snprintf(text, room, ", or %s", other + 1);
    return text;
}

bool option_number(const options *o, const char *name, uint64_t least, uint64_t most,
                   uint64_t *value)
{
    const char *text = option_nth(o, name, 0);
    if (!text) return true;
    char        word[60];
    uint64_t    v = 0;
    const char *end = read_digits(text, &v);
    if (end && !*end && v >= least && v <= most) {
        *value = v;
        return true;
    }
    if (most >= INT32_MAX) /* so large a limit is not printed */
        usage_error(o->command, "--%s takes a whole number, %llu or more%s, not \"%s\"", name,
                    (unsigned long long)least, or_word(o, name, word, sizeof word), text);
    else
        usage_error(o->command, "--%s takes a whole number from %llu to %llu%s, not \"%s\"", name,
                    (unsigned long long)least, (unsigned long long)most,
                    or_word(o, name, word, sizeof word), text);
    return false;
}

bool option_bytes(const options *o, const char *name, uint64_t *value)
{
    const char *text = option_nth(o, name, 0);
    if (!text) return true;
    static const char units[] = "KMGT";
    uint64_t          v = 0, unit = 1;
    const char       *end = read_digits(text, &v), *found;
    if (end && *end && (found = strchr(units, *end)) != NULL) {
        unit <<= 10 * (found - units + 1);
        end++;
    }
    if (end && !*end && v > 0 && !__builtin_mul_overflow(v, unit, &v)) {
        *value = v;
        return true;
    }
    usage_error(o->command,
                "--%s takes a number of bytes, such as 4096, 64K, 100M or 2G, not \"%s\"", name,
                text);
    return false;
}
