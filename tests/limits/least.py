#!/usr/bin/env python3
"""Checks the predicted minimum of a model file: run in a memory group of exactly that, from files that
are in no page cache.

least.py [--runs N] [--cold drop|evict] [CASE...]

Of the cases of cases.txt that are ONNX and TFLite files (default: all of them), on a picture, three times in each of N processes
(default: 10). The limit is the predicted charge, rounded up to a page, and no option sets a budget. No run may
be killed, refused, or have a page swapped. A line for each case. Control groups v1; root. --cold evict: the run's own files leave
the page cache, not the whole machine's, beside others who work.

Exit status: 0 none was, or nothing can be tried here; 1 one was; 2 misuse."""

import argparse
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True   # nothing but results is written into the tree
HERE = os.path.dirname(os.path.abspath(__file__))
os.chdir(os.path.dirname(os.path.dirname(HERE)))
sys.path.insert(0, HERE)

from groups import BUILD, Group, charged, follow, make_cold, outcome, text, whole_pages, why_not   # noqa: E402

PROGRAM, LAUNCHER = (os.path.realpath(os.path.join(BUILD, name)) for name in ("run_inference", "launcher"))
PICTURE = "/usr/share/darknet/data/dog.jpg"
INFERENCES = 3


def cases():
    """Names of cases and their paths in MAFAT_MODELS."""
    rows = [line.split() for line in text(HERE + "/cases.txt").splitlines() if line.strip() and not line.startswith("#")]
    found = [(row[0], row[1].removeprefix("MODELS/")) for row in rows if row[4] == "own" and row[8] == "must"]
    return dict(found)


def least(model):
    """The predicted minimum and its plan."""
    told = subprocess.run([PROGRAM, "--predict", "--json", "--quiet", model, PICTURE], stdout=subprocess.PIPE, check=False)
    answer = json.loads(told.stdout)
    return answer["least_charge_bytes"], answer["least_plan"]


def run(model, limit, cold):
    """Runs one process. Returns the problem or None, and the peak charge."""
    make_cold(cold, [LAUNCHER, PROGRAM, model, PICTURE])
    with Group("mafat-least", limit) as group:
        command = [LAUNCHER, group.folder, PROGRAM, "--json", "--quiet", model] + [PICTURE] * INFERENCES
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True) as process:
            most, swap, _ = follow(group, process)
            answers, message = process.stdout.read().splitlines(), process.stderr.read().strip()
        found = charged(group, most, swap)
    if process.returncode != 0:
        return message.splitlines()[-1] if message else outcome(process.returncode), found["peak_bytes"]
    if found["swapped_pages"]:
        return "%d pages swapped" % found["swapped_pages"], found["peak_bytes"]
    return None if len(answers) == INFERENCES else "%d answers" % len(answers), found["peak_bytes"]


def try_case(name, model, n_runs, cold):
    """Prints a case's line. True if it passes."""
    charge, plan = least(model)
    limit = whole_pages(charge)
    results = [run(model, limit, cold) for _ in range(n_runs)]
    bad = [why for why, _ in results if why]
    figures = "%d bytes, plan %s: %d runs, at most %d bytes charged" % (limit, plan, n_runs, max(peak for _, peak in results))
    print("%s least %s: %s%s" % ("FAIL" if bad else "ok", name, figures, "; %d bad: %s" % (len(bad), bad[0]) if bad else ""), flush=True)
    return not bad


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--cold", choices=("drop", "evict"), default="drop")
    parser.add_argument("cases", nargs="*")
    o = parser.parse_args()
    known = cases()
    for name in o.cases:
        if name not in known:
            parser.error("expected one of %s, found %s" % (", ".join(known), name))
    folder = os.environ.get("MAFAT_MODELS")
    why = why_not() or next(("needs %s" % path for path in (PROGRAM, LAUNCHER, PICTURE) if not os.path.exists(path)), None)
    why = why or (None if folder else "MAFAT_MODELS does not name the folder with the trained networks")
    if why:
        print("skip least: %s" % why)
        return 0
    good = True
    for name in o.cases or known:
        model = os.path.join(os.path.realpath(folder), known[name])
        if os.path.exists(model):
            good = try_case(name, model, o.runs, o.cold) and good
        else:
            print("skip least %s: %s is missing" % (name, known[name]))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
