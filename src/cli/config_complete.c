/* Completes command lines that describe a model by configuration files. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/config_setup.h"
#include "cli/graph_file.h"
#include "cli/replicas.h"

static const option_spec *find_spec(const command *c, const char *name)
{
    option_walk        w = walk_options(c->options);
    const option_spec *spec;
    while ((spec = walk_next(&w)) != NULL)
        if (spec->name && strcmp(spec->name, name) == 0) return spec;
    return NULL;
}

/* Adds an option before all others. */
static bool put_first(options *o, const char *name, const char *value)
{
    const option_spec *spec = find_spec(o->command, name);
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

/* Adds an option as if it had been given. */
static bool add_option(options *o, const char *name, const char *value)
{
    return option_given(o, name) || put_first(o, name, value);
}

/* The files' rules for axes of the mesh, whoever gave it; the axes of one that is to be found have other names. */
static bool add_layout(options *o, const mtf_config_run *r)
{
    TRY(add_option(o, "mesh", r->mesh));
    const char *m = option_nth(o, "mesh", 0);
    if (r->layout_rules) TRY(o->starts = option_own(o, r->layout_rules));
    return (m && strncmp(m, "auto:", 5) == 0) || add_option(o, "layout", r->layout);
}

/* ---- folders of checkpoints ---- */

static bool is_folder(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

/* A ready model of that name comes first. */
static bool names_folder(const options *o)
{
    const command *c = o->command;
    if (!c->from_folder || o->nwords != 1) return false;
    return c->least == 0 || (!model_find(o->words[0]) && is_folder(o->words[0]));
}

/* Makes a word that is a folder the value of --checkpoint-dir. */
static int take_folder(options *o)
{
    if (!names_folder(o)) return -1;
    if (option_given(o, "checkpoint-dir"))
        return usage_error(o->command,
                           "\"%s\" is one folder of checkpoints, and --checkpoint-dir %s another; "
                           "leave one out",
                           o->words[0], option_nth(o, "checkpoint-dir", 0));
    if (!add_option(o, "checkpoint-dir", o->words[0])) return STATUS_FAILED;
    o->nwords = 0;
    return -1;
}

/* Finds the configuration in a folder of checkpoints, or in the parent folder of one checkpoint.  Where the folder is
 * the model, files that are given change some of it; else they are the model. */
static bool find_kept(options *o, bool is_model)
{
    static const char *const places[] = {"", "../"};
    const char              *folder = option_nth(o, "checkpoint-dir", 0);
    char                     path[PATH_MAX];
    if ((option_given(o, "gin_file") && !is_model) || o->nwords || !folder ||
        !o->command->from_folder)
        return true;
    for (int k = 0; k < 2; k++) {
        int n = snprintf(path, sizeof path, "%s/%s%s", folder, places[k], CONFIG_KEPT);
        if (n < (int)sizeof path && access(path, R_OK) == 0) return put_first(o, "gin_file", path);
        n = snprintf(path, sizeof path, "%s/manifest.json", folder);
        if (n >= (int)sizeof path || access(path, F_OK) != 0) break;
    }
    return true;
}

int config_complete(options *o)
{
    const command *c = o->command;
    bool           is_model = names_folder(o);
    int            status = take_folder(o);
    if (status >= 0) return status;
    if (!find_kept(o, is_model)) return STATUS_FAILED;
    if (!config_given(o)) return -1;
    if (o->nwords)
        return usage_error(c, "\"%s\" and --gin_file name two models; leave one out", o->words[0]);
    const char *first = option_nth(o, "gin_file", 0);
    o->words[o->nwords++] = first ? first : "configuration";
    if (!find_spec(c, "mesh")) return -1;
    mtf_session    *s = file_session(&(mtf_session_opts){0});
    mtf_config_opts files;
    mtf_config_run  run;
    if (!s) return STATUS_FAILED;
    mtf_config *config = config_files(o, s, true, &files) ? mtf_config_open(s, &files) : NULL;
    bool        finds = strcmp(c->name, "layout") == 0;
    bool        ok = config && mtf_config_get_run(config, &run) &&
              (!finds || add_option(o, "layout", "auto")) && add_layout(o, &run) &&
              add_option(o, "checkpoint-dir", run.model_dir);
    if (!ok) {
        status = close_session(s);
        return status == STATUS_DONE ? STATUS_FAILED : status;
    }
    o->replica_batch = option_given(o, "batch") ? 0 : run.per_replica;
    session_free(s); /* mtf_close would join the other ranks and end MPI */
    return o->replica_batch ? replicas_choose(o) : -1;
}
