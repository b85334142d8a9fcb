/* mtf completion: completion scripts, from the option tables. */
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/shared_options.h"
#include "model/ready.h"

/* ---- values of options ---- */

typedef enum value_kind { VALUE_WORDS, VALUE_FILE, VALUE_FOLDER, VALUE_OTHER } value_kind;

static value_kind kind_of(const option_spec *spec)
{
    if (spec->choices) return VALUE_WORDS;
    if (strstr(spec->argument, "DIR")) return VALUE_FOLDER;
    return strstr(spec->argument, "FILE") ? VALUE_FILE : VALUE_OTHER;
}

/* The lower-case words with which the alternatives of c->words begin, such as ls and verify in
 * "ls PATH | verify PATH"; for NAME the built-in models. */
static void print_first_words(const command *c)
{
    const char *at = c->words ? c->words : "";
    while (*at) {
        int length = (int)strspn(at, "abcdefghijklmnopqrstuvwxyz");
        if (length > 0) printf(" %.*s", length, at);
        at += strcspn(at, "|");
        at += strspn(at, "| \n");
    }
    for (int i = 0; c->words && strncmp(c->words, "NAME", 4) == 0 && model_nth(i); i++)
        printf(" %s", model_nth(i)->name);
}

/* Whether the first word may be a file. */
static bool takes_file(const command *c)
{
    return c->words && (strncmp(c->words, "FILE", 4) == 0 || strstr(c->words, "|FILE"));
}

static bool takes_folder(const command *c)
{
    return c->words && strstr(c->words, "FOLDER") && c->from_folder;
}

/* Text for single quotes of a shell, with the brackets and colons of zsh's descriptions escaped. */
static void print_quoted(const char *text, bool zsh)
{
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", stdout);
        else if (zsh && strchr("[]:\\", *text))
            printf("\\%c", *text);
        else
            putchar(*text);
    }
}

static void print_choices(const option_spec *spec)
{
    for (const char *c = spec->choices; *c; c++) putchar(*c == '|' ? ' ' : *c);
}

/* ---- bash ---- */

static void print_bash_values(const command *c)
{
    option_walk        w = walk_options(c->options);
    const option_spec *spec;
    while ((spec = walk_next(&w)) != NULL) {
        if (!spec->name || !spec->argument) continue;
        printf("    %s:--%s) ", c->name, spec->name);
        switch (kind_of(spec)) {
        case VALUE_WORDS:
            printf("words='");
            print_choices(spec);
            puts("' ;;");
            break;
        case VALUE_FOLDER: puts("files=-d ;;"); break;
        case VALUE_FILE: puts("files=-f ;;"); break;
        default: puts(";;");
        }
    }
}

static void print_bash_options(const command *c)
{
    option_walk        w = walk_options(c->options);
    const option_spec *spec;
    printf("    %s:options) words='", c->name);
    while ((spec = walk_next(&w)) != NULL)
        if (spec->name) printf("--%s ", spec->name);
    puts("--help' ;;");
    printf("    %s:words) words='", c->name);
    print_first_words(c);
    puts(takes_file(c) ? "'; files=-f ;;" : takes_folder(c) ? "'; files=-d ;;" : "' ;;");
    if (c->most > 1) printf("    %s:more) files=-f ;;\n", c->name);
}

static void print_bash(void)
{
    puts(
        "# bash completion of mtf, made by: mtf completion bash\n"
        "_mtf()\n{\n"
        "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
        "    local command=${COMP_WORDS[1]} words= files=\n"
        "    if [ \"$COMP_CWORD\" -eq 1 ]; then command=mtf before=words\n"
        "    elif [ \"${before#--}\" != \"$before\" ] && _mtf_values \"$command:$before\"; then :\n"
        "    elif [ \"$COMP_CWORD\" -gt 2 ] && _mtf_values \"$command:more\"; then before=more\n"
        "    else before=words; fi\n"
        "    case $before:$word in words:-* | more:-*) before=options ;; esac\n"
        "    case $before in words | options) _mtf_values \"$command:$before\" ;; esac\n"
        "    COMPREPLY=($(compgen ${files:+$files} -W \"$words\" -- \"$word\"))\n"
        "    [ -n \"$files\" ] && compopt -o filenames 2>/dev/null\n"
        "    return 0\n"
        "}\n"
        "# Sets words and files to what may stand here; fails where the option takes no value.\n"
        "_mtf_values()\n{\n"
        "    words= files=\n"
        "    case $1 in");
    printf("    mtf:words) words='help");
    for (int i = 0; command_nth(i); i++) printf(" %s", command_nth(i)->name);
    puts("' ;;\n    mtf:options) words='--help --version' ;;\n"
         "    help:words) _mtf_values mtf:words ;;");
    for (int i = 0; command_nth(i); i++) {
        print_bash_options(command_nth(i));
        print_bash_values(command_nth(i));
    }
    puts("    *) return 1 ;;\n    esac\n}\ncomplete -F _mtf mtf");
}

/* ---- zsh ---- */

static void print_zsh_option(const option_spec *spec)
{
    printf("        '%s--%s%s[", spec->repeatable ? "*" : "", spec->name,
           spec->argument ? "=" : "");
    print_quoted(spec->says, true);
    printf("]");
    if (spec->argument) {
        printf(":");
        print_quoted(spec->argument, true);
        printf(":");
        switch (kind_of(spec)) {
        case VALUE_WORDS:
            printf("(");
            print_choices(spec);
            printf(")");
            break;
        case VALUE_FOLDER: printf("_files -/"); break;
        case VALUE_FILE: printf("_files"); break;
        default: printf(" ");
        }
    }
    puts("' \\");
}

static void print_zsh_command(const command *c)
{
    option_walk        w = walk_options(c->options);
    const option_spec *spec;
    printf("    %s) _arguments \\\n", c->name);
    while ((spec = walk_next(&w)) != NULL)
        if (spec->name) print_zsh_option(spec);
    printf("        '--help[print help]'");
    if (c->most > 0) {
        printf(" \\\n        '1:");
        print_quoted(c->words ? c->words : "word", true);
        printf(":{_alternative \"words:word:(");
        print_first_words(c);
        printf(")\"%s}'", takes_file(c)     ? " \"files:file:_files\""
                          : takes_folder(c) ? " \"files:folder:_files -/\""
                                            : "");
    }
    if (c->most > 1) printf(" \\\n        '*:file:_files'");
    puts(" ;;");
}

static void print_zsh(void)
{
    puts("#compdef mtf\n# zsh completion of mtf, made by: mtf completion zsh\n"
         "local -a commands=(");
    for (int i = 0; command_nth(i); i++) {
        printf("    '%s:", command_nth(i)->name);
        print_quoted(command_nth(i)->says, true);
        puts("'");
    }
    puts(")\n"
         "if (( CURRENT == 2 )); then\n"
         "    _describe command commands\n"
         "    return\n"
         "fi\n"
         "local command=$words[2]\n"
         "shift words; (( CURRENT-- ))\n"
         "case $command in");
    for (int i = 0; command_nth(i); i++) print_zsh_command(command_nth(i));
    puts("esac");
}

/* ---- the command ---- */

static int run(const options *o)
{
    if (strcmp(o->words[0], "bash") == 0)
        print_bash();
    else if (strcmp(o->words[0], "zsh") == 0)
        print_zsh();
    else
        return usage_error(o->command, "mtf completion takes bash or zsh, not \"%s\"", o->words[0]);
    return STATUS_DONE;
}

static const char *const examples[] = {
    "source <(mtf completion bash)",
    "mtf completion zsh > ~/.zsh/completions/_mtf",
    NULL,
};

const command command_completion = {
    .name = "completion",
    .says = "print a script with which a shell completes commands and options",
    .words = "bash|zsh",
    .least = 1,
    .most = 1,
    .examples = examples,
    .teaches = "make install puts both where the shells look for them.",
    .run = run,
};
