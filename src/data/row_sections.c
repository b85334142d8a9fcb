/* Examples in sections, for data too large to number all examples beforehand. */
#include "data/row_sections.h"

int64_t row_sections_total(const row_sections *s, fault *why)
{
    int64_t total = 0, rows = 0;
    for (int64_t k = 0; rows >= 0; k++) {
        if (!s->rows(s->context, k, &rows, why)) return -1;
        total += rows > 0 ? rows : 0;
    }
    return total;
}

int64_t row_sections_find(const row_sections *s, section_start *near, int64_t index, fault *why)
{
    int64_t rows = 0;
    if (index < near->rows) *near = (section_start){0};
    for (;; near->section++, near->rows += rows) {
        if (!s->rows(s->context, near->section, &rows, why) || rows < 0) break;
        if (index < near->rows + rows) return row_of(near->section, index - near->rows);
    }
    *near = (section_start){0};
    return -1;
}
