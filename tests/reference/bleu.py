"""Writes tests/model/bleu_values.h: words and scores of some texts; needs sacrebleu.

    /tmp/venv/bin/python tests/reference/bleu.py
"""

import os
import random

import sacrebleu
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../model/bleu_values.h")

# A text and its reference.
PAIRS = [
    ("The cat sat on the mat.", "The cat sat on the mat."),
    ("The cat is sitting on a mat, they say.", "A cat sat on the mat, as they say."),
    ("It costs 1,000.50 dollars (plus 10-15% tax)!", "It costs $1,000.50, plus 10-15 % tax."),
    ("Er sagte: \u201eDas ist gr\u00fcn\u201c...", "Er sagte: \u201eDies ist gr\u00fcn\u201c\u2026"),
    ("&quot;a &amp;lt; b&quot; &gt; c & d", "\"a &lt; b\" > c & d"),
    ("don't stop-gap 3-4 --x a_b x@y.z http://a.b/c?d=e#f", "don't stop - gap 3 - 4 x a_b x@y.z http://a.b/c?d=e"),
    ("wide\u00a0blank\u3000and\u2009thin\x1fone  two\ttabs", "wide blank and thin one two tabs"),
    ("a..b,,c .5 5. 1.2.3 4,5,6. ,7 x,8", "a . . b , , c .5 5 . 1.2.3 4,5,6 . , 7 x , 8"),
    ("<skipped>hy-\nphen new\nline", "hyphen new line"),
    ("", "an empty answer"),
    ("an empty reference", ""),
    ("~{}[]`^\\|<=>;*+$#\"'", "~ { } [ ] ` ^ \\ | < = > ; * + $ # \" '"),
    ("the the the the the the the", "the cat is on the mat"),
    ("\u65e5\u672c\u8a9e\u3001\u6587\u3002 ok.", "\u65e5\u672c\u8a9e\u3001\u6587\u3002 ok ."),
]

# Which pairs are scored together.
GROUPS = [list(range(len(PAIRS))), [0], [1], [2, 3], [9], [10], [12], [1, 9, 12], [4, 5, 6, 7], [8, 11, 13]]


def literal(text):
    """In C: each byte that is not a plain character as an octal escape, which takes three digits at most."""
    plain = set(range(32, 127)) - set(b'"\\?')
    return '"' + "".join(chr(b) if b in plain else "\\%03o" % b for b in text.encode("utf-8")) + '"'


def random_pairs(count):
    """Sentences of few words, so that n-grams of all orders meet, with signs between them."""
    draw = random.Random(4)
    words = ["a", "b", "c", "d", "1.5", "2,000", "x.", "(y)", "z-1", "7-"]
    for _ in range(count):
        reference = [draw.choice(words) for _ in range(draw.randint(1, 20))]
        text = [w if draw.random() < 0.7 else draw.choice(words) for w in reference]
        if draw.random() < 0.3: text = text[draw.randint(0, len(text)):]
        yield " ".join(text), draw.choice(["", " "]).join(reference) if draw.random() < 0.1 else " ".join(reference)


def main():
    pairs = PAIRS + list(random_pairs(40))
    groups = GROUPS + [list(range(len(PAIRS), len(pairs)))] + [[k] for k in range(len(PAIRS), len(PAIRS) + 12)]
    words = Tokenizer13a()
    with open(PATH, "w") as f:
        f.write("/* Words and scores, written by tests/reference/bleu.py with sacrebleu %s. */\n" % sacrebleu.__version__)
        f.write("/* clang-format off */\n")
        f.write("static const struct {\n    const char *text, *reference, *words;\n} pairs[] = {\n")
        for text, reference in pairs:
            f.write("    {%s, %s,\n     %s},\n" % (literal(text), literal(reference), literal(words(text))))
        f.write("};\nstatic const struct {\n    int    n, pairs[%d];\n    double score, brevity, precision[4];\n"
                "    int    words, reference_words;\n} groups[] = {\n" % max(len(g) for g in groups))
        for group in groups:
            got = sacrebleu.corpus_bleu([pairs[k][0] for k in group], [[pairs[k][1] for k in group]])
            f.write("    {%d, {%s}, %r, %r, {%s}, %d, %d},\n" % (
                len(group), ", ".join(map(str, group)), got.score, got.bp, ", ".join(map(repr, got.precisions)),
                got.sys_len, got.ref_len))
        f.write("};\n")


main()
