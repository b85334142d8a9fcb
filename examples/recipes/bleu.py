"""BLEU of a file of answers, with sacrebleu if it is installed, else by the same rules.

    bleu.py WANTED.txt ANSWERS.txt

Words as in mteval-v13a, n-grams up to 4, precisions without a match smoothed exponentially: sacrebleu's defaults.
"""

import collections
import math
import re
import sys

SPLITS = [(re.compile(r"([\{-\~\[-\` -\&\(-\+\:-\@\/])"), r" \1 "), (re.compile(r"([^0-9])([\.,])"), r"\1 \2 "),
          (re.compile(r"([\.,])([^0-9])"), r" \1 \2"), (re.compile(r"([0-9])(-)"), r"\1 \2 ")]


def words(line):
    line = line.rstrip().replace("<skipped>", "")
    for entity, text in (("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">")):
        line = line.replace(entity, text)
    line = f" {line} "
    for pattern, by in SPLITS:
        line = pattern.sub(by, line)
    return line.split()


def grams(tokens, n):
    return collections.Counter(tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1))


def bleu(wanted, answers):
    right, total, lengths = [0] * 4, [0] * 4, [0, 0]
    for pair in zip(map(words, wanted), map(words, answers)):
        for k in (0, 1):
            lengths[k] += len(pair[k])
        for n in range(4):
            target, answer = grams(pair[0], n + 1), grams(pair[1], n + 1)
            right[n] += sum((target & answer).values())
            total[n] += sum(answer.values())
    if not all(total) or not any(right):
        return 0.0
    smooth, logs = 1, 0.0
    for n in range(4):
        smooth *= 1 if right[n] else 2
        logs += math.log(right[n] / total[n] if right[n] else 1 / (smooth * total[n]))
    return 100 * math.exp(min(0, 1 - lengths[0] / lengths[1]) + logs / 4)


def main():
    wanted, answers = (open(path, encoding="utf-8", newline="\n").read().split("\n")[:-1] for path in sys.argv[1:3])
    if len(wanted) != len(answers):
        sys.exit(f"{sys.argv[1]} has {len(wanted)} lines, {sys.argv[2]} {len(answers)}")
    try:
        import sacrebleu

        print(f"{sacrebleu.corpus_bleu(answers, [wanted]).score:.2f} sacrebleu")
    except ImportError:
        print(f"{bleu(wanted, answers):.2f} bleu.py")


if __name__ == "__main__":
    main()
