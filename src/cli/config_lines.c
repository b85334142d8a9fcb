/* Options as lines of a configuration.
 *
 * The mesh, the vocabulary, the text and the steps of a command line are bound like parameters, so that
 * the configuration that is saved with checkpoints is enough to repeat the run.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/textbuf.h"
#include "cli/config_setup.h"
#include "cli/text_binding.h"

static const char *const *list_of(const options *o, arena *a, const char *name)
{
    int n = 0;
    while (option_nth(o, name, n)) n++;
    const char **list = arena_array(a, const char *, n + 1);
    for (int k = 0; list && k < n; k++) list[k] = option_nth(o, name, k);
    return list;
}

/* Lines of a configuration that options stand for, and what messages call them. */
typedef struct lines {
    arena       *arena;
    const char **text, **name;
    int          n;
} lines;

static bool add_line(lines *l, const char *text, const char *name)
{
    l->text[l->n] = text;
    l->name[l->n] = name;
    l->n++;
    return text && name;
}

static bool add_parameters(const options *o, lines *l)
{
    const char *text;
    for (int k = 0; (text = option_nth(o, "gin_param", k)) != NULL; k++) {
        textbuf name = {.arena = l->arena};
        text_add(&name, "--gin_param \"%s\"", text);
        TRY(add_line(l, text, text_done(&name)));
    }
    return true;
}

/* Batch sizes may depend on the mesh and its rules, so the files must see those that are given. */
static bool add_binding(const options *o, const char *option, const char *name, lines *l)
{
    static const char gaps[] = ",.; \t\n";
    const char       *value = option_nth(o, option + 2, 0);
    textbuf           t = {.arena = l->arena};
    if (!value || strncmp(value, "auto:", 5) == 0) return true;
    text_add(&t, "%s = '", name);
    for (const char *at = value, *before = ""; *at; at += strcspn(at, gaps)) {
        at += strspn(at, gaps);
        int length = (int)strcspn(at, gaps);
        if (length == 0 || (length == 4 && strncmp(at, "auto", 4) == 0)) continue;
        text_add(&t, "%s%.*s", before, length, at);
        before = ",";
    }
    text_add(&t, "'");
    return add_line(l, text_done(&t), option);
}

/* Binds the vocabulary of the command line, so that the configuration that is saved with the checkpoints
 * is enough to open the model again from any folder.  Errors are reported when it is opened. */
static bool add_vocabulary(const options *o, lines *l)
{
    static const struct {
        const char *kind, *function, *argument;
    } known[] = {{"bytes", "ByteVocabulary", NULL},
                 {"sentencepiece", "SentencePieceVocabulary", "sentencepiece_model_file"},
                 {"gpt2", "Gpt2Vocabulary", "directory"},
                 {"subwords", "get_t2t_vocabulary", "vocabulary_filename"},
                 {"words", "WordListVocabulary", "filename"}};
    const char *given = option_nth(o, "vocabulary", 0);
    char       *spec = given ? arena_text(l->arena, given) : NULL;
    char       *extra = spec ? strstr(spec, ":extra=") : NULL;
    char        path[PATH_MAX];
    if (!given || !*given) return true;
    TRY(spec != NULL);
    if (extra) *extra = 0, extra += strlen(":extra=");
    if (extra && (!*extra || extra[strspn(extra, "0123456789")])) return true;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        size_t  length = strlen(known[k].kind);
        textbuf t = {.arena = l->arena};
        bool    file = known[k].argument != NULL;
        if (strncmp(spec, known[k].kind, length) != 0 || spec[length] != (file ? ':' : 0)) continue;
        if (file && (!realpath(spec + length + 1, path) || strpbrk(path, "'\\\n"))) return true;
        text_add(&t, "run.vocabulary = @%s()\n", known[k].function);
        if (file) text_add(&t, "%s.%s = '%s'\n", known[k].function, known[k].argument, path);
        text_add(&t, "%s.extra_ids = %s\n", known[k].function, extra ? extra : "0");
        return add_line(l, text_done(&t), "--vocabulary");
    }
    return true;
}

/* Binds the data and the length of a training, so that the configuration that is saved repeats it.
 * Errors are reported when the data are opened. */
static bool add_training(const options *o, mtf_session *s, lines *l)
{
    const char *steps = option_nth(o, "steps", 0);
    textbuf     line = {.arena = &s->arena};
    if (strcmp(o->command->name, "train") != 0) return true;
    for (int training = 0; training < 2; training++) {
        const char *name = training ? "--text" : "--eval-text",
                   *option = option_nth(o, name + 2, 0);
        const char *text = option ? text_binding(s, training, option) : NULL;
        if (option && !text) fault_clear(&s->fault);
        if (text) TRY(add_line(l, text, name));
        if (text && training && option_given(o, "no-shuffle"))
            TRY(add_line(l, "train/text_dataset.shuffle = False", "--no-shuffle"));
    }
    if (!steps || !*steps || steps[strspn(steps, "0123456789")] || strlen(steps) > 15) return true;
    text_add(&line, "run.train_steps = %s", steps);
    return add_line(l, text_done(&line), "--steps");
}

bool config_files(const options *o, mtf_session *s, bool own_rules, mtf_config_opts *to)
{
    enum { OWN = 8 }; /* most lines for other options, and the end */
    arena *a = &s->arena;
    int    given = 0;
    while (option_nth(o, "gin_param", given)) given++;
    lines l = {.arena = a,
               .text = arena_array(a, const char *, given + OWN),
               .name = arena_array(a, const char *, given + OWN)};
    TRY(l.text && l.name);
    TRY(add_parameters(o, &l) && add_binding(o, "--mesh", "run.mesh_shape", &l) &&
        (own_rules || add_binding(o, "--layout", "run.layout_rules", &l)) &&
        add_vocabulary(o, &l) && add_training(o, s, &l));
    *to = (mtf_config_opts){.files = list_of(o, a, "gin_file"),
                            .folders = list_of(o, a, "gin_location_prefix"),
                            .params = l.text,
                            .params_names = l.name,
                            .skip_unknown = option_given(o, "gin_skip_unknown")};
    return to->files && to->folders;
}
