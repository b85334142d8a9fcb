/* Vocabularies: the functions of each kind. */
#ifndef DATA_TEXT_VOCABULARY_H
#define DATA_TEXT_VOCABULARY_H

#include "base/byte_list.h"
#include "base/session.h"
#include "data/text/id_list.h"
#include "mtf_text.h"

/* The text with U+FFFD in place of invalid bytes; the list stays empty where all are valid. */
bool text_mend(const char *text, size_t n, byte_list *mended);

/* The state of decoding ids to text. */
struct mtf_text_stream {
    const mtf_vocabulary *vocabulary;
    byte_list             raw;   /* bytes that make no whole character yet                     */
    byte_list             token; /* subwords: an unfinished token, still escaped               */
    byte_list             out;   /* what the last call returned                                */
    bool                  begun; /* something was written                                      */
    bool                  alnum; /* subwords: the last token was letters and digits            */
    bool                  closed;
    fault                 why; /* of its own: each thread may have a stream                  */
};

typedef struct vocabulary_kind {
    const char *name;
    const char *place; /* what its specification names after the colon; NULL: nothing */
    /* Reads the files and fills in `own`, the special ids and `inside`. */
    bool (*open)(mtf_session *s, mtf_vocabulary *v, const char *place);
    /* Appends the ids of a text.  Any thread may call it. */
    bool (*encode)(const mtf_vocabulary *v, const char *text, size_t n, id_list *out);
    /* Appends what one id of its own means to the stream's raw bytes. */
    bool (*decode)(const mtf_vocabulary *v, int32_t id, mtf_text_stream *t);
    /* The same for what is left at the end; NULL: nothing is ever left. */
    bool (*finish)(const mtf_vocabulary *v, mtf_text_stream *t);
} vocabulary_kind;

extern const vocabulary_kind vocabulary_bytes, vocabulary_words, vocabulary_subwords,
    vocabulary_gpt2, vocabulary_sentencepiece, vocabulary_wordpiece;

struct mtf_vocabulary {
    mtf_session           *session;
    const vocabulary_kind *kind;
    const char            *spec;
    void                  *inside;
    int64_t                own, extra; /* ids of the kind's own, and those after them */
    int32_t                padding, end, unknown;
};

/* The id of a word piece; -1 where BERT's vocabulary has none, or the vocabulary is of another kind. */
int32_t word_piece_id(const mtf_vocabulary *v, const char *piece);
/* Appends the pieces of a text, and for each the bytes of the text where it begins and ends: `places` has two
 * numbers for each id of `out`.  The vocabulary is BERT's. */
bool word_pieces_placed(const mtf_vocabulary *v, const char *text, size_t n, id_list *out,
                        id_list *places);
/* The whole file, with a zero byte after it, in a block; NULL after an error. */
char *vocabulary_file(mtf_session *s, const char *path, size_t *size);
/* Appends ids, errors going to the list's fault. */
bool vocabulary_encode(const mtf_vocabulary *v, const char *text, size_t n, id_list *out);

/* Bytes of the text of ids, before invalid UTF-8 is replaced; -1 after an error. */
int64_t vocabulary_text_bytes(const mtf_vocabulary *v, const int32_t *ids, int64_t n);

#endif
