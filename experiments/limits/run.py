#!/usr/bin/env python3
"""Latency against the memory limit, beside other programs: measured, drawn, told. README.md is written by it; HELP is its help."""

import os
import re
import sys

sys.dont_write_bytecode = True   # nothing but results is written into the tree
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

import argparse
import shutil

from sweep import cells, plot, rows, runs
from sweep.cells import Misuse
from sweep.place import results_folder

import figure
import report
from workloads import CFGS, PICTURE

HELP = """usage: run.py [options]

Runs YOLOv2 at 608 x 608, whole and its first 16 layers, by mafat, Darknet, OpenCV DNN and onnxruntime under memory limits from
4 MB to none, and makes of it limits.png, limits.svg, runs.csv and README.md. Needs root, or what build/memory_limit --check
says; the peers (experiments/peers/install.sh); gnuplot. About three quarters of an hour; an interrupted run is gone on with.

  --quick               few limits, one run each: within five minutes
  --part NAME           first16 or whole only (may be repeated)
  --limits LIST         other limits than its own, for all programs: none,64M,16M
  --program LABEL       only this one (may be repeated): {labels}
  --repeats N           runs of each program at each limit (default: 3)
  --timeout SECONDS     of one run (default: 180)
  --patience SECONDS    what took longer at a limit is run once there (default: 20)
  --swap SIZE|none|asis (default: 4G) a swap file of its own while it runs; none: what would swap is killed; asis: what is on
  --cpus LIST           for the runs (default: the last CPU)
  --seed N              of the random order
  --folder FOLDER       for what comes of it (default: beside this file; of a part or a quick run: BUILD/limits)
  --fresh               starts the CSV anew
  --draw                runs nothing: figure and README.md from the CSV that is there
  --quiet               no progress
  --help

What times out at a limit is not tried at smaller ones. Exit status: 0 done, 1 it could not go on, 2 misuse or not possible
here, 128 + N after signal N.
"""

# Label: words of a sweep's program. The order is that of tables; figure.py says how each is drawn.
PROGRAMS = {"mafat": "mafat", "mafat, packed weights": "mafat-packed", "Darknet": "darknet --cold-libraries",
            "OpenCV DNN": "opencv --cold-libraries", "onnxruntime": "onnxruntime --cold-libraries",
            "OpenCV DNN, libraries free": "opencv", "onnxruntime, libraries free": "onnxruntime"}
PARTS = {"first16": 16, "whole": None}   # layers

# What is run: part and kind of program -> limits.
OURS = "none,512M,256M,128M,64M,48M,32M,24M,20M,16M,14M,12M,10M,9M,8M,7M,6M,5M,4M"
PEERS = "none,512M,256M,128M,64M,48M,32M,24M,16M,8M,4M"
FREE = "none,512M,256M,192M,128M,96M,64M,48M,32M,24M,16M,12M,8M,4M"
LIMITS = {("first16", "ours"): OURS, ("first16", "peers"): PEERS, ("first16", "free"): FREE,
          ("whole", "ours"): "1G," + OURS, ("whole", "peers"): "1G," + PEERS, ("whole", "free"): "1G," + FREE}
QUICK_OURS = "none,64M,32M,16M,10M,8M,6M,4M"
QUICK = {("first16", "ours"): QUICK_OURS, ("first16", "peers"): "none,256M,64M,16M", ("first16", "free"): "64M,16M",
         ("whole", "ours"): "256M," + QUICK_OURS, ("whole", "peers"): "none,256M,64M", ("whole", "free"): "64M"}
TIMEOUT, QUICK_TIMEOUT = 180, 20
STEP = 128 << 10   # least limits are tried in these steps


class Parser(argparse.ArgumentParser):
    """Misuse is one line."""

    def error(self, message):
        raise Misuse("%s; --help lists the options" % message)


def number(kind, least):
    def read(text):
        try:
            value = kind(text)
        except ValueError:
            value = None
        if value is None or not least <= value <= 1e9:
            raise argparse.ArgumentTypeError("expects a number from %s, found '%s'" % (least, text))
        return value
    return read


def read_options(arguments):
    parser = Parser(prog="limits/run.py", add_help=False, allow_abbrev=False)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--part", action="append", choices=PARTS)
    parser.add_argument("--limits")
    parser.add_argument("--program", action="append", choices=PROGRAMS)
    parser.add_argument("--repeats", type=number(int, 1))
    parser.add_argument("--timeout", type=number(float, 0.01))
    parser.add_argument("--patience", type=number(float, 0.01), default=20)
    parser.add_argument("--swap", default="4G")
    parser.add_argument("--cpus")
    parser.add_argument("--seed", type=number(int, 0))
    parser.add_argument("--folder")
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--draw", action="store_true")
    parser.add_argument("--quiet", action="store_true")
    options = parser.parse_args(arguments)
    options.repeats = options.repeats or (1 if options.quick else 3)
    options.timeout = options.timeout or (QUICK_TIMEOUT if options.quick else TIMEOUT)
    if options.limits:
        cells.read_limits(options.limits)
    build = os.path.abspath(os.environ.get("BUILD") or os.path.join(os.path.dirname(os.path.dirname(HERE)), "build"))
    partial = options.quick or options.part or options.limits or options.program
    options.folder = os.path.abspath(options.folder or (os.path.join(build, "limits") if partial and not options.draw else HERE))
    options.csv = os.path.join(options.folder, "runs.csv")
    return options


def networks(options):
    """{part: Network}: the weights are made, the picture is Darknet's."""
    cfg = os.path.join(CFGS, "yolov2.cfg")
    for path in (cfg, PICTURE):
        if not os.path.isfile(path):
            raise Misuse("%s is missing; experiments/peers/install.sh" % path)
    return {part: cells.Network(cfg, None, PICTURE, layers) for part, layers in PARTS.items() if part in (options.part or PARTS)}


def kind(words):
    return "ours" if words.startswith("mafat") else "peers" if cells.COLD_LIBRARIES in words else "free"


def all_cells(options):
    table, found = QUICK if options.quick else LIMITS, []
    for part, network in networks(options).items():
        for label, words in PROGRAMS.items():
            limits = options.limits or table[part, kind(words)]
            if limits and label in (options.program or PROGRAMS):
                program = cells.Program("%s: %s" % (label, words))
                found += cells.grid([network], [program], cells.read_limits(limits), options.repeats)
    return found


def least_bytes(found, network, label):
    """What a refused run of this program said it needs at least; None: none was refused."""
    said = [re.search(r"needs (\d+) bytes.*no plan needs less", row["message"] or "") for row in found
            if (row["network"], row["layers"], row["label"]) == (network.name, network.layers, label)]
    return max((int(match.group(1)) for match in said if match), default=None)


def least_cells(options, found):
    """Ours at the least limit that it names itself, in whole steps."""
    more = []
    for network in networks(options).values():
        for label, words in PROGRAMS.items():
            least = least_bytes(found, network, label)
            if kind(words) == "ours" and least and label in (options.program or PROGRAMS):
                more += cells.grid([network], [cells.Program("%s: %s" % (label, words))], [-(-least // STEP) * STEP], options.repeats)
    return more


def measure(options):
    settings = runs.Options(timeout=options.timeout, cpus=options.cpus, swap=options.swap, seed=options.seed, patience=options.patience,
                            give_up=True, give_up_for=("timeout",), fresh=options.fresh, quiet=options.quiet, name="limits")
    with results_folder(options.folder), runs.Session(settings) as session:
        found = session.run(all_cells(options), options.csv)
        if not options.limits:
            session.run(least_cells(options, found), options.csv)


def write(options):
    if not os.path.isfile(options.csv):
        raise Misuse("%s: no such file; without --draw it is made" % options.csv)
    found = rows.read_rows(options.csv)
    if not found:
        raise Misuse("%s: has no rows" % options.csv)
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
