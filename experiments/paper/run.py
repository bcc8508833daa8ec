#!/usr/bin/env python3
"""Measures the paper's Figures 1 to 4 and Table 1 with Darknet, and the same with all of mafat's
features, under memory limits. HELP is its help; README.md beside this file is the result."""

import csv
import json
import math
import os
import shutil
import sys

sys.dont_write_bytecode = True   # nothing but results is written into the tree
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

from sweep import plot, runs   # noqa: E402 (it adds peers/ to the path)
from sweep.arguments import COUNT, SECONDS, WHOLE, Parser, build_folder   # noqa: E402
from sweep.cells import Cell, Misuse, Program, read_limits, yolov2   # noqa: E402
from sweep.place import results_folder   # noqa: E402
import programs     # noqa: E402
import workloads    # noqa: E402
import figures      # noqa: E402
import least        # noqa: E402
import measured     # noqa: E402
import plans        # noqa: E402
import report       # noqa: E402

MEGABYTE = measured.MEGABYTE
NAME = "paper"
# below it Darknet takes minutes: these limits come last, with one run each
SLOW = 64 * MEGABYTE


HELP = """usage: make paper PAPER='options', or experiments/paper/run.py options

Repeats the paper's Figures 1 to 4 and Table 1 beside Debian's Darknet, and does the same with everything mafat has: the first 16
layers of YOLOv2 at 608 x 608, on one CPU, cold, under memory limits, with swap (root, for that). Every run is a row of
BUILD/paper/whole/runs.csv as soon as it has ended; what has a row is not run again, so the same command goes on where it was
interrupted. When all is done, CSV files, figures and README.md go to experiments/paper.

  --quick               fewer limits, plans and repeats, Darknet at three limits: 10 minutes. All in BUILD/paper/quick
  --report-only         runs nothing: figures and README.md anew from the CSV files that are in --output
  --fresh               what was measured before is dropped

  --limits LIST         for the plans and Algorithm 2 (default: %s)
  --our-limits LIST     for everything mafat has (default: these, none, 7M and 6M)
  --darknet-limits LIST (default: none,1024M,768M,512M,384M and the paper's nine); below 64M Darknet is run last, and once
  --plans LIST          as in 5x5/8/2x2,2x2/NoCut (default: %d: NoCut, cut at 4, 8 and 12 with 1x1, 2x2, 3x3 below)
  --repeats N           of Darknet, Algorithm 2 and mafat at a limit (default: 3)
  --again N             every plan runs once at a limit, the best five there so many times more (default: 3)
  --timeout SECONDS     of one run (default: 120; Darknet below 64M: 1800)
  --swap SIZE|asis      a swap file of its own (default: 2G), or what is on
  --cpus LIST           for the runs (default: the last CPU)
  --parent GROUP        a memory group of this user's, where it may not make others (memory_limit --check)
  --seed N              of the random order (default: another one each time)
  --output FOLDER       (default: experiments/paper; of a part of the limits or plans BUILD/paper/whole)
  --no-figures          gnuplot is not needed
  --quiet               no progress
  --help

Exit status: 0 done, 1 it could not go on, 2 misuse or not possible here, 128 + N after signal N.
"""


class Settings:
    """The settings of a complete run and of --quick."""

    def __init__(self, quick=False):
        self.limits = "128M,64M,32M,24M,16M" if quick else "256M,192M,128M,96M,80M,64M,48M,32M,28M,24M,20M,16M,12M,8M"
        self.our_limits = "none,128M,64M,32M,16M,8M" if quick else "none,%s,7M,6M" % self.limits
        self.darknet_limits = "1024M,128M,64M" if quick else "none,1024M,768M,512M,384M,256M,192M,128M,96M,80M,64M,48M,32M,16M"
        self.plans = plans.quick_plans() if quick else plans.ALL_PLANS
        self.repeats = 1 if quick else 3
        self.again, self.best = (1, 3) if quick else (3, 5)    # number of best plans to run again at each limit
        self.step, self.confirmations = (MEGABYTE, 0) if quick else (MEGABYTE // 4, 2)
        self.darknet_step = 0 if quick else 4 * MEGABYTE       # 0: no search for its least limit
        self.timeout, self.slow_timeout = 120, 1800

    def take(self, options):
        for name in ("limits", "our_limits", "darknet_limits", "repeats", "again", "timeout"):
            value = getattr(options, name)
            if value is not None:
                setattr(self, name, value)
        if options.limits and not options.our_limits:
            self.our_limits = options.limits
        if options.plans:
            self.plans = options.plans.split(",")
        for plan in self.plans:
            if not plans.is_plan(plan):
                raise Misuse("--plans expects plans such as 5x5/8/2x2 and 2x2/NoCut, found '%s'" % plan)
        if options.timeout:
            self.slow_timeout = options.timeout
        for name in ("limits", "our_limits", "darknet_limits"):
            setattr(self, name, read_limits(getattr(self, name), "--" + name.replace("_", "-")))


def read_options():
    parser = Parser("run.py")
    for flag in ("--quick", "--report-only", "--fresh", "--no-figures", "--quiet", "--help"):
        parser.add_argument(flag, action="store_true")
    for name in ("--limits", "--our-limits", "--darknet-limits", "--plans", "--cpus", "--parent", "--output"):
        parser.add_argument(name)
    parser.add_argument("--repeats", type=COUNT)
    parser.add_argument("--again", type=WHOLE)
    parser.add_argument("--timeout", type=SECONDS)
    parser.add_argument("--swap", default="2G")
    parser.add_argument("--seed", type=WHOLE)
    options = parser.parse_args()
    if options.help:
        print(HELP % (Settings().limits, len(plans.ALL_PLANS)), end="")
        sys.exit(0)
    options.build = build_folder()
    options.work = os.path.join(options.build, "paper", "quick" if options.quick else "whole")
    part = options.limits or options.our_limits or options.darknet_limits or options.plans
    options.output = os.path.abspath(options.output or (options.work if options.quick or part and not options.report_only else HERE))
    settings = Settings(options.quick)
    settings.take(options)
    return options, settings


class Paper:
    """All stages, on one session of files and swap. Each writes rows to the work folder and skips
    what has rows."""

    def __init__(self, options, settings, session):
        self.options, self.settings, self.session = options, settings, session
        self.network = yolov2(plans.LAYERS)
        self.stages = [("Darknet's buffers", self.buffers), ("the least limits of ten plans", self.least_of_plans),
                       ("every plan once, Algorithm 2, mafat, Darknet", self.everything), ("the best plans again", self.best_again),
                       ("Darknet in little memory", self.slow), ("the least limit of Darknet", self.least_of_darknet)]

    def path(self, name):
        return os.path.join(self.options.work, name)

    def program(self, label):
        text = {plans.DARKNET: "darknet", plans.SEARCH: plans.SEARCH_PROGRAM}.get(label) or plans.OURS.get(label) or plans.program_of_plan(label)
        return Program("%s: %s" % (label, text))

    def cells(self, labels, limits, repeats=1, first=1):
        return [Cell(self.network, self.program(label), limit, repeat)
                for repeat in range(first, first + repeats) for label in labels for limit in limits]

    def measure(self, cells, timeout=None):
        """-> all rows of runs.csv."""
        self.session.options.timeout = timeout or self.settings.timeout
        return self.session.run(cells, self.path(measured.RUNS))

    def run(self):
        for n, (what, stage) in enumerate(self.stages, 1):
            if not self.options.quiet:
                print("%s: %d of %d: %s" % (NAME, n, len(self.stages), what), file=sys.stderr)
            stage()
            self.report()

    def report(self):
        """Writes the report of the rows so far."""
        path = self.path(measured.RUNS)
        if os.path.exists(path) and measured.sweep_rows.read_rows(path):
            write_report(self.options.work, not self.options.no_figures)

    # ---- stages

    def everything(self):
        quick = [limit for limit in self.settings.darknet_limits if limit is None or limit >= SLOW]
        repeats = self.settings.repeats
        self.measure(self.cells(self.settings.plans, self.settings.limits) + self.cells([plans.SEARCH], self.settings.limits, repeats) +
                     self.cells(plans.OURS, self.settings.our_limits, repeats) + self.cells([plans.DARKNET], quick, repeats))

    def best_again(self):
        """Chooses the best plans by first runs only, so that a continued stage chooses the same."""
        found = measured.read_runs(self.options.work)
        first = measured.Runs([row for row in found.rows if row["repeat"] == 1])
        cells = []
        for limit in self.settings.limits:
            medians = {plan: first.median(plan, measured.megabytes(limit)) for plan in self.settings.plans}
            best = sorted((plan for plan in medians if medians[plan]), key=medians.get)[:self.settings.best]
            cells += self.cells(best, [limit], self.settings.again, 2)
        self.measure(cells)

    def slow(self):
        for limit in self.settings.darknet_limits:
            if limit is not None and limit < SLOW:
                self.measure(self.cells([plans.DARKNET], [limit]), self.settings.slow_timeout)

    def buffers(self):
        """Darknet's buffers, and the predictions of Algorithm 1 and of the exact predictor."""
        if os.path.exists(self.path(measured.BUFFERS)) and os.path.exists(self.path("predicted.json")):
            return
        self.session.open()   # its folder is removed in any case
        folder = os.path.join(self.session.place.folder, "buffers")
        os.mkdir(folder)
        workload = workloads.Workload("yolov2-16", "", "yolov2", 1, layers=plans.LAYERS)
        files = workloads.prepare(workload, folder, os.path.join(self.options.build, "make_weights"))
        write_whole(self.path(measured.BUFFERS), darknet_buffers(self.session, files))
        write_whole(self.path("predicted.json"), json.dumps({plan: predict(self.session, plan, files) for plan in figure_2_plans()}))
        shutil.rmtree(folder)

    def least_of_plans(self):
        with open(self.path("predicted.json"), encoding="utf-8") as file:
            self.predicted = json.load(file)
        self.search({plan: self.predicted[plan]["predicted_charge_bytes"] for plan in figure_2_plans()}, self.settings.step, self.settings.timeout)

    def least_of_darknet(self):
        if self.settings.darknet_step:
            buffers = measured.read_buffers(self.options.work)
            process = next(line["resident_bytes"] for line in buffers if line["buffer"] == "process")
            self.search({plans.DARKNET: process}, self.settings.darknet_step, self.settings.timeout)

    def search(self, starts, step, timeout):
        """Tries one limit of each label in turn until all least limits are known."""
        most = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")   # more than the machine has
        searches = {label: least.Search(start, step, self.settings.confirmations, most) for label, start in starts.items()}
        path, added = self.path("probes.csv"), set()
        rows = measured.sweep_rows.read_rows(path) if os.path.exists(path) else []
        self.session.options.timeout = timeout
        patience, self.session.options.patience = self.session.options.patience, math.inf   # slow runs are confirmed, too
        while True:
            for row in rows:
                if row["label"] in searches and measured.sweep_rows.key(row) not in added:
                    added.add(measured.sweep_rows.key(row))
                    searches[row["label"]].add(row)
            following = {label: search.next() for label, search in searches.items()}
            cells = [Cell(self.network, self.program(label), *asked) for label, asked in following.items() if asked]
            if not cells:
                break
            before, rows = len(rows), self.session.run(cells, path)
            if len(rows) == before:
                raise runs.Stopped("%s: rows are missing between others; without the file they are measured anew" % path)
        self.session.options.patience = patience
        self.write_limits(rows, searches)

    def write_limits(self, rows, searches):
        """Adds the results to limits.csv; lines of other labels stay."""
        path = self.path(measured.LIMITS)
        lines = measured.read_limits(self.options.work)
        for label, search in searches.items():
            own = [row for row in rows if row["label"] == label]
            said = self.predicted.get(label, {})
            n_runs, n_dry = search.runs()
            charges = [row["predicted_charge_bytes"] for row in own if row["predicted_charge_bytes"]]
            lines[label] = {"label": label, "paper_bytes": said.get("paper_bytes"), "predicted_charge_bytes": max(charges, default=None),
                            "least_bytes": search.found(), "step_bytes": search.step, "below": search.below(), "runs": n_runs, "dry_runs": n_dry, **{
                                name: own[-1][name] for name in ("swap", "cgroup", "machine", "kernel", "commit", "date")}}
        with open(path + ".part", "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, measured.LIMIT_COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(lines.values())
        os.replace(path + ".part", path)


def figure_2_plans():
    return [plan for group in plans.FIGURE_2.values() for plan in group]


def write_whole(path, text):
    with open(path + ".part", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(path + ".part", path)


def output_of(session, command, what):
    status, out, err = session.call(command)
    if status != 0:
        raise Misuse("%s: %s" % (what, programs.last_line(err, status)))
    return out


def darknet_buffers(session, files):
    """darknet_memory's CSV."""
    library, source = programs.Darknet.library, os.path.join(HERE, "darknet_memory.c")
    program = os.path.join(session.options.build, "paper", "darknet_memory")
    if not os.path.exists(os.path.join(library, "include", "darknet.h")):
        raise Misuse("libdarknet is missing; %s" % programs.Darknet.hint)
    if os.path.exists(program) and os.path.getmtime(program) < os.path.getmtime(source):
        os.unlink(program)
    try:
        programs.compile_program(["gcc", "-std=c11", "-D_GNU_SOURCE", "-O2", "-isystem", library + "/include", "-o", program, source, "-L" + library,
                                  "-ldarknet", "-Wl,-rpath," + library, "-Wl,--allow-shlib-undefined", "-lm"], programs.Darknet.hint)
    except workloads.Unavailable as reason:
        raise Misuse("darknet_memory: %s" % reason) from None
    return output_of(session, [program, files.cfg, files.weights, files.jpg], "darknet_memory")


def predict(session, plan, files):
    text = output_of(session, [os.path.join(session.options.build, "run_inference"), "--predict", "--json", "--quiet", "--predictor", "paper:bias=%dM" % plans.BIAS,
                               "--algorithm", "direct", "--plan", plan, files.cfg, files.weights, files.jpg], "run_inference")
    found = json.loads(text)
    return {name: found[name] for name in ("paper_bytes", "predicted_charge_bytes")}


def write_report(folder, with_figures):
    """figures/ and README.md in the folder of the CSV files."""
    found, limits, buffers = measured.read_runs(folder), measured.read_limits(folder), measured.read_buffers(folder)
    if with_figures:
        figures.draw(os.path.join(folder, "figures"), found, limits)
    return report.write(folder, found, limits, buffers, figures.drawable(found, limits))


def publish(work, output):
    for name in (measured.RUNS, measured.LIMITS, measured.BUFFERS):
        if os.path.exists(os.path.join(work, name)):
            shutil.copyfile(os.path.join(work, name), os.path.join(output, name + ".part"))
            os.replace(os.path.join(output, name + ".part"), os.path.join(output, name))


def work():
    options, settings = read_options()
    with_figures = not options.no_figures
    if with_figures and not shutil.which("gnuplot"):
        raise Misuse("gnuplot is missing; apt-get install --no-install-recommends gnuplot-nox, or --no-figures")
    try:
        if not options.report_only:
            measure(options, settings)
            if options.output != options.work:
                publish(options.work, options.output)
        print(os.path.relpath(write_report(options.output, with_figures)))
    except plot.Missing as reason:
        raise Misuse(str(reason)) from None
    except OSError as error:
        raise Misuse("%s: %s" % (error.filename, error.strerror)) from None
    return 0


def measure(options, settings):
    sweep_options = runs.Options(timeout=settings.timeout, cpus=options.cpus, swap=options.swap, parent=options.parent, seed=options.seed,
                                 quiet=options.quiet, build=options.build)
    try:
        with results_folder(options.output), results_folder(options.work), runs.Session(sweep_options) as session:
            paper = Paper(options, settings, session)
            if options.fresh and os.listdir(options.work):
                session.open()   # fails before anything is deleted
                shutil.rmtree(options.work)   # of earlier runs of ours, in the build folder
                os.mkdir(options.work)
            paper.run()
    except (runs.Interrupted, runs.Stopped):
        print("%s: what was measured is in %s; the same command goes on from there" % (NAME, os.path.relpath(options.work)), file=sys.stderr)
        raise


if __name__ == "__main__":
    sys.exit(runs.main(work, NAME))
