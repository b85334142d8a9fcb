/* Text: vocabularies, and datasets of token ids.
 *
 * A vocabulary converts text into ids and back.  A text dataset converts files of text into examples of
 * ids for a language model or an encoder-decoder: cut, concatenated, corrupted, packed.  It is an
 * ordinary dataset: batches, training and evaluation take it (mtf_data.h, mtf_train.h).
 */
#ifndef MTF_TEXT_H
#define MTF_TEXT_H

#include "mtf_data.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- vocabularies ---------------------------------------------------------------------- */

typedef struct mtf_vocabulary mtf_vocabulary;

/* Opens the vocabulary that a text describes; NULL or "" is "bytes":
 *
 *     bytes                    byte b is id b + 3, as in ByT5; 0 padding, 1 end, 2 unknown
 *     sentencepiece:FILE       a SentencePiece model, with its own ids
 *     gpt2:DIR                 byte pairs: DIR/vocab.json and DIR/merges.txt, as published with GPT-2
 *     wordpiece:FILE           BERT's vocab.txt; "wordpiece:FILE:cased" keeps upper case and accents
 *     subwords:FILE            a list of tensor2tensor's subwords, one a line, in quotes
 *     words:FILE               a list of words, one a line
 *
 * ":extra=N" at the end adds N ids, the sentinels of span corruption.  The vocabulary lives as long as
 * the session; NULL after an error.  Several threads may encode and decode with it at once. */
MTF_API mtf_vocabulary *mtf_vocabulary_open(mtf_session *s, const char *spec);

MTF_API int64_t mtf_vocabulary_size(const mtf_vocabulary *v); /* ids, the extra ones included */
/* -1 where the vocabulary has none.  Rows are padded with 0 even where id 0 is an ordinary token, as in
 * GPT-2's vocabulary: the segmentation tells where text is. */
MTF_API int32_t mtf_vocabulary_padding(const mtf_vocabulary *v);
MTF_API int32_t mtf_vocabulary_end(const mtf_vocabulary *v);
MTF_API int32_t mtf_vocabulary_unknown(const mtf_vocabulary *v);
/* The extra id that stands for span k of a corrupted text: size - 1 - k; -1 where k is too large. */
MTF_API int32_t mtf_vocabulary_sentinel(const mtf_vocabulary *v, int64_t k);

/* The ids of a text of `bytes` bytes (-1: up to its zero byte), without an end token.  Writes at most
 * `room` of them and returns how many there are; -1 after an error. */
MTF_API int64_t mtf_vocabulary_encode(const mtf_vocabulary *v, const char *text, int64_t bytes,
                                      int32_t *ids, int64_t room);
/* The text of ids, always UTF-8: U+FFFD replaces bytes that are not.  Padding and the end token produce
 * nothing, sentinel k produces <extra_id_k>.  Writes at most room - 1 bytes and a zero byte, and returns
 * how many bytes the text has; -1 after an error. */
MTF_API int64_t mtf_vocabulary_decode(const mtf_vocabulary *v, const int32_t *ids, int64_t n,
                                      char *text, int64_t room);

/* Decodes ids one at a time, giving whole characters only. */
typedef struct mtf_text_stream mtf_text_stream;
MTF_API mtf_text_stream       *mtf_text_stream_new(const mtf_vocabulary *v);
/* The text that this id completes, maybe ""; it is valid until the next call.  NULL after an error. */
MTF_API const char *mtf_text_stream_add(mtf_text_stream *t, int32_t id);
/* The rest of the text; after it the stream can decode another text. */
MTF_API const char *mtf_text_stream_end(mtf_text_stream *t);
MTF_API void mtf_text_stream_free(mtf_text_stream *t); /* optional; the session frees the rest */

/* ---- datasets -------------------------------------------------------------------------- */

typedef enum mtf_text_objective {
    /* 1 is the end token. */
    MTF_TEXT_LM,        /* targets: the text, 1                                              */
    MTF_TEXT_PAIRS,     /* inputs: the first text, 1; targets: the second, 1                 */
    MTF_TEXT_DELIMITED, /* targets: the first text, 1, the second, 1 in one sequence         */
    MTF_TEXT_SPANS,     /* inputs: the text with spans replaced by sentinels, 1;
                               targets: each sentinel and what it replaces, 1                    */
    MTF_TEXT_PREFIX,    /* inputs: the text up to a random place, 1; targets: the rest, 1    */
    MTF_TEXT_PREFIX_DELIMITED /* the same in one sequence, as MTF_TEXT_DELIMITED        */
} mtf_text_objective;

typedef enum mtf_documents {
    MTF_DOCUMENTS_DEFAULT, /* MTF_DOCUMENTS_BLANK for plain text, else one for each row or record */
    MTF_DOCUMENTS_BLANK,   /* blank lines separate them                                           */
    MTF_DOCUMENTS_LINE,    /* each line that is not empty                                         */
    MTF_DOCUMENTS_FILE     /* each file                                                           */
} mtf_documents;

typedef enum mtf_overlong {
    MTF_OVERLONG_CUT,  /* tokens that do not fit are left out                                 */
    MTF_OVERLONG_SPLIT /* they make further examples; for single texts, not for pairs         */
} mtf_overlong;

typedef struct mtf_text_opts {
    const char *files;  /* a path or a pattern, whose files are sorted; may be gzip    */
    const char *format; /* "text", "tsv", "tfrecord", "u16", "u32"; default: detected
                                         by the first file's content, else by its name               */
    /* default: bytes */
    const mtf_vocabulary *vocabulary;
    /* for the inputs of pairs; default: the same */
    const mtf_vocabulary *inputs_vocabulary;
    mtf_text_objective    objective;
    mtf_documents         documents;
    mtf_overlong          overlong;
    bool    joined;        /* texts, each with its end token, are concatenated; the examples are
                               windows of this stream, of which the last may be shorter            */
    int64_t length;        /* of targets, including the end token; required                      */
    int64_t inputs_length; /* of inputs; default: length                                        */
    bool    pack;          /* several examples in one row                                        */
    bool    ensure_end;    /* a text that was cut ends with the end token too                    */
    const char *inputs, *targets; /* tsv: columns, by number from 0; tfrecord: features, holding
                                     text or ids.  Default: 0 and 1; "inputs" and "targets".  For
                                     single texts `targets`; of tsv by default the first column    */
    uint64_t    seed;      /* of spans and prefixes                                              */
    double      noise;     /* share of tokens in spans; default 0.15                             */
    double      mean_span; /* default 3                                                          */
} mtf_text_opts;

/* A dataset with the fields targets, targets_segmentation and targets_position, and inputs,
 * inputs_segmentation and inputs_position where there are inputs.  Segments number the texts of a row
 * from 1 on, and are 0 at padding; positions are counted in each text.  Text of up to 4 MiB is tokenised
 * into memory by the call; larger text while it is read, in sections, which docs/text-data.md describes:
 * then mtf_dataset_size reads all of it, to count.  Files of u16 and u32, which hold tokens already, are
 * mapped.  NULL after an error. */
MTF_API mtf_dataset *mtf_text_open(mtf_session *s, const mtf_text_opts *opts);

/* Tokenises the texts that `files`, `format`, `vocabulary`, `documents` and `targets` name and writes
 * their ids, each text with its end token, to a file of u16, or of u32 where the vocabulary is larger.
 * mtf_text_open maps such a file instead of tokenising.  Of several processes the first writes.  Returns
 * the number of tokens, or -1 after an error. */
MTF_API int64_t mtf_text_write_tokens(mtf_session *s, const mtf_text_opts *opts, const char *path);

/* The number of sequences in a batch: "sequences_per_batch:32", "tokens_per_batch:4096",
 * "sequences_per_replica:8" or "tokens_per_replica:2048", for sequences of `length` tokens; `replicas`
 * is the number of parts into which the layout cuts the batch.  0 after an error. */
MTF_API int64_t mtf_text_batch_size(mtf_session *s, const char *spec, int64_t length,
                                    int64_t replicas);

#ifdef __cplusplus
}
#endif
#endif
