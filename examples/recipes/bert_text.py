"""Writes small texts for BERT: documents, sentences with classes, questions with answers, and a vocabulary.

    python3 examples/recipes/bert_text.py FOLDER [documents]

train.txt and dev.txt have a sentence a line and blank lines between documents.  Each document is about one person,
so that the next sentence can be told from any other.  praise-*.tsv has sentences that praise (1) or complain (0),
questions-*.tsv a question, a text, its answer, and where that begins.  vocab.txt has all words, and all letters as
pieces.  The same arguments give the same files.
"""

import os
import random
import sys

NAMES = "anna ben carla david emma felix greta henry ida jonas karin leo maria nils olga paul".split()
TOWNS = "berlin paris london rome madrid vienna oslo athens lisbon dublin".split()
JOBS = "baker teacher doctor painter farmer sailor singer writer".split()
FOODS = "bread apples cheese fish plums soup rice honey".split()
PETS = "dog cat horse parrot rabbit".split()
GOOD = "wonderful excellent lovely brilliant delightful".split()
BAD = "awful terrible boring dreadful horrible".split()
THINGS = "film book meal concert journey".split()


def document(rng):
    name, town, job = rng.choice(NAMES), rng.choice(TOWNS), rng.choice(JOBS)
    facts = {"live": "%s lives in %s ." % (name, town), "work": "%s works as a %s ." % (name, job)}
    facts["buy"] = "at the market %s buys %s and %s ." % (name, *rng.sample(FOODS, 2))
    facts["pet"] = "%s has a %s ." % (name, rng.choice(PETS))
    facts["street"] = "every morning %s walks through the streets of %s ." % (name, town)
    facts["home"] = "the other people of %s know the %s well ." % (town, job)
    facts["friend"] = "the best friend of %s is a %s ." % (name, rng.choice(JOBS))
    facts["evening"] = "in the evening %s eats %s ." % (name, rng.choice(FOODS))
    kinds = list(facts)
    rng.shuffle(kinds)
    return name, town, job, [facts[k] for k in kinds]


def opinion(rng):
    good, negated = rng.random() < 0.5, rng.random() < 0.3
    word = rng.choice(GOOD if good != negated else BAD)
    text = "the %s of %s was %s%s ." % (rng.choice(THINGS), rng.choice(NAMES), "not " if negated else "", word)
    return "%s\t%d\n" % (text, good)


def question(rng):
    name, town, job, sentences = document(rng)
    text = " ".join(sentences)
    lives = rng.random() < 0.5
    fact = "%s lives in %s" % (name, town) if lives else "%s works as a %s" % (name, job)
    answer = town if lives else job
    asked = "where does %s live ?" % name if lives else "what is the work of %s ?" % name
    return "%s\t%s\t%s\t%d\n" % (asked, text, answer, text.index(fact) + len(fact) - len(answer))


def write(folder, name, lines):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
        f.writelines(lines)


def vocabulary(lines):
    words = sorted({word for line in lines for word in line.replace("\t", " ").split() if not word.isdigit()})
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    all_of_them = special + words + list(letters) + ["##" + x for x in letters]
    return [word + "\n" for word in dict.fromkeys(all_of_them)]


def main():
    folder, documents = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 2000
    os.makedirs(folder, exist_ok=True)
    everything = []
    for part, count, seed in (("train", documents, 1), ("dev", max(20, documents // 20), 2)):
        rng = random.Random(seed)
        texts = [line for _ in range(count) for line in [s + "\n" for s in document(rng)[3]] + ["\n"]]
        praise = [opinion(rng) for _ in range(count)]
        questions = [question(rng) for _ in range(count)]
        write(folder, part + ".txt", texts)
        write(folder, "praise-%s.tsv" % part, praise)
        write(folder, "questions-%s.tsv" % part, questions)
        everything += texts + praise + questions
    write(folder, "vocab.txt", vocabulary(everything))


if __name__ == "__main__":
    main()
