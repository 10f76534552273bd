"""A generated section of a page: the text between `<!-- NAME begins -->` and `<!-- NAME ends -->`."""

import pathlib
import sys

PERFORMANCE = pathlib.Path(__file__).resolve().parent.parent / "docs/performance.md"


def replace(page, name, text):
    """Puts `text` between the marks of the section; a page without them is left as it is."""
    begin, end = f"<!-- {name} begins -->", f"<!-- {name} ends -->"
    old = page.read_text()
    head, begun, rest = old.partition(begin)
    _, ended, tail = rest.partition(end)
    if not begun or not ended:
        sys.exit(f"{page} has no section between `{begin}` and `{end}`; this would be its text:\n{text}")
    page.write_text(f"{head}{begin}\n\n{text}\n\n{end}{tail}")
