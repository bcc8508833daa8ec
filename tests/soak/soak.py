#!/usr/bin/env python3
"""Runs run_inference at exactly the predicted charge, drawn from all the ways in which that could go wrong.

soak.py [options]

  --minutes N       stop then (default: 10)
  --runs N          stop after so many
  --seed N          of the random draws (default: a new one each time; printed)
  --only FACTOR=VALUES
                    these alone, as in --only state=drop,evict --only case='yolov2-*'; may be repeated
  --csv FILE        a line a run (default: BUILD/soak/runs.csv)
  --folder FOLDER   for what is made: inputs, a swap file (default: BUILD/soak); on a disk
  --sample          what make test-gate does: some twenty runs of the small networks, a line each, times are figures only
  --list            the factors and their values, and what cannot be tried here

Each run is in a group of its own whose limit is the predicted charge, rounded up to a page: of a case of tests/limits/cases.txt, by its
plan, the search's, the smallest, or with kept weights; from a picture, floats or a list; after drop_caches, after its files were
evicted, or warm; by several starters; with --lock auto or off; with swap on a file, on zram or without; beside a neighbour. Standard
output has a line for each run that was killed, failed or swapped, that had more than 10 major faults after the first picture, or took
more than 1.25 times as long as without a limit (medians of three pictures; a pair is timed up to three times, the best counts), and a
table last. Control groups v1; root.

Exit status: 0 nothing was killed, failed or swapped, or faulted so often; 1 something was; 2 misuse; 77 cannot be tried here; 128 + N after signal N."""

import argparse
import contextlib
import csv
import itertools
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True   # nothing but results is written into the tree
HERE = os.path.dirname(os.path.abspath(__file__))
os.chdir(os.path.dirname(os.path.dirname(HERE)))
sys.path[:0] = [HERE, os.path.dirname(HERE) + "/limits"]

from beside import LAUNCHER, MEMORY_LIMIT, STARTERS, Neighbour, Swap, group_for, missing_starter, missing_swap, remove_leftovers   # noqa: E402
from disturbance import Disturbance   # noqa: E402
from draw import Drawing, only   # noqa: E402
from groups import BUILD, charged, follow, make_cold, outcome, whole_pages, why_not   # noqa: E402
from judge import swap_of   # noqa: E402
from table import COLUMNS, TIME_RATIO, problems, slow, table   # noqa: E402
from works import INPUTS, PLANS, Impossible, Work, read_cases   # noqa: E402

PROGRAM = os.path.realpath(BUILD + "/run_inference")
PATIENCE = 300       # seconds, for a run
INTERVAL = 0.001     # seconds between two samples of its group
SWAP_RUNS = 20       # with the same swap
TRIES = 3            # for a pair that takes too long
QUIET_TRIES = 6      # for a run that lost pages to others
SAMPLE_RUNS = 20
SAMPLE_SECONDS = 18


class Stopped(Exception):
    """Ended by a signal."""


def stop(number, _):
    raise Stopped(number)


# ---- One run

def start(command, out, err, given):
    process = subprocess.Popen(command, stdout=out, stderr=err, stdin=subprocess.PIPE if given else subprocess.DEVNULL)
    if given:
        with contextlib.suppress(BrokenPipeError):   # the process may end before it reads the list
            process.stdin.write(given)
            process.stdin.close()
    return process


def reported(path):
    """memory_limit's report in the soak's fields."""
    with open(path, encoding="utf-8") as file:
        report = json.load(file)
    found = {"peak_bytes": report["peak_bytes"], "kernel_bytes": None, "rss_bytes": report["anon_peak_bytes"],
             "cache_bytes": report["cache_peak_bytes"], "major_faults": report["major_faults"], "limit_hits": report["limit_hits"],
             "swapped_pages": swap_of(report) // os.sysconf("SC_PAGESIZE")}
    killed = report["oom_kills"] or report["outcome"] in ("oom", "signal")
    return {**found, "outcome": "killed" if killed else outcome(report["exit_status"] or 0)}


def run(starter, state, limit, arguments, work, disturbance=None):
    """Runs once. Returns the measurements."""
    make_cold(state, [path for path in [PROGRAM, LAUNCHER, MEMORY_LIMIT] + work.files if os.path.exists(path)])
    if disturbance:
        disturbance.begin()
    with group_for(starter, limit) as group, tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err, \
            tempfile.NamedTemporaryFile("w+") as report:
        words = STARTERS[starter](group, report.name)
        if starter == "memory_limit":
            words += ["--limit", str(limit or "none"), "--timeout", str(PATIENCE), "--"]
        process = start(words + [PROGRAM] + arguments, out, err, work.list)
        late = time.monotonic() + PATIENCE
        try:
            most, swap, waiting = follow(group, process, INTERVAL, late, starter == "sh-waits")
        except BaseException:
            process.terminate()   # memory_limit cleans up before it ends
            group.kill()
            process.wait()
            raise
        found = {"outcome": outcome(process.returncode), **charged(group, most, swap, waiting)}
        if starter == "memory_limit":
            found = reported(report.name)
        out.seek(0)
        err.seek(0)
        answers = [json.loads(line) for line in out if line.startswith("{")]
        found["message"] = (err.read().strip().splitlines() or [""])[-1]
        return {**found, **told([a for a in answers if "latency_ms" in a])}


def told(answers):
    """The program's report. For raw floats it prints one for all three runs."""
    first = answers[0] if answers else {}
    return {"predicted_charge_bytes": first.get("predicted_charge_bytes"), "locked_bytes": first.get("locked_bytes"),
            "latency_ms": statistics.median(a["latency_ms"] for a in answers) if answers else None,
            "faults_first": first.get("major_faults"),
            "faults_later": max((a["major_faults"] for a in answers[1:]), default=None)}


# ---- A choice: without a limit, and at the predicted charge

class Soak:
    """Draws and executes runs."""

    def __init__(self, o, factors, cases, disturbance):
        self.o, self.factors, self.disturbance = o, factors, disturbance
        self.random = random.Random(o.seed)
        self.drawing = Drawing(self.random, {name: values for name, values in factors.items() if name != "swap"})
        self.cases = {case.name: case for case in cases}
        self.works, self.free, self.impossible = {}, {}, {}
        self.rows = []

    def work(self, choice):
        key = choice["case"], choice["plan"], choice["input"]
        if key in self.impossible:
            raise Impossible(self.impossible[key])
        if key not in self.works:
            try:
                self.works[key] = self.made(choice)
            except Impossible as why:
                self.impossible[key] = str(why)
                raise
        return self.works[key]

    def made(self, choice):
        work = Work(self.cases[choice["case"]], choice["plan"], choice["input"], self.o.folder)
        if work.memory is None:
            work.take_least(run("launcher", "warm", None, work.arguments("auto"), work)["message"])
        return work

    def unlimited(self, choice, work, anew=False):
        """The same run without a limit, with the same neighbour; the fastest of those so far."""
        key = choice["case"], choice["plan"], choice["input"], choice["neighbour"]
        if anew or key not in self.free:
            found = run("launcher", "warm", None, work.arguments("auto"), work)
            if found["outcome"] != "done":
                raise Impossible(found["message"] or found["outcome"])
            if key not in self.free or found["latency_ms"] < self.free[key]["latency_ms"]:
                self.free[key] = found
            return found
        return self.free[key]

    def undisturbed(self, *what):
        """A run, repeated if it lost pages to others, whatever its limit."""
        lost = 0
        for disturbed in range(QUIET_TRIES):
            found = run(*what, self.disturbance)
            if not self.disturbance.happened():
                break
            lost += found["swapped_pages"]
        return {**found, "disturbed": disturbed, "disturbed_pages": lost}

    def limited(self, choice, work, limit):
        found = self.undisturbed(choice["starter"], choice["state"], limit, work.arguments(choice["lock"]), work)
        if choice["input"] == "raw" and found["outcome"] == "done":
            found["faults_later"] = found["faults_first"]
            if found["faults_first"] > 10:   # which of them belong to the first picture?
                first = self.undisturbed(choice["starter"], choice["state"], limit, work.arguments(choice["lock"], 1), work)
                found["faults_later"] = max(0, found["faults_first"] - (first["faults_first"] or 0))
        return found

    def row(self, choice):
        """A line of the CSV for a run at the predicted charge; up to two repetitions if only its
        time is too long."""
        work = self.work(choice)
        with Neighbour(choice["neighbour"], self.o.folder):
            free = self.unlimited(choice, work)
            limit = whole_pages(free["predicted_charge_bytes"])
            found = self.limited(choice, work, limit)
            ratios = self.ratios(choice, work, limit, found, free)
        return {**choice, "run": len(self.rows) + 1, "limit_bytes": limit, "free_ms": free["latency_ms"],
                "ratio": min(ratios) if ratios else None, **found}

    def ratios(self, choice, work, limit, found, free):
        found_ratios = [found["latency_ms"] / free["latency_ms"]] if found["latency_ms"] else []
        while found_ratios and not self.o.sample and min(found_ratios) > TIME_RATIO and len(found_ratios) < TRIES:
            again = self.unlimited(choice, work, True)
            more = self.limited(choice, work, limit)
            if more["latency_ms"] is None or more["swapped_pages"]:
                break
            found_ratios.append(more["latency_ms"] / again["latency_ms"])
        return found_ratios


# ---- All of them

def tell(o, row):
    """Prints a line for a failing run; in a sample for each."""
    bad, figures = problems(row, o.sample), slow(row)
    name = " ".join(row[key] for key in ("case", "plan", "input", "state", "starter", "lock", "swap", "neighbour"))
    if o.sample:
        print("%s soak: %s%s" % ("FAIL" if bad else "ok", name, ": " + "; ".join(bad) if bad else ""), flush=True)
    elif bad or figures:
        print("%s %d: %s: %s" % ("FAIL" if bad else "slow", row["run"], name, "; ".join(bad + figures)), flush=True)


def progress(soak, until):
    if sys.stderr.isatty() and not soak.o.sample:
        bad = sum(bool(problems(row)) for row in soak.rows)
        left = max(0, int(until - time.monotonic()))
        sys.stderr.write("\r\033[K%d runs, %d bad, %d:%02d left" % (len(soak.rows), bad, left // 60, left % 60))


def soak_with(soak, swap, until, writer, file):
    """A number of runs with the same swap."""
    for _ in range(SWAP_RUNS if not soak.o.sample else SAMPLE_RUNS // len(soak.factors["swap"])):
        if time.monotonic() >= until or len(soak.rows) >= soak.o.runs:
            return
        try:
            row = soak.row(soak.drawing.next({"swap": swap}))
        except Impossible:
            continue
        soak.rows.append(row)
        writer.writerow(row)
        file.flush()
        tell(soak.o, row)
        progress(soak, until)


def soak_all(soak, file):
    writer = csv.DictWriter(file, COLUMNS, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    until = time.monotonic() + soak.o.minutes * 60
    for swap in itertools.cycle(soak.factors["swap"]):
        if time.monotonic() >= until or len(soak.rows) >= soak.o.runs:
            break
        with Swap(swap, soak.o.folder):
            soak_with(soak, swap, until, writer, file)


def finish(soak):
    for name, why in sorted({(case if soak.cases[case].why else " ".join((case, plan, kind)), why)
                             for (case, plan, kind), why in soak.impossible.items()}):
        print("not tried: %s: %s" % (name, why.removeprefix(name + ": ")))
    print("seed %d" % soak.o.seed, *(table(soak.rows) if soak.rows else ["no runs"]), sep="\n")


# ---- What there is

def factors_here(o, cases):
    """Factors with the frequencies of their values, and what is not possible here, with reasons."""
    missing = {"starter": {name: why for name in STARTERS for why in [missing_starter(name)] if why},
               "swap": {kind: why for kind in ("file", "zram", "none") for why in [missing_swap(kind, o.folder)] if why}}
    factors = {"state": {"drop": 1, "evict": 1, "warm": 1}, "lock": {"auto": 1, "off": 1},
               "starter": {name: 1 for name in STARTERS if name not in missing["starter"]},
               "input": {kind: 1 for kind in INPUTS}, "plan": {plan: 1 for plan in PLANS},
               "swap": {kind: 1 for kind in ("file", "zram", "none") if kind not in missing["swap"]},
               "neighbour": {"none": 2, "cache": 1, "disk": 1, "memory": 1},
               "case": {case.name: case.chance() for case in cases}}
    return factors, missing


def sample_of(factors):
    small = {name: 1 for name in factors["case"] if name.startswith("sample-shapes") or name.startswith("yolo-fastest-4")}
    # Only the soak uses zram, which is the whole machine's.
    swap = {kind: weight for kind, weight in factors["swap"].items() if kind != "zram"}
    return {**factors, "case": small, "swap": swap, "neighbour": {"none": 3, "cache": 1}}


def arguments():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--runs", type=int, default=1 << 30)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--csv")
    parser.add_argument("--folder", default=BUILD + "/soak")
    parser.add_argument("--sample", action="store_true")
    parser.add_argument("--list", action="store_true")
    o = parser.parse_args()
    o.folder = os.path.realpath(o.folder)
    o.csv = o.csv or o.folder + "/runs.csv"
    if o.seed is None:
        o.seed = 1 if o.sample else random.SystemRandom().randrange(1 << 31)
    if o.sample:
        o.minutes, o.runs = SAMPLE_SECONDS / 60, SAMPLE_RUNS
    return o


def cannot(o, why):
    print("skip soak: " + why if o.sample else "soak.py: " + why, file=sys.stdout if o.sample else sys.stderr)
    return 0 if o.sample else 77


def main():
    o = arguments()
    why = why_not() or next(("needs %s: make %s" % (p, p) for p in (PROGRAM, LAUNCHER) if not os.access(p, os.X_OK)), None)
    if why:
        return cannot(o, why)
    os.makedirs(o.folder, exist_ok=True)
    remove_leftovers()
    cases = read_cases()
    factors, missing = factors_here(o, cases)
    if not factors["swap"]:
        factors["swap"] = {"system": 1}   # swap that is already on
    for factor, names in missing.items():
        for name, reason in names.items():
            print("%s %s %s: %s" % ("skip soak" if o.sample else "without", factor, name, reason))
    try:
        factors = only(sample_of(factors) if o.sample else factors, o.only)
    except ValueError as error:
        print("soak.py: %s" % error, file=sys.stderr)
        return 2
    if o.list:
        print(*("%s: %s" % (name, ", ".join(values)) for name, values in factors.items()), sep="\n")
        return 0
    status = 0
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    with open(o.csv, "w", encoding="utf-8", newline="") as file, contextlib.ExitStack() as stack:
        soak = Soak(o, factors, cases, stack.enter_context(Disturbance()))
        stack.callback(sys.stderr.write, "\r\033[K" if sys.stderr.isatty() else "")
        try:
            soak_all(soak, file)
        except Stopped as stopped:
            status = 128 + stopped.args[0]
    if not o.sample:
        finish(soak)
    return status or int(any(problems(row, o.sample) for row in soak.rows))


if __name__ == "__main__":
    sys.exit(main())
