/* Pages: plans and runs as one self-contained HTML file each.
 *
 * The pictures are SVG, drawn here, so that a page shows them without its
 * script; the page contains the data as JSON, and scripts (page.js) make the
 * pictures interactive.  A page loads nothing: its security policy forbids it.
 */
#ifndef PAGE_PAGE_H
#define PAGE_PAGE_H

#include "base/session.h"
#include "base/textbuf.h"

typedef struct page {
    mtf_session *session;
    arena        arena;
    textbuf      body; /* HTML */
    textbuf      data; /* one JSON value */
} page;

void page_open(page *p, mtf_session *s);
/* Writes the file ("-": standard output) and frees the page; false after an error.  The title consists
 * of the command and its subject. */
bool page_put(page *p, const char *command, const char *what, const char *path);
/* The same without a file, after an error: always false. */
bool page_drop(page *p);

const char *page_model_name(const char *path); /* without folders; "-": "standard input" */

/* The parts that pages have in common. */
void page_head(textbuf *t, const char *what, const char *title); /* "mtf plan", "mnist" */
/* The command line that wrote the page, and mtf's version: a line of the header's list. */
void page_command(textbuf *t, const char *command);
/* One of the figures in the header: its name, its number and a line of small print, which is HTML. */
void page_figure(textbuf *t, const char *name, const char *number, const char *html);
/* A number between 0 and 1000, with no more digits than a picture can show. */
void page_number(textbuf *t, double x);
/* The class of a label at this share of an axis: near its ends it would stand out over them. */
const char *page_tick_class(double share);
/* The next round number of 1, 2, 2.5 or 5 times a power of ten. */
double page_round_up(double x);

#endif
