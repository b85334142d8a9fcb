/* BLEU: n-grams that texts share with their references. */
#include "model/bleu.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- words ---- */

/* A text with enough room for every rule's result. */
typedef struct words_text {
    char  *bytes;
    size_t n;
} words_text;

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_point(char c)
{
    return c == '.' || c == ',';
}

/* Punctuation that is always a word: ASCII but letters, digits, ' , - . and what is not a character. */
static bool is_sign(char c)
{
    return (c >= '{' && c <= '~') || (c >= '[' && c <= '`') || (c >= ' ' && c <= '&') ||
           (c >= '(' && c <= '+') || (c >= ':' && c <= '@') || c == '/';
}

static void put_char(words_text *t, char c)
{
    t->bytes[t->n++] = c;
}

/* The entities that mteval-v13a knows, in this order. */
static void replace_entities(words_text *t)
{
    static const struct {
        const char *name;
        char        means;
    } known[] = {{"&quot;", '"'}, {"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}};
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        size_t length = strlen(known[k].name), to = 0;
        for (size_t i = 0; i < t->n;) {
            bool here = t->n - i >= length && memcmp(t->bytes + i, known[k].name, length) == 0;
            t->bytes[to++] = here ? known[k].means : t->bytes[i];
            i += here ? length : 1;
        }
        t->n = to;
    }
}

/* Without "<skipped>" and breaks at hyphens, newlines being spaces; a space at both ends. */
static void prepare_words(const char *text, words_text *to)
{
    static const char skipped[] = "<skipped>";
    put_char(to, ' ');
    while (*text) {
        if (strncmp(text, skipped, sizeof skipped - 1) == 0) {
            text += sizeof skipped - 1;
        } else if (text[0] == '-' && text[1] == '\n') {
            text += 2;
        } else {
            put_char(to, *text == '\n' ? ' ' : *text);
            text++;
        }
    }
    put_char(to, ' ');
    if (memchr(to->bytes, '&', to->n)) replace_entities(to);
}

typedef void word_rule(const words_text *from, words_text *to);

static void separate_signs(const words_text *from, words_text *to)
{
    for (size_t i = 0; i < from->n; i++) {
        bool sign = is_sign(from->bytes[i]);
        if (sign) put_char(to, ' ');
        put_char(to, from->bytes[i]);
        if (sign) put_char(to, ' ');
    }
}

/* Matches do not overlap, as with Python's re.sub. */
static void separate_points_after_others(const words_text *from, words_text *to)
{
    for (size_t i = 0; i < from->n; i++) {
        put_char(to, from->bytes[i]);
        if (is_digit(from->bytes[i]) || i + 1 == from->n || !is_point(from->bytes[i + 1])) continue;
        put_char(to, ' ');
        put_char(to, from->bytes[++i]);
        put_char(to, ' ');
    }
}

static void separate_points_before_others(const words_text *from, words_text *to)
{
    for (size_t i = 0; i < from->n; i++) {
        bool here = is_point(from->bytes[i]) && i + 1 < from->n && !is_digit(from->bytes[i + 1]);
        if (here) put_char(to, ' ');
        put_char(to, from->bytes[i]);
        if (!here) continue;
        put_char(to, ' ');
        put_char(to, from->bytes[++i]);
    }
}

static void separate_dashes_after_digits(const words_text *from, words_text *to)
{
    for (size_t i = 0; i < from->n; i++) {
        put_char(to, from->bytes[i]);
        if (!is_digit(from->bytes[i]) || i + 1 == from->n || from->bytes[i + 1] != '-') continue;
        put_char(to, ' ');
        put_char(to, from->bytes[++i]);
        put_char(to, ' ');
    }
}

/* The bytes of a space of Unicode's at the beginning of a text; 0: there is none. */
static size_t blank_at(const char *text)
{
    static const char *const wide[] = {
        "\xc2\x85",     "\xc2\xa0",     "\xe1\x9a\x80", "\xe2\x80\x80", "\xe2\x80\x81",
        "\xe2\x80\x82", "\xe2\x80\x83", "\xe2\x80\x84", "\xe2\x80\x85", "\xe2\x80\x86",
        "\xe2\x80\x87", "\xe2\x80\x88", "\xe2\x80\x89", "\xe2\x80\x8a", "\xe2\x80\xa8",
        "\xe2\x80\xa9", "\xe2\x80\xaf", "\xe2\x81\x9f", "\xe3\x80\x80"};
    if (*text == ' ' || (*text >= 9 && *text <= 13) || (*text >= 28 && *text <= 31)) return 1;
    for (size_t k = 0; k < sizeof wide / sizeof *wide; k++)
        if (strncmp(text, wide[k], strlen(wide[k])) == 0) return strlen(wide[k]);
    return 0;
}

/* One space between words, none around them. */
static void join_words(char *text)
{
    char *to = text;
    bool  first = true;
    while (*text) {
        size_t blank = blank_at(text);
        if (blank) {
            text += blank;
            continue;
        }
        if (!first) *to++ = ' ';
        first = false;
        while (*text && !blank_at(text)) *to++ = *text++;
    }
    *to = 0;
}

char *bleu_words(mtf_session *s, const char *text)
{
    static word_rule *const rules[] = {separate_signs, separate_points_after_others,
                                       separate_points_before_others, separate_dashes_after_digits};
    size_t room = 24 * (strlen(text) + 2) + 1; /* the first may treble it, the others double it */
    char  *block = block_alloc(&s->allocator, &s->fault, 2 * room, false);
    words_text now = {.bytes = block}, next = {.bytes = block ? block + room : NULL};
    if (!block) return NULL;
    prepare_words(text, &now);
    for (size_t k = 0; k < sizeof rules / sizeof *rules; k++) {
        words_text old = now;
        next.n = 0;
        rules[k](&old, &next);
        now = next;
        next = old;
    }
    now.bytes[now.n] = 0;
    if (now.bytes != block) memcpy(block, now.bytes, now.n + 1);
    join_words(block);
    return block;
}

/* ---- n-grams ---- */

/* A word of one of two texts. */
typedef struct word {
    const char *at;
    size_t      n;
    int32_t     place; /* among the words of both */
} word;

typedef struct gram {
    int32_t word[BLEU_ORDER]; /* numbers; -1 after the last */
} gram;

static int by_word(const void *a, const void *b)
{
    const word *x = a, *y = b;
    size_t      n = x->n < y->n ? x->n : y->n;
    int         order = memcmp(x->at, y->at, n);
    return order ? order : (x->n > y->n) - (x->n < y->n);
}

static int by_gram(const void *a, const void *b)
{
    const gram *x = a, *y = b;
    for (int k = 0; k < BLEU_ORDER; k++)
        if (x->word[k] != y->word[k]) return x->word[k] < y->word[k] ? -1 : 1;
    return 0;
}

static int32_t count_words(const char *text)
{
    int32_t n = *text != 0;
    for (; *text; text++) n += *text == ' ';
    return n;
}

static word *add_words(word *to, const char *text, int32_t first)
{
    while (*text) {
        size_t n = strcspn(text, " ");
        *to++ = (word){text, n, first++};
        text += n + (text[n] == ' ');
    }
    return to;
}

/* Sorted n-grams of a text of n words. */
static int32_t make_grams(const int32_t *ids, int32_t n, int order, gram *to)
{
    int32_t count = n - order + 1 > 0 ? n - order + 1 : 0;
    for (int32_t i = 0; i < count; i++)
        for (int k = 0; k < BLEU_ORDER; k++) to[i].word[k] = k < order ? ids[i + k] : -1;
    qsort(to, (size_t)count, sizeof *to, by_gram);
    return count;
}

/* The n-grams of both, each counted as often as it is in both. */
static int64_t common(const gram *a, int32_t n, const gram *b, int32_t m)
{
    int64_t both = 0;
    for (int32_t i = 0, k = 0; i < n && k < m;) {
        int order = by_gram(&a[i], &b[k]);
        both += order == 0;
        i += order <= 0;
        k += order >= 0;
    }
    return both;
}

typedef struct pair_room {
    word    *words;
    int32_t *ids;
    gram    *grams;
} pair_room;

static void count_pair(const char *text, const char *reference, const pair_room *r, bleu_counts *to)
{
    int32_t n = count_words(text), m = count_words(reference);
    add_words(add_words(r->words, text, 0), reference, n);
    qsort(r->words, (size_t)(n + m), sizeof *r->words, by_word);
    for (int32_t k = 0, number = 0; k < n + m; k++) {
        if (k && by_word(&r->words[k - 1], &r->words[k]) != 0) number++;
        r->ids[r->words[k].place] = number;
    }
    to->words += n;
    to->reference_words += m;
    for (int order = 1; order <= BLEU_ORDER; order++) {
        gram   *theirs = r->grams + n;
        int32_t a = make_grams(r->ids, n, order, r->grams);
        int32_t b = make_grams(r->ids + n, m, order, theirs);
        to->all[order - 1] += a;
        to->right[order - 1] += common(r->grams, a, theirs, b);
    }
}

bool bleu_add(mtf_session *s, const char *text, const char *reference, bleu_counts *to)
{
    char     *words = bleu_words(s, text), *theirs = words ? bleu_words(s, reference) : NULL;
    size_t    n = theirs ? (size_t)count_words(words) + (size_t)count_words(theirs) + 1 : 0;
    size_t    each = sizeof(word) + sizeof(gram) + sizeof(int32_t);
    char     *block = theirs ? block_alloc(&s->allocator, &s->fault, n * each, false) : NULL;
    pair_room r = {.words = (word *)block};
    if (block) {
        r.grams = (gram *)(r.words + n);
        r.ids = (int32_t *)(r.grams + n);
        count_pair(words, theirs, &r, to);
    }
    block_free(&s->allocator, block);
    block_free(&s->allocator, theirs);
    block_free(&s->allocator, words);
    return block != NULL;
}

/* ---- the score ---- */

void bleu_of(const bleu_counts *c, bleu *to)
{
    double smooth = 1, logs = 0;
    bool   any = false, all = true;
    *to = (bleu){.words = c->words, .reference_words = c->reference_words, .brevity = 1};
    if (c->words < c->reference_words)
        to->brevity = c->words ? exp(1 - (double)c->reference_words / (double)c->words) : 0;
    for (int k = 0; k < BLEU_ORDER; k++) any |= c->right[k] > 0;
    for (int k = 0; any && k < BLEU_ORDER && c->all[k]; k++) {
        if (!c->right[k]) smooth *= 2;
        double right = c->right[k] ? (double)c->right[k] : 1 / smooth;
        to->precision[k] = 100 * right / (double)c->all[k];
    }
    for (int k = 0; k < BLEU_ORDER; k++) {
        all &= to->precision[k] > 0;
        logs += to->precision[k] > 0 ? log(to->precision[k]) : 0;
    }
    if (all) to->score = to->brevity * exp(logs / BLEU_ORDER);
}
