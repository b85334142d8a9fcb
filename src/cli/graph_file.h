/* The .mtf file that a command works on. */
#ifndef CLI_GRAPH_FILE_H
#define CLI_GRAPH_FILE_H

#include "graph/node.h"

/* A session that prints its messages on stderr.  NULL: no memory, which was reported. */
mtf_session *file_session(const mtf_session_opts *opts);

/* Closes a session and returns the exit status; STATUS_USAGE after an error of the command line. */
int close_session(mtf_session *s);
/* Rewrites the session's error as one about this option's value; always false. */
bool option_blame(mtf_session *s, const char *option);
/* Whether the option's value is a valid pattern, or NULL; false after an error of the command line. */
bool option_is_pattern(mtf_session *s, const char *option, const char *pattern);

/* Is the path in the option's value a file's?  True for NULL; "-" is none, since standard output has
 * what `printed` says: an error of the command line. */
bool option_names_file(mtf_session *s, const char *option, const char *given, const char *path,
                       const char *printed);

/* Reads and parses a file; "-" is standard input.  NULL after an error. */
mtf_graph *file_graph(mtf_session *s, const char *path);
/* The two halves of that, for callers that build the graph twice: standard input can be read only once.
 * The text lives in the session; NULL after an error. */
const char *file_text(mtf_session *s, const char *path);
mtf_graph  *file_parse(mtf_session *s, const char *path, const char *text);

/* A tensor by name; an error where it is inside a loop and cannot be fetched. */
mtf_tensor *file_find(mtf_graph *g, const char *name);
/* The last tensor that the file names; NULL where it names none. */
mtf_tensor *file_last(mtf_graph *g);
/* The file's results: tensors that no line uses, without side effects; where there are none, the last
 * tensor.  Returns their number; `*ends` lives in the session; -1 after an error. */
int file_ends(mtf_graph *g, mtf_tensor ***ends);

/* The inputs on which these tensors and all side effects depend: true by tensor id.  NULL after an
 * error. */
bool *file_needs(mtf_graph *g, int n, mtf_tensor *const *fetches);
bool  is_input(const mtf_tensor *x);

#endif
