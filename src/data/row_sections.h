/* Examples in sections, for data too large to number all examples beforehand.
 *
 * How many examples a section has is known only when it is loaded.  An example's number is its section
 * and its place there (row_of); the number of sections is known from the sizes of files, unless
 * these are packed.
 */
#ifndef DATA_ROW_SECTIONS_H
#define DATA_ROW_SECTIONS_H

#include "base/fault.h"

#include <stdint.h>

typedef struct row_sections {
    void   *context;
    int64_t count; /* sections; -1: unknown, they are read in order */
    int64_t bytes; /* of all files */
    /* How many examples a section has; -1: there is no such section.  Any thread may call these. */
    bool (*rows)(void *context, int64_t section, int64_t *rows, fault *why);
    /* Loads a section that will be read soon; errors are left to the reading. */
    void (*expect)(void *context, int64_t section);
} row_sections;

static inline int64_t row_of(int64_t section, int64_t place)
{
    return section << 32 | place;
}

static inline int64_t row_section(int64_t row)
{
    return row >> 32;
}

static inline int64_t row_place(int64_t row)
{
    return row & 0xffffffff;
}

/* All examples; -1 after an error.  Reads everything the first time. */
int64_t row_sections_total(const row_sections *s, fault *why);
/* A section, and how many examples there are before it. */
typedef struct section_start {
    int64_t section, rows;
} section_start;

/* The example that is number `index` of all, in the order of the files; -1 after an error, or where there
 * are fewer.  Continues from `near`, if it can, and leaves the section there for the next time. */
int64_t row_sections_find(const row_sections *s, section_start *near, int64_t index, fault *why);

#endif
