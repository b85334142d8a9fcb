/* A command line as its user typed it. */
#include "cli/command_line.h"

#include <string.h>

static void write_word(const char *word, textbuf *t)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "-_./:=,+@%";
    if (*word && strspn(word, plain) == strlen(word)) {
        text_add(t, " %s", word);
        return;
    }
    text_add(t, " '");
    for (size_t n; *word; word += n) {
        n = strcspn(word, "'");
        text_add(t, "%.*s", (int)n, word);
        if (word[n]) text_add(t, "'\\''"), n++;
    }
    text_add(t, "'");
}

void command_line_write(const options *o, textbuf *t)
{
    text_add(t, "mtf %s", o->command->name);
    for (int k = 0; k < o->ntyped; k++) write_word(o->typed[k], t);
}
