"""experiments/sweep.sh: runs a network under many memory limits by many programs. HELP is its help."""

import signal

if __name__ == "__main__" and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)   # no traceback during imports; runs.Session replaces the handler

import os
import shutil
import sys

from sweep import cells, figure, rows, runs
from sweep.arguments import COUNT, SECONDS, WHOLE, Parser
from sweep.cells import Misuse
from sweep.plot import Missing

HELP = """usage: sweep.sh [options] MODEL.cfg MODEL.weights IMAGE

Runs a network on a picture under one memory limit after the other, each run in a memory group of its own, from files that are
in no page cache, with swap at hand, and appends a row for each to a CSV. Rows that are there are not run again, so an
interrupted sweep is gone on with by the same command. Killed, refused and timed-out runs are rows too.

What is run
  --limits LIST         256M,64M,10.5M,none (default: 256M,192M,128M,96M,80M,64M,48M,32M,16M)
  --program WORDS       mafat, mafat-packed (weights packed first), darknet, opencv or onnxruntime; ours with options of
                        run_inference: 'mafat --plan 5x5/8/2x2 --best-effort'. 'LABEL: WORDS' names it (default: the words).
                        May be repeated (default: mafat). Ours is not told the limit, it finds it. A peer takes one option:
                        'opencv --cold-libraries', copies of its libraries, which its own group pays for
  --layers N            the first N layers only
  --repeats N           runs of each program at each limit (default: 3)
How it is run
  --timeout SECONDS     of one run (default: 120)
  --patience SECONDS    what took longer at a limit is run once there (default: 20)
  --give-up             what failed by time-out or for memory in all its runs at a limit is not tried at smaller ones
  --cpus LIST           for the runs (default: the last CPU)
  --swap SIZE|none|asis a swap file of its own while it runs (default: 2G); none: what would swap is killed; asis: what is on
  --parent GROUP        a memory group of this user's, where it may not make others (memory_limit --check)
  --warm                files are in the page cache before each run, instead of evicted
  --seed N              of the random order (default: another one each time)
What comes of it
  --csv FILE            (default: BUILD/sweep/MODEL.csv, BUILD: build)
  --fresh               starts the CSV anew
  --plot FILE.png       latency against the limit, of all the CSV has of this network; also FILE.svg (gnuplot)
  --quiet               no progress, no table
  --help

Exit status: 0 done, 1 it could not go on, 2 misuse or not possible here, 128 + N after signal N.

Examples
  sweep.sh --limits 64M,32M,16M,8M model.cfg model.weights dog.jpg
  sweep.sh --layers 16 --program mafat --program darknet --plot latency.png yolov2.cfg yolov2.weights dog.jpg
"""
LIMITS = "256M,192M,128M,96M,80M,64M,48M,32M,16M"


def read_options(arguments):
    parser = Parser("sweep.sh")
    parser.add_argument("--limits", default=LIMITS)
    parser.add_argument("--program", action="append")
    parser.add_argument("--layers", type=COUNT)
    parser.add_argument("--repeats", type=COUNT, default=3)
    parser.add_argument("--timeout", type=SECONDS, default=120)
    parser.add_argument("--patience", type=SECONDS, default=20)
    parser.add_argument("--give-up", action="store_true")
    parser.add_argument("--cpus")
    parser.add_argument("--swap", default="2G")
    parser.add_argument("--parent")
    parser.add_argument("--warm", action="store_true")
    parser.add_argument("--seed", type=WHOLE)
    parser.add_argument("--csv")
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--plot")
    parser.add_argument("--quiet", action="store_true")
    parser.add_argument("files", nargs="*")
    options = parser.parse_intermixed_args(arguments)
    if len(options.files) != 3:
        parser.error("expected MODEL.cfg MODEL.weights IMAGE, found %d of them" % len(options.files))
    if options.plot and not options.plot.endswith(".png"):
        parser.error("--plot expects a file .png, found '%s'" % options.plot)
    return options


def can_plot(path):
    if not shutil.which("gnuplot"):
        raise Misuse("--plot needs gnuplot; apt-get install --no-install-recommends gnuplot-nox")
    folder = os.path.dirname(os.path.abspath(path))
    if not os.access(folder, os.W_OK | os.X_OK):
        raise Misuse("--plot %s: cannot be written" % path)


def sweep(arguments):
    options = read_options(arguments)
    limits, programs = cells.read_limits(options.limits), cells.read_programs(options.program or ["mafat"])
    cfg, weights, image = options.files
    network = cells.Network(cfg, weights, image, options.layers)
    settings = runs.Options(timeout=options.timeout, cpus=options.cpus, swap=options.swap, parent=options.parent, warm=options.warm,
                            seed=options.seed, patience=options.patience, give_up=options.give_up, fresh=options.fresh, quiet=options.quiet)
    csv = options.csv
    if options.plot:
        can_plot(options.plot)
    if not csv:
        csv = os.path.join(settings.build, "sweep", network.name + ".csv")
        os.makedirs(os.path.dirname(csv), exist_ok=True)
    found = runs.run(cells.grid([network], programs, limits, options.repeats), csv, settings)
    name, labels = (network.name, network.layers), [program.label for program in programs]
    points = rows.points(found)[name]
    mine = {name: {label: points[label] for label in labels + [label for label in points if label not in labels]}}
    if not options.quiet:
        print(figure.table(mine) + "rows: " + (csv if options.csv else os.path.relpath(csv)))
    if options.plot:
        try:
            with runs.Signals():
                figure.draw(options.plot, mine)
        except (Missing, OSError) as reason:
            raise runs.Stopped(str(reason)) from None
    return 0


def main():
    if "--help" in sys.argv[1:]:
        print(HELP, end="")
        return 0
    return runs.main(lambda: sweep(sys.argv[1:]), "sweep.sh")


if __name__ == "__main__":
    sys.exit(main())
