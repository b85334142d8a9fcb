"""Writes tests/text/wordpieces.txt.gz, a vocabulary, and wordpieces.tsv.gz, what BERT's tokenizer makes of texts.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install "transformers<5"
    /tmp/venv/bin/python tests/reference/wordpieces.py

The lines are those of vocabularies.tsv (vocabularies.py).  Ids are those of transformers' BertTokenizer, with the
original's limit of 200 characters a word.  The original's tokenizer does not compose characters, which that one
does where case is kept: there texts that this would change are left out.
"""

import collections
import gzip
import os
import random
import unicodedata

from transformers import BertTokenizer

HERE = os.path.dirname(os.path.abspath(__file__))
TO = os.path.join(HERE, "../text")
CORPUS = os.path.join(HERE, "../../data/text/moby-dick.txt")

TEXTS = [
    "", " ", "\n", "a", "  a  b  ", "Call me Ishmael.", "The Whale! the WHALE? THE-WHALE", "don't we'll I've they're",
    "1234567890 3.14 1,000", "x=1;y_2 \\u \\\\ _ ^ ` ~ $ + < > |", "tabs\t\tand\r\nreturns", "unbelievably ##able",
    "caf\u00e9 na\u00efve \u00dcber stra\u00dfe \u1e9e", "e\u0301 combining \u0344 a\u0308\u0301\u0323b", "\u0301 alone",
    "\u65e5\u672c\u8a9e\u306e\u30c6\u30ad\u30b9\u30c8\u304c\u30c0 \u30d1", "a\u4e00b\U00020000c\uf900d\U0002f800e",
    "\uac00\uac01\ud7a3 \ud55c\uad6d\uc5b4", "\u0439\u0419 \u0440\u0443\u0441\u0441\u043a\u0438\u0439", "\u0639\u0631\u0628\u064a\u064b",
    "emoji \U0001f600\U0001f1e9\U0001f1ea done\ufe0f", "\u2167 \u00bd \u0663 \u00b2", "no\u00a0break\u3000space\u2003em\u1680x",
    "line\u2028para\u2029end", "\u180e\u200b\u200d\ufeffodd", "\u0085next\u001cline", "\u201cquoted\u201d\u2014dash\u2026",
    "\u039f\u0394\u039f\u03a3 \u039f\u0394\u03a3\u039f \u03a3 \u0391\u03a3. \u0391\u03a3\u0301 \u0391'\u03a3 \u03a3\u03a3 1\u03a3 \u0391\u03a3\u4e00",
    "\u0130I\u0131i \u01c4\u01c5\u01c6 \ufb01 \u212a\u212b\u2126 \u1fbc\u1f88\u1ffc", "\u2260 \u226e \u037e \u0387 \u1fef \u1fc1",
    "[CLS] [SEP] [MASK] [UNK] [PAD]", "\x00nul\x01\x7f\ufffd", "\u0e01\u0e33\u0e49 \u0915\u093f\u094d\u0937 \u09cb\u0dde\u1b40",
    "a" * 200, "a" * 201, "b" + "\u00e9" * 199, "\u0301" * 300 + "a", "\u01c4" * 201, "zzqx" * 30, "\U0001d15e\U0001d1bf\u1e69",
    "\u1c90\u10d0\u10a0\u2d00 \u13a0\uab70 \ua64a\u1c88 \u1e9b\u0323", "\u0f73\u0f75\u0f81", "\ue000\U000e0001\u0378x\U0010ffff",
]


def characters():
    """Every character below U+3100 that may be written, and a sample of the others, each between two letters."""
    chosen = list(range(1, 0x3100)) + list(range(0x3100, 0x20000, 37)) + list(range(0x20000, 0x110000, 4099))
    chosen += list(range(0xA640, 0xA800)) + list(range(0xFB00, 0xFB50)) + list(range(0x10400, 0x10450)) + list(range(0x1D150, 0x1D200))
    chosen = [chr(c) for c in chosen if not 0xD800 <= c < 0xE000]
    for at in range(0, len(chosen), 64):
        yield " ".join("a%sB" % c for c in chosen[at : at + 64])


def mixtures(rng, letters):
    for _ in range(60):
        yield "".join(rng.choice(letters) for _ in range(80))


def make_vocabulary(lines, texts):
    """Frequent words, then pieces: the beginnings and ends of others, and every character, in either case."""
    count = collections.Counter(word for line in lines for word in line.lower().split() if word.isalpha())
    words = [w for w, n in count.most_common(300)]
    ends = collections.Counter("##" + w[-k:] for w in count for k in (2, 3, 4) if len(w) > k)
    begins = collections.Counter(w[:k] for w in count for k in (2, 3) if len(w) > k)
    letters = {x for text in texts for kind in (text, text.lower()) for form in ("NFC", "NFD")
               for x in unicodedata.normalize(form, kind)}
    letters = sorted(x for x in letters if not x.isspace() and unicodedata.category(x)[0] != "C" and ord(x) < 0x2000)
    made = ["[PAD]", "[unused0]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "ab", "aB", "\u65e5", "\u4e00", "\u8c48", "\uf900"]
    made += words + [b for b, _ in begins.most_common(150)] + [e for e, _ in ends.most_common(150)]
    made += letters + ["##" + x for x in letters] + ["The", "Whale", "##\U0001d165", "\u03a9", "##\u11a8"]
    return list(dict.fromkeys(made))


class Tokenizer(BertTokenizer):
    """Names of special tokens are text like any other."""

    def _tokenize(self, text, **unused):
        return super()._tokenize(text, split_special_tokens=True)


def rows(name, tokenizer, texts):
    tokenizer.wordpiece_tokenizer.max_input_chars_per_word = 200
    for text in texts:
        tokens = tokenizer.tokenize(text, split_special_tokens=True)
        ids = tokenizer.convert_tokens_to_ids(tokens)
        silent = (tokenizer.pad_token, tokenizer.sep_token)
        back = " ".join(t for t in tokens if t not in silent).replace(" ##", "")
        yield "%s\t%s\t%s\t%s\n" % (name, text.encode().hex(), " ".join(map(str, ids)), back.encode().hex())


def main():
    with open(CORPUS, encoding="utf-8") as f:
        lines = [line.strip() for line in f if line.strip()]
    rng = random.Random(1)
    systematic = list(characters())
    letters = "abcXYZ \u0301\u0308\u03a3\u03b1'.\u00c9\u4e00\u200d\u2028#-" + "\u0130\u1100\u1161\uac01\u1fbc"
    texts = TEXTS + lines[:30] + systematic + list(mixtures(rng, letters))
    vocabulary = make_vocabulary(lines, texts)
    path = os.path.join(TO, "wordpieces.txt")
    with open(path, "w", encoding="utf-8") as f:
        f.write("".join(word + "\n" for word in vocabulary))
    composed = [t for t in texts if unicodedata.normalize("NFC", t) == t]
    with gzip.GzipFile(os.path.join(TO, "wordpieces.tsv.gz"), "wb", mtime=0) as f:
        for row in rows("wordpiece:wordpieces.txt.gz", Tokenizer(path), texts):
            f.write(row.encode())
        for row in rows("wordpiece:wordpieces.txt.gz:cased", Tokenizer(path, do_lower_case=False), composed):
            f.write(row.encode())
    with open(path, "rb") as f, gzip.GzipFile(path + ".gz", "wb", mtime=0) as packed:
        packed.write(f.read())
    os.remove(path)


if __name__ == "__main__":
    main()
