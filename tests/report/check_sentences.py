#!/usr/bin/env python3
"""Recomputes every sentence of a report's verdict from the operations and series of the result document, and fails where
one is false. Derived figures of the document are trusted for ranks only.

    check_sentences.py [--shelf SHELF] FOLDER...

Each folder holds result.json and report.html; SHELF is the shelf that the reports were compared with. Nothing of the product
is used: sentences are read from the page, numbers from the documents and, for ranks without a shelf, from the table of the
library's reviews. A sentence that no rule here knows is a fault, too. Exit status 0 where all are true, 1 with a list of
faults otherwise.
"""

import argparse
import glob
import json
import os
import sys
import tomllib

# The folder of the sources stays as it is.
sys.dont_write_bytecode = True

from sentences.collection import collection
from sentences.conclusions import file_systems, fullness, inside, publication, tests, verification
from sentences.document import Document
from sentences.power import power_and_heat
from sentences.ranks import ranks, unusual
from sentences.rivals import SHELF
from sentences.speed import formatting, speed, weaknesses
from sentences.sustained import sustained
from sentences.text import paragraphs, sentences

# Of the verdict.
MOST_SENTENCES = 3

RULES = {
    **{lead: verification for lead in ("Genuine", "Fake", "Failing")},
    "Fastest first": file_systems,
    "Tests": tests,
    "Unusual": unusual,
    "Inside": inside,
    "Fullness": fullness,
    "Speed": speed,
    "Weaknesses": weaknesses,
    "Sustained write": sustained,
    "Power and heat": power_and_heat,
    "Formatting": formatting,
    "Against publication": publication,
}


def check(folder):
    with open(os.path.join(folder, "result.json"), encoding="utf-8") as file:
        document = Document(json.load(file))
    with open(os.path.join(folder, "report.html"), encoding="utf-8") as file:
        page = file.read()
    verdict = paragraphs(page, "verdict")
    found = verdict + paragraphs(page, "findings") + paragraphs(page, "unusual")
    faults = [] if verdict else ["there is no verdict"]
    count = sum(sentences(text) for _, text in verdict)
    if count > MOST_SENTENCES:
        faults.append(f"the verdict has {count} sentences: {verdict}")
    faults += collection(document, page) + ranks(document, page)
    for lead, text in found:
        rule = RULES.get(lead)
        found_faults = rule(document, text) if rule else [f"no rule for: {lead}"]
        faults += [f"{lead}: {fault}" for fault in found_faults]
    return len(found), faults


def name_drives(paths):
    """Calls each document of the shelf as its owner calls the drive, or else by its first result; with the name of its
    folder where drives share a title."""
    titles = {}
    for path, document in zip(paths, SHELF):
        folder = os.path.dirname(path)
        about = os.path.join(folder, "drive.toml")
        own = {}
        if os.path.exists(about):
            with open(about, "rb") as file:
                own = tomllib.load(file)
        titles.setdefault(folder, own.get("title", document.data["title"]))
    for path, document in zip(paths, SHELF):
        folder = os.path.dirname(path)
        shared = list(titles.values()).count(titles[folder]) > 1
        document.title = titles[folder] + (f" ({os.path.basename(folder)})" if shared else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--shelf", help="folder of the shelf")
    parser.add_argument("folders", nargs="+", metavar="FOLDER")
    arguments = parser.parse_args()
    paths = sorted(glob.glob(os.path.join(arguments.shelf, "*", "*.json"))) if arguments.shelf else []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            SHELF.append(Document(json.load(file)))
    name_drives(paths)
    false = 0
    for folder in arguments.folders:
        count, faults = check(folder)
        print(f"{folder}: {count} paragraphs, {len(faults)} faults")
        for fault in faults:
            print(f"  {fault}")
        false += len(faults)
    return 1 if false else 0


if __name__ == "__main__":
    sys.exit(main())
