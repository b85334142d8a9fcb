/* Snappy, a format of compressed bytes: pieces, and copies of earlier ones.
 *
 * After the expanded length, a varint, come elements.  The lowest two bits of an element's first byte say
 * what it is: 0, a piece, whose length less one is in the other six bits or, from 60 on, in the one to
 * four bytes that follow; 1 to 3, a copy, with the distance back in 11, 16 or 32 bits.
 */
#include "base/snappy.h"

#include <string.h>

#include "base/message.h"

/* Three bytes can say to copy 64. */
enum { MOST_GROWTH = 22 };

typedef struct expansion {
    message  from;
    uint8_t *to;
    size_t   used, length;
} expansion;

bool snappy_length(const uint8_t *from, size_t n, size_t *length)
{
    message  m = {from, from + n};
    uint64_t value;
    if (!message_take_varint(&m, &value) || value / MOST_GROWTH > n) return false;
    *length = (size_t)value;
    return true;
}

static bool take_number(message *m, int bytes, size_t *number)
{
    message inside;
    if (!message_take_bytes(m, (uint64_t)bytes, &inside)) return false;
    *number = 0;
    for (int i = bytes - 1; i >= 0; i--) *number = *number << 8 | inside.at[i];
    return true;
}

static bool add_piece(expansion *x, size_t less_one)
{
    message piece;
    if (less_one >= 60 && !take_number(&x->from, (int)less_one - 59, &less_one)) return false;
    size_t n = less_one + 1;
    if (n > x->length - x->used || !message_take_bytes(&x->from, n, &piece)) return false;
    memcpy(x->to + x->used, piece.at, n);
    x->used += n;
    return true;
}

/* A copy may reach into what it writes: then it repeats. */
static bool add_copy(expansion *x, size_t n, size_t back)
{
    if (back == 0 || back > x->used || n > x->length - x->used) return false;
    for (size_t end = x->used + n; x->used < end; x->used++) x->to[x->used] = x->to[x->used - back];
    return true;
}

static bool add_element(expansion *x)
{
    size_t  first, back;
    uint8_t high;
    if (!take_number(&x->from, 1, &first)) return false;
    high = (uint8_t)(first >> 2);
    switch (first & 3) {
    case 0: return add_piece(x, high);
    case 1:
        return take_number(&x->from, 1, &back) &&
               add_copy(x, 4 + (high & 7u), back | (size_t)(high >> 3) << 8);
    case 2: return take_number(&x->from, 2, &back) && add_copy(x, high + 1u, back);
    default: return take_number(&x->from, 4, &back) && add_copy(x, high + 1u, back);
    }
}

bool snappy_expand(const uint8_t *from, size_t n, uint8_t *to, size_t length)
{
    expansion x = {.from = {from, from + n}, .to = to, .length = length};
    uint64_t  said;
    if (!message_take_varint(&x.from, &said) || said != length) return false;
    while (x.from.at < x.from.end)
        if (!add_element(&x)) return false;
    return x.used == length;
}
