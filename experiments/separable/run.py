#!/usr/bin/env python3
"""Measures what README.md tells: units.csv, choices.csv, shapes.csv, cachegrind.csv, and then writes README.md and the figure.

  run.py [--report] [--no-cachegrind] [--rounds N]

--report: only writes what is made of the CSV files. Networks: BUILD/networks (make networks)."""

import argparse
import csv
import os
import subprocess
import sys
import tempfile

import report

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.environ.get("BUILD", "build")
PROGRAM = os.path.join(BUILD, "separable")
FAST = (65536, 36700)
LOGITS = ["--logits", "4"]
# Plans of today's that hold what one step reads in few bytes, beside whole maps.
PLANS = ("1x1", "rows4")
CACHED = ("mobilenet_v1_025_224", "mobilenet_v1_025_128", "mobilenet_v2_025_224", "ds_cnn")


def table(arguments):
    out = subprocess.run([PROGRAM] + arguments, check=True, capture_output=True, text=True).stdout
    return list(csv.DictReader(out.splitlines()))


def write(name, rows):
    with open(os.path.join(HERE, name), "w", newline="") as f:
        writer = csv.DictWriter(f, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def model(name):
    return os.path.join(BUILD, "networks", name + "-int8.onnx")


def choices(networks, rounds):
    rows, units = [], []
    for name in networks:
        times = table(["--plan", "1x1", "--rounds", str(rounds), model(name)])[0]
        rows_ms = table(["--plan", "rows4", "--rounds", str(rounds), "--alone", model(name)])[0]["today"]
        for fast in FAST:
            for row in table(LOGITS + ["--fast", str(fast), model(name)]):
                rows.append({"network": name, "fast": fast, **row, "apart_ms": times["apart"], "today_ms": times["today"], "rows4_ms": rows_ms})
            units += [{"network": name, "fast": fast, **row} for row in table(LOGITS + ["--fast", str(fast), "--units", model(name)])]
    write("choices.csv", rows)
    write("units.csv", units)


def convolution(filters, size, stride, groups):
    return "[convolutional]\nfilters=%d\nsize=%d\nstride=%d\npad=1\ngroups=%d\nactivation=relu\n" % (filters, size, stride, groups)


def shapes():
    """The 36 shapes of the published analysis, both ways round."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "pair.cfg")
        for depthwise_first in (True, False):
            for side in (32, 64, 128):
                for stride in (1, 2):
                    for c in (32, 64, 128):
                        for k in (c, 2 * c):
                            pair = [convolution(c if depthwise_first else k, 3, stride, c if depthwise_first else k), convolution(k, 1, 1, 1)]
                            with open(path, "w") as f:
                                f.write("[net]\nheight=%d\nwidth=%d\nchannels=%d\n" % (side, side, c))
                                f.write("".join(pair if depthwise_first else pair[::-1]))
                            for row in table(["--bytes", "1", "--units", path]):
                                if row["choice"] != "latency":
                                    rows.append({"order": "dw-pw" if depthwise_first else "pw-dw", "side": side, "stride": stride, "c": c, "k": k, **row})
    write("shapes.csv", rows)


def misses(name, plan, rounds):
    """First-level and last-level misses of reads and writes, of all the program."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out")
        subprocess.run(["valgrind", "--tool=cachegrind", "--cache-sim=yes", "--I1=32768,8,64", "--D1=65536,8,64", "--LL=524288,8,64",
                        "--cachegrind-out-file=" + out, PROGRAM, "--plan", plan, "--rounds", str(rounds), "--alone", model(name)],
                       check=True, capture_output=True)
        with open(out) as f:
            lines = f.read().splitlines()
    events = next(l for l in lines if l.startswith("events:")).split()[1:]
    sums = next(l for l in lines if l.startswith("summary:")).split()[1:]
    counts = dict(zip(events, map(int, sums)))
    return counts["D1mr"] + counts["D1mw"], counts["DLmr"] + counts["DLmw"]


def cachegrind():
    """Of one run: what three rounds have more than two."""
    rows = []
    for name in CACHED:
        for plan in PLANS:
            two, three = misses(name, plan, 2), misses(name, plan, 3)
            rows.append({"network": name, "plan": plan, "d1_bytes": 64 * (three[0] - two[0]), "ll_bytes": 64 * (three[1] - two[1])})
    write("cachegrind.csv", rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--no-cachegrind", action="store_true")
    parser.add_argument("--rounds", type=int, default=200)
    options = parser.parse_args()
    if not options.report:
        networks = [row["network"] for row in report.read("published.csv")]
        missing = [name for name in networks if not os.path.exists(model(name))]
        if missing:
            sys.exit("%s is not there: make networks NETWORKS='%s'" % (model(missing[0]), " ".join(missing)))
        choices(networks, options.rounds)
        shapes()
        if not options.no_cachegrind:
            cachegrind()
    report.write()


if __name__ == "__main__":
    main()
