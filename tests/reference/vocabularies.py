"""Writes the vocabularies under tests/text and what other libraries make of texts with them.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install sentencepiece tokenizers tiktoken six numpy
    /tmp/venv/bin/pip download --no-deps -d /tmp/t2t tensor2tensor && (cd /tmp/t2t && unzip -q *.whl)
    T2T=/tmp/t2t /tmp/venv/bin/python tests/reference/vocabularies.py

SentencePiece models are trained and used by its own library; byte pairs are trained by tokenizers
and used by tokenizers and tiktoken, which must agree; subwords are made and used by tensor2tensor's
own text_encoder.py.  Each line of vocabularies.tsv is a vocabulary, a text, its ids, and the text of these,
texts in hexadecimal digits.
"""

import collections
import gzip
import io
import json
import os
import sys
import types

import sentencepiece
import tiktoken
import tokenizers

HERE = os.path.dirname(os.path.abspath(__file__))
TO = os.path.join(HERE, "../text")
CORPUS = os.path.join(HERE, "../../data/text/moby-dick.txt")

TEXTS = [
    "", " ", "  ", "\n", "\t", "a", " a", "a ", "  a  b  ", "Call me Ishmael.", "the whale", "The Whale!",
    "don't we'll I've they're he'd it's I'm", "DON'T 'tis ''s", "1234567890 3.14 1,000", "x=1;y_2 \\u \\\\ _",
    "a_b\\c", "line one\nline two\n\n\nline five", "trailing blanks   ", "tabs\t\tand\r\nreturns", "   \n  x",
    "caf\u00e9 na\u00efve \u00dcber stra\u00dfe", "e\u0301 combining", "\u65e5\u672c\u8a9e\u306e\u30c6\u30ad\u30b9\u30c8",
    "\u0440\u0443\u0441\u0441\u043a\u0438\u0439 \u0442\u0435\u043a\u0441\u0442", "\u0639\u0631\u0628\u064a",
    "emoji \U0001f600\U0001f1e9\U0001f1ea done", "\u2167 \u00bd \u0663 \u00b2", "no\u00a0break\u3000space\u2003em\u1680x",
    "\u180e\u200b\ufeffodd", "\u0085next\u001cline", "\u201cquoted\u201d\u2014dash\u2026", "<s> </s> <pad> <unk>", "\u2581already",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "\x00nul\x01\x7f",
]


def corpus_lines():
    with open(CORPUS, encoding="utf-8") as f:
        lines = [line.strip() for line in f if line.strip()]
    return lines[:1200], lines


def rows(name, encode, decode, texts):
    for text in texts:
        ids = encode(text)
        yield "%s\t%s\t%s\t%s\n" % (name, text.encode().hex(), " ".join(map(str, ids)), decode(ids).encode().hex())


def sentencepieces(lines, texts):
    for name, more in (("unigram", {}), ("bytes", dict(byte_fallback=True, model_type="bpe", normalization_rule_name="identity"))):
        path = os.path.join(TO, name)
        size = 300 if name == "unigram" else 500
        model = io.BytesIO()  # a file's path would be kept in the model
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines), model_writer=model, vocab_size=size, pad_id=0, eos_id=1, unk_id=2,
            bos_id=-1, minloglevel=2, num_threads=1, **more)
        with open(path + ".model", "wb") as f:
            f.write(model.getvalue())
        processor = sentencepiece.SentencePieceProcessor(model_file=path + ".model")
        # Zero bytes: the library's own words for C strings differ between versions.
        usable = [t for t in texts if "\x00" not in t]
        name += ".model"
        if name == "unigram.model":  # its tables of characters are large
            with open(path + ".model", "rb") as f, gzip.GzipFile(path + ".model.gz", "wb", mtime=0) as packed:
                packed.write(f.read())
            os.remove(path + ".model")
            name += ".gz"
        yield from rows("sentencepiece:%s" % name, processor.encode, processor.decode, usable)


def byte_pairs(lines, texts):
    folder = os.path.join(TO, "pairs")
    os.makedirs(folder, exist_ok=True)
    trained = tokenizers.ByteLevelBPETokenizer()
    trained.train_from_iterator(["\n".join(lines)], vocab_size=700, special_tokens=["<|endoftext|>"],
                                show_progress=False)
    vocabulary = trained.get_vocab()
    last = len(vocabulary) - 1
    # GPT-2 has its end at the end.
    vocabulary = {piece: last if piece == "<|endoftext|>" else i - 1 for piece, i in vocabulary.items()}
    trained.save_model(folder)
    with open(os.path.join(folder, "vocab.json"), "w", encoding="utf-8") as f:
        json.dump(dict(sorted(vocabulary.items(), key=lambda item: item[1])), f, ensure_ascii=False)
    merges = [tuple(line.split()) for line in open(os.path.join(folder, "merges.txt"), encoding="utf-8")][1:]
    again = tokenizers.ByteLevelBPETokenizer(vocabulary, merges)

    visible = [b for b in range(256) if 33 <= b <= 126 or 161 <= b <= 172 or b >= 174]
    characters = {chr(b): b for b in visible}
    characters.update({chr(256 + i): b for i, b in enumerate(b for b in range(256) if b not in visible)})
    ranks = {bytes(characters[c] for c in piece): i for piece, i in vocabulary.items() if i != last}
    pattern = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
    other = tiktoken.Encoding("small", pat_str=pattern, mergeable_ranks=ranks, special_tokens={"<|endoftext|>": last})

    def encode(text):
        ids = again.encode(text).ids
        assert ids == other.encode_ordinary(text), text
        return ids

    yield from rows("gpt2:pairs", encode, other.decode, texts)


def subwords(lines, texts):
    for name in ("tensorflow", "tensorflow.compat", "tensorflow.compat.v1", "tensor2tensor.utils",
                 "tensor2tensor.utils.mlperf_log", "tensor2tensor"):
        sys.modules[name] = types.ModuleType(name)
    v1 = sys.modules["tensorflow.compat.v1"]
    v1.gfile = types.SimpleNamespace(Open=open, Exists=os.path.exists)
    v1.logging = types.SimpleNamespace(info=lambda *a: None)
    sys.modules["tensorflow.compat"].v1 = v1
    sys.modules["tensorflow"].compat = sys.modules["tensorflow.compat"]
    sys.modules["tensor2tensor.utils"].mlperf_log = sys.modules["tensor2tensor.utils.mlperf_log"]
    sys.modules["tensor2tensor"].__path__ = [os.path.join(os.environ["T2T"], "tensor2tensor")]
    from tensor2tensor.data_generators import text_encoder
    from tensor2tensor.data_generators import tokenizer
    counts = collections.Counter(token for line in lines for token in tokenizer.encode(line))
    made = text_encoder.SubwordTextEncoder()
    made.build_from_token_counts(counts, 5, 4, reserved_tokens=["<pad>", "<EOS>"])
    path = os.path.join(TO, "subwords.txt")
    made.store_to_file(path)
    used = text_encoder.SubwordTextEncoder(path)
    yield from rows("subwords:subwords.txt", used.encode, used.decode, texts)


def main():
    some, all_lines = corpus_lines()
    texts = TEXTS + all_lines[:40]
    with gzip.GzipFile(os.path.join(TO, "vocabularies.tsv.gz"), "wb", mtime=0) as f:
        for made in (sentencepieces(some, texts), byte_pairs(some, texts), subwords(some, texts)):
            for row in made:
                f.write(row.encode())


if __name__ == "__main__":
    main()
