"""Writes src/data/text/character_tables.h: what a BERT tokenizer needs to know of Unicode's characters.

    python3 tools/characters.py

Everything is asked of Python's unicodedata and str.lower, whose version of Unicode the file names.
"""

import os
import unicodedata

TO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../src/data/text/character_tables.h")
OTHER, SPACE, MARK, PUNCTUATION, REMOVED = range(5)
HANGUL = range(0xAC00, 0xD7A4)  # decomposed by rule
MOST = 3


def class_of(c):
    category = unicodedata.category(c)
    if c in " \t\n\r" or category in ("Zs", "Zl", "Zp"):
        return SPACE
    if category[0] == "C" or c == "\ufffd":
        return REMOVED
    if category[0] == "P" or "!" <= c <= "~" and not c.isalnum():
        return PUNCTUATION
    return MARK if category == "Mn" else OTHER


def folded(c):
    return [ord(x) for x in unicodedata.normalize("NFD", c.lower()) if unicodedata.category(x) != "Mn"]


def classes():
    rows, last = [], None
    for code in range(0x110000):
        kind = class_of(chr(code))
        if kind != last:
            rows.append("0x%x," % (code << 3 | kind))
        last = kind
    return rows


def runs_of(single):
    """Runs {first, count, step, to} of pairs of a character and what it becomes."""
    runs, at = [], 0
    while at < len(single):
        first, to = single[at]
        n, step = 1, 1
        if at + 1 < len(single) and single[at + 1][0] - first in (1, 2):
            step = single[at + 1][0] - first
            while at + n < len(single) and single[at + n] == (first + n * step, to + n * step):
                n += 1
        runs.append("{0x%x,%d,%d,0x%x}," % (first, n, step, to))
        at += n
    return runs


def lowered():
    """Runs of capitals.  The one that Python makes two characters of, a dotted I, stays."""
    pairs = [(code, chr(code).lower()) for code in range(0x110000)]
    return runs_of([(code, ord(to)) for code, to in pairs if len(to) == 1 and ord(to) != code])


def foldings():
    """Runs of characters that become one, and rows of those that become several."""
    single, several = [], []
    for code in range(0x110000):
        to = folded(chr(code))
        kind = class_of(chr(code))
        if kind == MARK:
            assert not to, hex(code)
        if code in HANGUL or kind in (SPACE, MARK, REMOVED) or to == [code]:
            continue
        if len(to) == 1:
            single.append((code, to[0]))
        else:
            assert 2 <= len(to) <= MOST, hex(code)
            several.append("{0x%x, %d, {%s}}," % (code, len(to), ", ".join("0x%x" % x for x in to)))
    return runs_of(single), several


def wrapped(rows):
    lines = [""]
    for row in rows:
        if len(lines[-1]) + len(row) > 100:
            lines.append("")
        lines[-1] += row
    return "\n".join(lines)


def main():
    runs, several = foldings()
    with open(TO, "w") as f:
        f.write("""/* Classes and foldings of characters, of Unicode %s; written by tools/characters.py. */
/* clang-format off */
#ifndef DATA_TEXT_CHARACTER_TABLES_H
#define DATA_TEXT_CHARACTER_TABLES_H

#include <stdint.h>

/* The first character of each range * 8 + its character_class. */
static const uint32_t class_ranges[] = {
%s
};

/* Characters first, first + step, ... that fold to `to`, to + step, ... */
static const struct folding_run {
    uint32_t first;
    uint16_t count, step;
    uint32_t to;
} folding_runs[] = {
%s
};

/* Capitals first, first + step, ... whose small letters are `to`, to + step, ... */
static const struct folding_run lower_runs[] = {
%s
};

/* Characters that fold to several. */
static const struct folding_row {
    uint32_t from;
    int      count;
    uint32_t to[%d];
} folding_rows[] = {
%s
};

#endif
""" % (unicodedata.unidata_version, wrapped(classes()), wrapped(runs), wrapped(lowered()), MOST,
                 wrapped(several)))


if __name__ == "__main__":
    main()
