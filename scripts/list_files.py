#!/usr/bin/env python3
"""Prints what each source file is for, as Markdown tables: the first sentence of the file's first comment.

usage: list_files.py [--missing] [FOLDER...]
Without folders: all that are part of the project. x.h speaks for x.c. --missing prints the files that begin
without a comment, and fails if there are any. `make files` writes all tables into BUILD/files.md.
"""

import glob
import os
import re
import sys

ROOMS = ("include", "base", "network", "formats", "transform", "predictor", "search", "runner", "api", "programs",
         "tests", "scripts", "packaging")
LEFT_OUT = ("tests/data", "tests/networks/", "tests/fuzz/corpus")
ENDINGS = (".h", ".hpp", ".c", ".def", ".py", ".sh", ".awk")
MOST = 240   # characters of a description


def first_comment(path):
    """The text of the first comment or docstring, without its marks."""
    with open(path, encoding="utf-8") as file:
        text = file.read(6000)
    if path.endswith((".h", ".hpp", ".c", ".def")):
        found = re.match(r"\s*/\*(.*?)\*/", text, re.S)
        if not found:
            return re.sub(r"^//+ ?", "", "\n".join(re.match(r"(?:\s*//.*\n)*", text)[0].splitlines()), flags=re.M)
        return re.sub(r"^[ \t]*\*(?: |$)", "", found[1], flags=re.M)
    text = re.sub(r"^#!.*\n", "", text)
    if path.endswith(".py"):
        found = re.match(r'(?:#.*\n|\s)*"""(.*?)"""', text, re.S)
        return found[1] if found else ""
    lines = []
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        if not line.startswith("# shellcheck"):
            lines.append(line[1:])
    return "\n".join(lines)


def description(path):
    """The first sentence, on one line."""
    text = first_comment(path)
    text = re.sub(r"^\s*Covers [^:]+:\s", "", text)        # unit tests name their sources first
    text = re.sub(r"^\s*usage: .*\n", "", text, flags=re.I)
    text = text.strip().split("\n\n")[0]
    text = re.sub(r"\s+", " ", text).strip()
    found = re.match(r"(.*?[.!?])(?= [A-Z*`]|$)", text)
    text = (found[1] if found else text).rstrip(".:")
    if len(text) > MOST:
        text = text[:MOST].rsplit(" ", 1)[0] + " ..."
    return re.sub(r"([|*_<`])", r"\\\1", text)


def files_of(folder):
    """Names in the folder, headers with the .c file of the same name: (path that speaks, names)."""
    names = sorted(n for n in os.listdir(folder) if n.endswith(ENDINGS) and not n.startswith("."))
    stems = {}
    for name in names:
        stem, ending = os.path.splitext(name)
        stems.setdefault(stem if ending in (".h", ".c") else name, []).append(name)
    for found in stems.values():
        found.sort(key=lambda name: not name.endswith(".h"))
        speaker = next((n for n in found if description(os.path.join(folder, n))), found[0])
        shown = found[0] + (", .c" if len(found) > 1 else "")
        yield shown, description(os.path.join(folder, speaker))


def folders(below):
    for path, inner, _ in os.walk(below):
        inner.sort()
        if not path.startswith(LEFT_OUT) and any(glob.glob(os.path.join(path, "*" + e)) for e in ENDINGS):
            yield path


def tables(rooms):
    for room in rooms:
        for folder in folders(room):
            yield "\n## %s/\n\n| file | what it is for |\n|---|---|" % folder
            for name, text in files_of(folder):
                yield "| %s | %s |" % (name.replace("_", r"\_"), text)


def missing(rooms):
    """Paths of files that begin without a comment; a header does not speak for its .c file here."""
    for room in rooms:
        for folder in folders(room):
            for name in sorted(os.listdir(folder)):
                if name.endswith(ENDINGS) and not description(os.path.join(folder, name)):
                    yield os.path.join(folder, name)


def main():
    arguments = [a.rstrip("/") for a in sys.argv[1:] if a != "--missing"]
    if any(not os.path.isdir(a) for a in arguments):
        print(__doc__, file=sys.stderr)
        return 2
    if not arguments:
        os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    if "--missing" in sys.argv:
        paths = list(missing(arguments or ROOMS))
        print("\n".join(paths), end="\n" if paths else "")
        return 1 if paths else 0
    print("\n".join(tables(arguments or ROOMS)).lstrip("\n"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
