#!/usr/bin/env python3
"""Checks the links of Markdown pages: every relative target exists, and every #anchor is a heading of its page.

usage: check_links.py [FOLDER]      the pages below FOLDER (default: those that git knows of this project)
Prints each link that leads nowhere and exits with 1 if there is one.
"""

import os
import re
import subprocess
import sys

LINK = re.compile(r"!?\[[^\]\[]*\]\(\s*([^()\s]+)\s*\)")
CODE = re.compile(r"^```.*?^```|^ {4}.*?$|`[^`\n]*`", re.M | re.S)


def pages_below(folder):
    for path, folders, names in os.walk(folder):
        folders[:] = [f for f in folders if f != ".git"]
        yield from (os.path.join(path, name) for name in names if name.endswith(".md"))


def pages_of_project():
    """The pages that git lists; all pages without git, or in a copy of the tree that git ignores."""
    try:
        listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.md"], capture_output=True, text=True, check=True)
        names = [name for name in listed.stdout.splitlines() if os.path.exists(name)]
    except (OSError, subprocess.CalledProcessError):
        names = []
    return names or [page for page in pages_below(".") if not page.startswith("./build")]


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def anchors(text):
    """GitHub's names of the headings: lower case, blanks as -, no other punctuation."""
    for heading in re.findall(r"^#+ +(.*?) *#*$", CODE.sub(lambda m: m[0] if m[0][0] == "`" and m[0][1] != "`" else "", text), re.M):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        yield re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def problems(page):
    text = read(page)
    for target in LINK.findall(CODE.sub("", text)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        path = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
        if not os.path.exists(path):
            yield "%s: %s does not exist" % (page, target)
        elif anchor and path.endswith(".md") and anchor not in anchors(read(path)):
            yield "%s: %s: no such heading" % (page, target)


def main():
    if len(sys.argv) > 2 or (len(sys.argv) == 2 and not os.path.isdir(sys.argv[1])):
        print(__doc__, file=sys.stderr)
        return 2
    if len(sys.argv) == 1:
        os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    found = [p for page in sorted(pages_below(sys.argv[1]) if len(sys.argv) == 2 else pages_of_project()) for p in problems(page)]
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
