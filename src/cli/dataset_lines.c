/* A dataset of text as lines of inputs and targets. */
#include "cli/dataset_lines.h"

#include <string.h>

#include "base/textbuf.h"
#include "data/text/text_pairs.h"
#include "serve/decode_lines.h"

/* One line for each text, with blanks in place of newlines. */
static char *join(mtf_session *s, const text_pairs *p, bool targets)
{
    size_t size = 1;
    for (int k = 0; k < p->count; k++)
        size += strlen(targets ? p->all[k].targets : p->all[k].inputs) + 1;
    char *all = arena_array(&s->arena, char, size), *to = all;
    for (int k = 0; all && k < p->count; k++) {
        for (const char *c = targets ? p->all[k].targets : p->all[k].inputs; *c; c++)
            *to++ = *c == '\n' || *c == '\r' ? ' ' : *c;
        *to++ = '\n';
    }
    return all;
}

bool dataset_lines_read(config_setup *c, dataset_lines *to)
{
    mtf_session  *s = c->session;
    mtf_text_opts o;
    text_pairs    pairs;
    *to = (dataset_lines){0};
    if (!option_given(c->options, "eval-text") && !c->run.decode.from_dataset) return true;
    TRY(config_text_opts(c, false, &o));
    if (!o.files)
        return fail(&s->fault, ERR_USAGE,
                    "the configuration wants a dataset decoded, but has none that can be opened "
                    "here: name it with --eval-text FILES");
    TRY(text_pairs_read(s, &o, &pairs));
    to->files = o.files;
    to->inputs = join(s, &pairs, false);
    if (pairs.all[0].targets) to->targets = join(s, &pairs, true);
    return to->inputs && (to->targets || !pairs.all[0].targets);
}

static bool write_text(const opened_model *m, const char *output, const char *suffix,
                       const char *text)
{
    const char *path = text ? step_path(m, output, suffix) : NULL;
    FILE       *f = path ? output_open(m, path) : NULL;
    if (!text) return true;
    TRY(f != NULL);
    fputs(text, f);
    return output_close(m, path, f);
}

bool dataset_lines_write(const opened_model *m, const dataset_lines *l, const char *output)
{
    return write_text(m, output, ".inputs", l->inputs) &&
           write_text(m, output, ".targets", l->targets);
}
