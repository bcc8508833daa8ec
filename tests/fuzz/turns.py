#!/usr/bin/env python3
"""Runs the fuzz targets that `make fuzz` has built in BUILD, for hours, one after the other, each
for its share of CPU time.

  turns.py [--turn S] [--hours H] [--executions N] [TARGET...]
  turns.py --each S [TARGET...]     each once, for S seconds by the clock, until one finds something
  (make fuzz)
  turns.py --keep [TARGET...]       adds inputs to the repository's, tests/fuzz/corpus/TARGET.tar.xz

A turn is TURN seconds of CPU time (60), so that a busy machine tries no less. The next target is
the one with the least time for its share; api, which calls the whole library, starts. Totals are in
BUILD/tally.json, and the corpora in BUILD/corpus grow: a stopped run (INT, TERM) continues. Without
a limit it runs until it is stopped. --table prints the totals.

--keep adds inputs that reach code which neither seeds nor the repository's inputs reach, shortest
first, at most 32 KB for each target, so that the next run on any machine starts from there.

A finding stays in BUILD as TARGET-crash-... and is printed at once; its target is not run again
until it is rebuilt. Exit status: 0, or 1 with findings."""

import argparse
import contextlib
import glob
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("BUILD", "build/fuzz")
LENGTHS = {"run": 6000, "packed": 6000, "plan": 256, "spec": 256, "api": 256, "heads": 600, "npy": 600, "options": 600, "calibration": 2500, "http": 2500,
           "json": 2500, "image": 20000, "video": 8000}
KEPT_BYTES = 32 << 10  # limit for each target in the repository
# Small readers reach millions of executions in minutes. Targets that make graphs or run networks
# reach hundreds a second, and find more.
SHARES = {"api": 4, "run": 5, "import": 4, "onnx": 3, "tflite": 4, "packed": 4, "cfg": 3, "plan": 2, "weights": 2}
# Allocation stacks take a third of small readers' time; running a finding alone prints them.
OPTIONS = {"ASAN_OPTIONS": "malloc_context_size=2:quarantine_size_mb=16"}


def targets():
    return sorted(os.path.basename(f)[5:-2] for f in glob.glob("tests/fuzz/fuzz_*.c") if os.path.exists(os.path.join(BUILD, os.path.basename(f)[:-2])))


class Tally:
    """Runs, executions, processor seconds and findings of each target."""

    def __init__(self, path):
        self.path, self.rows = path, {}
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                self.rows = json.load(file)

    def row(self, target):
        return self.rows.setdefault(target, {"turns": 0, "executions": 0, "seconds": 0.0, "findings": [], "built": 0})

    def add(self, target, executions, seconds):
        row = self.row(target)
        row["turns"] += 1
        row["executions"] += executions
        row["seconds"] += seconds
        self.write()

    def write(self):
        with open(self.path + ".part", "w", encoding="utf-8") as file:
            json.dump(self.rows, file, indent=1)
        os.rename(self.path + ".part", self.path)

    def total(self, word):
        return sum(row[word] for row in self.rows.values())

    def print_table(self):
        print("| target | executions | seconds of a processor | in a second | inputs kept |\n|---|---|---|---|---|")
        for target, row in sorted(self.rows.items(), key=lambda item: -item[1]["executions"]):
            kept = len(os.listdir(os.path.join(BUILD, "corpus", target))) if os.path.isdir(os.path.join(BUILD, "corpus", target)) else 0
            print("| %s | %d | %.0f | %.0f | %d |" % (target, row["executions"], row["seconds"], row["executions"] / max(row["seconds"], 1e-9), kept))
        print("| all | %d | %.0f (%.2f hours) | | |" % (self.total("executions"), self.total("seconds"), self.total("seconds") / 3600))


def cpu_seconds(pid):
    """CPU seconds of a running process; None: it has ended."""
    try:
        with open("/proc/%d/stat" % pid, encoding="ascii") as file:
            words = file.read().rpartition(")")[2].split()
    except OSError:
        return None
    return None if words[0] == "Z" else (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def folders(target):
    """Folders of inputs besides those found by runs: the seeds, and the repository's unpacked
    corpus."""
    return [f for f in (os.path.join(BUILD, "seeds", target), os.path.join(BUILD, "inputs", target)) if os.path.isdir(f)]


def corpus(target):
    return os.path.join(BUILD, "corpus", target)


def program(target):
    return os.path.join(BUILD, "fuzz_" + target)


def command(target, timeout):
    os.makedirs(corpus(target), exist_ok=True)
    words = [program(target), "-max_len=%d" % LENGTHS.get(target, 6000), "-timeout=%d" % timeout, "-rss_limit_mb=1500", "-print_final_stats=1",
             "-reload=0", "-report_slow_units=%d" % timeout, "-artifact_prefix=" + os.path.join(BUILD, target + "-")]
    words += ["-dict=" + d for d in [os.path.join(BUILD, "seeds", {"run": "cfg", "packed": "cfg"}.get(target, target) + ".dict")] if os.path.exists(d) and os.path.getsize(d)]
    return words + [corpus(target)] + folders(target)


def run_turn(target, seconds, timeout):
    """Executions, seconds, and whether it ended normally."""
    log = os.path.join(BUILD, target + ".log")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(log, "wb") as file:
        # In its own session: a signal to all of us (Ctrl-C, timeout) would end it within an input,
        # like a finding.
        child = subprocess.Popen(command(target, timeout), stdout=file, stderr=file, env=dict(os.environ, **OPTIONS), start_new_session=True)
        told = False
        while child.poll() is None:
            used = cpu_seconds(child.pid)
            if not told and (Stop.asked or (used is not None and used >= seconds)):
                child.send_signal(signal.SIGUSR1)  # it ends after the current input and prints its statistics
                told = True
            time.sleep(.2)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(log, encoding="utf-8", errors="replace") as file:
        text = file.read()
    counts = re.findall(r"^stat::number_of_executed_units: *(\d+)|^#(\d+)\t", text, re.MULTILINE)
    executions = max([int(a or b) for a, b in counts], default=0)
    return executions, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, child.returncode == 0


class Stop:
    asked = False

    @staticmethod
    def ask(*_):
        Stop.asked = True


def next_target(tally, names):
    """The target with the least time for its share, of those without findings since they were
    built; api first."""
    able = [t for t in names if not tally.row(t)["findings"] or tally.row(t)["built"] != os.path.getmtime(os.path.join(BUILD, "fuzz_" + t))]
    return min(able, key=lambda t: (tally.row(t)["seconds"] / SHARES.get(t, 1), t != "api", t), default=None)


def run_each(names, seconds, timeout):
    """Runs each target once. False: one has found something."""
    for target in names:
        print("fuzz_%s for %g s" % (target, seconds), flush=True)
        log = os.path.join(BUILD, target + ".log")
        with open(log, "wb") as file:
            status = subprocess.run([*command(target, timeout), "-max_total_time=%d" % seconds], stdout=file, stderr=file, check=False).returncode
        with open(log, encoding="utf-8", errors="replace") as file:
            lines = file.read().splitlines()
        if status:
            print("\n".join(lines[-40:]), file=sys.stderr)
            return False
        print("\n".join(line for line in lines if re.match(r"stat::(number_of_executed_units|peak_rss)", line)), flush=True)
    return True


def keep(target, timeout):
    """Adds to the repository's inputs. Returns their number."""
    kept = os.path.join(BUILD, "inputs", target)
    os.makedirs(kept, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        merged, found = os.path.join(folder, "merged"), os.path.join(folder, "found")
        for to, sources in ((merged, folders(target)), (found, [corpus(target)])):
            os.mkdir(to)
            for path in (os.path.join(source, name) for source in sources for name in os.listdir(source)):
                with contextlib.suppress(FileNotFoundError):  # a concurrent run removes inputs
                    shutil.copy(path, to)
        before = set(os.listdir(merged))
        # Edges only: counts guide a search but are not worth an input here.
        subprocess.run([program(target), "-merge=1", "-use_counters=0", "-timeout=%d" % timeout, "-rss_limit_mb=1500", merged, found],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        new = [os.path.join(merged, name) for name in set(os.listdir(merged)) - before]
        size = sum(os.path.getsize(os.path.join(kept, name)) for name in os.listdir(kept))
        added = []
        for path in sorted(new, key=lambda path: (os.path.getsize(path), path)):
            size += os.path.getsize(path)
            if size > KEPT_BYTES:
                break
            added.append(shutil.copy(path, kept))
        if added:
            subprocess.run(["tests/fuzz/add_inputs.sh", target, *added], check=True)
    return len(os.listdir(kept))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", nargs="*")
    parser.add_argument("--turn", type=float, default=60)
    parser.add_argument("--hours", type=float, default=float("inf"), help="of the processor, all together")
    parser.add_argument("--executions", type=float, default=float("inf"), help="all together")
    parser.add_argument("--each", type=float, metavar="S")
    parser.add_argument("--timeout", type=int, help="seconds by the clock for one input: 600, for the machine may be busy; with --each, 10")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--keep", action="store_true")
    o = parser.parse_args()
    os.chdir(ROOT)
    tally = Tally(os.path.join(BUILD, "tally.json"))
    if o.table:
        tally.print_table()
        return 0
    timeout = o.timeout or (10 if o.each else 600)
    names, found = o.target or targets(), False
    absent = [target for target in names if not os.path.exists(program(target))]
    if absent:
        sys.exit("turns.py: expected one of %s, found %s" % (" ".join(targets()), absent[0]))
    if o.each or not os.path.isdir(os.path.join(BUILD, "seeds")):
        shutil.rmtree(os.path.join(BUILD, "seeds"), ignore_errors=True)
        subprocess.run(["tests/fuzz/make_seeds.sh", os.path.join(BUILD, "seeds")], check=True)
    if o.each:
        return 0 if run_each(names, o.each, timeout) else 1
    if o.keep:
        for target in names:
            if os.path.isdir(corpus(target)):
                print("%s: %d inputs" % (target, keep(target, timeout)), flush=True)
        return 0
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, Stop.ask)
    while not Stop.asked and tally.total("seconds") < o.hours * 3600 and tally.total("executions") < o.executions:
        target = next_target(tally, names)
        if target is None:
            break
        executions, seconds, good = run_turn(target, o.turn, timeout)
        tally.add(target, executions, seconds)
        if not good:
            found = True
            row = tally.row(target)
            row["findings"].append(time.strftime("%H:%M:%S"))
            row["built"] = os.path.getmtime(os.path.join(BUILD, "fuzz_" + target))
            tally.write()
            os.replace(os.path.join(BUILD, target + ".log"), os.path.join(BUILD, "%s-finding-%d.log" % (target, len(row["findings"]))))
            print("FAIL fuzz_%s: %s/%s-finding-%d.log" % (target, BUILD, target, len(row["findings"])), flush=True)
    tally.print_table()
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
