/* Gives arbitrary bytes to the reader of .mtf text. */
#include <stdlib.h>
#include <string.h>

#include "mtf.h"

/* Memory is capped: a short text must not ask for much. */
enum { MOST = 256 << 20, HEADER = 16 };

static void *capped_alloc(void *context, size_t bytes)
{
    size_t *left = context;
    if (bytes > *left) return NULL;
    char *p = malloc(bytes + HEADER);
    if (!p) return NULL;
    memcpy(p, &bytes, sizeof bytes);
    *left -= bytes;
    return p + HEADER;
}

static void capped_release(void *context, void *memory)
{
    if (!memory) return;
    size_t *left = context, bytes;
    char   *p = (char *)memory - HEADER;
    memcpy(&bytes, p, sizeof bytes);
    *left += bytes;
    free(p);
}

/* Either a sentence, or a graph whose print reads back as the same print. */
static void check(mtf_session *s, const char *text)
{
    mtf_graph *g = mtf_parse(s, text, "fuzz.mtf");
    if ((g != NULL) != mtf_ok(s)) abort();
    if (!g && !*mtf_error(s)) abort();
    if (!g) return;
    const char *once = mtf_print(g);
    if (!once) return; /* no memory */
    mtf_graph  *again = mtf_parse(s, once, "printed.mtf");
    const char *twice = again ? mtf_print(again) : NULL;
    if (!twice && strncmp(mtf_error(s), "memory", 6) != 0) abort();
    if (twice && strcmp(once, twice) != 0) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    char *text = malloc(n + 1);
    if (!text) return 0;
    memcpy(text, bytes, n);
    text[n] = 0;
    size_t       left = MOST;
    mtf_session *s = mtf_open_with(
        &(mtf_session_opts){.allocator = {capped_alloc, capped_release, &left}});
    if (s) {
        check(s, text);
        mtf_close(s);
    }
    if (left != MOST) abort();
    free(text);
    return 0;
}
