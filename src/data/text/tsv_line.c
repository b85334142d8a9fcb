/* Lines of TSV: cells with tabs between them. */
#include "data/text/tsv_line.h"

#include <stdlib.h>
#include <string.h>

bool tsv_cell(const char *line, int64_t n, int64_t column, text_span *cell)
{
    const char *end = line + n;
    for (;; column--) {
        const char *tab = line < end ? memchr(line, '\t', (size_t)(end - line)) : NULL;
        *cell = (text_span){line, (tab ? tab : end) - line};
        if (column == 0) return true;
        if (!tab) return false;
        line = tab + 1;
    }
}

bool tsv_is_number(const char *text)
{
    return *text && strlen(text) < 10 && strspn(text, "0123456789") == strlen(text);
}

bool tsv_find(const char *line, int64_t n, const char *name, int64_t *column)
{
    text_span cell;
    if (tsv_is_number(name)) {
        *column = strtoll(name, NULL, 10);
        return true;
    }
    for (*column = 0; tsv_cell(line, n, *column, &cell); ++*column)
        if ((size_t)cell.size == strlen(name) && memcmp(cell.at, name, (size_t)cell.size) == 0)
            return true;
    return false;
}
