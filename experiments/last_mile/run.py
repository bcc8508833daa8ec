#!/usr/bin/env python3
"""Measures where the time of a picture goes in small networks; writes last_mile.csv and README.md.

  run.py [--report] [--cpu LEVEL] [--repeat N] [--timed COMMAND]

Networks: those of MAFAT_MODELS and of BUILD/networks (make networks) that are present. The picture has
the network's size and is in the page cache. --timed: a command that starts the timed runs, such as
"taskset -c 1". --report: only writes README.md."""

import argparse
import csv
import os
import random
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

from pages import wrapped   # noqa: E402

BUILD = os.environ.get("BUILD", "build")
MODELS = os.environ.get("MAFAT_MODELS", "")
GENERATED = os.path.join(BUILD, "networks")
NETWORKS = (("yolo-fastest-1.1", 320, MODELS, (".cfg", ".weights")), ("yolo-fastest-1.1-xl", 320, MODELS, (".cfg", ".weights")),
            ("mobilenet_v1_025_128-int8", 128, GENERATED, (".onnx",)), ("mobilenet_v2_025_224-int8", 224, GENERATED, (".onnx",)))
PLANS = ("", "1x1", "1x1:dw0", "rows1")   # "": as found


def picture(path, side):
    """Slopes and noise."""
    draw = random.Random(1)
    pixels = bytes((x * (c + 1) // 3 + y * (3 - c) // 2 + draw.randrange(24)) % 256 for y in range(side) for x in range(side) for c in range(3))
    with open(path, "wb") as f:
        f.write(b"P6\n%d %d\n255\n" % (side, side) + pixels)


def measure(options):
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "picture.ppm")
        for name, side, place, endings in NETWORKS:
            files = [os.path.join(place, name + ending) for ending in endings]
            if not all(os.path.exists(file) for file in files):
                continue
            picture(path, side)
            for plan in PLANS:
                arguments = ["--cpu", options.cpu, "--repeat", str(options.repeat)] + (["--plan", plan] if plan else [])
                out = subprocess.run(options.timed + [os.path.join(BUILD, "last_mile")] + arguments + files + [path], check=True, capture_output=True, text=True)
                rows += [{"network": name, "cpu": options.cpu, "asked": plan or "found", **row} for row in csv.DictReader(out.stdout.splitlines())]
    return rows


def lines(head, rows):
    return ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)] + ["| " + " | ".join(row) + " |" for row in rows] + [""]


def section(name, rows):
    asked = {}
    for row in rows:
        asked.setdefault(row["asked"], {})[row["what"]] = row
    found = asked["found"]
    plan = next(what for what in found if what.startswith("plan "))[5:]
    whole = float(found["a picture"]["us"])
    table = []
    for what, row in found.items():
        us, macs = float(row["us"] or 0), float(row["million_macs"] or 0)
        if what.startswith("plan ") or what.startswith("page") or "picture" in what and what != "rows of the picture":
            continue
        table.append((us, [what, "%.0f" % us, "%.1f %%" % (100 * us / whole), row["steps"] if int(row["steps"]) else "", "%.1f" % macs if macs else "",
                           "%.1f" % (macs / us * 1e3) if macs else ""]))
    table.sort(key=lambda entry: -entry[0])
    text = ["## %s, %s" % (name, found["a picture"]["cpu"]), "",
            "Plan `%s`: %.0f us a picture; the first one takes %.0f us and has %s page faults (a later one %s)." % (
                plan, whole, float(found["the first picture"]["us"]), found["page faults of the first picture"]["steps"], found["page faults of a later one"]["steps"]), ""]
    text += lines(["work", "us", "of a picture", "steps", "million multiply-adds", "GMAC/s"], [row for _, row in table])
    text += ["Other plans: whole maps; whole maps with depthwise layers as steps of their own; as few rows as possible.", ""]
    others = []
    for key in PLANS[1:]:
        own = asked[key]
        steps = sum(int(row["steps"]) for what, row in own.items() if row["steps"] and not what.startswith(("page", "between")))
        others.append(["`%s`" % key, "%.0f" % float(own["a picture"]["us"]), str(steps), "%.0f" % float(own["between steps"]["us"])])
    text += lines(["plan", "us a picture", "steps", "us between them"], others)
    steps = [sum(int(r["steps"]) for w, r in asked[key].items() if r["steps"] and not w.startswith(("page", "between"))) for key in ("1x1", "rows1")]
    more = float(asked["rows1"]["a picture"]["us"]) - float(asked["1x1"]["a picture"]["us"])
    text += ["`rows1` takes %.2f us more for each additional step: the overhead of a step, and of tiles with few rows." % (more / (steps[1] - steps[0])), ""]
    return text


def report():
    with open(os.path.join(HERE, "last_mile.csv"), newline="") as f:
        rows = list(csv.DictReader(f))
    text = ["# Where the time of a picture goes", "",
            "This page shows the time of each layer and of all other work for one picture, in small networks. To measure it again:", "",
            "    make build/last_mile && experiments/last_mile/run.py", "",
            "[run.py](run.py) runs [last_mile.c](last_mile.c), a program over the public library, on one thread with a picture of the network's size in the page cache. Each row is the least of many runs, so the sum of the rows is a little less than the least of whole pictures.", ""]
    for name in dict.fromkeys(row["network"] for row in rows):
        text += section(name, [row for row in rows if row["network"] == name])
    with open(os.path.join(HERE, "README.md"), "w") as f:
        f.write(wrapped("\n".join(text)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--cpu", default="avx2")
    parser.add_argument("--repeat", type=int, default=300)
    parser.add_argument("--timed", default=[], type=str.split)
    options = parser.parse_args()
    if not options.report:
        rows = measure(options)
        with open(os.path.join(HERE, "last_mile.csv"), "w", newline="") as f:
            writer = csv.DictWriter(f, rows[0].keys(), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    report()


if __name__ == "__main__":
    main()
