/* Exact match and F1 of answers, as the benchmarks of questions and answers define them. */
#include "model/bert/answer_score.h"

#include <string.h>

#include "base/utf8.h"
#include "data/text/characters.h"

/* ---- normalising ---- */

static bool is_punctuation(uint32_t c)
{
    return c < 0x80 && character_class_of(c) == CHARACTER_PUNCTUATION;
}

static bool is_article(const char *word, int64_t size)
{
    static const char *const articles[] = {"a", "an", "the"};
    for (int i = 0; i < 3; i++)
        if ((int64_t)strlen(articles[i]) == size && memcmp(word, articles[i], (size_t)size) == 0)
            return true;
    return false;
}

/* A word ends before anything that no word has, such as a dash that is not ASCII's: an article before it goes. */
static bool end_run(byte_list *to, int64_t *run, int64_t begin)
{
    if (is_article(to->bytes + *run, to->count - *run)) {
        to->count = *run;
        if (to->count > begin && to->bytes[to->count - 1] != ' ') TRY(bytes_add(to, " ", 1));
    }
    *run = to->count;
    return true;
}

static bool end_word(byte_list *to, int64_t *run, int64_t begin)
{
    TRY(end_run(to, run, begin));
    if (to->count > begin && to->bytes[to->count - 1] != ' ') TRY(bytes_add(to, " ", 1));
    *run = to->count;
    return true;
}

static bool add_character(uint32_t c, byte_list *to, int64_t *run, int64_t begin)
{
    char bytes[UTF8_MOST];
    character_class class = character_class_of(c);
    if (is_punctuation(c)) return true;
    if (class == CHARACTER_SPACE) return end_word(to, run, begin);
    bool inside = class != CHARACTER_PUNCTUATION;
    if (!inside) TRY(end_run(to, run, begin));
    TRY(bytes_add(to, bytes, utf8_put(character_lower(c), bytes)));
    if (!inside) *run = to->count;
    return true;
}

/* Appends the words of a text with a blank after each. */
static bool answer_normalise(const char *text, int64_t size, byte_list *to)
{
    size_t   taken;
    uint32_t c;
    int64_t  begin = to->count, run = begin;
    TRY(bytes_reserve(to, (size_t)size));
    for (int64_t at = 0; at < size; at += (int64_t)taken)
        if (utf8_take(text + at, (size_t)(size - at), &taken, &c) == UTF8_CHARACTER)
            TRY(add_character(c, to, &run, begin));
    return end_word(to, &run, begin);
}

/* ---- comparing ---- */

static int64_t count_words(const char *words, int64_t size)
{
    int64_t count = 0;
    for (int64_t i = 0; i < size; i++) count += words[i] == ' ';
    return count;
}

/* Takes the word out of the words, which end in a blank each; false: it is not among them. */
static bool take_word(const char *word, int64_t size, char *words, int64_t *nwords)
{
    for (int64_t at = 0, next; at < *nwords; at = next) {
        const char *blank = memchr(words + at, ' ', (size_t)(*nwords - at));
        next = blank - words + 1;
        if (next - at != size || memcmp(words + at, word, (size_t)size) != 0) continue;
        memmove(words + at, words + next, (size_t)(*nwords - next));
        *nwords -= size;
        return true;
    }
    return false;
}

static int64_t count_common(const char *a, int64_t na, char *b, int64_t nb)
{
    int64_t common = 0;
    for (int64_t at = 0, next; at < na; at = next) {
        next = (const char *)memchr(a + at, ' ', (size_t)(na - at)) - a + 1;
        common += take_word(a + at, next - at, b, &nb);
    }
    return common;
}

bool answer_compare(const char *answer, int64_t size, const char *right, int64_t right_size,
                    byte_list *scratch, answer_score *to)
{
    scratch->count = 0;
    TRY(answer_normalise(answer, size, scratch));
    int64_t na = scratch->count;
    TRY(answer_normalise(right, right_size, scratch));
    int64_t nb = scratch->count - na;
    char   *a = scratch->bytes, *b = a + na;
    int64_t words = count_words(a, na) + count_words(b, nb);
    to->exact = na == nb && memcmp(a, b, (size_t)na) == 0;
    bool lacks = na == 0 || nb == 0;
    to->f1 = lacks ? (double)to->exact : 2 * (double)count_common(a, na, b, nb) / (double)words;
    return true;
}
