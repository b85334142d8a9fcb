/* Rows of text datasets, for tests. */
#ifndef TESTS_TEXT_TEXT_ROWS_H
#define TESTS_TEXT_TEXT_ROWS_H

#include "mtf_text.h"

#include "../data/scratch.h"

static inline mtf_dataset *open_text_well(mtf_session *s, mtf_text_opts o)
{
    mtf_dataset *d = mtf_text_open(s, &o);
    assert_string_equal(mtf_error(s), "");
    assert_non_null(d);
    return d;
}

/* A row of a field, as numbers of at most 1000. */
static inline const int32_t *row_of(mtf_dataset *d, const char *field, int64_t row, int64_t length)
{
    static int32_t rows[8][1000];
    static int     k;
    int32_t       *ids = rows[k++ % 8];
    assert_true(length <= 1000);
    if (!mtf_dataset_read(d, field, row, MTF_I32, length, ids))
        fail_msg("row %d of %s", (int)row, field);
    return ids;
}

/* A row of bytes' ids as text: '|' for the end, '.' for padding, digits for sentinels of extra=10. */
static inline const char *letters(mtf_dataset *d, const char *field, int64_t row, int64_t length)
{
    static char    texts[4][1001];
    static int     k;
    char          *text = texts[k++ % 4];
    const int32_t *ids = row_of(d, field, row, length);
    for (int64_t i = 0; i < length; i++)
        text[i] = ids[i] == 0    ? '.'
                  : ids[i] == 1  ? '|'
                  : ids[i] > 258 ? (char)('0' + 268 - ids[i])
                                 : (char)(ids[i] - 3);
    text[length] = 0;
    return text;
}

/* A row of small numbers as digits, 0 as '.'. */
static inline const char *digits(mtf_dataset *d, const char *field, int64_t row, int64_t length)
{
    static char    texts[4][1001];
    static int     k;
    char          *text = texts[k++ % 4];
    const int32_t *ids = row_of(d, field, row, length);
    for (int64_t i = 0; i < length; i++) text[i] = ids[i] ? (char)('0' + ids[i] % 10) : '.';
    text[length] = 0;
    return text;
}

#endif
