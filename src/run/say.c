/* Prints tensors for the session's user: print and scalar_summary. */
#include "run/say.h"

#include <stdio.h>

#include "base/dtype.h"
#include "base/numbers.h"

enum { SHOWN = 24 }; /* elements; of the others only the number is printed */

/* Integers are printed with all their digits. */
static void write_element(mtf_dtype type, const char *element, char *text, size_t room)
{
    if (dtype_is_int(type)) {
        int64_t whole;
        dtype_convert(MTF_I64, &whole, type, element, 1);
        snprintf(text, room, " %lld", (long long)whole);
    } else {
        number_format(text, room, " %.9g", dtype_load(type, element, 0));
    }
}

/* message: f32 [2 3] 1 2 3 4 5 6 */
void say_value(mtf_session *s, device_context *c, const instr *i, void *const *base)
{
    const access *a = &i->in[0];
    int64_t       at[MAX_LOOPS] = {0}, total = instr_elements(i),
            bytes = (int64_t)mtf_dtype_bytes(a->type);
    char        text[64];
    const char *name = i->say.message[0] ? i->say.message : mtf_name_of_tensor(i->cause);
    session_say(s, i->say.summary ? "summary " : "");
    session_say(s, name);
    session_say(s, i->nloops ? ": [" : ":");
    for (int k = 0; k < i->nloops; k++) {
        snprintf(text, sizeof text, "%s%lld%s", k ? " " : "", (long long)i->size[k],
                 k == i->nloops - 1 ? "]" : "");
        session_say(s, text);
    }
    for (int64_t n = 0; n < total && n < SHOWN; n++) {
        _Alignas(8) char element[8];
        int64_t          where = a->offset;
        for (int k = 0; k < i->nloops; k++) where += at[k] * a->stride[k];
        c->device->read(c, element, (const char *)base[a->buffer] + where * bytes, (size_t)bytes);
        write_element(a->type, element, text, sizeof text);
        session_say(s, text);
        for (int k = i->nloops - 1; k >= 0 && ++at[k] == i->size[k]; k--) at[k] = 0;
    }
    if (total > SHOWN) {
        snprintf(text, sizeof text, " ... (%lld more)", (long long)(total - SHOWN));
        session_say(s, text);
    }
    session_say(s, "\n");
}
