/* mtf ckpt import and export: weights of T5, GPT-2, Mixtral and BERT, and checkpoints of Mesh TensorFlow. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/printable.h"
#include "base/put_file.h"
#include "base/session.h"
#include "checkpoint/bundle.h"
#include "cli/ckpt.h"
#include "cli/graph_file.h"
#include "cli/outputs.h"
#include "model/published/bundle_copy.h"
#include "model/published/published.h"
#include "mtf_config.h"

static published_call call_of(const options *o)
{
    return (published_call){.from = o->words[1],
                            .to = o->words[2],
                            .config = option_nth(o, "config", 0),
                            .force = option_given(o, "force"),
                            .gin = option_given(o, "gin")};
}

static bool write_gin(mtf_session *s, const options *o, const char *text)
{
    const char *path = option_nth(o, "gin", 0);
    return !path || (text && put_file(&s->fault, path, 1, &(piece){text, strlen(text)}));
}

static void report(const options *o, int tensors, const char *what, const char *spare)
{
    if (spare) {
        fprintf(stderr, "mtf: note: %s: ", what);
        printable_put(stderr, spare);
        fputc('\n', stderr);
    }
    printable_print(stdout, "%s: %d tensor%s\n", o->words[2], tensors, tensors == 1 ? "" : "s");
}

/* ---- Hugging Face's layout ---- */

static bool import_published(mtf_session *s, const options *o)
{
    published_call call = call_of(o);
    published_done done;
    TRY(published_import(s, &call, &done));
    TRY(!option_given(o, "gin") || write_gin(s, o, published_gin(&s->arena, &done.config)));
    report(o, done.tensors, "not needed", done.spare);
    return true;
}

static bool export_published(mtf_session *s, const options *o)
{
    published_call call = call_of(o);
    published_done done;
    TRY(published_export(s, &call, &done));
    report(o, done.tensors, "left out", done.spare);
    if (done.unlike)
        fputs("mtf: warning: the exported model computes something else: experts were chosen with "
              "the biases (top_k_gating/bias) that are left out, and published files have no "
              "place for them\n",
              stderr);
    return true;
}

/* ---- Mesh TensorFlow's ---- */

/* Names that mtf does not know may be left out when it is used. */
static bool is_configuration(mtf_session *s, const char *path)
{
    const char *files[] = {path, NULL};
    return mtf_config_open(s, &(mtf_config_opts){.files = files, .skip_unknown = true}) != NULL;
}

/* The configuration that is named, or the one that is beside the source. */
static bool read_config(mtf_session *s, const options *o, const contents *c, const char **text)
{
    const char *path = option_nth(o, "config", 0);
    *text = path ? file_text(s, path) : ckpt_config(s, c);
    return mtf_ok(s) && (!path || is_configuration(s, path));
}

static bool copy_bundle(mtf_session *s, const options *o,
                        bool (*copy)(mtf_session *s, reader *from, bundle_copy *c))
{
    ckpt_source source;
    bundle_copy c = {.to = o->words[2], .force = option_given(o, "force")};
    bool ok = ckpt_open(&source, s, o->words[1]) && read_config(s, o, &source.contents, &c.gin) &&
              copy(s, &source.reader, &c);
    ckpt_close(&source);
    if (ok) report(o, c.tensors, "not needed", c.spare);
    return ok && write_gin(s, o, c.gin ? c.gin : "");
}

/* ---- the two commands ---- */

bool ckpt_import(mtf_session *s, const options *o)
{
    const char *gin = option_nth(o, "gin", 0), *from = o->words[1];
    TRY(output_is_other(s, from, o->words[2]) && (!gin || put_file_check(&s->fault, gin)));
    if (bundle_index_path(&s->arena, from)) return copy_bundle(s, o, bundle_import);
    if (mtf_ok(s) && access(from, F_OK) != 0 && errno == ENOENT)
        return fail(&s->fault, ERR_FILE,
                    "there is no \"%s\", and no \"%s.index\" of a TensorFlow checkpoint either",
                    from, from);
    return mtf_ok(s) && import_published(s, o);
}

bool ckpt_export(mtf_session *s, const options *o)
{
    TRY(output_is_other(s, o->words[1], o->words[2]));
    if (option_given(o, "tensorflow")) return copy_bundle(s, o, bundle_export);
    return export_published(s, o);
}
