#!/usr/bin/env python3
"""Measures and draws latency against the memory limit for mafat and other programs, and writes
README.md. HELP is its help."""

import os
import re
import shutil
import sys

sys.dont_write_bytecode = True   # nothing but results is written into the tree
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

from sweep import cells, plot, rows, runs   # noqa: E402
from sweep.arguments import COUNT, SECONDS, WHOLE, Parser, build_folder   # noqa: E402
from sweep.cells import Misuse   # noqa: E402
from sweep.files import find_program   # noqa: E402
from sweep.place import results_folder   # noqa: E402

import figure   # noqa: E402
import report   # noqa: E402

HELP = """usage: make figure FIGURE='options', or experiments/limits/run.py options

Runs YOLOv2 at 608 x 608, whole and its first 16 layers, by mafat, Darknet, OpenCV DNN and onnxruntime under memory limits from
4 MB to none, and makes of it limits.png, limits.svg, runs.csv and README.md. Needs root, or what build/memory_limit --check
says; gnuplot; and the peers (experiments/peers/install.sh): those that are missing are named and left out. About three quarters
of an hour. Rows are kept in BUILD/limits/whole, so the same command goes on with an interrupted run; when all is done, what came
of it goes to experiments/limits.

  --quick               few limits, one run each: within five minutes. All in BUILD/limits/quick
  --part NAME           first16 or whole only (may be repeated)
  --limits LIST         other limits than its own, for all programs: none,64M,16M
  --program LABEL       only this one (may be repeated): {labels}
  --repeats N           runs of each program at each limit (default: 3)
  --timeout SECONDS     of one run (default: 180)
  --patience SECONDS    what took longer at a limit is run once there (default: 20)
  --swap SIZE|none|asis (default: 4G) a swap file of its own while it runs; none: what would swap is killed; asis: what is on
  --cpus LIST           for the runs (default: the last CPU)
  --parent GROUP        a memory group of this user's, where it may not make others (memory_limit --check)
  --seed N              of the random order
  --folder FOLDER       for the rows and what comes of them (default: see above; of a part BUILD/limits/whole)
  --fresh               starts the CSV anew
  --draw                runs nothing: figure and README.md from the CSV that is there (default: in experiments/limits)
  --quiet               no progress
  --help

What times out at a limit is not tried at smaller ones. Exit status: 0 done, 1 it could not go on, 2 misuse or not possible
here, 128 + N after signal N.
"""

# Label: words of a sweep's program, in the order of tables; figure.py has the style of each.
PROGRAMS = {"mafat": "mafat", "mafat, packed weights": "mafat-packed", "Darknet": "darknet --cold-libraries",
            "OpenCV DNN": "opencv --cold-libraries", "onnxruntime": "onnxruntime --cold-libraries",
            "OpenCV DNN, libraries free": "opencv", "onnxruntime, libraries free": "onnxruntime"}
PARTS = {"first16": 16, "whole": None}   # layers

# Limits by part and kind of program.
OURS = "none,512M,256M,128M,64M,48M,32M,24M,20M,16M,14M,12M,10M,9M,8M,7M,6M,5M,4M"
PEERS = "none,512M,256M,128M,64M,48M,32M,24M,16M,8M,4M"
FREE = "none,512M,256M,192M,128M,96M,64M,48M,32M,24M,16M,12M,8M,4M"
LIMITS = {("first16", "ours"): OURS, ("first16", "peers"): PEERS, ("first16", "free"): FREE,
          ("whole", "ours"): "1G," + OURS, ("whole", "peers"): "1G," + PEERS, ("whole", "free"): "1G," + FREE}
QUICK_OURS = "none,64M,32M,16M,10M,8M,6M,4M"
QUICK = {("first16", "ours"): QUICK_OURS, ("first16", "peers"): "none,256M,64M,16M", ("first16", "free"): "64M,16M",
         ("whole", "ours"): "256M," + QUICK_OURS, ("whole", "peers"): "none,256M,64M", ("whole", "free"): "64M"}
TIMEOUT, QUICK_TIMEOUT = 180, 20
STEP = 128 << 10   # least limits are searched in these steps
CSV = "runs.csv"


def read_options(arguments):
    parser = Parser("limits/run.py")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--part", action="append", choices=PARTS)
    parser.add_argument("--limits")
    parser.add_argument("--program", action="append", choices=PROGRAMS)
    parser.add_argument("--repeats", type=COUNT)
    parser.add_argument("--timeout", type=SECONDS)
    parser.add_argument("--patience", type=SECONDS, default=20)
    parser.add_argument("--swap", default="4G")
    parser.add_argument("--cpus")
    parser.add_argument("--parent")
    parser.add_argument("--seed", type=WHOLE)
    parser.add_argument("--folder")
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--draw", action="store_true")
    parser.add_argument("--quiet", action="store_true")
    options = parser.parse_args(arguments)
    options.repeats = options.repeats or (1 if options.quick else 3)
    options.timeout = options.timeout or (QUICK_TIMEOUT if options.quick else TIMEOUT)
    if options.limits:
        cells.read_limits(options.limits)
    partial = options.quick or options.part or options.limits or options.program
    if options.folder or options.draw:
        options.work = options.folder = os.path.abspath(options.folder or HERE)
    else:   # the repository's rows are of another machine: a run starts with its own
        options.work = os.path.join(build_folder(), "limits", "quick" if options.quick else "whole")
        options.folder = options.work if partial else HERE
    return options


def networks(options):
    """{part: Network}"""
    return {part: cells.yolov2(layers) for part, layers in PARTS.items() if part in (options.part or PARTS)}


def kind(words):
    return "ours" if words.startswith("mafat") else "peers" if cells.COLD_LIBRARIES in words else "free"


def available(options):
    """{label: Program} to be run. Missing peers are reported and left out, unless they were
    requested."""
    chosen = {label: cells.Program("%s: %s" % (label, words)) for label, words in PROGRAMS.items() if label in (options.program or PROGRAMS)}
    missing = {}
    for who in dict.fromkeys(program.who for program in chosen.values()):   # ours first
        try:
            find_program(who, build_folder())
        except Misuse as reason:
            if who.startswith("mafat") or options.program:
                raise
            missing[who] = reason
    for reason in missing.values():
        print("limits: left out: %s" % reason, file=sys.stderr)
    return {label: program for label, program in chosen.items() if program.who not in missing}


def all_cells(options, programs):
    table, found = QUICK if options.quick else LIMITS, []
    for part, network in networks(options).items():
        for label, program in programs.items():
            limits = options.limits or table[part, kind(PROGRAMS[label])]
            found += cells.grid([network], [program], cells.read_limits(limits), options.repeats)
    return found


def least_bytes(found, network, label):
    """The minimum that a refused run of this program printed; None: none was refused."""
    said = [re.search(r"(?:needs (\d+) bytes|(\d+)K would do).*no plan needs less", row["message"] or "") for row in found
            if (row["network"], row["layers"], row["label"]) == (network.name, network.layers, label)]
    # the proposed budget is at least 64 KB above the need; messages of older versions give the
    # need
    return max((int(match.group(1)) if match.group(1) else (int(match.group(2)) - 64) << 10 for match in said if match), default=None)


def least_cells(options, programs, found):
    """Runs ours at the least limit that it reports, rounded up to whole steps."""
    more = []
    for network in networks(options).values():
        for label, program in programs.items():
            least = least_bytes(found, network, label)
            if kind(PROGRAMS[label]) == "ours" and least:
                more += cells.grid([network], [program], [-(-least // STEP) * STEP], options.repeats)
    return more


def n_rows(options, csv):
    return len(rows.read_rows(csv)) if os.path.exists(csv) and not options.fresh else 0


def measure(options):
    settings = runs.Options(timeout=options.timeout, cpus=options.cpus, swap=options.swap, parent=options.parent, seed=options.seed,
                            patience=options.patience, give_up=True, give_up_for=("timeout",), fresh=options.fresh, quiet=options.quiet)
    csv = os.path.join(options.work, CSV)
    before, programs = n_rows(options, csv), available(options)
    with results_folder(options.folder), results_folder(options.work), runs.Session(settings) as session:
        try:
            found = session.run(all_cells(options, programs), csv)
            if not options.limits:
                found = session.run(least_cells(options, programs, found), csv)
        except (runs.Interrupted, runs.Stopped):
            if os.path.exists(csv):
                print("limits: what was measured is in %s; the same command goes on from there" % os.path.relpath(csv), file=sys.stderr)
            raise
        if len(found) == before:
            print("limits: nothing was run: %s has all rows; --fresh starts it anew" % os.path.relpath(csv), file=sys.stderr)
        if options.folder != options.work:
            shutil.copyfile(csv, os.path.join(options.folder, CSV + ".part"))
            os.replace(os.path.join(options.folder, CSV + ".part"), os.path.join(options.folder, CSV))


def write(options):
    csv = os.path.join(options.folder, CSV)
    if not os.path.isfile(csv):
        raise Misuse("%s: no such file; without --draw it is made" % csv)
    found = rows.read_rows(csv)
    if not found:
        raise Misuse("%s: has no rows" % csv)
    text = report.markdown(found, list(PROGRAMS))
    try:
        figure.draw(os.path.join(options.folder, "limits.png"), found)
        with open(os.path.join(options.folder, "README.md"), "w", encoding="utf-8") as file:
            file.write(text)
    except (plot.Missing, OSError) as reason:
        raise runs.Stopped(str(reason)) from None


def experiment(arguments):
    options = read_options(arguments)
    if not shutil.which("gnuplot"):
        raise Misuse("gnuplot is missing; apt-get install --no-install-recommends gnuplot-nox")
    if not options.draw:
        measure(options)
    write(options)
    if not options.quiet:
        print("limits.png, limits.svg, README.md and runs.csv: in " + os.path.relpath(options.folder))
    return 0


def main():
    if "--help" in sys.argv[1:]:
        print(HELP.format(labels=", ".join("'%s'" % label for label in PROGRAMS)), end="")
        return 0
    return runs.main(lambda: experiment(sys.argv[1:]), "limits")


if __name__ == "__main__":
    sys.exit(main())
