/* Text: vocabularies, and datasets of token ids.
 *
 * A vocabulary turns text into ids and back.  A text dataset turns files of text into examples of
 * ids, made ready for a language model or an encoder-decoder: cut, joined, corrupted, packed.  It is
 * a dataset as any other: batches, training and evaluation take it (mtf_data.h, mtf_train.h).
 */
#ifndef MTF_TEXT_H
#define MTF_TEXT_H

#include "mtf_data.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- vocabularies ---------------------------------------------------------------------- */

typedef struct mtf_vocabulary mtf_vocabulary;

/* What a vocabulary is, as one text; NULL or "" is "bytes":
 *
 *     bytes                    byte b is id b + 3, as in ByT5; 0 padding, 1 end, 2 unknown
 *     sentencepiece:FILE       a SentencePiece model, with the ids that it has
 *     gpt2:DIR                 byte pairs: DIR/vocab.json and DIR/merges.txt, as published with GPT-2
 *     subwords:FILE            a list of tensor2tensor's subwords, one a line, in quotes
 *     words:FILE               a list of words, one a line
 *
 * ":extra=N" at the end adds N ids, the sentinels of span corruption.  It lives as long as the
 * session; NULL after an error.  Reading it, which encoding and decoding are, may happen in several
 * threads. */
MTF_API mtf_vocabulary *mtf_vocabulary_open(mtf_session *s, const char *spec);

MTF_API int64_t mtf_vocabulary_size(const mtf_vocabulary *v); /* ids, the extra ones included */
/* -1 where there is none.  Rows are filled with 0, whatever 0 stands for in GPT-2's vocabulary: the
 * segmentation tells where text is. */
MTF_API int32_t mtf_vocabulary_padding(const mtf_vocabulary *v);
MTF_API int32_t mtf_vocabulary_end(const mtf_vocabulary *v);
MTF_API int32_t mtf_vocabulary_unknown(const mtf_vocabulary *v);
/* The extra id that stands for span k of a corrupted text: size - 1 - k; -1 where k is too large. */
MTF_API int32_t mtf_vocabulary_sentinel(const mtf_vocabulary *v, int64_t k);

/* The ids of a text of so many bytes (-1: up to its zero byte), without an end.  Writes at most
 * `room` of them and returns how many there are; -1 after an error. */
MTF_API int64_t mtf_vocabulary_encode(const mtf_vocabulary *v, const char *text, int64_t bytes,
                                      int32_t *ids, int64_t room);
/* The text of ids, always UTF-8: U+FFFD stands for bytes that are none.  Padding and the end leave
 * nothing, sentinel k leaves <extra_id_k>.  Writes at most room - 1 bytes and a zero byte, and returns
 * how many bytes the text has; -1 after an error. */
MTF_API int64_t mtf_vocabulary_decode(const mtf_vocabulary *v, const int32_t *ids, int64_t n,
                                      char *text, int64_t room);

/* Text as its ids come, character by character. */
typedef struct mtf_text_stream mtf_text_stream;
MTF_API mtf_text_stream *mtf_text_stream_new(const mtf_vocabulary *v);
/* What this id completes, maybe ""; it stays until the next call.  NULL after an error. */
MTF_API const char *mtf_text_stream_add(mtf_text_stream *t, int32_t id);
/* What is left at the end; another text may follow. */
MTF_API const char *mtf_text_stream_end(mtf_text_stream *t);
MTF_API void        mtf_text_stream_free(mtf_text_stream *t); /* optional; the session frees the rest */

/* ---- datasets -------------------------------------------------------------------------- */

typedef enum mtf_text_objective {
    MTF_TEXT_LM,       /* targets: the text, 1                                              */
    MTF_TEXT_PAIRS,    /* inputs: the first text, 1; targets: the second, 1                 */
    MTF_TEXT_DELIMITED, /* targets: the first text, 1, the second, 1 in one sequence         */
    MTF_TEXT_SPANS,    /* inputs: the text with spans replaced by sentinels, 1;
                               targets: each sentinel and what it replaces, 1                    */
    MTF_TEXT_PREFIX,   /* inputs: the text up to a random place, 1; targets: the rest, 1    */
    MTF_TEXT_PREFIX_DELIMITED /* the same in one sequence, as MTF_TEXT_DELIMITED        */
} mtf_text_objective;

typedef enum mtf_documents {
    MTF_DOCUMENTS_DEFAULT, /* MTF_DOCUMENTS_BLANK for plain text, else one for each row or record */
    MTF_DOCUMENTS_BLANK,   /* blank lines separate them                                           */
    MTF_DOCUMENTS_LINE,    /* each line that is not empty                                         */
    MTF_DOCUMENTS_FILE     /* each file                                                           */
} mtf_documents;

typedef enum mtf_overlong {
    MTF_OVERLONG_CUT,  /* what does not fit is left out                                       */
    MTF_OVERLONG_SPLIT /* it makes further examples; of texts, not of pairs                   */
} mtf_overlong;

typedef struct mtf_text_opts {
    const char           *files;      /* a path or a pattern; sorted, one after another; may be gzip */
    const char           *format;     /* "text", "tsv", "tfrecord", "u16", "u32"; default: as told
                                         by the first file's bytes, else by its name                 */
    const mtf_vocabulary *vocabulary; /* default: bytes                                             */
    const mtf_vocabulary *inputs_vocabulary; /* of the inputs of pairs; default: the same          */
    mtf_text_objective    objective;
    mtf_documents         documents;
    mtf_overlong          overlong;
    bool        joined;     /* texts, each with its end, follow one another; windows of this stream
                               are the examples, of which the last may be shorter                  */
    int64_t     length;     /* of targets, the end included; needed                               */
    int64_t     inputs_length; /* of inputs; default: as length                                     */
    bool        pack;       /* several examples in one row                                        */
    bool        ensure_end; /* what was cut ends with 1 all the same                              */
    const char *inputs, *targets; /* tsv: columns, by number from 0; tfrecord: features, holding
                                     text or ids.  Default: 0 and 1; "inputs" and "targets".  A
                                     single text is the targets'; of tsv the first column          */
    uint64_t    seed;       /* of spans and prefixes                                              */
    double      noise;      /* share of tokens in spans; default 0.15                             */
    double      mean_span;  /* default 3                                                          */
} mtf_text_opts;

/* A dataset with the fields targets, targets_segmentation and targets_position, and inputs,
 * inputs_segmentation and inputs_position where there are inputs.  Segments number the texts of a row
 * from 1 on, and are 0 at padding; positions are counted in each text.  All text is tokenised now,
 * into memory; files of u16 and u32, tokens already, are mapped.  NULL after an error. */
MTF_API mtf_dataset *mtf_text_open(mtf_session *s, const mtf_text_opts *opts);

/* Tokenises the texts that `files`, `format`, `vocabulary`, `documents` and `targets` name and writes
 * their ids, each text with its end, to a file of u16, or of u32 where the vocabulary is larger: what
 * mtf_text_open maps instead of tokenising.  Of several processes the first writes.  Returns the number
 * of tokens, or -1 after an error. */
MTF_API int64_t mtf_text_write_tokens(mtf_session *s, const mtf_text_opts *opts, const char *path);

/* The number of sequences of a batch: "sequences_per_batch:32", "tokens_per_batch:4096",
 * "sequences_per_replica:8" or "tokens_per_replica:2048" for sequences of `length` tokens, by how many
 * parts the layout cuts the batch into.  0 after an error. */
MTF_API int64_t mtf_text_batch_size(mtf_session *s, const char *spec, int64_t length,
                                    int64_t replicas);

#ifdef __cplusplus
}
#endif
#endif
