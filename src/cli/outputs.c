/* What a command writes never replaces what it reads.
 *
 * Files are compared by device and inode, so that links do not hide one.  Values name files in many
 * ways, as x=table-*.csv:part=3 or sentencepiece:FILE: every piece of a value may be a file. */
#include "cli/outputs.h"

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/ready.h"

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* ---- one file against one name ---- */

/* Is `path` this file, or the folder in which it lies? */
static bool covers(const char *path, const char *output, const struct stat *file)
{
    struct stat about;
    char        folder[PATH_MAX];
    if (stat(path, &about) != 0) return false;
    if (!S_ISDIR(about.st_mode)) return same_file(&about, file);
    const char *slash = strrchr(output, '/');
    int         length = slash ? (int)(slash - output) + 1 : 2;
    struct stat around;
    return snprintf(folder, sizeof folder, "%.*s", length, slash ? output : "./") < PATH_MAX &&
           stat(folder, &around) == 0 && same_file(&about, &around);
}

static bool matches(const char *pattern, const char *output, const struct stat *file)
{
    glob_t found = {0};
    bool   hit = covers(pattern, output, file);
    if (!hit && strpbrk(pattern, "*?[") && glob(pattern, GLOB_NOSORT, NULL, &found) == 0)
        for (size_t k = 0; k < found.gl_pathc && !hit; k++)
            hit = covers(found.gl_pathv[k], output, file);
    globfree(&found);
    return hit;
}

/* Does any piece of the value, between its separators, name the file? */
static bool value_names(const char *value, const char *output, const struct stat *file)
{
    static const char separators[] = "=:,";
    char              piece[PATH_MAX];
    for (const char *from = value; from; from = strpbrk(from, separators), from += from != NULL)
        for (const char *to = from; *from;) {
            to += strcspn(to, separators);
            snprintf(piece, sizeof piece, "%.*s", (int)(to - from), from);
            if (*piece && matches(piece, output, file)) return true;
            if (!*to++) break;
        }
    return false;
}

/* ---- the command line ---- */

/* The path in the value of an option that writes; NULL: it writes none. */
static const char *written_path(const struct option_value *v)
{
    const char *path = v->value, *equals = strchr(path, '=');
    if (!v->spec->writes) return NULL;
    if (strncmp(v->spec->argument, "NAME", 4) == 0) path = equals ? equals + 1 : NULL;
    return path && *path && strcmp(path, "-") != 0 ? path : NULL;
}

/* Does the option name files to read?  Folders of checkpoints and events are written to as well. */
static bool reads(const option_spec *spec)
{
    static const char *const words[] = {"FILE", "PATH", "SPEC"};
    for (size_t k = 0; k < sizeof words / sizeof *words && spec->argument && !spec->writes; k++)
        if (strstr(spec->argument, words[k])) return true;
    return false;
}

/* What writing this file would replace, in words; NULL: nothing that is read. */
static const char *what_it_replaces(const options *o, const char *output, char *words, size_t room)
{
    struct stat file, input;
    if (stat(output, &file) != 0 || !S_ISREG(file.st_mode)) return NULL;
    for (int k = 0; k < o->nwords; k++) {
        bool built_in = k == 0 && o->command->adds && model_find(o->words[k]);
        if (built_in || !matches(o->words[k], output, &file)) continue;
        bool folder = stat(o->words[k], &input) == 0 && S_ISDIR(input.st_mode);
        snprintf(words, room, "%s\"%.300s\", which is read", folder ? "a file of " : "",
                 o->words[k]);
        return words;
    }
    for (int k = 0; k < o->nvalues; k++) {
        const option_spec *spec = o->values[k].spec;
        if (!reads(spec) || !value_names(o->values[k].value, output, &file)) continue;
        snprintf(words, room, "a file of --%s", spec->name);
        return words;
    }
    if (fstat(STDIN_FILENO, &input) == 0 && same_file(&input, &file)) return "standard input";
    return NULL;
}

static bool same_output(const char *a, const char *b)
{
    struct stat first, second;
    if (strcmp(a, b) == 0) return true;
    return stat(a, &first) == 0 && stat(b, &second) == 0 && S_ISREG(first.st_mode) &&
           same_file(&first, &second);
}

int outputs_check(const options *o)
{
    char words[400];
    for (int i = 0; i < o->nvalues; i++) {
        const char *option = o->values[i].spec->name, *path = written_path(&o->values[i]), *other;
        if (!path) continue;
        const char *replaced = what_it_replaces(o, path, words, sizeof words);
        if (replaced)
            return usage_error(o->command, "--%s %s would replace %s; give another name", option,
                               path, replaced);
        for (int k = 0; k < i; k++)
            if ((other = written_path(&o->values[k])) != NULL && same_output(path, other))
                return usage_error(
                    o->command, "--%s %s would replace what --%s %s writes; give another name",
                    option, o->values[i].value, o->values[k].spec->name, o->values[k].value);
    }
    return -1;
}

bool output_spares(const options *o, mtf_session *s, const char *option, const char *path)
{
    char        words[400];
    const char *replaced = path ? what_it_replaces(o, path, words, sizeof words) : NULL;
    return !replaced ||
           fail(&s->fault, ERR_USAGE, "--%s: \"%s\" would replace %s; give another name", option,
                path, replaced);
}

bool output_spares_files(mtf_session *s, const char *option, const char *path, const char *pattern,
                         const char *called)
{
    struct stat file;
    if (!path || !pattern || stat(path, &file) != 0 || !S_ISREG(file.st_mode)) return true;
    return !matches(pattern, path, &file) ||
           fail(&s->fault, ERR_USAGE, "--%s: \"%s\" would replace %s; give another name", option,
                path, called);
}

bool output_is_other(mtf_session *s, const char *from, const char *to)
{
    struct stat a, b;
    bool        same = stat(from, &a) == 0 && stat(to, &b) == 0 && same_file(&a, &b);
    return !same || fail(&s->fault, ERR_USAGE,
                         "\"%s\" would replace \"%s\", which is read; give another name", to, from);
}
