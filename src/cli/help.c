/* The text of --help, printed from a command's table. */
#include <stdio.h>
#include <string.h>

#include "cli/colour.h"
#include "cli/options.h"

enum { LEFT = 80, MORE = 120, WIDEST_LEFT = 26, LINE = 100 };

static const option_spec help_row = {"help", NULL, false, "print this"};

static int left_column(const option_spec *spec, char *text, size_t room)
{
    return snprintf(text, room, spec->argument ? "--%s %s" : "--%s", spec->name, spec->argument);
}

static bool concerns(const command *c, const option_spec *spec, const char *word, char *more)
{
    more[0] = 0;
    return !c->concerns || c->concerns(spec, word, more, MORE);
}

/* Prints `text` from column `at` on, in lines of at most LINE characters. */
static void print_wrapped(const char *text, int at)
{
    int column = at;
    while (*text) {
        int length = (int)strcspn(text, " ");
        if (column > at && column + 1 + length > LINE) printf("\n%*s", column = at, "");
        if (column > at) putchar(' '), column++;
        printf("%.*s", length, text);
        column += length;
        text += length;
        text += strspn(text, " ");
    }
    putchar('\n');
}

static void print_option(const option_spec *spec, const char *more, int width)
{
    char left[LEFT], says[400];
    int  length = left_column(spec, left, sizeof left);
    snprintf(says, sizeof says, "%s%s%s", spec->says, more,
             spec->repeatable ? "; may be repeated" : "");
    if (length > width)
        printf("  %s\n%*s", left, width + 4, "");
    else
        printf("  %-*s  ", width, left);
    print_wrapped(says, width + 4);
}

void print_help_heading(const char *heading)
{
    printf("\n%s%s%s\n", colour_bold(stdout), heading, colour_end(stdout));
}

/* The width of the widest option up to WIDEST_LEFT: wider ones get their own line. */
static int left_width(const command *c, const char *word)
{
    int                width = left_column(&help_row, NULL, 0);
    option_walk        w = walk_options(c->options);
    char               more[MORE];
    const option_spec *spec;
    while ((spec = walk_next(&w)) != NULL) {
        int needs = spec->name && concerns(c, spec, word, more) ? left_column(spec, NULL, 0) : 0;
        if (needs > width && needs <= WIDEST_LEFT) width = needs;
    }
    return width;
}

static void print_options(const command *c, const char *word)
{
    const char        *heading = "options";
    int                width = left_width(c, word);
    option_walk        w = walk_options(c->options);
    char               more[MORE];
    const option_spec *spec;
    while ((spec = walk_next(&w)) != NULL) {
        if (!spec->name) {
            heading = spec->says;
            continue;
        }
        if (!concerns(c, spec, word, more)) continue;
        if (heading) print_help_heading(heading); /* only before an option */
        heading = NULL;
        print_option(spec, more, width);
    }
    putchar('\n');
    print_option(&help_row, "", width);
}

void print_command_help(const command *c, const char *word)
{
    const char *bold = colour_bold(stdout), *end = colour_end(stdout);
    bool        words = c->words && *c->words;
    printf("%smtf %s%s: %s\n\nusage: mtf %s%s%s [OPTION]...\n", bold, c->name, end,
           c->says ? c->says : "", c->name, words ? " " : "", words ? c->words : "");
    if (c->teaches) printf("\n%s\n", c->teaches);
    print_options(c, word);
    if (c->adds) c->adds(c, word);
    if (!c->examples || !c->examples[0]) return;
    print_help_heading("examples");
    for (int i = 0; c->examples[i]; i++) printf("  %s\n", c->examples[i]);
}
