/* mtf ops: prints the manual of operations. */
#include <stdio.h>
#include <string.h>

#include "base/textbuf.h"
#include "cli/commands.h"
#include "cli/graph_file.h"
#include "cli/json_out.h"
#include "graph/op.h"
#include "ops/other_names.h"

static const struct {
    const char *word, *says;
} kinds[] = {
    [ATTR_INT] = {"INTEGER", "integer"},
    [ATTR_REAL] = {"NUMBER", "number"},
    [ATTR_NUMBER] = {"NUMBER", "number"},
    [ATTR_BOOL] = {"BOOL", "true or false"},
    [ATTR_WORD] = {"WORD", "word"},
    [ATTR_TEXT] = {"\"TEXT\"", "text"},
    [ATTR_INTS] = {"(INTEGERS)", "list of integers"},
    [ATTR_NAMES] = {"(NAMES)", "list of dimension names"},
    [ATTR_DIM] = {"[NAME=SIZE]", "dimension"},
    [ATTR_TYPE] = {"TYPE", "element type"},
    [ATTR_SHAPE] = {"[SHAPE]", "shape"},
    [ATTR_DATA] = {"{ELEMENTS}", "elements"},
};

/* ---- derived from an op's tables -------------------------------------------------------- */

/* Given by the annotation of the line, `y: f32[a=2]`, not between the parentheses. */
static bool in_annotation(const attr_spec *spec)
{
    return spec->kind == ATTR_SHAPE || (spec->kind == ATTR_TYPE && strcmp(spec->name, "type") == 0);
}

/* Not listed in the manual: the signature shows it, or, for `sums`, the block's yield. */
static bool is_silent(const attr_spec *spec)
{
    if (in_annotation(spec)) return !spec->says || !*spec->says;
    return spec->kind == ATTR_INT && strcmp(spec->name, "sums") == 0;
}

static bool has_attributes(const op *o)
{
    for (int i = 0; o->attrs && o->attrs[i].name; i++)
        if (!is_silent(&o->attrs[i])) return true;
    return false;
}

/* Whether the attribute is required, or its default.  Some operations infer what the annotation gives. */
static void write_default(const attr_spec *spec, const char *before, textbuf *t)
{
    if (in_annotation(spec))
        text_add(t, "in the annotation");
    else if (!spec->otherwise)
        text_add(t, "required");
    else if (!*spec->otherwise)
        text_add(t, "none");
    else
        text_add(t, "%s%s", before, spec->otherwise);
}

/* A composite is differentiated through its parts. */
static bool has_gradient(const op *o)
{
    return o->grad || o->expand;
}

/* The result is called y, or z where an input is called y. */
static const char *result_names(const op *o)
{
    const char *last = o->args ? strrchr(o->args, ' ') : NULL;
    return o->results ? o->results : last && strcmp(last, " y") == 0 ? "z" : "y";
}

static void write_signature(const op *o, textbuf *t)
{
    bool first = true, annotated[2] = {false, false};
    for (int i = 0; o->attrs && o->attrs[i].name; i++)
        if (in_annotation(&o->attrs[i])) annotated[o->attrs[i].kind == ATTR_SHAPE] = true;
    text_add(t, "%s%s%s%s = %s", result_names(o), annotated[0] || annotated[1] ? ": " : "",
             annotated[0] ? "TYPE" : "", annotated[1] ? "[SHAPE]" : "", o->name);
    const char *args = o->args ? o->args : "";
    if (*args) text_add(t, "(%s", args), first = false;
    for (int i = 0; o->attrs && o->attrs[i].name; i++) {
        const attr_spec *spec = &o->attrs[i];
        if (in_annotation(spec) || is_silent(spec)) continue;
        const char *value = spec->otherwise, *quote = "";
        if (!value || !*value) value = kinds[spec->kind].word;
        if (spec->kind == ATTR_TEXT && *value != '"') quote = "\"";
        text_add(t, "%s%s=%s%s%s", first ? "(" : ", ", spec->name, quote, value, quote);
        first = false;
    }
    if (!first) text_add(t, ")");
    if (!o->blocks) return;
    text_add(t, " {");
    for (int i = 0; o->blocks[i]; i++) text_add(t, "%s %s", i ? ";" : "", o->blocks[i]);
    text_add(t, " }");
}

static void write_remarks(const op *o, const char *before, textbuf *t)
{
    if (o->args && *o->args && !has_gradient(o)) text_add(t, "%sIt has no gradient.\n", before);
    if (o->flags & OP_EFFECT)
        text_add(t, "%sIt happens in every step, whether its result is used or not.\n", before);
}

/* ---- plain text ------------------------------------------------------------------------- */

/* Words from column `indent` on, broken into lines that begin there. */
static void write_wrapped(textbuf *t, int indent, const char *text)
{
    enum { LINE = 100 };
    for (int column = indent; *text;) {
        int length = (int)strcspn(text, " ");
        if (column > indent && column + 1 + length > LINE) {
            text_add(t, "\n%*s", indent, "");
            column = indent;
        }
        text_add(t, "%s%.*s", column > indent ? " " : "", length, text);
        column += length + (column > indent);
        text += length;
        text += strspn(text, " ");
    }
    text_add(t, "\n");
}

static void write_entry(const op *o, textbuf *t)
{
    int width = 0;
    write_signature(o, t);
    text_add(t, "\n    ");
    write_wrapped(t, 4, o->says);
    for (int i = 0; o->attrs && o->attrs[i].name; i++)
        if ((int)strlen(o->attrs[i].name) > width) width = (int)strlen(o->attrs[i].name);
    for (int i = 0; o->attrs && o->attrs[i].name; i++) {
        const attr_spec *spec = &o->attrs[i];
        if (is_silent(spec)) continue;
        textbuf row = {.arena = t->arena};
        if (spec->says && *spec->says) text_add(&row, "%s ", spec->says);
        text_add(&row, "(%s; ", kinds[spec->kind].says);
        write_default(spec, "default ", &row);
        text_add(&row, ")");
        text_add(t, "    %-*s  ", width, spec->name);
        write_wrapped(t, 4 + width + 2, text_done(&row) ? row.text : "");
    }
    write_remarks(o, "    ", t);
}

/* ---- markdown --------------------------------------------------------------------------- */

/* A cell of a table, in which a bar would end it. */
static void write_cell(textbuf *t, const char *text)
{
    for (; *text; text++) text_add(t, *text == '|' ? "\\|" : "%c", *text);
}

static void write_section(const op *o, textbuf *t)
{
    text_add(t, "\n## %s\n\n```\n", o->name);
    write_signature(o, t);
    text_add(t, "\n```\n\n%s\n", o->says);
    if (has_attributes(o))
        text_add(t, "\n| attribute | kind | default | meaning |\n|---|---|---|---|\n");
    for (int i = 0; o->attrs && o->attrs[i].name; i++) {
        const attr_spec *spec = &o->attrs[i];
        if (is_silent(spec)) continue;
        textbuf otherwise = {.arena = t->arena};
        write_default(spec, "", &otherwise);
        text_add(t, "| `%s` | %s | ", spec->name, kinds[spec->kind].says);
        write_cell(t, text_done(&otherwise) ? otherwise.text : "");
        text_add(t, " | ");
        write_cell(t, spec->says ? spec->says : "");
        text_add(t, " |\n");
    }
    write_remarks(o, "\n", t);
}

static void write_page(textbuf *t)
{
    text_add(
        t, "%s",
        "# Operations\n\n"
        "<!-- Written by `mtf ops --markdown` from the operations' own tables; do not edit. "
        "-->\n\n"
        "How to read an entry: results, then the operation with its inputs, then its "
        "attributes with their defaults;\n"
        "an input in brackets may be left out, `xs...` is one or more. "
        "`y: TYPE[SHAPE]` means that the line's\nannotation can say type and shape. "
        "docs/text.md describes the language.\n\n"
        "Everything matches dimensions by name. What an operation cannot infer it takes from "
        "the annotation;\nwhere both are known they must agree.\n\n"
        "Ties: of equal elements the one with the lowest index wins and receives the whole "
        "gradient (max, min,\nargmax, sort, top-k, pooling); of two equal operands of minimum "
        "and maximum the first. NaN wins max and\nmin, and sorts as the largest.\n\n"
        "An index out of range selects nothing: one_hot gives `off`, gather zero, scatter_add "
        "ignores it.\n\n"
        "Element types never change silently: cast. bf16 and f16 only store; arithmetic and "
        "sums happen in f32.\nEach result is rounded to its type once, and no part of a sum "
        "is, whatever the layout; a loop's sum is one sum over all iterations.\n"
        "A chip that multiplies bf16 matrices by itself may take elements below 2^-126 for 0.\n"
        "Integers wrap around.\n\n"
        "f8e4m3 and f8e5m2 hold factors of products: they are cast, moved (broadcast, reshape, "
        "slice,\ntranspose) and multiplied by einsum, whose result is then f32 or bf16; nothing "
        "else "
        "takes them, and neither inputs nor\nvariables have these types. Numbers beyond 448 "
        "and 57344, infinity included, become these; NaN stays NaN,\nwithout a sign. Gradients "
        "of f8 tensors are f32. einsum_f8 scales, rounds and multiplies in one.\n\n");
    for (int i = 0; op_catalogue[i]; i++)
        text_add(t, "%s[%s](#%s)", i ? ",\n" : "", op_catalogue[i]->name, op_catalogue[i]->name);
    text_add(t, "\n");
    for (int i = 0; op_catalogue[i]; i++) write_section(op_catalogue[i], t);
}

/* ---- JSON ------------------------------------------------------------------------------- */

static cJSON *json_op(const op *o)
{
    cJSON *item = cJSON_CreateObject();
    json_text(item, "name", o->name);
    json_text(item, "says", o->says);
    json_text(item, "inputs", o->args ? o->args : "");
    json_text(item, "results", result_names(o));
    cJSON *attributes = json_list(item, "attributes");
    for (int i = 0; o->attrs && o->attrs[i].name; i++) {
        const attr_spec *spec = &o->attrs[i];
        if (is_silent(spec)) continue;
        cJSON *a = cJSON_CreateObject();
        json_text(a, "name", spec->name);
        json_text(a, "kind", kinds[spec->kind].says);
        if (spec->otherwise) json_text(a, "default", spec->otherwise);
        json_text(a, "says", spec->says ? spec->says : "");
        if (!cJSON_AddItemToArray(attributes, a)) cJSON_Delete(a);
    }
    cJSON *blocks = json_list(item, "blocks");
    for (int i = 0; o->blocks && o->blocks[i]; i++) json_append(blocks, o->blocks[i]);
    json_flag(item, "gradient", has_gradient(o));
    json_flag(item, "effect", (o->flags & OP_EFFECT) != 0);
    json_flag(item, "composite", o->expand != NULL);
    return item;
}

static bool print_json(mtf_session *s, const op *only)
{
    if (only) return json_print(s, json_op(only));
    cJSON *list = cJSON_CreateArray();
    for (int i = 0; op_catalogue[i]; i++) {
        cJSON *item = json_op(op_catalogue[i]);
        if (!cJSON_AddItemToArray(list, item)) cJSON_Delete(item);
    }
    return json_print(s, list);
}

/* ---- words that are no operations ------------------------------------------------------- */

/* What lines of a file may say besides. */
static const struct {
    const char *name, *line, *says;
} words[] = {
    {"gradients", "dx, dw = gradients(loss; x, w)",
     "differentiates the sum of loss: it stands for the operations that compute the derivatives.  "
     "Several "
     "tensors may stand before the semicolon; a third list gives their own gradients, as in "
     "gradients(y; x; "
     "dy).  An input on which nothing depends is an error; drop its result with _"},
    {"history", "h = history(s)",
     "the values that s, a result of a loop, had at the start of each iteration, with a first "
     "dimension "
     "_iterations; s has at most 15 dimensions (see mtf ops loop)"},
    {"dim", "dim batch = 100", "the size of a dimension, wherever a line leaves it out"},
    {"yield", "yield x * 2.0, n + 1",
     "the last line of a block: its results.  In the body of a loop, what stands after a semicolon "
     "is summed over "
     "the iterations (see mtf ops loop)"},
};
enum { WORDS = sizeof words / sizeof *words };

static int find_word(const char *name)
{
    int k = 0;
    while (k < WORDS && strcmp(words[k].name, name) != 0) k++;
    return k;
}

static bool print_word(mtf_session *s, const options *o, int k)
{
    textbuf t = {.arena = &s->arena};
    if (option_given(o, "json") || option_given(o, "markdown"))
        return fail(&s->fault, ERR_USAGE,
                    "\"%s\" is a word of the text language and no operation: without --json and "
                    "--markdown its meaning is printed",
                    words[k].name);
    text_add(&t, "%s\n    ", words[k].line);
    write_wrapped(&t, 4, words[k].says);
    const char *text = text_done(&t);
    if (text) fputs(text, stdout);
    return text != NULL;
}

/* ---- the command ------------------------------------------------------------------------ */

static bool find_op(mtf_session *s, const char *name, const op **found)
{
    nearest near = {.wanted = name};
    for (int k = 0; k < WORDS; k++) nearest_offer(&near, words[k].name);
    for (int i = 0; op_catalogue[i]; i++) {
        if (strcmp(op_catalogue[i]->name, name) == 0) {
            *found = op_catalogue[i];
            return true;
        }
        nearest_offer(&near, op_catalogue[i]->name);
    }
    char        text[100];
    const char *hint = other_name_hint(name);
    if (!hint) hint = nearest_hint(&near, text, sizeof text);
    return fail(&s->fault, ERR_USAGE, "there is no operation \"%s\"%s", name, hint);
}

static bool print_ops(mtf_session *s, const options *o)
{
    const op *only = NULL;
    int       word = o->nwords ? find_word(o->words[0]) : WORDS;
    if (word < WORDS) return print_word(s, o, word);
    if (o->nwords) TRY(find_op(s, o->words[0], &only));
    if (option_given(o, "json")) return print_json(s, only);
    textbuf t = {.arena = &s->arena};
    if (option_given(o, "markdown") && only)
        write_section(only, &t);
    else if (option_given(o, "markdown"))
        write_page(&t);
    else if (only)
        write_entry(only, &t);
    else
        for (int i = 0; op_catalogue[i]; i++) {
            if (i) text_add(&t, "\n");
            write_entry(op_catalogue[i], &t);
        }
    const char *text = text_done(&t);
    TRY(text != NULL);
    fputs(text, stdout);
    return true;
}

static int run(const options *o)
{
    if (option_given(o, "markdown") && option_given(o, "json"))
        return usage_error(o->command, "--markdown and --json exclude each other");
    mtf_session *s = file_session(&(mtf_session_opts){0});
    if (!s) return STATUS_FAILED;
    print_ops(s, o);
    return close_session(s);
}

static const option_spec table[] = {
    {"markdown", NULL, false, "print markdown: without NAME this is the page docs/ops.md"},
    {"json", NULL, false, "print JSON instead of text"},
    {0},
};

static const char *const examples[] = {
    "mtf ops",
    "mtf ops einsum",
    "mtf ops --markdown > docs/ops.md",
    NULL,
};

const command command_ops = {
    .name = "ops",
    .says = "print the manual of every operation, or of one",
    .words = "[NAME]",
    .least = 0,
    .most = 1,
    .options = table,
    .examples = examples,
    .teaches =
        "An entry begins with the line as it stands in a .mtf file: results, the operation, its\n"
        "inputs, its attributes with their defaults.  An input in brackets may be left out;\n"
        "xs... is one or more.  Everything matches dimensions by name.  Of equal elements the one\n"
        "with the lowest index wins, and receives the whole gradient.  NAME may also be another "
        "word\n"
        "of a line: gradients, history, dim or yield.",
    .run = run,
};
