/* mtf ckpt: inspects, checks and converts checkpoints. */
#include <string.h>

#include "cli/ckpt.h"
#include "cli/commands.h"
#include "cli/graph_file.h"

static const struct {
    const char *word, *needs;
    int         words;
    bool (*run)(mtf_session *s, const options *o);
} actions[] = {
    {"ls", "ls PATH", 2, ckpt_list},
    {"verify", "verify PATH", 2, ckpt_verify},
    {"show", "show PATH NAME", 3, ckpt_show},
    {"diff", "diff A B", 3, ckpt_diff},
    {"convert", "convert FROM TO", 3, ckpt_convert},
    {"import", "import FROM TO", 3, ckpt_import},
    {"export", "export FROM FOLDER", 3, ckpt_export},
};
enum { ACTIONS = sizeof actions / sizeof *actions };

static int run(const options *o)
{
    nearest near = {.wanted = o->words[0]};
    char    hint[100];
    for (int i = 0; i < ACTIONS; i++) {
        nearest_offer(&near, actions[i].word);
        if (strcmp(actions[i].word, o->words[0]) != 0) continue;
        if (o->nwords != actions[i].words)
            return usage_error(o->command, "write mtf ckpt %s", actions[i].needs);
        mtf_session *s = file_session(&(mtf_session_opts){0});
        if (!s) return STATUS_FAILED;
        bool ok = actions[i].run(s, o);
        int  status = close_session(s);
        return status == STATUS_DONE && !ok ? STATUS_FAILED : status;
    }
    return usage_error(o->command, "mtf ckpt has no \"%s\"%s", o->words[0],
                       nearest_hint(&near, hint, sizeof hint));
}

/* clang-format off */
static const option_spec table[] = {
    {"type",   "PATTERN=TYPE",        true,  "convert: element type of tensors whose names match; all=TYPE: of all floating tensors"},
    {"rename", "PATTERN=REPLACEMENT", true,  "convert: replace the part of a name that matches; \\1 is a group"},
    {"only",   "PATTERN",             false, "convert: leave out tensors whose name does not match"},
    {"config", "FILE",                false, "import, export: the model's config.json or operative_config.gin; default: the one beside the weights, or the one that was imported"},
    {"gin",    "FILE",                false, "import: write the configuration that builds the model here as well", .writes = true},
    {"tensorflow", NULL,              false, "export: a folder with a checkpoint for Mesh TensorFlow"},
    {"force",  NULL,                  false, "convert, import, export: replace what exists"},
    {"json",   NULL,                  false, "ls, verify, show, diff: print JSON"},
    {0},
};
/* clang-format on */

static const char *const examples[] = {
    "mtf ckpt ls runs/mnist",
    "mtf ckpt ls runs/mnist/step_00001000",
    "mtf ckpt verify runs/mnist",
    "mtf ckpt show runs/mnist layer/w",
    "mtf ckpt diff runs/mnist/step_00001000 runs/mnist/step_00002000",
    "mtf ckpt convert runs/mnist half.safetensors --type all=bf16 --only '^layer/'",
    "mtf ckpt convert other.safetensors start --rename '^model\\.(.*)=\\1'",
    "mtf ckpt convert runs/mnist w.npy --only '^layer/w$'",
    "mtf ckpt import downloads/t5-small t5",
    "mtf ckpt import original/model.ckpt-1000 t5",
    "mtf ckpt export runs/translate my-t5 --config downloads/t5-small/config.json",
    "mtf ckpt export t5 original --tensorflow",
    NULL,
};

const command command_ckpt = {
    .name = "ckpt",
    .says = "inspect, check, diff, convert, import and export checkpoints",
    .words = "ls PATH | verify PATH | show PATH NAME | diff A B | convert FROM TO |\n"
             "                import FROM TO | export FROM FOLDER",
    .least = 2,
    .most = 3,
    .options = table,
    .examples = examples,
    .teaches =
        "A checkpoint is a folder with safetensors files, which hold whole tensors by name, and\n"
        "manifest.json.  A path names a checkpoint, a folder of checkpoints (ls and verify take "
        "all\n"
        "of them, the others the newest), a safetensors file of any program, or a .npy file.\n"
        "convert writes a .npy file of one tensor, one .safetensors file, or, under any other "
        "name,\n"
        "a new checkpoint; it replaces nothing without --force.  Patterns are extended regular\n"
        "expressions, found anywhere in a name.  verify exits with 1 where one is damaged, diff "
        "where\n"
        "two differ.\n"
        "import makes a checkpoint of T5, GPT-2, Mixtral or BERT weights in Hugging Face's layout\n"
        "(config.json and safetensors files), with a configuration in it, so that mtf decode TO\n"
        "answers with them, or of a checkpoint of Mesh TensorFlow (its folder, or the name that "
        "its\n"
        ".index file begins with), with the operative_config.gin beside it.  export makes such\n"
        "folders of a checkpoint: docs/weights.md.",
    .run = run,
};
