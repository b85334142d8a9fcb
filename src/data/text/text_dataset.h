/* Datasets of text: rows of ids, segments and positions.
 *
 * Text that is not larger than WHOLE_SECTIONS sections is tokenised into memory when the dataset is
 * opened; of larger text, sections are read when they are needed.
 */
#ifndef DATA_TEXT_TEXT_DATASET_H
#define DATA_TEXT_TEXT_DATASET_H

#include "mtf_text.h"

enum { SECTION_BYTES = 512 << 10, WHOLE_SECTIONS = 8 };

/* mtf_text_open with sections of another size than SECTION_BYTES, which tests make small. */
mtf_dataset *text_open_in_sections(mtf_session *s, const mtf_text_opts *opts, int64_t bytes);

/* The most that sections keep in memory for rows of so many tokens: their text, and ids of two bytes, at most one
 * for each byte, in blocks that may be half empty. */
int64_t text_most_bytes(int64_t longest);

#endif
