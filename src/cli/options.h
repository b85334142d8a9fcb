/* Options of commands, as tables.
 *
 * A command is data: its options, its examples, its paragraph.  Parsing, the
 * text of --help, shell completion and suggestions for misspelt words are all
 * derived from the table.
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STATUS_DONE = 0, STATUS_FAILED = 1, STATUS_USAGE = 2 };

/* Rows of tables omit fields that are zero. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

/* A row of a table: an option, a heading, or a whole table that several commands share.  The last
 * row is all zero. */
typedef struct option_spec {
    const char               *name;     /* without the dashes; NULL: a heading or a table */
    const char               *argument; /* the name of its value in --help; NULL: it takes none */
    bool                      repeatable;
    const char               *says;    /* without a name: the heading of the rows that follow */
    const char               *choices; /* "sgd|adam": the possible values; NULL: any */
    const struct option_spec *table;   /* without a name: a table to include */
    bool                      writes;  /* its value names a file that is written */
} option_spec;

#define OPTION_GROUP(heading)                                                                      \
    {                                                                                              \
        .says = (heading)                                                                          \
    }
#define OPTION_TABLE(rows)                                                                         \
    {                                                                                              \
        .table = (rows)                                                                            \
    }

/* Walks through a table and those that it includes, headings included. */
enum { WALK_DEPTH = 4 };
typedef struct option_walk {
    int                depth;
    const option_spec *next[WALK_DEPTH];
} option_walk;
option_walk        walk_options(const option_spec *table);
const option_spec *walk_next(option_walk *w); /* NULL after the last row */

typedef struct options options;

enum { MOST_OWNED = 40 };

typedef struct command command;
struct command {
    const char *name;
    const char *says;        /* one line for `mtf --help` */
    const char *words;       /* what follows the name: "FILE.mtf"; NULL: nothing */
    int         least, most; /* how many words */
    bool        only_plans;  /* nothing runs, so no data are read */
    bool        from_folder; /* a folder of checkpoints that describes its model may be the word */
    const option_spec *options; /* NULL: none */
    const char *spare; /* where to put what a word too many may have been; NULL: nothing to say */
    const char *const *examples;  /* whole command lines; NULL-ended, or NULL */
    const char        *teaches;   /* a paragraph, lines broken by hand; NULL: none */
    int (*run)(const options *o); /* returns the exit status */
    /* Whether the option belongs into the help for this first word (NULL: there is none).  Adds details
     * for the word to `more`.  NULL: all options do. */
    bool (*concerns)(const option_spec *spec, const char *word, char *more, size_t room);
    void (*adds)(const command *c, const char *word); /* prints a section of the help; NULL: none */
};

/* A parsed command line, checked against the command's table. */
struct options {
    const command *command;
    int            nwords;
    const char   **words;
    int            nvalues;
    struct option_value {
        const option_spec *spec;
        const char        *value; /* "" where it takes none */
    } * values;
    int          ntyped; /* the arguments after the command's name, as they are */
    char *const *typed;
    bool         trial;       /* a trial before the command, which will say what there is to note */
    bool         mesh_found;  /* --mesh was auto:N, and has been found together with the batch */
    bool         whole_batch; /* the batch was found to be of one replica: no layout cuts it */
    int64_t      replica_batch; /* examples of a replica, where files give the batch so; else 0 */
    /* for searches to begin with: the rules of configuration files; NULL: none */
    const char *starts;
    int         nowned;
    char       *owned[MOST_OWNED]; /* texts of added values, to be freed */
};

/* Parses the arguments after the command's name.  Returns -1 where the command should run, else the exit
 * status: --help was printed, or a usage error was reported. */
int  options_parse(const command *c, int argc, char **argv, options *o);
void options_free(options *o);

/* The command's row of that name; NULL: it has none. */
const option_spec *option_spec_of(const command *c, const char *name);
/* Adds an option, before all others or unless it was given, where the command has it and the value says
 * something.  False: no memory. */
bool option_put(options *o, const char *name, const char *value);
bool option_add(options *o, const char *name, const char *value);

const char *option_own(options    *o,
                       const char *text); /* a copy that the options free; NULL: no memory */
bool        option_given(const options *o, const char *name);
bool        option_typed(const options *o, const char *name); /* by the user, not by their files */
const char *option_nth(const options *o, const char *name, int n); /* NULL after the last */
/* The option's value as a whole number, `*value` unchanged where it is absent; false after a usage error,
 * which was reported.  The second form also takes the suffixes K, M, G, T of 1024. */
bool option_number(const options *o, const char *name, uint64_t least, uint64_t most,
                   uint64_t *value);
bool option_bytes(const options *o, const char *name, uint64_t *value);

/* Prints an error of the command line, and how to get help; returns STATUS_USAGE. */
int usage_error(const command *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The text of --help; `word` is the first word of the command line, or NULL. */
void print_command_help(const command *c, const char *word);
void print_help_heading(const char *heading);

#endif
