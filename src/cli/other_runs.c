/* Runs that a report draws beside its own: --report-beside. */
#include "cli/other_runs.h"

#include <string.h>

#include "cli/graph_file.h"

/* [NAME=]FILE */
static bool read_run(mtf_session *s, const char *text, report_beside *b)
{
    const char *equals = strchr(text, '=');
    char       *name = arena_text(&s->arena, text);
    b->path = equals ? equals + 1 : text;
    if (strcmp(b->path, "-") == 0 || !*b->path)
        return fail(&s->fault, ERR_USAGE,
                    "--report-beside %s: give the name of a file that mtf train --report wrote",
                    text);
    TRY(name != NULL);
    if (equals) name[equals - text] = 0;
    b->name = equals ? name : train_report_name(b->path, &s->arena);
    b->text = file_text(s, b->path);
    return b->name && b->text;
}

bool other_runs(const options *o, mtf_session *s, train_report_opts *report)
{
    report_beside *list = NULL;
    int            room = 0;
    const char    *text;
    if (option_given(o, "report-beside") && !report->path)
        return fail(&s->fault, ERR_USAGE,
                    "--report-beside adds a run to the page of --report: name that, too");
    for (int i = 0; mtf_is_first(s) && (text = option_nth(o, "report-beside", i)) != NULL; i++) {
        TRY(arena_push(&s->arena, list, report->nbeside, room));
        TRY(read_run(s, text, &list[report->nbeside++]));
    }
    report->beside = list;
    return true;
}
