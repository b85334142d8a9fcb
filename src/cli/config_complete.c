/* Completes command lines that describe a model by configuration files. */
#include <string.h>

#include "cli/config_setup.h"
#include "cli/graph_file.h"
#include "cli/model_folder.h"
#include "cli/replicas.h"

/* The files' rules for axes of the mesh, whoever gave it; the axes of one that is to be found have other names. */
static bool add_layout(options *o, const mtf_config_run *r)
{
    TRY(option_add(o, "mesh", r->mesh));
    const char *m = option_nth(o, "mesh", 0);
    if (r->layout_rules) TRY(o->starts = option_own(o, r->layout_rules));
    return (m && strncmp(m, "auto:", 5) == 0) || option_add(o, "layout", r->layout);
}

int config_complete(options *o)
{
    const command *c = o->command;
    int            status = model_folder_take(o);
    if (status >= 0) return status;
    if (!config_given(o)) return -1;
    if (o->nwords && c->from_folder && !option_given(o, "gin_file"))
        return usage_error(
            c,
            "\"%s\" is no folder with a configuration, which --gin_param would change: "
            "name it with --gin_file FILE",
            o->words[0]);
    if (o->nwords)
        return usage_error(c, "\"%s\" and --gin_file name two models; leave one out", o->words[0]);
    const char *first = option_nth(o, "gin_file", 0);
    o->words[o->nwords++] = first ? first : "configuration";
    if (!option_spec_of(c, "mesh")) return -1;
    mtf_session    *s = file_session(&(mtf_session_opts){0});
    mtf_config_opts files;
    mtf_config_run  run;
    if (!s) return STATUS_FAILED;
    mtf_config *config = config_files(o, s, true, &files) ? mtf_config_open(s, &files) : NULL;
    bool        finds = strcmp(c->name, "layout") == 0;
    bool        ok = config && mtf_config_get_run(config, &run) &&
              (!finds || option_add(o, "layout", "auto")) && add_layout(o, &run) &&
              option_add(o, "checkpoint-dir", run.model_dir);
    if (!ok) {
        status = close_session(s);
        return status == STATUS_DONE ? STATUS_FAILED : status;
    }
    o->replica_batch = option_given(o, "batch") ? 0 : run.per_replica;
    session_free(s); /* mtf_close would join the other ranks and end MPI */
    return o->replica_batch ? replicas_choose(o) : -1;
}
