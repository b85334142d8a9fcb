/* Pages: plans and runs as one self-contained HTML file each.
 *
 * The pictures are SVG, drawn here, so that a page shows them without its
 * script; the data go along as JSON, and the script (page.js) makes the pictures
 * answer.  A page asks nobody for anything: its policy forbids it.
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
/* Writes the file in one piece ("-": standard output) and frees the page; false after an error.  Its
 * title is made of the command and of what that was about. */
bool page_put(page *p, const char *command, const char *what, const char *path);
/* The same without a file, after an error: always false. */
bool page_drop(page *p);

const char *page_model_name(const char *path); /* of a file: the last part; "-": standard input */

/* The parts that pages have in common. */
void page_head(textbuf *t, const char *what, const char *title); /* "mtf plan", "mnist" */
/* One of the figures at the head: its name, its number and a line of small print, which is HTML. */
void page_figure(textbuf *t, const char *name, const char *number, const char *html);
/* A number between 0 and 1000 in as few characters as tell it apart in a picture. */
void page_number(textbuf *t, double x);
/* The next round number of 1, 2, 2.5 or 5 times a power of ten. */
double page_round_up(double x);

#endif
