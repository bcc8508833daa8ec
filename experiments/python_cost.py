#!/usr/bin/env python3
"""Measures the overhead of Python: the same pictures with the package (python/) and with
run_inference, in turn.

  python_cost.py [--rounds N] [--runs N] [--build FOLDER] MODEL.cfg MODEL.weights PICTURE

Milliseconds are medians of the rounds' medians: for run_inference, its own time of a picture
(opening, decoding, layers); for Python, a complete call of Model.detect by the clock. Once for the
picture's file, once for pixels of the network's size (C reads a PPM file in memory, Python an
array). Resident KB: a Python process with ctypes and NumPy before and after it imports the package;
and the growth after runs, less that of a C program, which is what the library and the model need.

Exit status 1 if a promise is exceeded: 3 % and 1 ms, 1024 KB."""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MOST_RATIO, MOST_MS, MOST_KB = 1.03, 1.0, 1024
PROGRAM = r"""
#include <stdio.h>
#include <string.h>
#ifdef RUNS
#include "include/mafat.h"
#endif
static long resident(void)
{
  char line[256];
  long kb = 0;
  FILE *f = fopen("/proc/self/smaps_rollup", "r");
  while (f && fgets(line, sizeof line, f)) if (sscanf(line, "Rss: %ld", &kb) == 1) break;
  if (f) fclose(f);
  return kb;
}
int main(int argc, char **argv)
{
#ifdef RUNS
  struct mafat_model_options o = {.size = sizeof o};
  struct mafat_model *m;
  struct mafat_detections *boxes;
  o.memory_bytes = 1 << 30;
  if (argc != 4 || mafat_model_open(&m, argv[1], argv[2], &o, NULL)) return 1;
  for (int i = 0; i < RUNS; i++) {
    if (mafat_model_run_picture(m, argv[3], NULL) || mafat_model_detect(m, .5f, .45f, &boxes, NULL)) return 1;
    mafat_detections_close(&boxes);
  }
#endif
  (void)argc, (void)argv;
  printf("%ld\n", resident());
  return 0;
}
"""


def resident():
    with open("/proc/self/smaps_rollup", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("Rss:"))


def child(model, weights, picture, runs):
    """Runs in a child process: prints its measurements as JSON."""
    import ctypes  # pylint: disable=unused-import
    import numpy
    resident()
    before = resident()
    import mafat
    imported = resident()
    with open(picture, "rb") as file:
        head = file.read(2)
        pixels = None
        if head == b"P6":  # as write_ppm writes it
            side = [int(n) for n in file.readline().split()[:2]]
            pixels = numpy.frombuffer(file.read(), numpy.uint8).reshape(side[1], side[0], 3)
    with mafat.open(model, weights, memory="1G") as opened:
        times = []
        for _ in range(runs):
            begin = time.perf_counter()
            opened.detect(picture if pixels is None else pixels)
            times.append((time.perf_counter() - begin) * 1000)
        after = resident()
        print(json.dumps({"ms": statistics.median(times[1:]), "before": before, "imported": imported, "after": after, "plan": opened.plan}))


def write_ppm(path, width, height):
    with open(path, "wb") as file:
        file.write(b"P6 %d %d 255\n" % (width, height))
        file.write(bytes(i * 7919 >> 3 & 255 for i in range(width * height * 3)))


def said(command, **how):
    return subprocess.run(command, check=True, capture_output=True, text=True, **how).stdout


class Bench:
    def __init__(self, arguments, folder):
        self.a, self.folder = arguments, folder
        self.environment = dict(os.environ, MAFAT_LIBRARY=os.path.abspath(os.path.join(self.a.build, "libmafat.so.0")),
                                PYTHONPATH=os.path.join(ROOT, "python"), PYTHONPYCACHEPREFIX=folder)
        self.environment.pop("PYTHONDONTWRITEBYTECODE", None)

    def in_c(self, picture):
        out = said([os.path.join(self.a.build, "run_inference"), "--quiet", "--json", "--memory", "1G", "--repeat", str(self.a.runs),
                    self.a.model, self.a.weights, picture])
        answer = json.loads(out.splitlines()[0])
        return statistics.median(answer["latencies_ms"][1:]), answer["plan"]

    def in_python(self, picture):
        return json.loads(said([sys.executable, os.path.abspath(__file__), "--child", "--runs", str(self.a.runs), self.a.model, self.a.weights,
                                picture], env=self.environment))

    def growth_in_c(self):
        """Growth in resident KB of a C program: with the library, and after runs."""
        kb = []
        for name, flags in (("empty", []), ("runs", [f"-DRUNS={self.a.runs}"])):
            program, source = os.path.join(self.folder, name), os.path.join(self.folder, name + ".c")
            with open(source, "w", encoding="ascii") as file:
                file.write(PROGRAM)
            library = os.path.abspath(os.path.join(self.a.build, "libmafat.so.0"))
            subprocess.run(["cc", "-O2", f"-I{ROOT}", *flags, "-o", program, source, *([library, f"-Wl,-rpath,{os.path.dirname(library)}"] if flags else [])],
                           check=True)
            kb.append(int(said([program, *([self.a.model, self.a.weights, self.a.picture] if flags else [])])))
        return kb[1] - kb[0]


def compare(bench, name, picture, rounds):
    bench.in_python(picture)  # warm-up: compiles Python modules
    c, python = [], []
    for _ in range(rounds):
        milliseconds, plan = bench.in_c(picture)
        c.append(milliseconds)
        python.append(bench.in_python(picture))
    if {p["plan"] for p in python} != {plan}:
        print(f"python_cost.py: plans differ: {plan}, {python[0]['plan']}", file=sys.stderr)
    a, b = statistics.median(c), statistics.median(p["ms"] for p in python)
    print(f"| {name} | {a:.3f} | {b:.3f} | {b - a:+.3f} | {b / a:.3f} |", flush=True)
    return python, b <= a * MOST_RATIO and b - a <= MOST_MS


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    for name in ("model", "weights", "picture"):
        parser.add_argument(name)
    a = parser.parse_args()
    if a.child:
        child(a.model, a.weights, a.picture, a.runs)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(a, folder)
        facts = json.loads(said([os.path.join(a.build, "run_inference"), "--predict", "--json", a.model]))
        ppm = os.path.join("/dev/shm" if os.path.isdir("/dev/shm") else folder, f"python_cost-{os.getpid()}.ppm")
        try:
            write_ppm(ppm, facts["network"]["width"], facts["network"]["height"])
            print("| | C, ms | Python, ms | more, ms | ratio |\n|---|---|---|---|---|")
            python, quick = compare(bench, "a file", a.picture, a.rounds)
            _, also = compare(bench, "pixels of the network's size", ppm, a.rounds)
        finally:
            os.unlink(ppm)
        imported, runs = (statistics.median(p[key] - p["before"] for p in python) for key in ("imported", "after"))
        grown = bench.growth_in_c()
        print(f"\nresident beyond Python, ctypes and NumPy: {imported:.0f} KB imported, {runs:.0f} KB after runs, of which a C program has {grown}: "
              f"{runs - grown:.0f} KB are Python's")
    return 0 if quick and also and runs - grown <= MOST_KB and imported <= MOST_KB else 1


if __name__ == "__main__":
    sys.exit(main())
