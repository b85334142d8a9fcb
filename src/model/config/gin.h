/* The gin language: values and bindings as written in files.
 *
 *     file      = { statement newline }
 *     statement = "include" text | "import" .. | "from" ..
 *               | NAME "=" value                          (a macro)
 *               | [ scope "/" ] selector "." parameter "=" value
 *               | [ scope "/" ] selector ":" newline { indented parameter "=" value }
 *     value     = None | True | False | number | text { text } | "%" name
 *               | "@" [ scope "/" ] selector [ "()" ]
 *               | "[" values "]" | "(" values ")" | "{" value ":" value, .. "}"
 *
 * Brackets may span lines, "\" continues a line, "#" begins a comment.  This layer does not know what a
 * selector means.
 */
#ifndef MODEL_GIN_H
#define MODEL_GIN_H

#include "base/session.h"
#include "base/textbuf.h"
#include "mtf_config.h"

typedef struct gin_place {
    const char *file;         /* NULL: a default                    */
    int         line, column; /* from 1 on                          */
} gin_place;

typedef enum gin_kind {
    GIN_NONE,
    GIN_BOOL,
    GIN_INT,
    GIN_REAL,
    GIN_TEXT,
    GIN_LIST,
    GIN_TUPLE,
    GIN_DICT,
    GIN_REFERENCE,
    GIN_MACRO
} gin_kind;

typedef struct gin_value gin_value;
struct gin_value {
    gin_kind    kind;
    gin_place   at;
    bool        truth;
    bool        called; /* a reference with "()" */
    int64_t     whole;
    double      real;
    const char *text;    /* a text, a selector, the name of a macro    */
    const char *scope;   /* of a reference, "" for none                */
    int         n, room; /* of a list; a dictionary has n pairs        */
    gin_value  *items;   /* of a dictionary: key, value, key, value... */
};

typedef struct gin_binding {
    const char      *scope;    /* "" for none               */
    const char      *selector; /* NULL: a macro             */
    const char      *parameter;
    const gin_value *value;
    gin_place        at;
    bool             used;
    bool             quiet; /* from a file that came with mtf: no note where it is unused */
} gin_binding;

typedef struct gin_file {
    mtf_session       *session;
    const char *const *folders; /* where files are looked for, or NULL */
    gin_binding       *bindings;
    int                nbindings, room;
    mtf_config_note   *notes;
    int                nnotes, notes_room;
    int                including;   /* depth of nested includes */
    bool               reading_own; /* a file that came with mtf, or one that it includes */
} gin_file;

/* ---- reading ---- */

/* Appends the bindings of a text; messages call it `name`. */
bool gin_read_text(gin_file *g, const char *text, const char *name);
/* The same for a file, found by gin_find; `from` is the place that includes it. */
bool gin_read_file(gin_file *g, const char *path, const gin_place *from);
/* Parses a text that is one value; NULL after an error. */
const gin_value *gin_read_value(gin_file *g, const char *text, const char *name);

/* An error at a place; always false. */
bool gin_fail(gin_file *g, const gin_place *at, error_kind kind, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void gin_say(gin_file *g, const gin_place *at, bool warning, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* "FILE:LINE:COLUMN: ", "--OPTION: ", "" for a default. */
enum { GIN_PLACE = 600 };
const char *gin_place_text(const gin_place *at, char text[GIN_PLACE]);

/* ---- values ---- */

/* "; did you mean x?" for the likeliest other macro, or "", as nearest_hint. */
const char *gin_near_macro(const gin_file *g, const char *name, char *text, size_t room);
/* A macro's value, by its last binding, resolved repeatedly; any other value unchanged.  NULL after an
 * error: there is no such macro, or it refers to itself. */
const gin_value *gin_resolve(gin_file *g, const gin_value *v);
/* Writes a value in the same syntax, with macros replaced by their values. */
void gin_write_real(double x, textbuf *t); /* with the fewest digits that read back exactly */
const char *gin_text(gin_file *g, const gin_value *v); /* the same in the session's arena */

/* ---- files ---- */

enum { GIN_LONGEST = 1 << 20 }; /* bytes of a file */

/* The path of the file to read, in the session's arena; NULL where there is none.  Tries the path as
 * given, the folder of `from`, the folders of the options, and the files installed with mtf. */
const char *gin_find(gin_file *g, const char *path, const char *from);
/* Whether the file that was found came with mtf. */
bool gin_is_own(const char *found);
/* Offers the names of all files that came with mtf. */
void gin_offer_names(gin_file *g, nearest *near);

#endif
