/* Sections of a corpus: pieces of a fixed size, moved to where texts begin.
 *
 * Section k of a file has the texts that begin in its bytes from k * S up to (k + 1) * S, so that each
 * text is in one section, whole, and any section can be read without those before it.  Where no text
 * begins within S bytes after such a place, one that is longer than S lies across it: it is divided
 * there, at the end of a line, else after white space, else between characters.
 */
#ifndef DATA_TEXT_SECTION_TEXT_H
#define DATA_TEXT_SECTION_TEXT_H

#include "base/crc32c.h"
#include "data/text/corpus.h"

/* Where texts begin. */
typedef enum text_begins {
    BEGINS_PARAGRAPH, /* after a blank line */
    BEGINS_LINE,
    BEGINS_FILE,
    BEGINS_ROW,      /* a line that is never divided */
    BEGINS_RECORD,   /* of a TFRecord file */
    BEGINS_AFTER_END /* of a file of tokens: after the id that ends a text */
} text_begins;

typedef struct section_rule {
    text_begins begins;
    bool    divides; /* long texts are divided; else what follows the first S bytes is left out */
    int64_t bytes;   /* S */
    const crc32c_tables *crc;
    size_t               token; /* of tokens: bytes of one */
    int32_t              end;   /* of tokens: the id that ends texts */
} section_rule;

typedef struct section_text {
    uint8_t *bytes; /* in a block of `from`; NULL: none */
    size_t   size;
    int64_t  at;      /* in the file */
    bool     goes_on; /* the last text is not complete */
} section_text;

/* Section k of a file; *there is false where the file has none of that number. */
bool section_text_read(corpus *c, corpus_file *f, const section_rule *rule, int64_t k,
                       const mtf_allocator *from, section_text *to, bool *there, fault *why);
/* Lines, or records, before a place of a file: for messages. */
bool section_text_before(corpus *c, corpus_file *f, text_begins what, int64_t at, int64_t *count,
                         fault *why);

#endif
