#!/usr/bin/env python3
"""Checks every relative link and anchor in the Markdown files that git tracks."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(r"(?<!\\)!?\[[^\]]*\]\(([^)\s]+)\)")


def without_code(text):
    text = re.sub(r"^(```|~~~).*?^\1", "", text, flags=re.M | re.S)
    return re.sub(r"`[^`\n]*`", "", text)


def anchors(text):
    """The anchors that GitHub gives to headings."""
    found = set()
    for heading in re.findall(r"^#+ +(.+?) *$", re.sub(r"^(```|~~~).*?^\1", "", text, flags=re.M | re.S), flags=re.M):
        anchor = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        number, name = 0, anchor
        while name in found:
            number += 1
            name = f"{anchor}-{number}"
        found.add(name)
    return found


def main():
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )
    files = [ROOT / name for name in listed.stdout.splitlines()]
    broken, count = [], 0
    for file in files:
        for link in LINK.findall(without_code(file.read_text())):
            if re.match(r"[a-z]+:", link):
                continue
            count += 1
            path, _, anchor = link.partition("#")
            target = file if not path else (file.parent / path).resolve()
            if not target.exists():
                broken.append(f"{file.relative_to(ROOT)}: {link}: no such file")
            elif anchor and target.suffix == ".md" and anchor not in anchors(target.read_text()):
                broken.append(f"{file.relative_to(ROOT)}: {link}: no such heading")
    for line in broken:
        print(line, file=sys.stderr)
    print(f"{count} links in {len(files)} files, {len(broken)} broken")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
