/* mtf ckpt import and export: published weights of T5, GPT-2, Mixtral and BERT. */
#include <stdio.h>
#include <string.h>

#include "base/printable.h"
#include "base/put_file.h"
#include "base/session.h"
#include "cli/ckpt.h"
#include "cli/outputs.h"
#include "model/published/published.h"

static published_call call_of(const options *o)
{
    return (published_call){.from = o->words[1],
                            .to = o->words[2],
                            .config = option_nth(o, "config", 0),
                            .force = option_given(o, "force"),
                            .gin = option_given(o, "gin")};
}

/* Writes the model as a configuration, for --gin. */
static bool write_gin(mtf_session *s, const options *o, const published_config *c)
{
    const char *path = option_nth(o, "gin", 0);
    if (!path) return true;
    const char *text = published_gin(&s->arena, c);
    return text && put_file(&s->fault, path, 1, &(piece){text, strlen(text)});
}

static bool finish_import(const options *o, bool ok, const published_done *done)
{
    if (ok && done->spare) {
        fputs("mtf: note: not needed: ", stderr);
        printable_put(stderr, done->spare);
        fputc('\n', stderr);
    }
    if (ok)
        printable_print(stdout, "%s: %d tensor%s\n", o->words[2], done->tensors,
                        done->tensors == 1 ? "" : "s");
    return ok;
}

bool ckpt_import(mtf_session *s, const options *o)
{
    published_call call = call_of(o);
    published_done done;
    const char    *gin = option_nth(o, "gin", 0);
    TRY(output_is_other(s, call.from, call.to) && (!gin || put_file_check(&s->fault, gin)));
    bool ok = published_import(s, &call, &done) && write_gin(s, o, &done.config);
    return finish_import(o, ok, &done);
}

bool ckpt_export(mtf_session *s, const options *o)
{
    published_call call = call_of(o);
    published_done done;
    TRY(output_is_other(s, call.from, call.to));
    return finish_import(o, published_export(s, &call, &done), &done);
}
