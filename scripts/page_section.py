"""A generated section of a page: the text between `<!-- NAME begins -->` and `<!-- NAME ends -->`."""

import pathlib
import sys

PERFORMANCE = pathlib.Path(__file__).resolve().parent.parent / "docs/performance.md"


def with_section(page, name, text):
    """The page with `text` between the marks of the section; ends the program if the page has no such marks."""
    begin, end = f"<!-- {name} begins -->", f"<!-- {name} ends -->"
    old = page.read_text()
    head, begun, rest = old.partition(begin)
    _, ended, tail = rest.partition(end)
    if not begun or not ended:
        sys.exit(f"{page} has no section between `{begin}` and `{end}`; this would be its text:\n{text}")
    return f"{head}{begin}\n\n{text}\n\n{end}{tail}"


def replace(page, name, text):
    """Puts `text` between the marks of the section; a page without them is left as it is."""
    page.write_text(with_section(page, name, text))
