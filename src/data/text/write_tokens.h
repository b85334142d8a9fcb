/* Writes the tokens of texts to a file, and reads them back. */
#ifndef DATA_TEXT_WRITE_TOKENS_H
#define DATA_TEXT_WRITE_TOKENS_H

#include "base/raw_type.h"
#include "data/text/vocabulary.h"

typedef struct tokens_written {
    raw_type type; /* of each token in the file */
    int64_t  texts, tokens;
    int64_t  bytes; /* of the texts */
} tokens_written;

/* mtf_text_write_tokens with all that it counts; without a path it only counts. */
bool tokens_write(mtf_session *s, const mtf_text_opts *opts, const char *path, tokens_written *to);
/* The same with sections of another size, for tests. */
bool tokens_write_in_sections(mtf_session *s, const mtf_text_opts *opts, const char *path,
                              int64_t bytes, tokens_written *to);

/* Tokens of files, with the vocabulary's ends between texts, as text.  `format` is "u16" or "u32";
 * NULL: as the names of the files end, else what tokens_write would write.  What it gives, piece
 * by piece, has `between` between texts and, unless that is "", a newline at the end.  Counts what it
 * read. */
typedef bool text_taker(void *context, const char *text);
bool tokens_read(mtf_session *s, const char *files, const char *format, const mtf_vocabulary *v,
                 const char *between, text_taker *take, void *context, tokens_written *to);

#endif
