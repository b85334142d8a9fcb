#!/usr/bin/env python3
"""Follows every link of a folder of pages: prints those that lead nowhere, then how many there are.

Usage: check_links.py FOLDER
"""
import html.parser
import os
import sys
import urllib.parse


class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.links, self.ids = [], set()
        with open(path, encoding="utf-8") as f:
            self.feed(f.read())

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name == "id":
                self.ids.add(value)
            elif name in ("href", "src"):
                self.links.append(value)


folder = os.path.realpath(sys.argv[1])
pages = {os.path.join(place, name): Page(os.path.join(place, name))
         for place, _, names in os.walk(folder) for name in names if name.endswith(".html")}
reached, count = {os.path.join(folder, "index.html")}, 0
for path, page in pages.items():
    for link in page.links:
        address = urllib.parse.urlsplit(link)
        if address.scheme in ("http", "https", "mailto"):
            continue
        count += 1
        target = os.path.normpath(os.path.join(os.path.dirname(path), urllib.parse.unquote(address.path))) \
            if address.path else path
        reached.add(target)
        if not target.startswith(folder + "/") or not os.path.isfile(target):
            print("%s: no file for %s" % (os.path.relpath(path, folder), link))
        elif address.fragment and target in pages and urllib.parse.unquote(address.fragment) not in pages[target].ids:
            print("%s: no place for %s" % (os.path.relpath(path, folder), link))
for path in sorted(set(pages) - reached):
    print("no link leads to " + os.path.relpath(path, folder))
print("%d links" % count)
