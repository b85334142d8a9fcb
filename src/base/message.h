/* Messages in the format of protocol buffers: fields by number.
 *
 * A field is a key, which has its number and the kind of its value, and the value.  Readers move one
 * pointer forward, never past the message's end.
 */
#ifndef BASE_MESSAGE_H
#define BASE_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum wire_kind {
    WIRE_VARINT = 0,
    WIRE_FIXED64 = 1,
    WIRE_LENGTH = 2,
    WIRE_FIXED32 = 5
} wire_kind;

/* A message, or what is left of it to be read. */
typedef struct message {
    const uint8_t *at, *end;
} message;

typedef struct message_field {
    uint64_t number;
    int      kind;
    uint64_t value;  /* of WIRE_VARINT and WIRE_FIXED32 */
    message  inside; /* of all others, and of WIRE_FIXED32 */
} message_field;

/* False, in each of these: the message ends before, or is none. */
bool message_take_varint(message *m, uint64_t *value);
bool message_take_bytes(message *m, uint64_t n, message *inside);
bool message_take_field(message *m, message_field *f);

/* A message that is written; the writer knows that it fits. */
enum { MOST_MESSAGE = 500 };
typedef struct message_out {
    uint8_t bytes[MOST_MESSAGE];
    size_t  used;
} message_out;

void message_put_bytes(message_out *m, const void *bytes, size_t n);
void message_put_varint(message_out *m, uint64_t x);
void message_put_key(message_out *m, int field, wire_kind kind);
void message_put_fixed(message_out *m, uint64_t x, int bytes);
void message_put_counted(message_out *m, int field, const void *bytes, size_t n);

#endif
