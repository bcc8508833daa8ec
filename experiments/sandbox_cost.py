#!/usr/bin/env python3
"""Measures the overhead of run_inference's sandbox: the same runs with and without it, in turn; or
of another build, such as hardened and not (make BUILD=build/soft HARDENED=).

  sandbox_cost.py [--rounds N] [--only TEXT] [--build FOLDER] [--beside FOLDER]

Works: the project's own network, and real ones of each format if MAFAT_MODELS names their folder;
one and several pictures, kept and streamed weights, one and two threads. For each: milliseconds of
a process with one run (STARTS a round); of one run, the least of RUNS in a process; medians of
both, with their differences and ratios; peak resident bytes (BUILD/resident_peak); and, as root
with control groups v1, the kernel's memory. Single threads are pinned to one CPU.

With --beside, "off" is that build and "on" is --build's, both with a sandbox if available.

Exit status 1 if a promise is exceeded: 1.01 times the time of runs, 0.5 ms of the process, 16 KiB
resident; 64 KiB for another build."""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SHAPES = os.path.join(ROOT, "models", "shapes")
PICTURES = [os.path.join(SHAPES, "holdout", "%06d.jpg" % i) for i in range(6)]
GROUPS = "/sys/fs/cgroup/memory" if os.path.isdir("/sys/fs/cgroup/memory") else None
MOST_RATIO, MOST_MS, MOST_BYTES, MOST_BYTES_OF_BUILD = 1.01, 0.5, 16 << 10, 64 << 10
RUNS, STARTS = 10, 5


def works():
    shapes = [os.path.join(SHAPES, "shapes.cfg"), os.path.join(SHAPES, "shapes.weights")]
    found = [("shapes", [*shapes, PICTURES[0]]), ("shapes, six pictures", [*shapes, *PICTURES]),
             ("shapes, streamed", ["--plan", "rows1:streamed/NoCut", *shapes, PICTURES[0]]),
             ("shapes, two threads", ["--threads", "2", "--plan", "1x1/NoCut", *shapes, PICTURES[0]])]
    models = os.environ.get("MAFAT_MODELS")
    if models:
        fastest = os.path.join(models, "yolo-fastest-1.1.")
        found += [("yolo-fastest", ["--plan", "1x1/NoCut", fastest + "cfg", fastest + "weights", PICTURES[0]]),
                  ("yolox_nano.onnx", ["--plan", "1x1/NoCut", os.path.join(models, "onnx", "yolox_nano.onnx"), PICTURES[0]]),
                  ("yolox_nano.onnx, streamed", ["--plan", "rows2:streamed/NoCut", os.path.join(models, "onnx", "yolox_nano.onnx"), PICTURES[0]])]
        found += [(name, ["--plan", "1x1/NoCut", os.path.join(models, "tflite", name), PICTURES[0]])
                  for name in ("mobilenet_v1_0.25_128_quant.tflite", "mobilenet_v2_1.0_224_quant.tflite")
                  if os.path.exists(os.path.join(models, "tflite", name))]
    return found


class Bench:
    def __init__(self, build, beside, folder):
        program, self.folder = os.path.join(build, "run_inference"), folder
        self.sides = {"off": [program, "--sandbox", "off"], "on": [program, "--sandbox", "on"]}
        if beside:
            self.sides = {"off": [os.path.join(beside, "run_inference")], "on": [program]}
        self.launcher, self.peak = os.path.join(build, "launcher"), os.path.join(build, "resident_peak")

    def time(self, side, arguments, runs):
        """Milliseconds of the process, and the least of a run, for each picture."""
        command = [*self.sides[side], "--json", "--quiet", "--repeat", str(runs), *arguments]
        path = os.path.join(self.folder, "told")
        actions = [(os.POSIX_SPAWN_OPEN, 1, path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)]
        start = time.perf_counter()
        status = os.waitpid(os.posix_spawn(command[0], command, os.environ, file_actions=actions), 0)[1]
        wall = time.perf_counter() - start
        if status:
            sys.exit("sandbox_cost.py: %s: wait status %d" % (" ".join(command), status))
        with open(path, encoding="utf-8") as told:
            answers = [json.loads(line) for line in told]
        if "--sandbox" in command and (answers[0]["sandbox"] == "off") != (side == "off"):
            sys.exit("sandbox_cost.py: this machine has no sandbox: %s" % answers[0]["sandbox"])
        return wall * 1e3, sum(min(a["latencies_ms"]) for a in answers)

    def once(self, side, arguments):
        return [*self.sides[side], "--quiet", *arguments]

    def resident(self, side, arguments):
        path = os.path.join(self.folder, "peak")
        subprocess.run([self.peak, path, *self.once(side, arguments)], stdout=subprocess.DEVNULL, check=True)
        with open(path, encoding="ascii") as told:
            return int(told.read().split()[0])

    def charge(self, side, arguments):
        """Peak of the kernel's memory for the process; None if it is not counted separately."""
        group = os.path.join(GROUPS, "mafat-sandbox-cost-%d" % os.getpid()) if GROUPS else ""
        try:
            os.mkdir(group)
        except OSError:
            return None
        try:
            subprocess.run([self.launcher, group, *self.once(side, arguments)], stdout=subprocess.DEVNULL, check=True)
            with open(os.path.join(group, "memory.kmem.max_usage_in_bytes"), encoding="ascii") as told:
                return int(told.read())
        except OSError:
            return None
        finally:
            os.rmdir(group)


def measure(bench, arguments, rounds):
    """Measurements by kind: (without, with) for each round."""
    found = {"process": [], "run": [], "resident": [], "charge": []}
    for i in range(rounds + 1):
        for runs in [1] * STARTS + [RUNS]:
            times = {s: bench.time(s, arguments, runs) for s in (("off", "on") if i % 2 else ("on", "off"))}
            if i:  # the first run reads files
                name, which = ("process", 0) if runs == 1 else ("run", 1)
                found[name].append([times["off"][which], times["on"][which]])
    for _ in range(3):
        found["resident"].append([bench.resident(s, arguments) for s in ("off", "on")])
        found["charge"].append([bench.charge(s, arguments) for s in ("off", "on")])
    return found


def median(pairs, which):
    return statistics.median(p[which] for p in pairs)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=30, metavar="N")
    parser.add_argument("--only", default="", metavar="TEXT")
    parser.add_argument("--build", default=os.environ.get("BUILD", os.path.join(ROOT, "build")), metavar="FOLDER")
    parser.add_argument("--beside", metavar="FOLDER")
    o = parser.parse_args()
    most_bytes = MOST_BYTES_OF_BUILD if o.beside else MOST_BYTES
    above, cpus = 0, os.sched_getaffinity(0)
    print("| work | process, ms, off | on less off | run, ms, off | on / off | resident, KiB, off | on less off | kernel, KiB, off | on less off |")
    print("|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(o.build, o.beside, folder)
        for name, arguments in works():
            if o.only not in name:
                continue
            os.sched_setaffinity(0, cpus if "--threads" in arguments else {max(cpus)})
            found = measure(bench, arguments, o.rounds)
            more_ms = statistics.median(on - off for off, on in found["process"])
            ratio = statistics.median(on / off for off, on in found["run"])
            more_bytes = median(found["resident"], 1) - median(found["resident"], 0)
            charged = all(None not in pair for pair in found["charge"])
            kernel = "%.0f | %+.0f" % (median(found["charge"], 0) / 1024, (median(found["charge"], 1) - median(found["charge"], 0)) / 1024) if charged else "- | -"
            print("| %s | %.2f | %+.3f | %.3f | %.4f | %.0f | %+.0f | %s |" % (name, median(found["process"], 0), more_ms, median(found["run"], 0), ratio,
                                                                             median(found["resident"], 0) / 1024, more_bytes / 1024, kernel), flush=True)
            above += ratio > MOST_RATIO or more_ms > MOST_MS or more_bytes > most_bytes
    if above:
        print("%d above 1.01 of the time of runs, 0.5 ms of the process or %d KiB resident" % (above, most_bytes >> 10))
    return 1 if above else 0


if __name__ == "__main__":
    sys.exit(main())
