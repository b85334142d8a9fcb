/* Sends a text from the first rank to all. */
#include "serve/shared_text.h"

#include "run/share.h"

bool shared_text(mtf_session *s, const char **text)
{
    ranks *others;
    TRY(mtf_ok(s) && store_prepare(s, &others));
    return !others || share_text(s, others, "reading lines", text);
}
