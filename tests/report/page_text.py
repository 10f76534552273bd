#!/usr/bin/env python3
"""Prints the text of the first page of a report: all that is before its first chapter.

    page_text.py REPORT.html

`make pictures` keeps it beside the picture of the README; a test compares it with that of the present build.
"""

import html
import re
import sys


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        page = file.read()
    first = re.search(r"<main>(.*?)<section [^>]*class=\"chapter", page, re.S)
    if not first:
        print(f"{sys.argv[1]}: no chapter", file=sys.stderr)
        return 1
    text = re.sub(r"<(script|style|svg)\b.*?</\1>", "", first[1], flags=re.S)
    lines = (re.sub(r"\s+", " ", html.unescape(part)).strip() for part in re.split(r"<[^>]*>", text))
    print("\n".join(line for line in lines if line))
    return 0


if __name__ == "__main__":
    sys.exit(main())
