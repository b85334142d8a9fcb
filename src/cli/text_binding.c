/* Configuration lines that stand for options of text. */
#include "cli/text_binding.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/textbuf.h"
#include "data/text/text_option.h"

/* Between single quotes these would need escapes. */
static bool is_plain(const char *text)
{
    return !text || !strpbrk(text, "'\\\n");
}

/* A pattern has no real path of its own, but its folder is that of the command. */
static bool absolute(const char *files, char path[PATH_MAX])
{
    char here[PATH_MAX];
    if (realpath(files, path)) return true;
    if (*files != '/' && !getcwd(here, sizeof here)) return false;
    int n = *files == '/' ? snprintf(path, PATH_MAX, "%s", files)
                          : snprintf(path, PATH_MAX, "%s/%s", here, files);
    return n > 0 && n < PATH_MAX;
}

static void add_word(textbuf *t, const char *scope, const char *name, const char *value)
{
    if (value) text_add(t, "%s/text_dataset.%s = '%s'\n", scope, name, value);
}

static void add_flag(textbuf *t, const char *scope, const char *name, bool value)
{
    text_add(t, "%s/text_dataset.%s = %s\n", scope, name, value ? "True" : "False");
}

const char *text_binding(mtf_session *s, bool training, const char *option)
{
    static const char *const objectives[] = {"lm",    "pairs",  "delimited",
                                             "spans", "prefix", "prefix_delimited"};
    static const char *const documents[] = {NULL, "blank", "line", "file"};
    const char              *scope = training ? "train" : "eval";
    textbuf                  t = {.arena = &s->arena};
    mtf_text_opts            o;
    char                     path[PATH_MAX];
    if (!text_option_parse(s, training ? "text" : "eval-text", option, &o)) return NULL;
    if (!absolute(o.files, path) || !is_plain(path) || !is_plain(o.inputs) ||
        !is_plain(o.targets) || !is_plain(o.format))
        return NULL;
    text_add(&t, "run.%s_dataset_fn = @%s/text_dataset\n", scope, scope);
    add_word(&t, scope, "files", path);
    add_word(&t, scope, "format", o.format);
    if (strstr(option, ":objective=")) add_word(&t, scope, "objective", objectives[o.objective]);
    add_word(&t, scope, "documents", documents[o.documents]);
    add_word(&t, scope, "inputs", o.inputs);
    add_word(&t, scope, "targets", o.targets);
    add_flag(&t, scope, "joined", o.joined);
    add_flag(&t, scope, "split_long", o.overlong == MTF_OVERLONG_SPLIT);
    add_flag(&t, scope, "pack", o.pack);
    add_flag(&t, scope, "ensure_eos", o.ensure_end);
    text_add(&t, "%s/text_dataset.seed = %llu\n", scope, (unsigned long long)o.seed);
    if (o.noise > 0) text_add(&t, "%s/text_dataset.noise_density = %.17g\n", scope, o.noise);
    if (o.mean_span > 0)
        text_add(&t, "%s/text_dataset.mean_noise_span_length = %.17g\n", scope, o.mean_span);
    return text_done(&t);
}
