/* Pages: plans and runs as one self-contained HTML file each. */
#include "page/page.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/numbers.h"
#include "base/put_file.h"
#include "page/assets.h"
#include "page/escape.h"

void page_open(page *p, mtf_session *s)
{
    *p = (page){.session = s};
    p->arena = arena_make(&s->allocator, &s->fault);
    p->body.arena = p->data.arena = &p->arena;
}

bool page_drop(page *p)
{
    arena_free(&p->arena);
    return false;
}

static piece text_piece(const char *text)
{
    return (piece){text, strlen(text)};
}

static bool print_all(page *p, int n, const piece *pieces)
{
    for (int i = 0; i < n; i++) fwrite(pieces[i].bytes, 1, pieces[i].n, stdout);
    if (fflush(stdout) == 0 && !ferror(stdout)) return true;
    return fail(&p->session->fault, ERR_FILE, "standard output cannot be written: %s",
                strerror(errno));
}

bool page_put(page *p, const char *command, const char *what, const char *path)
{
    textbuf head = {.arena = &p->arena};
    text_add(&head, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                    "<meta name=\"color-scheme\" content=\"light dark\">\n"
                    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                    "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n<title>");
    html_text(&head, what);
    text_add(&head, " &#183; %s</title>\n<style>\n", command);
    const char *first = text_done(&head), *body = text_done(&p->body), *data = text_done(&p->data);
    bool        ok = first && body && data;
    if (ok) {
        piece pieces[] = {
            text_piece(first),
            {asset_css, asset_css_bytes},
            text_piece("</style>\n</head>\n<body>\n<main>\n"),
            text_piece(body),
            text_piece("</main>\n<script type=\"application/json\" id=\"data\">"),
            text_piece(*data ? data : "null"),
            text_piece("</script>\n<script>\n(function () {\n\"use strict\";\n"),
            {asset_js, asset_js_bytes},
            {asset_plans, asset_plans_bytes},
            {asset_layouts, asset_layouts_bytes},
            {asset_runs, asset_runs_bytes},
            text_piece("})();\n</script>\n</body>\n</html>\n"),
        };
        int n = (int)(sizeof pieces / sizeof *pieces);
        ok = strcmp(path, "-") == 0 ? print_all(p, n, pieces)
                                    : put_file(&p->session->fault, path, n, pieces);
    }
    arena_free(&p->arena);
    return ok;
}

const char *page_model_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return strcmp(path, "-") == 0 ? "standard input" : slash && slash[1] ? slash + 1 : path;
}

void page_head(textbuf *t, const char *what, const char *title)
{
    text_add(t, "<header>\n<p class=\"what\">%s</p>\n<h1>", what);
    html_text(t, title);
    text_add(t, "</h1>\n");
}

void page_command(textbuf *t, const char *command)
{
    const char *version = mtf_version(), *end = strstr(version, " (");
    text_add(t, "<div><dt>command</dt><dd><code>");
    html_text(t, command);
    text_add(t, "</code> <span>%.*s</span></dd></div>\n",
             end ? (int)(end - version) : (int)strlen(version), version);
}

void page_figure(textbuf *t, const char *name, const char *number, const char *html)
{
    text_add(t, "<div class=\"figure\"><dt>%s</dt><dd><b>%s</b>", name, number);
    if (html && *html) text_add(t, "<span>%s</span>", html);
    text_add(t, "</dd></div>\n");
}

void page_number(textbuf *t, double x)
{
    char text[32];
    int  n = number_format(text, sizeof text, "%.2f", x);
    while (n > 1 && text[n - 1] == '0') text[--n] = 0;
    if (n > 1 && text[n - 1] == '.') text[--n] = 0;
    text_add(t, "%s", strcmp(text, "-0") == 0 ? "0" : text);
}

const char *page_tick_class(double share)
{
    return share < 0.02 ? " class=\"first\"" : share > 0.95 ? " class=\"last\"" : "";
}

double page_round_up(double x)
{
    static const double steps[] = {1, 2, 2.5, 5, 10};
    if (!(x > 0) || isinf(x)) return 1;
    double power = pow(10, floor(log10(x)));
    for (size_t k = 0; k < sizeof steps / sizeof *steps; k++)
        if (x <= steps[k] * power * (1 + 1e-9)) return steps[k] * power;
    return 10 * power;
}
