/* mtf tokenize: text to token files, and back. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/numbers.h"
#include "base/printable.h"
#include "base/put_file.h"
#include "cli/commands.h"
#include "cli/graph_file.h"
#include "data/text/write_tokens.h"

static const char standard_input[] = "/dev/stdin";

/* Copies a pipe into memory, so that it can be opened as a file of known size. */
static bool keep_standard_input(mtf_session *s)
{
    struct stat about;
    char        some[1 << 16];
    ssize_t     got = 0;
    if (fstat(STDIN_FILENO, &about) == 0 && S_ISREG(about.st_mode)) return true;
    int  kept = memfd_create("standard input", MFD_CLOEXEC);
    bool ok = kept >= 0;
    while (ok && (got = read(STDIN_FILENO, some, sizeof some)) > 0)
        for (ssize_t at = 0, put; ok && at < got; at += put) {
            put = write(kept, some + at, (size_t)(got - at));
            ok = put > 0;
        }
    ok = ok && got == 0 && dup2(kept, STDIN_FILENO) == STDIN_FILENO;
    if (!ok) fail(&s->fault, ERR_FILE, "standard input: %s", strerror(errno));
    if (kept >= 0) close(kept);
    return ok;
}

static const char *path_of(const char *word, const char *standard)
{
    return word && strcmp(word, "-") != 0 ? word : standard;
}

/* Prints the figures to standard error where the result goes to standard output. */
static void print_counts(const options *o, const char *what, const tokens_written *n)
{
    const char *output = option_nth(o, "output", 0);
    bool        taken = output ? strcmp(path_of(output, "-"), "-") == 0 : option_given(o, "decode");
    FILE       *to = taken ? stderr : stdout;
    printable_print(to, "%s%s%lld token%s in %lld text%s, %lld bytes of text", what,
                    *what ? ": " : "", (long long)n->tokens, n->tokens == 1 ? "" : "s",
                    (long long)n->texts, n->texts == 1 ? "" : "s", (long long)n->bytes);
    if (n->tokens) number_print(to, ", %.4g bytes per token", (double)n->bytes / (double)n->tokens);
    fputc('\n', to);
}

/* ---- text to tokens ---- */

static bool read_documents(const options *o, mtf_text_opts *t)
{
    const char *text = option_nth(o, "documents", 0);
    if (text)
        t->documents = strcmp(text, "line") == 0   ? MTF_DOCUMENTS_LINE
                       : strcmp(text, "file") == 0 ? MTF_DOCUMENTS_FILE
                                                   : MTF_DOCUMENTS_BLANK;
    return true;
}

static bool encode(mtf_session *s, const options *o, const mtf_vocabulary *v, const char *files)
{
    mtf_text_opts  t = {.files = files,
                        .format = option_nth(o, "format", 0),
                        .targets = option_nth(o, "column", 0),
                        .vocabulary = v};
    const char    *output = option_nth(o, "output", 0);
    tokens_written n;
    TRY(read_documents(o, &t));
    TRY(tokens_write(s, &t, output ? path_of(output, "/dev/stdout") : NULL, &n));
    if (!n.tokens)
        return fail(&s->fault, ERR_FILE,
                    n.texts ? "\"%s\" has tokens already; --decode converts them to text"
                            : "\"%s\" has no text",
                    files);
    print_counts(o, output && strcmp(output, "-") != 0 ? output : "", &n);
    return true;
}

/* ---- tokens to text ---- */

static bool put_text(void *context, const char *text)
{
    return fputs(text, context) >= 0;
}

static bool decode(mtf_session *s, const options *o, const mtf_vocabulary *v, const char *files)
{
    const char    *output = path_of(option_nth(o, "output", 0), NULL);
    mtf_text_opts  t = {.documents = MTF_DOCUMENTS_BLANK};
    tokens_written n;
    TRY(read_documents(o, &t));
    const char *between = t.documents == MTF_DOCUMENTS_LINE   ? "\n"
                          : t.documents == MTF_DOCUMENTS_FILE ? ""
                                                              : "\n\n";
    FILE       *to = output ? fopen(output, "w") : stdout;
    if (!to) return fail(&s->fault, ERR_FILE, "\"%s\": %s", output, strerror(errno));
    bool ok = tokens_read(s, files, option_nth(o, "format", 0), v, between, put_text, to, &n);
    bool bad = ferror(to) != 0;
    errno = 0;
    bad |= (output ? fclose(to) : fflush(to)) != 0;
    if (bad && mtf_ok(s))
        return fail(&s->fault, ERR_FILE, "\"%s\": %s", output ? output : "standard output",
                    strerror(errno ? errno : EIO));
    TRY(ok);
    print_counts(o, output ? output : "", &n);
    return true;
}

static int run(const options *o)
{
    const char  *files = path_of(o->nwords ? o->words[0] : NULL, standard_input);
    mtf_session *s = file_session(&(mtf_session_opts){0});
    if (!s) return STATUS_FAILED;
    const mtf_vocabulary *v = mtf_vocabulary_open(s, option_nth(o, "vocabulary", 0));
    if (v && (files != standard_input || keep_standard_input(s)))
        option_given(o, "decode") ? decode(s, o, v, files) : encode(s, o, v, files);
    return close_session(s);
}

/* clang-format off */
static const option_spec table[] = {
    {"vocabulary", "SPEC", false, "bytes (default), sentencepiece:FILE, gpt2:DIR, wordpiece:FILE, subwords:FILE or words:FILE; :extra=N adds ids"},
    {"output", "FILE", false, "where tokens, or with --decode text, go; -: standard output; default: tokens are only counted, text goes to standard output", .writes = true},
    {"decode", NULL, false, "convert tokens to text"},
    {"format", "FORMAT", false, "of what is read; default: as its bytes or its name tell", "text|tsv|tfrecord|u16|u32"},
    {"documents", "WHAT", false, "what a text is: what blank lines separate (default), a line, or a file", "blank|line|file"},
    {"column", "NAME", false, "tsv: the column, by number from 0 or by name; tfrecord: the feature"},
    {0},
};
/* clang-format on */

static const char *const examples[] = {
    "mtf tokenize book.txt --vocabulary sentencepiece:spiece.model --output book.u16",
    "mtf train --gin_file lm_base --text book.u16:joined --vocabulary sentencepiece:spiece.model",
    "mtf tokenize book.u16 --vocabulary sentencepiece:spiece.model --decode | head",
    "zcat big.txt.gz | mtf tokenize --documents line --output big.u16",
    NULL,
};

const command command_tokenize = {
    .name = "tokenize",
    .says = "convert text to files of tokens and back; count tokens",
    .words = "[FILES]",
    .most = 1,
    .options = table,
    .examples = examples,
    .teaches =
        "Reads files (a pattern names several; they may be gzip) or standard input, and writes "
        "the\n"
        "tokens of each text with its end: integers of two bytes, or of four where the vocabulary "
        "is\n"
        "larger than 65536.  Training maps such files instead of tokenising the text each time.  "
        "Under a\n"
        "name without .u16 or .u32, a file begins with 16 bytes that tell which of the two it is.\n"
        "Without --output it only prints the number of tokens and the mean bytes of text of a "
        "token.",
    .run = run,
};
