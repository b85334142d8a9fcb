/* Options of commands, as tables.
 *
 * A command is data: its options, its examples, its paragraph.  Parsing, the
 * text of --help and the answer to a misspelt word all follow from the table.
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

enum { STATUS_DONE = 0, STATUS_FAILED = 1, STATUS_USAGE = 2 };

typedef struct option_spec {
    const char *name;       /* without the dashes */
    const char *argument;   /* the word for its value in --help; NULL: it takes none */
    bool        repeatable;
    const char *says;
} option_spec;

typedef struct options options;

typedef struct command {
    const char        *name;
    const char        *says;      /* one line for `mtf --help` */
    const char        *words;     /* what stands behind the name: "FILE.mtf" */
    int                least, most;  /* how many words */
    const option_spec *options;   /* ends with a NULL name */
    const char *const *examples;  /* whole command lines; NULL-ended */
    const char        *teaches;   /* one paragraph, lines broken by hand */
    int (*run)(const options *o); /* returns the exit status */
} command;

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
};

/* Parses the words behind the command's name.  Returns -1 when the command shall run, else the
 * exit status: --help was printed, or a usage error was said. */
int  options_parse(const command *c, int argc, char **argv, options *o);
void options_free(options *o);

bool        option_given(const options *o, const char *name);
const char *option_nth(const options *o, const char *name, int n); /* NULL behind the last */
/* The option's value as a whole number, `*value` unchanged where it is absent; false after a
 * usage error was said.  The second form also takes the suffixes K, M, G, T of 1024. */
bool option_number(const options *o, const char *name, uint64_t least, uint64_t most,
                   uint64_t *value);
bool option_bytes(const options *o, const char *name, uint64_t *value);

/* Says what is wrong with the command line, and where help is; returns STATUS_USAGE. */
int usage_error(const command *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
