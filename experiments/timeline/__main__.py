"""experiments/timeline.sh: memory and swap over the time of one inference. HELP is its help."""

import os
import shutil
import sys
import time

from sweep import cells, plot, runs
from sweep.arguments import COUNT, SECONDS, Parser, build_folder
from sweep.cells import Misuse
from sweep.place import results_folder
from timeline import figure, report, traces

HELP = """usage: timeline.sh [options] [MODEL.cfg MODEL.weights IMAGE]

Runs a network on a picture under one memory limit, a program after the other, and draws for each the memory of its group and
what it has in swap over time, its layers marked. Without a network: the first 16 layers of YOLOv2, random weights.

  --limit SIZE|none     of each program's memory group (default: 64M)
  --layers N            the first N layers only
  --program WORDS       as sweep.sh has it: mafat, mafat-packed, darknet, opencv or onnxruntime; ours with options of
                        run_inference. 'LABEL: WORDS' names it. May be repeated. The default is Darknet, the paper's
                        tiles 5x5/8/2x2 and what mafat chooses itself. Peers but Darknet have no layers marked
  --interval MS         between two samples (default: 1 for ours, 10 for others)
  --timeout SECONDS     of one run (default: 600)
  --swap SIZE|none|asis (default: 2G) a swap file of its own while it runs; none: what would swap is killed; asis: what is on
  --cpus LIST           for the runs (default: the last CPU)
  --parent GROUP        a memory group of this user's, where it may not make others (memory_limit --check)
  --folder FOLDER       for timeline.png and .svg, runs.csv, samples.csv, marks.csv and README.md (default: BUILD/timeline)
  --draw                runs nothing: figure and README.md from the CSVs in the folder
  --quiet               no progress
  --help

Exit status: 0 done, 1 it could not go on, 2 misuse or not possible here, 128 + N after signal N. A program that is killed or
times out is drawn as far as it came.

Examples
  timeline.sh --limit 16M
  timeline.sh --limit 64M --program darknet --program mafat model.cfg model.weights dog.jpg
"""
PROGRAMS = ("Darknet, untiled: darknet", "MAFAT's tiles: mafat --plan 5x5/8/2x2 --algorithm direct --best-effort", "mafat: mafat-packed")
LAYERS = 16   # layers of the default network, as in the paper


def read_options(arguments):
    parser = Parser("timeline.sh")
    parser.add_argument("--limit", default="64M")
    parser.add_argument("--layers", type=COUNT)
    parser.add_argument("--program", action="append")
    parser.add_argument("--interval", type=COUNT)
    parser.add_argument("--timeout", type=SECONDS, default=600)
    parser.add_argument("--swap", default="2G")
    parser.add_argument("--cpus")
    parser.add_argument("--parent")
    parser.add_argument("--folder")
    parser.add_argument("--draw", action="store_true")
    parser.add_argument("--quiet", action="store_true")
    parser.add_argument("files", nargs="*")
    options = parser.parse_intermixed_args(arguments)
    if len(options.files) not in (0, 3):
        parser.error("expected MODEL.cfg MODEL.weights IMAGE or nothing, found %d arguments" % len(options.files))
    options.folder = os.path.abspath(options.folder or os.path.join(build_folder(), "timeline"))
    return options


def network_of(options):
    if options.files:
        return cells.Network(*options.files, options.layers)
    return cells.yolov2(options.layers or LAYERS)


def cells_of(options):
    limits = cells.read_limits(options.limit, "--limit")
    if len(limits) != 1:
        raise Misuse("--limit expects one size or none, found '%s'" % options.limit)
    return cells.grid([network_of(options)], cells.read_programs(options.program or PROGRAMS), limits, 1)


def measure(options):
    settings = runs.Options(timeout=options.timeout, cpus=options.cpus, swap=options.swap, parent=options.parent, quiet=options.quiet)
    todo = cells_of(options)
    progress = runs.Progress(options.quiet, len(todo))
    with runs.Session(settings) as session:
        try:
            progress.show("files, swap, programs", time.monotonic())
            for cell in todo:
                session.prepare(cell)
            found = []
            for cell in todo:
                now = time.monotonic()
                interval = options.interval or (1 if cell.program.who.startswith("mafat") else 10)
                found.append(traces.measure(session, cell, interval, lambda: progress.show(str(cell), now)))
                progress.done += 1
        finally:
            progress.clear()
    return found


def timeline(arguments):
    options = read_options(arguments)
    if not shutil.which("gnuplot"):
        raise Misuse("gnuplot is missing; apt-get install --no-install-recommends gnuplot-nox")
    if not options.draw:
        with results_folder(options.folder):
            found = measure(options)
            try:
                traces.write(options.folder, found)
            except OSError as error:
                raise runs.Stopped("%s: %s" % (options.folder, error.strerror)) from None
    found = traces.read(options.folder)   # draws what the CSVs have
    try:
        figure.draw(os.path.join(options.folder, "timeline.png"), found)
        with open(os.path.join(options.folder, "README.md"), "w", encoding="utf-8") as file:
            file.write(report.markdown(found))
    except (plot.Missing, OSError) as reason:
        raise runs.Stopped(str(reason)) from None
    if not options.quiet:
        print(report.summary(found) + "timeline.png, timeline.svg, README.md and CSVs: in " + os.path.relpath(options.folder))
    return 0


def main():
    if "--help" in sys.argv[1:]:
        print(HELP, end="")
        return 0
    return runs.main(lambda: timeline(sys.argv[1:]), "timeline.sh")


if __name__ == "__main__":
    sys.exit(main())
