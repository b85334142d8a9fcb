/* Element types of files: those of programs, and other integers. */
#ifndef BASE_RAW_TYPE_H
#define BASE_RAW_TYPE_H

#include "mtf.h"

/* An mtf_dtype, or one of these, which only files have. */
enum { RAW_U8 = MTF_F8E5M2 + 1, RAW_I8, RAW_U16, RAW_I16, RAW_U32, RAW_U64 };
typedef int raw_type;

static inline size_t raw_bytes(raw_type type)
{
    switch (type) {
    case RAW_U8:
    case RAW_I8: return 1;
    case RAW_U16:
    case RAW_I16: return 2;
    case RAW_U32: return 4;
    case RAW_U64: return 8;
    default: return mtf_dtype_bytes((mtf_dtype)type);
    }
}

/* Is it a type that only files have? */
static inline bool raw_is_foreign(raw_type type)
{
    return type > (raw_type)MTF_F8E5M2;
}

#endif
