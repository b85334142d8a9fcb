/* Masked words of a row, as BERT's pre-training has them.
 *
 * Of the words that are to be predicted eight of ten are hidden, one is replaced by any other, one stays.
 */
#include <math.h>
#include <string.h>

#include "data/text/bert_rows.h"
#include "data/text/spans.h"

enum { MASK_PURPOSE = 0x6d61736b, HIDDEN_OF_TEN = 8, STAYING = 8 };

int64_t bert_usual_predictions(int64_t length, double share)
{
    const double most = 20;
    return (int64_t)fmin(ceil((double)length * share), most);
}

/* The positions of all words but the special ones. */
static int64_t list_words(const bert_rows *r, const int32_t *ids, int64_t n, int32_t *positions)
{
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++)
        if (ids[i] != r->begin && ids[i] != r->end) positions[count++] = (int32_t)i;
    return count;
}

static int64_t how_many(const bert_rows *r, int64_t words)
{
    int64_t n = (int64_t)nearbyint((double)words * r->share);
    if (n < 1) n = 1;
    if (n > r->predictions) n = r->predictions;
    return n < words ? n : words;
}

/* Chooses n of them, all choices being equally likely, in their order. */
static void choose(text_random *random, int32_t *positions, int64_t count, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t k = i + text_random_below(random, count - i), at = i;
        int32_t chosen = positions[k];
        positions[k] = positions[i];
        for (; at > 0 && positions[at - 1] > chosen; at--) positions[at] = positions[at - 1];
        positions[at] = chosen;
    }
}

static int32_t replaced(const bert_rows *r, text_random *random, int32_t word)
{
    int64_t of_ten = text_random_below(random, 10);
    if (of_ten < HIDDEN_OF_TEN) return r->mask;
    if (of_ten == STAYING) return word;
    return (int32_t)text_random_below(random, mtf_vocabulary_size(r->vocabulary));
}

void bert_mask_row(const bert_rows *r, int64_t row, int64_t epoch, bert_masked *to)
{
    const bert_row *from = &r->rows[row];
    text_random     random = text_random_of(r->seed, epoch, row, MASK_PURPOSE);
    memcpy(to->ids, r->ids.ids + from->at, (size_t)from->count * sizeof *to->ids);
    int64_t words = list_words(r, to->ids, from->count, to->positions);
    to->count = how_many(r, words);
    choose(&random, to->positions, words, to->count);
    for (int64_t i = 0; i < to->count; i++) {
        int32_t *id = &to->ids[to->positions[i]];
        to->words[i] = *id;
        *id = replaced(r, &random, *id);
    }
}
