/* Options of commands, as tables.
 *
 * A command is data: its options, its examples, its paragraph.  Parsing, the
 * text of --help, the completion of shells and the answer to a misspelt word
 * all follow from the table.
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STATUS_DONE = 0, STATUS_FAILED = 1, STATUS_USAGE = 2 };

/* Rows of tables leave out what is zero. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

/* A row of a table: an option, a heading, or a whole table that several commands share.  The last
 * row is all zero. */
typedef struct option_spec {
    const char               *name;     /* without the dashes; NULL: a heading or a table */
    const char               *argument; /* the word for its value in --help; NULL: it takes none */
    bool                      repeatable;
    const char               *says;    /* without a name: the heading of the rows that follow */
    const char               *choices; /* "sgd|adam": the values there are; NULL: any */
    const struct option_spec *table;   /* without a name: its rows stand here */
} option_spec;

#define OPTION_GROUP(heading) {.says = (heading)}
#define OPTION_TABLE(rows)    {.table = (rows)}

/* Walks through a table and those that it includes, headings included. */
enum { WALK_DEPTH = 4 };
typedef struct option_walk {
    int                depth;
    const option_spec *next[WALK_DEPTH];
} option_walk;
option_walk        walk_options(const option_spec *table);
const option_spec *walk_next(option_walk *w); /* NULL after the last row */

typedef struct options options;

enum { MOST_OWNED = 8 };

typedef struct command command;
struct command {
    const char        *name;
    const char        *says;      /* one line for `mtf --help` */
    const char        *words;     /* what follows the name: "FILE.mtf"; NULL: nothing */
    int                least, most;  /* how many words */
    bool               from_folder;  /* a folder of checkpoints that has a configuration may be the word */
    const option_spec *options;   /* NULL: none */
    const char *const *examples;  /* whole command lines; NULL-ended, or NULL */
    const char        *teaches;   /* a paragraph, lines broken by hand; NULL: none */
    int (*run)(const options *o); /* returns the exit status */
    /* Does the option belong into the help for this word, which is NULL where there is none?  Adds
     * what the word says about it to `more`.  NULL: all do. */
    bool (*concerns)(const option_spec *spec, const char *word, char *more, size_t room);
    void (*adds)(const command *c, const char *word); /* prints a section of the help; NULL: none */
};

/* What a command line said, checked against the command's table. */
struct options {
    const command *command;
    int            nwords;
    const char   **words;
    int            nvalues;
    struct option_value {
        const option_spec *spec;
        const char        *value; /* "" where it takes none */
    } *values;
    int   nowned;
    char *owned[MOST_OWNED]; /* texts of values that were added */
};

/* Parses what follows the command's name.  Returns -1 when the command shall run, else the exit
 * status: --help was printed, or a usage error was said. */
int  options_parse(const command *c, int argc, char **argv, options *o);
void options_free(options *o);

bool        option_given(const options *o, const char *name);
const char *option_nth(const options *o, const char *name, int n); /* NULL after the last */
/* The option's value as a whole number, `*value` unchanged where it is absent; false after a
 * usage error was said.  The second form also takes the suffixes K, M, G, T of 1024. */
bool option_number(const options *o, const char *name, uint64_t least, uint64_t most,
                   uint64_t *value);
bool option_bytes(const options *o, const char *name, uint64_t *value);

/* Says what is wrong with the command line, and where help is; returns STATUS_USAGE. */
int usage_error(const command *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The text of --help; `word` is the first word of the command line, or NULL. */
void print_command_help(const command *c, const char *word);
void print_help_heading(const char *heading);

#endif
