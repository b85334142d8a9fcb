/* Prompts line by line, and answers in order. */
#include "serve/decode_lines.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/textbuf.h"
#include "base/utf8.h"
#include "model/interrupt.h"
#include "serve/line_reader.h"

/* ---- files ---- */

const char *step_path(const opened_model *m, const char *output, const char *suffix)
{
    textbuf t = {.arena = &m->session->arena};
    text_add(&t, "%s-%lld%s", output, (long long)m->step, suffix);
    return text_done(&t);
}

FILE *output_open(const opened_model *m, const char *path)
{
    FILE *f = path ? fopen(mtf_is_first(m->session) ? path : "/dev/null", "w") : NULL;
    if (path && !f) fail(&m->session->fault, ERR_FILE, "\"%s\": %s", path, strerror(errno));
    return f;
}

bool output_close(const opened_model *m, const char *path, FILE *file)
{
    bool bad = ferror(file) != 0;
    errno = 0;
    bad |= (file == stdout ? fflush(file) : fclose(file)) != 0;
    return !bad ||
           fail(&m->session->fault, ERR_FILE, "\"%s\": %s", path, strerror(errno ? errno : EIO));
}

/* ---- lines ---- */

/* A request whose results become lines. */
typedef struct asked_line {
    request   *request;
    byte_list *texts;  /* by result */
    int        absent; /* results that a search did not find, which are the last ones */
} asked_line;

/* A ring buffer of answers. */
typedef struct decoding {
    const opened_model *model;
    request_spec        like;
    int                 results;
    engine             *engine;
    line_reader         reader;
    const line_source  *source; /* of the prompts; NULL: they are read */
    asked_line         *ring;
    int                 room, first, count;
    FILE               *to;
    char                refused[400]; /* why a line was refused; "": none was */
} decoding;

static bool no_memory(const decoding *d)
{
    return fail(&d->model->session->fault, ERR_MEMORY, "no memory for the answers to %s",
                d->reader.name);
}

static bool append(asked_line *l, const request_piece *p)
{
    byte_list *text = &l->texts[p->result];
    int64_t    begun = text->count;
    TRY(bytes_add(text, p->text, strlen(p->text)));
    text_on_one_line(text->bytes + begun);
    return true;
}

static void free_line(const decoding *d, asked_line *l)
{
    if (l->request) request_free(l->request);
    for (int k = 0; l->texts && k < d->results; k++) bytes_free(&l->texts[k]);
    free(l->texts);
    *l = (asked_line){.request = NULL};
}

static line_state next_given(decoding *d, request_spec *q)
{
    given_line line;
    bool       there;
    if (!d->source->next(d->source->context, &line, &there)) return LINE_FAILED;
    if (!there) return LINE_END;
    d->reader.number++;
    if (line.input_ids.ids) {
        q->ids = line.input_ids.ids, q->nids = line.input_ids.n, q->complete = true;
    } else {
        q->bytes = strlen(line.inputs);
        q->text = line_trim(line.inputs, &q->bytes);
    }
    return LINE_READ;
}

/* The next prompt, if one is there. */
static line_state next_prompt(decoding *d, request_spec *q)
{
    *q = d->like;
    line_state state =
        d->source ? next_given(d, q) : lines_next(&d->reader, d->count == 0, &q->text, &q->bytes);
    q->how.row = d->reader.number - 1;
    return state;
}

static bool ask(decoding *d, const request_spec *q)
{
    asked_line *l = &d->ring[(d->first + d->count) % d->room];
    refusal     why;
    *l = (asked_line){.texts = calloc((size_t)d->results, sizeof *l->texts)};
    d->count++;
    if (!l->texts) return no_memory(d);
    l->request = engine_submit(d->engine, q, &why);
    if (l->request) return true;
    snprintf(d->refused, sizeof d->refused, "line %lld: %s", (long long)d->reader.number, why.text);
    return false;
}

/* Reads available lines, as long as there is room. */
static line_state read_lines(decoding *d)
{
    request_spec q;
    line_state   state = LINE_READ;
    while (d->count < d->room && state == LINE_READ) {
        state = next_prompt(d, &q);
        if (state == LINE_READ && !ask(d, &q)) {
            free_line(d, &d->ring[(d->first + --d->count) % d->room]);
            state = d->refused[0] ? LINE_END : LINE_FAILED;
        }
    }
    return state;
}

/* Collects decoded pieces, and writes complete answers in the order of their lines. */
static bool write_answers(decoding *d)
{
    request_piece p;
    for (int k = 0; k < d->count; k++) {
        asked_line *l = &d->ring[(d->first + k) % d->room];
        while (request_next(l->request, 0, &p)) {
            if (p.end == FINISH_FAILED)
                return fail(&d->model->session->fault, ERR_VALUE, "%s", p.text);
            l->absent += p.end == FINISH_ABSENT;
            if (!append(l, &p)) return no_memory(d);
        }
    }
    while (d->count && request_over(d->ring[d->first].request)) {
        asked_line *l = &d->ring[d->first];
        for (int k = 0; k < d->results - l->absent; k++)
            fprintf(d->to, "%s\n", l->texts[k].bytes ? l->texts[k].bytes : "");
        fflush(d->to);
        free_line(d, l);
        d->first = (d->first + 1) % d->room;
        d->count--;
    }
    return true;
}

static bool answer_all(decoding *d)
{
    line_state state = LINE_READ;
    while (state != LINE_END || d->count) {
        if (state != LINE_END) state = read_lines(d);
        TRY(state != LINE_FAILED && engine_step(d->engine, 0) && write_answers(d));
    }
    /* Reports the refused line after the answers to the lines before it. */
    return !d->refused[0] ||
           fail(&d->model->session->fault, ERR_VALUE, "%s: %s", d->reader.name, d->refused);
}

bool decode_lines(const opened_model *m, const decode_lines_opts *o)
{
    const char *path = o->output ? step_path(m, o->output, "") : "standard output";
    decoding    d = {.model = m, .like = o->like, .source = o->source, .to = stdout};
    TRY(path != NULL);
    engine_opts limits = o->limits;
    limits.led = true;
    d.engine = engine_open(m, &limits);
    TRY(d.engine != NULL);
    if (!mtf_is_first(m->session)) {
        bool followed = engine_follow(d.engine);
        engine_close(d.engine);
        return followed;
    }
    d.results = o->like.results > 0 ? o->like.results : 1;
    d.room = 2 * (int)engine_limits(d.engine)->batch;
    d.ring = arena_array(&m->session->arena, asked_line, d.room);
    bool ok = d.ring != NULL;
    if (o->source)
        d.reader = (line_reader){.session = m->session, .name = o->source->name, .file = -1};
    else
        ok = ok && lines_open(&d.reader, m->session, o->inputs, false);
    if (ok && o->output) ok = (d.to = output_open(m, path)) != NULL;
    if (ok) {
        ok = answer_all(&d);
        ok = output_close(m, path, d.to) && ok;
    }
    for (; d.count; d.count--) free_line(&d, &d.ring[(d.first + d.count - 1) % d.room]);
    lines_close(&d.reader);
    ok = ok && engine_dismiss(d.engine);
    engine_close(d.engine);
    return ok;
}

/* ---- a dialogue ---- */

/* Prints text on a terminal, with '?' for control characters, which it would execute. */
static void put_plain(const char *text, FILE *to)
{
    for (size_t n; *text; text += n) {
        uint32_t code;
        bool     valid = utf8_take(text, UTF8_MOST, &n, &code) == UTF8_CHARACTER;
        bool     control = valid && ((code < 0x20 && code != '\n' && code != '\t') ||
                                 (code >= 0x7f && code < 0xa0));
        if (control)
            fputc('?', to);
        else
            fwrite(text, 1, n, to);
    }
}

/* Prints one answer as it is decoded; false after an error. */
static bool say_reply(engine *e, request *x, FILE *to)
{
    interrupt     stop;
    request_piece p;
    bool          ok = true;
    int           last = 0, came = 0;
    interrupt_watch(&stop);
    while (ok && !came && !request_over(x)) {
        ok = engine_step(e, 0);
        while (request_next(x, 0, &p)) {
            if (p.result != last) fputc('\n', to);
            last = p.result;
            if (p.end != FINISH_FAILED) put_plain(p.text, to);
        }
        fflush(to);
        came = interrupt_came(&stop);
    }
    interrupt_leave(&stop);
    fputc('\n', to);
    if (came && came != SIGINT) raise(came);
    return ok;
}

bool decode_dialogue(const opened_model *m, const decode_lines_opts *o, FILE *from, FILE *to)
{
    engine *e = engine_open(m, &o->limits);
    char   *line = NULL;
    size_t  room = 0;
    int64_t asked = 0;
    bool    ok = e != NULL;
    while (ok) {
        fputs("> ", to);
        fflush(to);
        ssize_t n = getline(&line, &room, from);
        if (n < 0) break;
        while (n > 0 && (line[n - 1] == '\n' || line[n - 1] == '\r')) n--;
        request_spec q = o->like;
        refusal      why;
        q.text = line;
        q.bytes = (size_t)n;
        q.how.row = asked++;
        request *x = engine_submit(e, &q, &why);
        if (!x) {
            fprintf(to, "%s\n", why.text);
            continue;
        }
        ok = say_reply(e, x, to);
        request_free(x);
    }
    fputc('\n', to);
    free(line);
    if (e) engine_close(e);
    return ok;
}
