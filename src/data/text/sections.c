/* Sections of text, tokenised when they are needed. */
#include "data/text/sections.h"

#include "base/whole.h"

#include <string.h>

/* ---- which file ---- */

static int64_t sections_of(const text_sections *t, const corpus_file *f)
{
    return ceil_div(f->size, t->rule.bytes);
}

/* Extends the table of first sections as far as the sizes of files are known. */
static void learn_files(text_sections *t)
{
    for (; t->nknown <= t->corpus.nfiles; t->nknown++) {
        const corpus_file *before = &t->corpus.files[t->nknown - 1];
        if (before->size < 0) return;
        t->first_of[t->nknown] = t->first_of[t->nknown - 1] + sections_of(t, before);
    }
}

/* The file that has a section, or might have it where its size is not known; -1: there is none. */
static int file_of(text_sections *t, int64_t section)
{
    learn_files(t);
    for (int low = 0, high = t->nknown - 1;;) {
        int middle = (low + high + 1) / 2;
        if (low == high) return low < t->corpus.nfiles ? low : -1;
        if (t->first_of[middle] <= section)
            low = middle;
        else
            high = middle - 1;
    }
}

/* ---- loading one ---- */

/* The first line of a file, of which the columns have their names. */
static bool find_head(text_sections *t, int file, fault *why)
{
    const mtf_allocator *from = &t->session->opts.allocator;
    size_t               got = 0, room = 1 << 12;
    if (t->rule.begins != BEGINS_ROW) return true;
    for (const char *end; t->head_of != file; room *= 2) {
        block_free(from, t->head);
        TRY((t->head = block_alloc(from, why, room, false)) != NULL);
        TRY(corpus_read(&t->corpus, &t->corpus.files[file], 0, t->head, room, &got, why));
        end = memchr(t->head, '\n', got);
        if (!end && got == room) continue;
        t->head_size = end ? (size_t)(end - t->head) : got;
        if (t->head_size && t->head[t->head_size - 1] == '\r') t->head_size--;
        t->head_of = file;
    }
    return true;
}

static void drop(text_sections *t, text_section *s)
{
    examples_free(&s->own, &s->examples);
    later_free(&s->later);
    arena_free(&s->own.arena);
    block_free(&t->session->opts.allocator, s->bytes);
    block_free(&t->session->opts.allocator, s);
}

static text_section *new_section(text_sections *t, int64_t number, fault *why)
{
    const mtf_allocator *from = &t->session->opts.allocator; /* any thread may use it */
    text_section        *s = block_alloc(from, why, sizeof *s, true);
    if (!s) return NULL;
    s->number = number;
    s->own.allocator = s->own.opts.allocator = *from;
    s->own.arena = arena_make(&s->own.allocator, &s->own.fault);
    s->examples = *t->shape;
    s->examples.first = row_of(number, 0);
    s->later = (later_texts){.own = &s->own, .like = &t->reading};
    for (int side = 0; side < SIDES; side++)
        s->examples.text[side] =
            (token_text){.session = &s->own, .type = token_type(t->reading.vocabulary[side])};
    return s;
}

static bool tokenise(text_sections *t, text_section *s, const section_text *text, input_file *as)
{
    mtf_dataset own = {.session = &s->own, .crc = t->reading.dataset->crc};
    documents   read = t->reading;
    read.dataset = &own;
    read.text = s->examples.text;
    read.section = true;
    read.goes_on = text->goes_on;
    as->bytes = text->bytes;
    as->size = text->size;
    as->bytes_before = text->at;
    s->later.bytes = (const char *)text->bytes;
    if (t->later) read.each = later_note, read.context = &s->later;
    if (as->bytes_before) read.head = (text_span){t->head, (int64_t)t->head_size};
    documents_begin(&read);
    bool ok = documents_end(&read, documents_read_file(&read, t->format, as));
    block_free(&s->own.allocator, as->lines.at);
    block_free(&s->own.allocator, as->records.at);
    as->lines = as->records = (place_index){0};
    if (t->later)
        return ok && later_fit(&s->later) &&
               examples_plan_later(&s->own, &s->examples, s->later.count);
    ok = ok && examples_plan(&s->own, &s->examples);
    for (int side = 0; ok && side < SIDES; side++) ok = token_text_fit(&s->examples.text[side]);
    return ok;
}

/* Its text has an error, which is put into words again, now with the numbers of lines and records. */
static bool explain(text_sections *t, int file, const text_section *wrong, const section_text *text,
                    fault *why)
{
    corpus_file  *f = &t->corpus.files[file];
    text_section *again = new_section(t, wrong->number, why);
    input_file    as = {.path = f->path};
    TRY(again != NULL);
    bool counted = section_text_before(&t->corpus, f, BEGINS_ROW, text->at, &as.lines_before, why);
    if (counted && t->rule.begins == BEGINS_RECORD)
        counted =
            section_text_before(&t->corpus, f, BEGINS_RECORD, text->at, &as.records_before, why);
    if (counted && !tokenise(t, again, text, &as))
        fault_take(why, again->own.fault.kind, again->own.fault.text);
    drop(t, again);
    return fault_take(why, wrong->own.fault.kind, wrong->own.fault.text), false;
}

/* Where texts are tokenised later, their bytes stay, without the room that finding them took. */
static bool fit(text_sections *t, const char *path, section_text *text, fault *why)
{
    const mtf_allocator *from = &t->session->opts.allocator;
    if (!t->later) return true;
    if (text->size > UINT32_MAX)
        return fail(why, ERR_FILE, "\"%s\" has a line of more than 4 GiB", path);
    uint8_t *fitting = block_alloc(from, why, text->size + 1, false);
    TRY(fitting != NULL);
    memcpy(fitting, text->bytes, text->size);
    block_free(from, text->bytes);
    text->bytes = fitting;
    return true;
}

/* Loads a section of a file; *there is false where the file has ended before it. */
static text_section *load_from(text_sections *t, int file, int64_t number, bool *there, fault *why)
{
    corpus_file         *f = &t->corpus.files[file];
    const mtf_allocator *from = &t->session->opts.allocator;
    section_text         text;
    input_file           as = {.path = f->path};
    if (!find_head(t, file, why)) return NULL;
    if (!section_text_read(&t->corpus, f, &t->rule, number - t->first_of[file], from, &text, there,
                           why) ||
        !*there)
        return NULL;
    text_section *s = fit(t, f->path, &text, why) ? new_section(t, number, why) : NULL;
    if (s && !tokenise(t, s, &text, &as)) {
        explain(t, file, s, &text, why);
        drop(t, s);
        s = NULL;
    }
    if (s && t->later)
        s->bytes = text.bytes;
    else
        block_free(from, text.bytes);
    return s;
}

/* ---- all of them ---- */

static bool note_rows(text_sections *t, int64_t number, int64_t rows, fault *why)
{
    if (number >= t->ncounts) {
        const mtf_allocator *from = &t->session->opts.allocator;
        int64_t              room = number < 512 ? 1024 : 2 * number;
        int64_t             *more = block_alloc(from, why, (size_t)room * sizeof *more, false);
        TRY(more != NULL);
        for (int64_t k = 0; k < room; k++) more[k] = k < t->ncounts ? t->counts[k] : -1;
        block_free(from, t->counts);
        t->counts = more;
        t->ncounts = room;
    }
    t->counts[number] = rows;
    return true;
}

/* The one that was used longest ago makes room. */
static void make_room(text_sections *t)
{
    int oldest = -1;
    if (t->nloaded < LOADED_SECTIONS) return;
    for (int i = 0; i < t->nloaded; i++)
        if (!t->loaded[i]->readers && (oldest < 0 || t->loaded[i]->used < t->loaded[oldest]->used))
            oldest = i;
    if (oldest < 0) return;
    drop(t, t->loaded[oldest]);
    t->loaded[oldest] = t->loaded[--t->nloaded];
}

/* NULL: after an error, or where there is no such section. */
static text_section *find_section(text_sections *t, int64_t number, fault *why)
{
    for (int i = 0; i < t->nloaded; i++)
        if (t->loaded[i]->number == number) {
            t->loaded[i]->used = ++t->clock;
            return t->loaded[i];
        }
    make_room(t);
    if (t->nloaded == LOADED_SECTIONS) {
        fail(why, ERR_USAGE, "more than %d readers of one dataset of text", LOADED_SECTIONS);
        return NULL;
    }
    bool          there = false;
    text_section *s = NULL;
    for (int file = file_of(t, number), next; file >= 0 && !there; file = next) {
        s = load_from(t, file, number, &there, why);
        if (!s && why->kind != ERR_NONE) return NULL;
        next = file_of(t, number); /* a gzip file has ended before the section: it is in the next */
        if (next == file) break;
    }
    if (!s) return NULL;
    if (!note_rows(t, number, s->examples.nrows, why)) {
        drop(t, s);
        return NULL;
    }
    s->used = ++t->clock;
    return t->loaded[t->nloaded++] = s;
}

static bool count_rows(void *context, int64_t number, int64_t *rows, fault *why)
{
    text_sections *t = context;
    fault          own = {0};
    pthread_mutex_lock(&t->lock);
    *rows = number < t->ncounts ? t->counts[number] : -1;
    if (*rows < 0) {
        const text_section *s = find_section(t, number, &own);
        if (s) *rows = s->examples.nrows;
    }
    pthread_mutex_unlock(&t->lock);
    return own.kind == ERR_NONE || (fault_take(why, own.kind, own.text), false);
}

static void expect(void *context, int64_t number)
{
    text_sections *t = context;
    fault          own = {0};
    pthread_mutex_lock(&t->lock);
    find_section(t, number, &own);
    pthread_mutex_unlock(&t->lock);
}

/* Errors of the section become the reader's. */
static bool make_row(text_section *s, int64_t k, fault *why)
{
    if (example_is_made(&s->examples, k) || later_tokenise(&s->later, k, &s->examples)) return true;
    fault_take(why, s->own.fault.kind, s->own.fault.text);
    fault_clear(&s->own.fault);
    return false;
}

text_section *text_sections_take(text_sections *t, int64_t row, fault *why)
{
    fault own = {0};
    pthread_mutex_lock(&t->lock);
    text_section *s = find_section(t, row_section(row), &own);
    if (s && t->later && !make_row(s, row_place(row), &own)) s = NULL;
    if (s) s->readers++;
    if (!s || !t->later)
        pthread_mutex_unlock(&t->lock); /* else ids may move when others are added */
    if (own.kind != ERR_NONE) fault_take(why, own.kind, own.text);
    return s;
}

void text_sections_give_back(text_sections *t, text_section *s)
{
    if (!t->later) pthread_mutex_lock(&t->lock);
    s->readers--;
    pthread_mutex_unlock(&t->lock);
}

/* ---- opening ---- */

bool text_sections_open(text_sections *t)
{
    pthread_mutex_init(&t->lock, NULL);
    t->head_of = -1;
    TRY((t->first_of = arena_array(&t->session->arena, int64_t, t->corpus.nfiles + 1)) != NULL);
    t->nknown = 1;
    learn_files(t);
    t->rows = (row_sections){.context = t,
                             .count = t->corpus.packed ? -1 : t->first_of[t->corpus.nfiles],
                             .bytes = corpus_stored(&t->corpus),
                             .rows = count_rows,
                             .expect = expect};
    return true;
}

void text_sections_close(text_sections *t)
{
    const mtf_allocator *from = &t->session->opts.allocator;
    for (int i = 0; i < t->nloaded; i++) drop(t, t->loaded[i]);
    t->nloaded = 0;
    corpus_close(&t->corpus);
    block_free(from, t->counts);
    block_free(from, t->head);
    pthread_mutex_destroy(&t->lock);
}
