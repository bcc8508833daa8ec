#!/usr/bin/env python3
"""Measures what README.md tells: units.csv, choices.csv, shapes.csv, cachegrind.csv, and then writes README.md and the figure.

  run.py [--report] [--no-cachegrind] [--only PART] [--seconds S] [--timed COMMAND]

PART: choices, shapes, kernels or caches. --seconds: of each network's or shape's plans, run side by side. --timed: what timed runs are
started by, such as "taskset -c 1". --types, --orders: of the kernels, some of int8,float and dw-pw,pw-dw, beside which others stay. --report: only writes what is made of the CSV files. Networks: BUILD/networks (make networks)."""

import argparse
import csv
import itertools
import os
import subprocess
import sys
import tempfile

import pairs
import report

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.environ.get("BUILD", "build")
PROGRAM = os.path.join(BUILD, "separable")
FAST = (65536, 36700)
LOGITS = ["--logits", "4"]
# Other plans for comparison, which need few bytes a step, and whole maps.
PLANS = ("1x1", "rows4")
EXTENTS = (1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 32, 48, 64)   # rows of a depthwise output at a time
CACHED = ("mobilenet_v1_025_224", "mobilenet_v1_025_128", "mobilenet_v2_025_224", "ds_cnn")


def table(arguments, before=()):
    out = subprocess.run(list(before) + [PROGRAM] + arguments, check=True, capture_output=True, text=True).stdout
    return list(csv.DictReader(out.splitlines()))


def times(plans, path, timed, seconds, column="ms"):
    """The least milliseconds of each plan; plans that the program considers equal run equally
    often."""
    arguments = [word for plan in plans for word in ("--plan", plan)]
    return [row[column] for row in table(arguments + ["--seconds", str(seconds), path], timed)]


def write(name, rows):
    with open(os.path.join(HERE, name), "w", newline="") as f:
        writer = csv.DictWriter(f, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def model(name):
    return os.path.join(BUILD, "networks", name + "-int8.onnx")


def choices(networks, timed, seconds):
    rows, units = [], []
    for name in networks:
        for fast in FAST:
            found = table(LOGITS + ["--fast", str(fast), model(name)])
            ms = times(["apart", "1x1", "rows4"] + [row["plan"] for row in found], model(name), timed, seconds)
            for row, own in zip(found, ms[3:]):
                rows.append({"network": name, "fast": fast, **row, "ms": own, "apart_ms": ms[0], "today_ms": ms[1], "rows4_ms": ms[2]})
            units += [{"network": name, "fast": fast, **row} for row in table(LOGITS + ["--fast", str(fast), "--units", model(name)])]
    write("choices.csv", rows)
    write("units.csv", units)


def convolution(filters, size, stride, groups):
    return "[convolutional]\nfilters=%d\nsize=%d\nstride=%d\npad=1\ngroups=%d\nactivation=relu\n" % (filters, size, stride, groups)


def shapes():
    """The 36 shapes of the published analysis, in both orders."""
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


def kernel_plans(depthwise_first, rows, stride, channels):
    """(how, extent, plan from layer 0 on): separate layers first."""
    extents = [n for n in EXTENTS if n < rows] + [rows]
    plans = [("apart", 0, "1x1:dw0")]
    if depthwise_first:
        return plans + [("dw-pw rows", n, "1x1:dw%d" % n) for n in extents]
    plans += [("pw-dw rows", stride * rows if n == rows else stride * (n - 1) + 3, "rows%d" % n) for n in extents]
    return plans + [("pw-dw channels", 16 * n, "split(c%d:{first}-{last})" % -(-channels // (16 * n))) for n in (1, 2, 4) if 32 * n <= channels]


def kernels(timed, seconds, kinds):
    """The 36 shapes in both orders, of bytes and floats: each extent and the two layers separately."""
    rows = [row for row in report.read("kernels.csv") if (row["type"], row["order"]) not in kinds]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "pair.onnx")
        for integers in (True, False):
            for depthwise_first in (True, False):
                if ("int8" if integers else "float", "dw-pw" if depthwise_first else "pw-dw") not in kinds:
                    continue
                for side, stride, c, wider in itertools.product((32, 64, 128), (1, 2), (32, 64, 128), (1, 2)):
                    k = wider * c
                    pairs.write(path, depthwise_first, side, stride, c, k, integers)
                    first = 1 if integers else 0
                    plans = kernel_plans(depthwise_first, side // stride, stride, c if depthwise_first else k)
                    texts = [text.format(first=first, last=first + 1) for _, _, text in plans]
                    for (how, extent, _), text, ms in zip(plans, texts, times(texts, path, timed, seconds, "convolutions_ms")):
                        rows.append({"type": "int8" if integers else "float", "order": "dw-pw" if depthwise_first else "pw-dw", "side": side,
                                     "stride": stride, "c": c, "k": k, "how": how, "extent": extent, "plan": text, "ms": ms})
    write("kernels.csv", sorted(rows, key=lambda row: (row["type"] != "int8", row["order"])))


def misses(name, plan, rounds):
    """First- and last-level misses of reads and writes of the whole program."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out")
        subprocess.run(["valgrind", "--tool=cachegrind", "--cache-sim=yes", "--I1=32768,8,64", "--D1=65536,8,64", "--LL=524288,8,64",
                        "--cachegrind-out-file=" + out, PROGRAM, "--plan", plan, "--rounds", str(rounds), model(name)],
                       check=True, capture_output=True)
        with open(out) as f:
            lines = f.read().splitlines()
    events = next(l for l in lines if l.startswith("events:")).split()[1:]
    sums = next(l for l in lines if l.startswith("summary:")).split()[1:]
    counts = dict(zip(events, map(int, sums)))
    return counts["D1mr"] + counts["D1mw"], counts["DLmr"] + counts["DLmw"]


def cachegrind():
    """Cache misses of one run in bytes: half the difference between three and two rounds of two
    runs each, in lines of 64."""
    rows = []
    for name in CACHED:
        for plan in PLANS:
            two, three = misses(name, plan, 2), misses(name, plan, 3)
            rows.append({"network": name, "plan": plan, "d1_bytes": 32 * (three[0] - two[0]), "ll_bytes": 32 * (three[1] - two[1])})
    write("cachegrind.csv", rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--no-cachegrind", action="store_true")
    parser.add_argument("--only", choices=("choices", "shapes", "kernels", "caches"))
    parser.add_argument("--types", default="int8,float", type=lambda text: text.split(","))
    parser.add_argument("--orders", default="dw-pw,pw-dw", type=lambda text: text.split(","))
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--timed", default="", type=str.split)
    options = parser.parse_args()
    if not options.report:
        networks = [row["network"] for row in report.read("published.csv")]
        missing = [name for name in networks if not os.path.exists(model(name))]
        if missing:
            sys.exit("%s is not there: make networks NETWORKS='%s'" % (model(missing[0]), " ".join(missing)))
        only = options.only
        if only in (None, "choices"):
            choices(networks, options.timed, options.seconds)
        if only in (None, "shapes"):
            shapes()
        if only in (None, "kernels"):
            kernels(options.timed, options.seconds, [(t, o) for t in options.types for o in options.orders])
        if only == "caches" or not (only or options.no_cachegrind):
            cachegrind()
    report.write()


if __name__ == "__main__":
    main()
