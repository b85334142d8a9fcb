/* The command line: finds the command and runs it. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/names.h"
#include "cli/colour.h"
#include "cli/commands.h"
#include "cli/config_setup.h"
#include "cli/outputs.h"
#include "cli/waiting.h"
#include "mtf.h"

/* The most used first. */
static const command *const commands[] = {
    &command_train,     &command_eval,  &command_perplexity, &command_decode,
    &command_score,     &command_serve, &command_tokenize,   &command_run,
    &command_show,      &command_plan,  &command_layout,     &command_verify,
    &command_calibrate, &command_ckpt,  &command_ops,        &command_completion};
enum { COMMANDS = sizeof commands / sizeof *commands };

const command *command_nth(int n)
{
    return n >= 0 && n < COMMANDS ? commands[n] : NULL;
}

static void print_heading(FILE *to, const char *heading)
{
    fprintf(to, "\n%s%s%s\n", colour_bold(to), heading, colour_end(to));
}

static void print_help(FILE *to)
{
    fprintf(to, "%smtf%s: tensor programs with named dimensions\n\n", colour_bold(to),
            colour_end(to));
    fputs("usage: mtf COMMAND [OPTION]...\n\n"
          "A model is a text file, one operation a line: y: [batch, hidden] = einsum(x, w).\n"
          "mtf trains it, shows what it is, says what it will cost, and runs it on NumPy files.\n",
          to);
    print_heading(to, "commands");
    for (int i = 0; i < COMMANDS; i++)
        fprintf(to, "  %-10s %s\n", commands[i]->name, commands[i]->says);
    print_heading(to, "options");
    fputs("  --version  print the version and what the build found\n"
          "  --help     print this; after a command, what the command takes\n",
          to);
    print_heading(to, "examples");
    fputs("  mtf train mnist --mesh rows:2,cols:2 --layout batch:rows,hidden:cols\n"
          "  mtf train --gin_file lm_base --gin_file tiny --text book.txt:joined --steps 1000 "
          "--checkpoint-dir run\n"
          "  mtf decode run\n"
          "  mtf run model.mtf --feed x=x.npy --fetch y\n"
          "  mtf plan model.mtf --optimizer adam --mesh rows:2,cols:4 --layout "
          "batch:rows,hidden:cols\n"
          "  mtf layout model.mtf --optimizer adam --mesh rows:2,cols:4\n"
          "  mtf show model.mtf --program\n"
          "  mtf ops einsum\n",
          to);
}

static const command *find_command(const char *name)
{
    for (int i = 0; i < COMMANDS; i++)
        if (strcmp(commands[i]->name, name) == 0) return commands[i];
    return NULL;
}

static int unknown_command(const char *name)
{
    char    hint[100];
    nearest near = {.wanted = name};
    for (int i = 0; i < COMMANDS; i++) nearest_offer(&near, commands[i]->name);
    nearest_offer(&near, "--version");
    nearest_offer(&near, "--help");
    return usage_error(NULL, "there is no %s \"%s\"%s", name[0] == '-' ? "option" : "command", name,
                       nearest_hint(&near, hint, sizeof hint));
}

static int run_command(const command *c, int argc, char **argv)
{
    options o;
    int     status = options_parse(c, argc, argv, &o);
    if (status < 0) status = config_complete(&o);
    if (status < 0) status = outputs_check(&o);
    if (status < 0) status = c->run(&o);
    options_free(&o);
    return status;
}

static int dispatch(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return STATUS_USAGE;
    }
    const char *word = argv[1];
    if (strcmp(word, "--version") == 0) {
        const char *text = mtf_version();
        printf("%s%s", text, *text && text[strlen(text) - 1] == '\n' ? "" : "\n");
        return STATUS_DONE;
    }
    bool help = strcmp(word, "help") == 0 || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
    if (help && argc == 2) {
        print_help(stdout);
        return STATUS_DONE;
    }
    const command *c = find_command(help ? argv[2] : word);
    if (!c) return unknown_command(help ? argv[2] : word);
    if (!help) return run_command(c, argc - 2, argv + 2);
    print_command_help(c, argc > 3 ? argv[3] : NULL);
    return STATUS_DONE;
}

int main(int argc, char **argv)
{
    waiting_shorten(argv);
    signal(SIGXFSZ,
           SIG_IGN); /* writing a file that is too large then fails with an error message */
    bool first = mtf_is_first(NULL);
    if (!first && !freopen("/dev/null", "w", stdout)) return STATUS_FAILED;
    int status = dispatch(argc, argv);
    /* All ranks find the same error in the command line, and the first to exit ends the job: so the one
     * that prints the error exits first. */
    if (!first && status == STATUS_USAGE) sleep(1);
    errno = 0;
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "mtf: file: standard output: %s\n", strerror(errno ? errno : EIO));
        return STATUS_FAILED;
    }
    return status;
}
