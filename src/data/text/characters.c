/* Characters of Unicode: their classes, and their forms without case and accents.
 *
 * The tables are sorted, and found in by halving.  Syllables of Hangul, of which there are 11172, are decomposed
 * by the standard's rule.
 */
#include "data/text/characters.h"

#include <stddef.h>
#include <string.h>

#include "data/text/character_tables.h"

enum { CLASS_SHIFT = 3, CLASS_MASK = 7 };
enum { HANGUL = 0xac00, SYLLABLES = 11172, LEADS = 0x1100, VOWELS = 0x1161, TAILS = 0x11a7 };
enum { VOWEL_COUNT = 21, TAIL_COUNT = 28 };

#define COUNT(table) (sizeof(table) / sizeof *(table))

/* The last element whose key is at most c, of a table whose first key is; keys are uint32_t at the beginning
 * of elements, divided by 2^shift. */
static const void *last_up_to(const void *table, size_t count, size_t size, int shift, uint32_t c)
{
    const char *at = table;
    while (count > 1) {
        size_t   half = count / 2;
        uint32_t key;
        memcpy(&key, at + half * size, sizeof key);
        if (key >> shift <= c) {
            at += half * size;
            count -= half;
        } else {
            count = half;
        }
    }
    return at;
}

character_class character_class_of(uint32_t c)
{
    const uint32_t *range =
        last_up_to(class_ranges, COUNT(class_ranges), sizeof *class_ranges, CLASS_SHIFT, c);
    return (character_class)(*range & CLASS_MASK);
}

bool character_is_ideograph(uint32_t c)
{
    static const uint32_t blocks[][2] = {{0x3400, 0x4dbf},   {0x4e00, 0x9fff},   {0xf900, 0xfaff},
                                         {0x20000, 0x2a6df}, {0x2a700, 0x2b73f}, {0x2b740, 0x2b81f},
                                         {0x2b820, 0x2ceaf}, {0x2f800, 0x2fa1f}};
    for (size_t i = 0; i < COUNT(blocks); i++)
        if (c >= blocks[i][0] && c <= blocks[i][1]) return true;
    return false;
}

/* ---- folding ---- */

static int fold_hangul(uint32_t syllable, uint32_t *folded)
{
    uint32_t tail = syllable % TAIL_COUNT, open = syllable / TAIL_COUNT;
    folded[0] = LEADS + open / VOWEL_COUNT;
    folded[1] = VOWELS + open % VOWEL_COUNT;
    if (tail) folded[2] = TAILS + tail;
    return tail ? 3 : 2;
}

static int fold_to_several(uint32_t c, uint32_t *folded)
{
    const struct folding_row *row =
        last_up_to(folding_rows, COUNT(folding_rows), sizeof *folding_rows, 0, c);
    if (row->from != c) return 0;
    for (int i = 0; i < row->count; i++) folded[i] = row->to[i];
    return row->count;
}

static uint32_t mapped(const struct folding_run *runs, size_t count, uint32_t c)
{
    const struct folding_run *run = last_up_to(runs, count, sizeof *runs, 0, c);
    uint32_t                  further = c - run->first;
    bool inside = c >= run->first && further % run->step == 0 && further / run->step < run->count;
    return inside ? run->to + further : c;
}

int character_fold(uint32_t c, uint32_t *folded)
{
    if (c - HANGUL < SYLLABLES) return fold_hangul(c - HANGUL, folded);
    if (character_class_of(c) == CHARACTER_MARK) return 0;
    int several = fold_to_several(c, folded);
    if (several) return several;
    *folded = mapped(folding_runs, COUNT(folding_runs), c);
    return 1;
}

uint32_t character_lower(uint32_t c)
{
    return mapped(lower_runs, COUNT(lower_runs), c);
}
