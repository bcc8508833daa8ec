#!/usr/bin/env python3
"""Checks that every source of the library is named by a test. A file of unit tests begins with the sources it covers:

    /* Covers predictor/plan/spec.c, network/{port, view}.c: what it tests. */

kernel_check does the same, and scripts that test what nothing else reaches. Fails on a file of unit tests without
such a comment, on a named source that does not exist, and on a source of the library that no test names.
"""

import glob
import re
import sys

ROOMS = ("base", "network", "formats", "transform", "predictor", "search", "runner", "api")
UNIT_TEST = re.compile(r"\A/\* Covers ([^:]+):\s")
SCRIPT = re.compile(r"^(?:# )?Covers ([^:]+):\s", re.MULTILINE)


def expand(word):
    """a/{b,c}.c: both of them."""
    parts = re.fullmatch(r"([^{}]*)\{([^{}]*)\}(.*)", word)
    return [rest for one in parts[2].split(",") for rest in expand(parts[1] + one.strip() + parts[3])] if parts else [word]


def named(path, pattern):
    """The sources named in the first comment of a file, or None."""
    with open(path, encoding="utf-8") as file:
        found = pattern.search(file.read(4000))
    words = re.split(r", *(?![^{]*\})", re.sub(r"\s+(?:\*|#)?\s*", " ", found[1])) if found else []
    return [source for word in words for source in expand(word)] if found else None


def main():
    sources = {path for room in ROOMS for path in glob.glob(room + "/**/*.c", recursive=True)}
    others = {path for room in ROOMS + ("include", "programs", "experiments", "tests/kernels") for path in glob.glob(room + "/**/*.[ch]", recursive=True)}
    tests = sorted(glob.glob("tests/unit/*/test_*.c") + ["tests/kernel_check/kernel_check.c"])
    names = {path: named(path, UNIT_TEST) for path in tests}
    bad = ["%s: expected '/* Covers FILE, FILE: ...' first" % path for path in tests if names[path] is None]
    names.update({path: named(path, SCRIPT) for kind in ("sh", "py") for path in glob.glob("tests/*/*." + kind)})
    covered = {}
    for path in names:
        covered.update({name: path for name in names[path] or ()})
    bad += ["%s: names %s, which does not exist" % (covered[name], name) for name in sorted(set(covered) - sources - others)]
    bad += ["%s: no file of unit tests names it" % path for path in sorted(sources - set(covered))]
    print("\n".join("check_covered: " + line for line in bad), end="\n" if bad else "", file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
