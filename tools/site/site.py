#!/usr/bin/env python3
"""Writes the documentation as a folder of pages.

Usage: tools/site/site.py FOLDER

Needs cmark-gfm.  The pages load nothing from elsewhere, and search without a server.  Which pages there
are, and in which groups, is read from the tables of docs/README.md and docs/tutorial/README.md; a page
that no table names is an error.
"""
import html
import json
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
HERE = os.path.dirname(os.path.realpath(__file__))
BESIDES = ["bench/RESULTS.md"]  # what documents link to outside of docs/


def fail(text):
    sys.exit("site: " + text)


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return f.read()


def address(source):
    """docs/tutorial/README.md is written as tutorial/index.html."""
    path = source[len("docs/"):] if source.startswith("docs/") else source
    return re.sub(r"(^|/)README\.html$", r"\1index.html", path[:-len(".md")] + ".html")


# ---- which pages there are -----------------------------------------------------------------------

def table_groups():
    """[(group, [(source, title)])], each page in the first group that names it."""
    groups, seen = [("Tutorial", [])], {"docs/README.md"}

    def add(group, folder, row):
        for title, link in re.findall(r"\[([^\]]+)\]\(([^)#]+\.md)[^)]*\)", row):
            source = os.path.normpath(os.path.join(folder, link))
            if source not in seen:
                seen.add(source)
                group.append((source, title))

    add(groups[0][1], "docs", "[Overview](tutorial/README.md)")
    for line in read("docs/tutorial/README.md").split("\n"):
        if line.startswith("|"):
            add(groups[0][1], "docs/tutorial", line)
    for line in read("docs/README.md").split("\n"):
        bold = re.match(r"\| \*\*(.+)\*\*", line)
        if bold:
            groups.append((bold[1].capitalize(), []))
        elif line.startswith("|"):
            add(groups[-1][1], "docs", line)
    written = {os.path.join(folder, name) for folder in ("docs", "docs/tutorial")
               for name in os.listdir(os.path.join(ROOT, folder)) if name.endswith(".md")}
    if written - seen:
        fail("docs/README.md names no page " + ", ".join(sorted(written - seen)))
    return groups


# ---- one page ------------------------------------------------------------------------------------

def slug(heading, taken):
    """The anchor that GitHub gives a heading; of equal ones the later have a number."""
    words = html.unescape(re.sub(r"<[^>]+>", "", heading)).strip().lower()
    base = name = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
    number = 0
    while name in taken:
        number += 1
        name = "%s-%d" % (base, number)
    taken.add(name)
    return name


def convert(source):
    """A document as HTML, with anchors, links to pages, and tables that scroll by themselves."""
    marks = re.compile(r"^<!-- .*? -->\n", re.M | re.S)  # they are for the tests
    made = subprocess.run(["cmark-gfm", "-e", "table"], input=marks.sub("", read(source)),
                          capture_output=True, text=True, check=True).stdout
    taken = set()
    made = re.sub(r"<h([1-6])>(.*?)</h\1>", lambda m: '<h%s id="%s">%s</h%s>' % (m[1], slug(m[2], taken), m[2], m[1]),
                  made, flags=re.S)

    def link(m):
        path, hash_, anchor = m[2].partition("#")
        if path == "" or "://" in path:
            return m[0]
        target = os.path.normpath(os.path.join(os.path.dirname(source), path))
        path = address(target) if path.endswith(".md") else re.sub(r"^docs/", "", target)
        return '%s="%s%s%s"' % (m[1], os.path.relpath(path, os.path.dirname(address(source)) or "."), hash_, anchor)

    made = re.sub(r'\b(href|src)="([^"]*)"', link, made)
    return re.sub(r"(<table>.*?</table>)", r'<div class="wide">\1</div>', made, flags=re.S)


def plain(part):
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", part)).split())


def sections(source, title, made):
    """What is searched: [page, title, anchor, heading, text] for each heading."""
    parts = re.split(r'<h[1-6] id="([^"]*)">(.*?)</h[1-6]>', made, flags=re.S)
    return [[address(source), title, parts[k], plain(parts[k + 1]), plain(parts[k + 2])]
            for k in range(1, len(parts), 3)]


def page(source, title, made, groups):
    up = os.path.relpath(".", os.path.dirname(address(source)) or ".")
    menu = []
    for group, pages in groups:
        rows = "".join('<li><a href="%s/%s"%s>%s</a></li>' % (
            up, address(s), ' aria-current="page"' if s == source else "", html.escape(t[0].upper() + t[1:]))
            for s, t in pages)
        menu.append("<h2>%s</h2><ul>%s</ul>" % (html.escape(group), rows))
    return read("tools/site/page.html").replace("{{TITLE}}", html.escape(title)).replace("{{UP}}", up) \
        .replace("{{MENU}}", "".join(menu)).replace("{{BODY}}", made)


# ---- all of them ---------------------------------------------------------------------------------

def main():
    if len(sys.argv) != 2:
        fail("usage: tools/site/site.py FOLDER")
    if not shutil.which("cmark-gfm"):
        fail("cmark-gfm is missing; tools/setup.sh site installs it")
    out, groups, found = sys.argv[1], table_groups(), []
    sources = ["docs/README.md"] + [s for _, pages in groups for s, _ in pages] + BESIDES
    shutil.rmtree(out, ignore_errors=True)
    for source in sources:
        made = convert(source)
        title = plain(re.search(r"<h1[^>]*>(.*?)</h1>", made, re.S)[1])
        found += sections(source, title, made)
        path = os.path.join(out, address(source))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(page(source, title, made, groups))
    for name in os.listdir(os.path.join(ROOT, "docs")):
        if name.endswith(".png"):
            shutil.copy(os.path.join(ROOT, "docs", name), out)
    shutil.copytree(os.path.join(ROOT, "docs/pictures"), os.path.join(out, "pictures"))
    for name in ("site.css", "search.js"):
        shutil.copy(os.path.join(HERE, name), out)
    with open(os.path.join(out, "sections.js"), "w", encoding="utf-8") as f:
        f.write("var SECTIONS = " + json.dumps(found, ensure_ascii=False).replace("</", "<\\/") + ";\n")
    print("%s: %d pages" % (os.path.join(out, "index.html"), len(sources)))


main()
