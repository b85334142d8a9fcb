/* A C interface to the SentencePiece library. */
#ifndef DATA_TEXT_SENTENCEPIECE_SHIM_H
#define DATA_TEXT_SENTENCEPIECE_SHIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum sp_kind { SP_ORDINARY, SP_UNKNOWN, SP_CONTROL, SP_BYTE, SP_UNUSED } sp_kind;

typedef enum sp_leading { SP_LEAVES_BLANKS, SP_DROPS_FIRST, SP_DROPS_ALL } sp_leading;

typedef struct sp_model sp_model;

/* A model from a file's bytes; NULL, with the library's message in `words`, where they are not
 * one. */
sp_model *sp_open(const char *bytes, size_t n, char *words, size_t room);
void      sp_close(sp_model *m);
int32_t   sp_size(const sp_model *m);
int32_t   sp_end(const sp_model *m);
int32_t   sp_padding(const sp_model *m);
int32_t   sp_unknown(const sp_model *m);
/* The id's piece, which lives as long as the model. */
const char *sp_piece(const sp_model *m, int32_t id, size_t *size, sp_kind *kind);
/* Which spaces decoding removes from the beginning of a text. */
sp_leading sp_leading_blanks(const sp_model *m);
/* Calls `give` with all ids of a text at once; false where that, or the library, fails. */
bool sp_encode(const sp_model *m, const char *text, size_t n,
               bool (*give)(void *context, const int32_t *ids, size_t count), void *context,
               char *words, size_t room);

#ifdef __cplusplus
}
#endif
#endif
