/* Sections of a corpus: pieces of a fixed size, moved to where texts begin. */
#include "data/text/section_text.h"

#include "base/utf8.h"

#include <string.h>

/* Spaces before a line that are looked at to find out whether a blank line precedes it. */
enum { LOOK_BACK = 4096, RECORD_HEAD = 12, RECORD_FOOT = 4 };

/* The bytes of a file from `lo` up to `hi`, of which more are read as needed. */
typedef struct view {
    corpus              *corpus;
    corpus_file         *file;
    const section_rule  *rule;
    const mtf_allocator *from;
    fault               *why;
    uint8_t             *bytes;
    size_t               room;
    int64_t              lo, hi;
    bool                 end; /* the file ends at hi */
} view;

/* A place in the file; `inside` a text. */
typedef struct border {
    int64_t at;
    bool    inside;
} border;

/* Reads on, up to `until` or to the end of the file. */
static bool extend(view *v, int64_t until)
{
    if (v->end || until <= v->hi) return true;
    size_t need = (size_t)(until - v->lo), have = (size_t)(v->hi - v->lo), got;
    if (need > v->room) {
        uint8_t *larger = block_alloc(v->from, v->why, need, false);
        TRY(larger != NULL);
        if (have) memcpy(larger, v->bytes, have);
        block_free(v->from, v->bytes);
        v->bytes = larger;
        v->room = need;
    }
    TRY(corpus_read(v->corpus, v->file, v->hi, v->bytes + have, need - have, &got, v->why));
    v->end = got < need - have;
    v->hi += (int64_t)got;
    return true;
}

static uint8_t byte_at(const view *v, int64_t at)
{
    return v->bytes[at - v->lo];
}

/* The first place from x on, below `limit`, that a line begins at; -1: there is none. */
static int64_t line_from(const view *v, int64_t x, int64_t limit)
{
    if (x == 0) return 0;
    if (limit > v->hi) limit = v->hi;
    if (x - 1 >= limit) return -1;
    const uint8_t *found = memchr(v->bytes + (x - 1 - v->lo), '\n', (size_t)(limit - x + 1));
    int64_t        at = found ? v->lo + (found - v->bytes) + 1 : -1;
    return at < limit ? at : -1;
}

static bool is_blank(uint8_t b)
{
    return b == ' ' || b == '\t';
}

/* Is there nothing but spaces between the line that begins at `at` and the end of the line before the
 * last?  Looks back no further than `least`. */
static bool after_blank_line(const view *v, int64_t at, int64_t least)
{
    int64_t i = at - 2;
    if (i >= least && byte_at(v, i) == '\r') i--; /* a line may end in "\r\n" */
    for (; i >= least; i--)
        if (!is_blank(byte_at(v, i))) return byte_at(v, i) == '\n';
    return least == 0;
}

static bool line_is_blank(const view *v, int64_t at)
{
    while (at < v->hi && is_blank(byte_at(v, at))) at++;
    if (at < v->hi && byte_at(v, at) == '\r') at++;
    return at >= v->hi || byte_at(v, at) == '\n';
}

/* The first text from x on, below `limit`; -1: none begins there. */
static int64_t text_from(const view *v, int64_t x, int64_t limit)
{
    text_begins begins = v->rule->begins;
    if (x == 0) return 0;
    if (begins == BEGINS_FILE) return -1;
    int64_t at = line_from(v, x, limit), least = x > LOOK_BACK ? x - LOOK_BACK : 0;
    if (begins == BEGINS_LINE) return at;
    while (at >= 0 && (line_is_blank(v, at) || !after_blank_line(v, at, least)))
        at = line_from(v, at + 1, limit);
    return at;
}

/* Where a long text is divided: the end of a line, else white space, else between characters. */
static int64_t divide(const view *v, int64_t x, int64_t limit)
{
    int64_t at = line_from(v, x, limit);
    if (at >= 0) return at;
    for (at = x; at < limit; at++)
        if (byte_at(v, at - 1) == ' ') return at;
    for (at = x; at < x + 4 && at < limit; at++)
        if (utf8_begins((char)byte_at(v, at))) return at;
    return x;
}

static bool text_border(view *v, int64_t x, border *to)
{
    int64_t limit = x + v->rule->bytes;
    TRY(extend(v, limit));
    if (limit > v->hi) limit = v->hi;
    *to = (border){text_from(v, x, limit), false};
    if (to->at >= 0) return true;
    *to = (border){v->hi, false};
    if (!v->end) *to = (border){divide(v, x, limit), true};
    return true;
}

/* ---- tokens, lines that are never divided, records ---- */

static uint64_t number_at(const uint8_t *bytes, int n)
{
    uint64_t number = 0;
    for (int i = n - 1; i >= 0; i--) number = number << 8 | bytes[i];
    return number;
}

/* The token after the first end from the token before x on. */
static bool token_border(view *v, int64_t x, border *to)
{
    int64_t size = (int64_t)v->rule->token, limit = x + v->rule->bytes;
    TRY(extend(v, limit));
    if (limit > v->hi) limit = v->hi;
    for (int64_t at = x; x && at <= limit; at += size)
        if (number_at(v->bytes + (at - size - v->lo), (int)size) == (uint64_t)v->rule->end)
            return *to = (border){at, false}, true;
    *to = x == 0 ? (border){0} : v->end ? (border){v->hi, false} : (border){x, true};
    return true;
}

static bool row_border(view *v, int64_t x, border *to)
{
    int64_t more = v->rule->bytes;
    do {
        TRY(extend(v, x + more));
        *to = (border){line_from(v, x, v->hi), false};
        more *= 2;
    } while (to->at < 0 && !v->end);
    if (to->at < 0) to->at = v->hi;
    return true;
}

static bool sound(const view *v, int64_t at, size_t n)
{
    const uint8_t *bytes = v->bytes + (at - v->lo);
    return crc32c_masked(crc32c(v->rule->crc, bytes, n)) == (uint32_t)number_at(bytes + n, 4);
}

/* Does a record begin here?  Both of its checksums must be right. */
static bool is_record(view *v, int64_t at, bool *is)
{
    enum { MOST = 1 << 30 };
    *is = false;
    TRY(extend(v, at + RECORD_HEAD));
    if (at + RECORD_HEAD > v->hi || !sound(v, at, 8)) return true;
    uint64_t length = number_at(v->bytes + (at - v->lo), 8);
    if (length > MOST) return true;
    int64_t body = at + RECORD_HEAD, next = body + (int64_t)length + RECORD_FOOT;
    TRY(extend(v, next));
    *is = next <= v->hi && sound(v, body, (size_t)length);
    return true;
}

static bool record_border(view *v, int64_t x, border *to)
{
    bool is = x == 0;
    for (*to = (border){x, false}; !is; to->at++) {
        if (to->at + RECORD_HEAD > v->hi) TRY(extend(v, to->at + v->rule->bytes));
        if (v->end && to->at >= v->hi) {
            to->at = v->hi;
            return true;
        }
        TRY(is_record(v, to->at, &is));
        if (is) break;
    }
    return true;
}

static bool find_border(view *v, int64_t x, border *to)
{
    switch (v->rule->begins) {
    case BEGINS_ROW: return row_border(v, x, to);
    case BEGINS_RECORD: return record_border(v, x, to);
    case BEGINS_AFTER_END: return token_border(v, x, to);
    default: return text_border(v, x, to);
    }
}

/* ---- a section ---- */

/* Where long texts are not divided: the rest of one that began before is left out, and of one that
 * begins here there are S bytes more. */
static void leave_out(const view *v, int64_t b, border *first, border *last)
{
    if (first->inside) {
        bool    tokens = v->rule->begins == BEGINS_AFTER_END; /* then none begins before b */
        int64_t at = tokens ? -1 : text_from(v, first->at, b < v->hi ? b : v->hi);
        *first = (border){at < 0 ? last->at : at, false};
        if (at < 0) return;
    }
    if (last->inside)
        *last = (border){b + v->rule->bytes < v->hi ? b + v->rule->bytes : v->hi, false};
}

static bool read_section(view *v, int64_t k, section_text *to, bool *there)
{
    int64_t a = k * v->rule->bytes, b = a + v->rule->bytes;
    border  first, last;
    v->lo = v->hi = a > LOOK_BACK ? a - LOOK_BACK : 0;
    TRY(extend(v, b));
    *there = v->hi > a;
    if (!*there) return true;
    TRY(find_border(v, a, &first) && find_border(v, b, &last));
    if (first.at > last.at) first.at = last.at;
    if (!v->rule->divides) leave_out(v, b, &first, &last);
    *to = (section_text){.bytes = v->bytes,
                         .size = (size_t)(last.at - first.at),
                         .at = first.at,
                         .goes_on = last.inside && last.at > first.at};
    memmove(v->bytes, v->bytes + (first.at - v->lo), to->size);
    return true;
}

bool section_text_read(corpus *c, corpus_file *f, const section_rule *rule, int64_t k,
                       const mtf_allocator *from, section_text *to, bool *there, fault *why)
{
    view v = {.corpus = c, .file = f, .rule = rule, .from = from, .why = why};
    *to = (section_text){0};
    bool ok = read_section(&v, k, to, there);
    if (!to->bytes) block_free(from, v.bytes);
    return ok;
}

/* ---- messages ---- */

static int64_t count_lines(const uint8_t *bytes, size_t n)
{
    int64_t        count = 0;
    const uint8_t *end = bytes + n;
    while (bytes < end && (bytes = memchr(bytes, '\n', (size_t)(end - bytes)))) count++, bytes++;
    return count;
}

bool section_text_before(corpus *c, corpus_file *f, text_begins what, int64_t at, int64_t *count,
                         fault *why)
{
    uint8_t some[1 << 14];
    size_t  got = 1;
    int64_t place = 0;
    for (*count = 0; place < at && got;) {
        bool   records = what == BEGINS_RECORD;
        size_t n = records                             ? 8
                   : at - place < (int64_t)sizeof some ? (size_t)(at - place)
                                                       : sizeof some;
        TRY(corpus_read(c, f, place, some, n, &got, why));
        *count += records ? 1 : count_lines(some, got);
        place += records ? RECORD_HEAD + (int64_t)number_at(some, 8) + RECORD_FOOT : (int64_t)got;
    }
    return true;
}
