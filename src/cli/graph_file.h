/* The .mtf file that a command works on. */
#ifndef CLI_GRAPH_FILE_H
#define CLI_GRAPH_FILE_H

#include "graph/node.h"

/* A session that says what it has to say on stderr.  NULL: no memory, which was said. */
mtf_session *file_session(const mtf_session_opts *opts);

/* Closes a session and gives the exit status: that of a faulty command line where its error is one. */
int close_session(mtf_session *s);
/* Makes the session's error one of this option's value; always false. */
bool option_blame(mtf_session *s, const char *option);
/* Is the option's value a pattern?  True for NULL; else an error of the command line. */
bool option_is_pattern(mtf_session *s, const char *option, const char *pattern);

/* Would writing the option's file replace `other`, which `called` says what it is?  Then an error of
 * the command line, and false.  Either path may be NULL. */
bool option_spares(mtf_session *s, const char *option, const char *path, const char *other,
                   const char *called);

/* Is the path in the option's value a file's?  True for NULL; "-" is none, since standard output has
 * what `printed` says: an error of the command line. */
bool option_names_file(mtf_session *s, const char *option, const char *given, const char *path,
                       const char *printed);

/* Reads and parses a file; "-" is standard input.  NULL after an error. */
mtf_graph *file_graph(mtf_session *s, const char *path);
/* The two halves of that for a file, for who builds its graph twice: standard input can be read but
 * once.  The text lives in the session; NULL after an error. */
const char *file_text(mtf_session *s, const char *path);
mtf_graph  *file_parse(mtf_session *s, const char *path, const char *text);

/* A tensor by name that can be fetched: not one of the inside of a loop. */
mtf_tensor *file_find(mtf_graph *g, const char *name);
/* The last tensor that the file names; NULL where it names none. */
mtf_tensor *file_last(mtf_graph *g);
/* What the file is there to compute: results that no line uses, effects apart; where there are
 * none, the last.  Returns their number, `*ends` lives in the session; -1 after an error. */
int file_ends(mtf_graph *g, mtf_tensor ***ends);

/* The inputs that these tensors and all effects depend on: true by tensor id.  NULL after an
 * error. */
bool *file_needs(mtf_graph *g, int n, mtf_tensor *const *fetches);
bool  is_input(const mtf_tensor *x);

#endif
