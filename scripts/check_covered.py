#!/usr/bin/env python3
"""A file of unit tests says first which sources it covers:

    /* Covers predictor/plan/spec.c, network/{axis,shape}.c: what it tests. */

Fails and says where: a file of tests/unit or tests/kernel_check that begins otherwise, a source that does not exist, and a source of
the library that no file names. Naming is a claim that a change of the source's behaviour makes a test of that file fail."""

import glob
import re
import sys

ROOMS = ("base", "network", "formats", "transform", "predictor", "search", "runner", "api")
FIRST = re.compile(r"/\* Covers ([^:]+): ")


def expand(word):
    """a/{b,c}.c: both of them."""
    parts = re.fullmatch(r"([^{}]*)\{([^{}]*)\}([^{}]*)", word)
    return [parts[1] + one + parts[3] for one in parts[2].split(",")] if parts else [word]


def named(path):
    """The sources that a file of tests names; None: it does not say."""
    with open(path, encoding="utf-8") as file:
        found = FIRST.match(file.read(4000))
    if not found:
        return None
    return [source for word in re.split(r", ?(?![^{]*\})", " ".join(found[1].split())) for source in expand(word)]


def main():
    sources = {path for room in ROOMS for path in glob.glob(room + "/**/*.c", recursive=True)}
    headers = {path for room in ROOMS + ("include", "programs") for path in glob.glob(room + "/**/*.h", recursive=True)}
    others = set(glob.glob("programs/**/*.c", recursive=True) + glob.glob("experiments/**/*.c", recursive=True))
    covered, bad = set(), []
    for path in sorted(glob.glob("tests/unit/*/test_*.c") + ["tests/kernel_check/kernel_check.c"]):
        names = named(path)
        if names is None:
            bad.append("%s: expected '/* Covers FILE, FILE: ...' first" % path)
        for name in names or ():
            if name not in sources | headers | others:
                bad.append("%s: names %s, which does not exist" % (path, name))
            covered.add(name)
    bad += ["%s: no file of unit tests names it" % path for path in sorted(sources - covered)]
    print("\n".join("check_covered: " + line for line in bad), end="\n" if bad else "", file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
