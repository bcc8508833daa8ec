#!/usr/bin/env python3
"""Checks that the tree is written in plain words. Prints each finding as FILE:LINE: RULE: TEXT.

usage: check_words.py [--all] [RULE...]

Rules:
  openers    a comment opens with Of, What, That, As, Such, Where, Whoever or Those; questions may
  phrases    a retired phrase, in any text
  names      a retired name: identifier, file name or word of a comment or page
  width      a line of C is wider than 100 columns
  prose      prose in Markdown is wider than 100 columns; tables, links and code may be
  tags       a struct, union or enum tag is defined twice; in tests only those of headers count

Without RULE: prints the findings of the rules in ENFORCED and the counts of the others; exit status
1 if an enforced rule has a finding. --all: prints the findings of every rule.
"""
import collections
import os
import re
import subprocess
import sys

WIDTH = 100
TEST_FOLDERS = ("tests/", "experiments/", "examples/", "darknet_patch/")
ENFORCED = {"openers", "phrases", "names", "prose", "tags", "width"}
OPENER = re.compile(r"(Of|What|That|As|Such|Where|Whoever|Those)\b")

# Phrases of messages, comments and pages; ~ is a space, a hyphen or the end of a line.
PHRASES = {
    r"whole~numbers?": "integer",
    r"(?:is|are)~told": "prints, reports, warns",
    r"tells?~of": "reports",
    r"surer": "confidence",
}
# Names that were replaced; they may not come back as identifiers, file names or words.
NAMES = {
    r"mafat_arrange\w*|valleys\.[ch]|arrange(?:_few)?\.[ch]": "offset assignment (layout/offsets.h)",
    r"residences?|weighing": "weight placement",
    r"(?<![:|])\bbricks?": "partition buffer",
    r"cuttings": "partitions",
    r"mafat_seat": "row view",
    r"trail_of|mafat_trails\w*": "in-place ring",
    r"mafat_surroundings\w*": "process footprint",
    r"\w*excerpts?": "embedded graph",
    r"mafat_(?:hall|desk|doors)\w*": "connection pool, job queue, listeners",
    r"mafat_(?:query|answer|moves)\w*": "dry run, plan report, transfers",
    r"mafat_subject": "infer context",
    r"mafat_moving\w*": "strided copy",
    r"mafat_\w*pieces?": "block slice",
    r"mafat_(?:rank_|pack_)?way\w*": "candidate",
}
# (rule, path, text in the line, reason): at most 20.
EXCEPTIONS = [
    ("phrases", "scripts/check_words.py", "", "lists the retired phrases"),
    ("names", "scripts/check_words.py", "", "lists the retired names"),
]


class Finding(collections.namedtuple("Finding", "rule path line text")):
    def __str__(self):
        return "%s:%d: %s: %s" % (self.path, self.line, self.rule, self.text.strip()[:120])


def walked():
    """All files but those of build folders, for a tree without git."""
    builds = {"build", os.environ.get("BUILD", "build"), ".git", "__pycache__"}
    for folder, folders, names in os.walk("."):
        folders[:] = [name for name in folders if name not in builds and not name.startswith("build-")]
        yield from (os.path.normpath(os.path.join(folder, name)) for name in names)


def files():
    try:
        listed = subprocess.run(["git", "ls-files", "-z"], check=True, capture_output=True, text=True).stdout.split("\0")
    except (OSError, subprocess.CalledProcessError):
        listed = walked()
    return [path for path in listed if path and os.path.isfile(path) and not os.path.islink(path)]


def kind_of(path):
    name = os.path.basename(path)
    end = os.path.splitext(name)[1]
    if end in (".c", ".h", ".def", ".hpp", ".cpp"):
        return "c"
    if name == "Makefile" or end == ".mk":
        return "make"
    return {".sh": "shell", ".py": "python", ".md": "markdown", ".1": "man", ".3": "man", ".7": "man", ".html": "page",
            ".awk": "shell"}.get(end)


# ---- comments ----

C_TOKEN = re.compile(r"""/\*(?P<block>.*?)\*/|//(?P<line>[^\n]*(?:\n[ \t]*//[^\n]*)*)|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.S)


def c_comments(text):
    for match in C_TOKEN.finditer(text):
        comment = match["block"] if match["block"] is not None else match["line"]
        if comment is not None:
            yield text.count("\n", 0, match.start()) + 1, re.sub(r"\n[ \t]*(?:\*|//)?", " ", comment).strip(" *-")


def hash_comments(text):
    """Runs of lines that begin with #, and comments behind code on their own line."""
    run, begin = [], 0
    for number, line in enumerate(text.split("\n"), 1):
        own = re.match(r"\s*#(?!!)\s?(.*)", line)
        if own and own[1].strip():
            begin = begin if run else number
            run.append(own[1])
            continue
        if run:
            yield begin, " ".join(run)
            run = []
        behind = re.search(r"\S\s+#\s+([A-Z][^'\"]*)$", line)
        if behind and not own:
            yield number, behind[1]


def docstrings(text):
    for match in re.finditer(r'(?:^|:\n)\s*(?:r|f)?"""(.*?)"""', text, re.S):
        yield text.count("\n", 0, match.start(1)) + 1, " ".join(match[1].split())


def comments(kind, text):
    if kind == "c":
        yield from c_comments(text)
    elif kind in ("shell", "make", "python"):
        yield from hash_comments(text)
        if kind == "python":
            yield from docstrings(text)


def is_question(comment):
    first = re.split(r"(?<=[.?])(?:\s|$)", comment, maxsplit=1)[0]
    return first.endswith("?")


def find_openers(path, kind, text):
    for line, comment in comments(kind, text):
        if OPENER.match(comment) and not is_question(comment):
            yield Finding("openers", path, line, comment)


# ---- words ----

GAP = r"(?:[ \t]*\n[ \t*#/.]*|[- ])"
PHRASE = re.compile(r"\b(?:%s)\b" % "|".join(text.replace("~", GAP) for text in PHRASES), re.I)
NAME = re.compile(r"(?<![\w/])(?:%s)\b" % "|".join(NAMES))
# Words of plans, options and JSON stay: strings in code, code and literals in pages.
LITERAL = {"c": r'"(?:\\.|[^"\\\n])*"', "markdown": r"```.*?```|`[^`\n]*`",
           "man": r'"[^"\n]*"|\.(?:Ql|Cm|Li|Ar) [^\n]*'}


def find_phrases(path, kind, text):
    for match in PHRASE.finditer(text):
        yield Finding("phrases", path, text.count("\n", 0, match.start()) + 1, line_of(text, match.start()))


def find_names(path, kind, text):
    if kind in ("c", "make", "markdown", "man"):
        kept = re.sub(LITERAL[kind], lambda m: re.sub(r"[^\n]", " ", m[0]), text, flags=re.S) if kind in LITERAL else text
        for match in NAME.finditer(kept):
            yield Finding("names", path, text.count("\n", 0, match.start()) + 1, line_of(text, match.start()))


def line_of(text, at):
    return text[text.rfind("\n", 0, at) + 1:].split("\n", 1)[0]


# ---- widths ----

def find_width(path, kind, text):
    if kind == "c":
        for number, line in enumerate(text.split("\n"), 1):
            if len(line) > WIDTH:
                yield Finding("width", path, number, "%d columns: %s" % (len(line), line))


def find_prose(path, kind, text):
    if kind != "markdown":
        return
    fenced = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
            continue
        if fenced or line.startswith("    ") or line.lstrip().startswith("|") or len(line) <= WIDTH:
            continue
        if len(re.sub(r"\]\([^)]*\)|<https?://[^>]*>|https?://\S+", "]", line)) > WIDTH:
            yield Finding("prose", path, number, "%d columns: %s" % (len(line), line))


# ---- tags ----

def find_tags(sources):
    defined = collections.defaultdict(list)
    for path, text in sources:
        code = re.sub(r"""/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*\"""", lambda m: re.sub(r"[^\n]", " ", m[0]), text, flags=re.S)
        for match in re.finditer(r"\b(?:struct|union|enum)\s+([A-Za-z_]\w*)\s*\{", code):
            defined[match[1]].append((path, code.count("\n", 0, match.start()) + 1))
    for tag, places in sorted(defined.items()):
        # Tags of headers are unique in the tree; those of .c files in the product. A test may have
        # tags of its own.
        shared = tag.startswith("mafat_") or any(path.endswith((".h", ".def")) for path, _ in places)
        counted = places if shared else [place for place in places if not place[0].startswith(TEST_FOLDERS)]
        if len(counted) > 1:
            for path, line in counted:
                yield Finding("tags", path, line, "%s is defined %d times" % (tag, len(counted)))


def excepted(finding):
    return any(rule == finding.rule and path == finding.path and text in finding.text for rule, path, text, _ in EXCEPTIONS)


def find_all():
    found, c_sources = [], []
    for path in files():
        kind = kind_of(path)
        if not kind:
            continue
        try:
            with open(path, encoding="utf-8") as file:
                text = file.read()
        except UnicodeDecodeError:
            continue
        if kind == "c":
            c_sources.append((path, text))
        for find in (find_openers, find_phrases, find_names, find_width, find_prose):
            found += find(path, kind, text)
    found += find_tags(c_sources)
    return [finding for finding in found if not excepted(finding)]


def main():
    words = sys.argv[1:]
    rules = ["openers", "phrases", "names", "width", "prose", "tags"]
    if any(word != "--all" and word not in rules for word in words):
        print(__doc__, file=sys.stderr)
        return 2
    shown = set(rules) if "--all" in words else set(words) or ENFORCED
    found = find_all()
    for finding in found:
        if finding.rule in shown:
            print(finding)
    counts = collections.Counter(finding.rule for finding in found)
    print("check_words: " + ", ".join("%d %s%s" % (counts[rule], rule, "" if rule in ENFORCED else " (not enforced yet)") for rule in rules))
    return 1 if any(counts[rule] for rule in (set(words) & set(rules) or ENFORCED)) else 0


sys.exit(main())
