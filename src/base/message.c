/* Messages in the format of protocol buffers: fields by number. */
#include "base/message.h"

#include <string.h>

/* ---- reading ---- */

bool message_take_varint(message *m, uint64_t *value)
{
    *value = 0;
    for (int shift = 0; shift < 70 && m->at < m->end; shift += 7) {
        uint8_t byte = *m->at++;
        if (shift < 64) *value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) return true;
    }
    return false;
}

bool message_take_bytes(message *m, uint64_t n, message *inside)
{
    if (n > (uint64_t)(m->end - m->at)) return false;
    *inside = (message){m->at, m->at + n};
    m->at += n;
    return true;
}

static bool take_fixed32(message *m, message_field *f)
{
    if (!message_take_bytes(m, 4, &f->inside)) return false;
    for (int i = 3; i >= 0; i--) f->value = f->value << 8 | f->inside.at[i];
    return true;
}

bool message_take_field(message *m, message_field *f)
{
    uint64_t key, n;
    if (!message_take_varint(m, &key)) return false;
    *f = (message_field){.number = key >> 3, .kind = (int)(key & 7)};
    switch (f->kind) {
    case WIRE_VARINT: return message_take_varint(m, &f->value);
    case WIRE_FIXED64: return message_take_bytes(m, 8, &f->inside);
    case WIRE_FIXED32: return take_fixed32(m, f);
    case WIRE_LENGTH: return message_take_varint(m, &n) && message_take_bytes(m, n, &f->inside);
    default: return false;
    }
}

/* ---- writing ---- */

void message_put_bytes(message_out *m, const void *bytes, size_t n)
{
    memcpy(m->bytes + m->used, bytes, n);
    m->used += n;
}

/* Seven bits a byte, lowest first; the highest bit is set where more follow. */
void message_put_varint(message_out *m, uint64_t x)
{
    for (; x >= 128; x >>= 7) m->bytes[m->used++] = (uint8_t)(x | 128);
    m->bytes[m->used++] = (uint8_t)x;
}

void message_put_key(message_out *m, int field, wire_kind kind)
{
    message_put_varint(m, (uint64_t)field << 3 | kind);
}

void message_put_fixed(message_out *m, uint64_t x, int bytes)
{
    for (int i = 0; i < bytes; i++) m->bytes[m->used++] = (uint8_t)(x >> 8 * i);
}

void message_put_counted(message_out *m, int field, const void *bytes, size_t n)
{
    message_put_key(m, field, WIRE_LENGTH);
    message_put_varint(m, n);
    message_put_bytes(m, bytes, n);
}
