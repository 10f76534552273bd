#!/usr/bin/env python3
"""Checks every link inside the built documentation site, given its folder: the page or file and the heading must exist.

The page that prints the whole book is left out: mdBook makes it from the others."""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.ids, self.links = set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.ids.update(attributes[key] for key in ("id", "name") if attributes.get(key))
        self.links += [attributes[key] for key in ("href", "src") if attributes.get(key)]


def main():
    root = Path(sys.argv[1]).resolve()
    pages = {path: Page(path.read_text()) for path in root.rglob("*.html") if path.name not in ("print.html", "404.html")}
    broken, count = [], 0
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            count += 1
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            where = f"{path.relative_to(root)}: {link}"
            if target.name == "print.html":
                continue
            if root not in target.parents or not target.exists():
                broken.append(f"{where}: no such page")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].ids:
                broken.append(f"{where}: no such heading")
    for line in broken:
        print(line, file=sys.stderr)
    print(f"{count} links on {len(pages)} pages of the book, {len(broken)} broken")
    return 1 if broken or not pages else 0


if __name__ == "__main__":
    sys.exit(main())
