/* Folders of checkpoints as models: they keep a configuration, a model file, or a built-in model's options. */
#include "cli/model_folder.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/put_file.h"
#include "base/textbuf.h"
#include "checkpoint/opening.h"
#include "cli/graph_file.h"

static bool is_folder(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

/* A built-in model of that name comes first. */
static bool names_folder(const options *o)
{
    const command *c = o->command;
    if (!c->from_folder || o->nwords != 1) return false;
    return c->least == 0 || (!model_find(o->words[0]) && is_folder(o->words[0]));
}

static bool takes_configurations(const options *o)
{
    return option_spec_of(o->command, "gin_file") != NULL;
}

/* Those that answer with text need a Transformer. */
static bool takes_files(const options *o)
{
    return o->command->least > 0;
}

/* The path of a file in a folder of checkpoints, or in the parent folder of one checkpoint; NULL: it is not there. */
static const char *path_kept(const char *folder, const char *name, char path[PATH_MAX])
{
    static const char *const places[] = {"", "../"};
    for (int k = 0; k < 2; k++) {
        int n = snprintf(path, PATH_MAX, "%s/%s%s", folder, places[k], name);
        if (n < PATH_MAX && access(path, R_OK) == 0) return path;
        n = snprintf(path, PATH_MAX, "%s/manifest.json", folder);
        if (n >= PATH_MAX || access(path, F_OK) != 0) break;
    }
    return NULL;
}

/* ---- built-in models: their checkpoints have the command line ---- */

/* The options of "mtf train NAME --hidden 8 --rate 0.1 * cosine", as if they had been given. */
static bool take_options(options *o, char *line)
{
    for (char *at = strstr(line, " --"), *next; at; at = next) {
        char *name = at + strlen(" --"), *value = strchr(name, ' ');
        next = strstr(name, " --");
        if (next) *next = 0;
        if (!value || (next && value >= next)) continue;
        *value++ = 0;
        TRY(option_add(o, name, value));
    }
    return true;
}

/* The command line in the folder's newest checkpoint; "" where it is of no built-in model. */
static void read_line(const char *folder, char *line, size_t room)
{
    static const char train[] = "mtf train ";
    mtf_session      *s = file_session(&(mtf_session_opts){0});
    *line = 0;
    if (!s) return;
    contents c = contents_make(&s->arena);
    if (checkpoint_open(&c, folder, NEWEST) && c.config && strlen(c.config) < room &&
        strncmp(c.config, train, sizeof train - 1) == 0)
        memcpy(line, c.config + sizeof train - 1, strlen(c.config) - sizeof train + 2);
    session_free(s); /* mtf_close would report that there is no checkpoint */
}

/* Its name; "" where the folder is of another model. */
static void built_in_name(const char *folder, char *line, size_t room, char name[100])
{
    read_line(folder, line, room);
    snprintf(name, 100, "%.*s", (int)strcspn(line, " "), line);
    if (!model_find(name)) *name = 0;
}

static int take_built_in(options *o, const char *folder)
{
    char line[2000], name[100];
    built_in_name(folder, line, sizeof line, name);
    if (!*name) return model_folder_lacks(o, folder);
    const char *own = option_own(o, name);
    if (own) o->words[o->nwords++] = own;
    return own && take_options(o, line) ? -1 : STATUS_FAILED;
}

/* ---- what the folder keeps ---- */

/* Where the folder is the model, configuration files that are given change some of it; else they are the model. */
static int take_kept(options *o, const char *folder, bool is_model)
{
    char        path[PATH_MAX];
    const char *file = NULL, *own = NULL;
    if (takes_configurations(o) && (is_model || !option_given(o, "gin_file")) &&
        path_kept(folder, CONFIG_KEPT, path))
        return option_put(o, "gin_file", path) ? -1 : STATUS_FAILED;
    if (takes_files(o)) file = path_kept(folder, FILE_KEPT, path);
    if (file && config_given(o))
        return usage_error(o->command, "\"%s\" and --gin_file name two models; leave one out",
                           file);
    if (file && !(own = option_own(o, file))) return STATUS_FAILED;
    if (own) o->words[o->nwords++] = own;
    if (own || config_given(o) || !takes_files(o)) return -1;
    return takes_configurations(o) ? take_built_in(o, folder) : model_folder_lacks(o, folder);
}

/* mtf train makes such folders, and goes on in them. */
static int name_model(const options *o)
{
    const char *folder = o->words[0], *option = "", *what;
    char        path[PATH_MAX], line[2000], name[100];
    if (strcmp(o->command->name, "train") != 0 || model_find(folder)) return -1;
    if ((what = path_kept(folder, CONFIG_KEPT, path)) != NULL) option = "--gin_file ";
    if (!what) what = path_kept(folder, FILE_KEPT, path);
    if (!what) built_in_name(folder, line, sizeof line, name), what = name;
    if (!*what) return -1;
    return usage_error(
        o->command,
        "\"%s\" is a folder of checkpoints: go on with mtf train %s%s --checkpoint-dir %s "
        "--resume, and the options of the first run",
        folder, option, what, folder);
}

int model_folder_take(options *o)
{
    bool        is_model = names_folder(o);
    const char *given = option_nth(o, "checkpoint-dir", 0),
               *folder = is_model ? o->words[0] : given;
    if (!o->command->from_folder && o->nwords == 1 && is_folder(o->words[0])) return name_model(o);
    if (!o->command->from_folder || !folder || (o->nwords && !is_model)) return -1;
    if (is_model && given)
        return usage_error(o->command,
                           "\"%s\" is one folder of checkpoints, and --checkpoint-dir %s another; "
                           "leave one out",
                           folder, given);
    if (is_model && !option_put(o, "checkpoint-dir", folder)) return STATUS_FAILED;
    o->nwords = 0;
    return take_kept(o, folder, is_model);
}

int model_folder_lacks(const options *o, const char *folder)
{
    char path[PATH_MAX];
    if (!is_folder(folder))
        return usage_error(
            o->command,
            "there is neither a folder of a run nor a %s \"%s\": name the folder where "
            "mtf train saved, or %s",
            takes_files(o) ? "model" : "configuration", folder,
            takes_files(o) ? "the model" : "--gin_file FILE");
    if (!takes_files(o) && path_kept(folder, FILE_KEPT, path))
        return usage_error(o->command,
                           "\"%s\" has " FILE_KEPT ", not " CONFIG_KEPT ": mtf %s wants a "
                           "Transformer that mtf train --gin_file trained",
                           folder, o->command->name);
    if (!takes_files(o))
        return usage_error(o->command,
                           "\"%s\" has no " CONFIG_KEPT
                           ", as mtf train --gin_file writes it: say what the model is with "
                           "--gin_file FILE",
                           folder);
    if (!takes_configurations(o) && path_kept(folder, CONFIG_KEPT, path))
        return usage_error(o->command,
                           "\"%s\" has " CONFIG_KEPT ", not " FILE_KEPT
                           ": mtf %s takes model files; "
                           "mtf decode, score and eval take this folder",
                           folder, o->command->name);
    if (!takes_configurations(o))
        return usage_error(o->command,
                           "\"%s\" has no " FILE_KEPT
                           ", as mtf train FILE.mtf writes it: say which file the model is",
                           folder);
    return usage_error(o->command,
                       "\"%s\" has no " CONFIG_KEPT " and no " FILE_KEPT
                       ", which mtf train writes for configurations and for files: say what the "
                       "model is",
                       folder);
}

/* ---- writing ---- */

bool model_folder_keep(const setup *s, const char *folder)
{
    textbuf path = {.arena = &s->session->arena};
    if (s->config) return config_keep(s->config, folder);
    if (s->ready) return true;
    text_add(&path, "%s/" FILE_KEPT, folder);
    const char *file = text_done(&path);
    return file && put_file(&s->session->fault, file, 1, &(piece){s->text, strlen(s->text)});
}
