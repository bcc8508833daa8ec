#!/usr/bin/env python3
"""Prints the least arenas of the networks that papers on memory measure on, as a Markdown table.

  least.py [--run] [NETWORK...]

Reads BUILD/networks (make networks). For their int8 twins: activations, input and scratch in KiB,
with kept weights and nothing computed twice, of whole maps and of what `--search least` finds; the
arena that holds them; the published target; and the seconds of the search. --run: time of the float
networks relative to whole maps, the least of some runs, in turn: by their least plans, and by the
fastest plan within the target, with an element counted as a byte, and its KiB. Candidates are the
least plan, those of `--predict --pareto`, and rows."""

import argparse
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("BUILD", os.path.join(ROOT, "build"))
WANTED = {"nasnet_a_imagenet": 310, "darts_imagenet": 190, "nasnet_a_cifar": 180, "darts_cifar": 180, "mobilenet_v2": 200, "fpnas": 320,
          "mcunet_v2_se_large": 340, "bert_tiny": 260}
WHOLE = "1x1/NoCut"
ROUNDS, REPEATS = 5, 5


def ask(arguments, refused=None):
    """run_inference's JSON; None: refused, with the reason appended to `refused`."""
    done = subprocess.run([os.path.join(BUILD, "run_inference"), "--json", "--quiet"] + arguments, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return json.loads(done.stdout)
    if refused:
        refused((done.stderr.strip().splitlines() or ["exit status %d" % done.returncode])[-1])
    return None


def run(arguments):
    return ask(arguments, lambda why: sys.exit("least.py: " + why))


def predict(path, choice):
    """The plan, and the KiB in which it computes."""
    facts = run(["--predict"] + choice + [path])
    if facts["redundant_macs"]:
        sys.exit("least.py: %s: %s computes again" % (path, facts["plan"]))
    return facts["plan"], sum(facts["breakdown"][tag] for tag in ("activations", "input", "scratch")) / 1024, facts["arena_bytes"] / 1024


def milliseconds(path, plan, raw):
    done = run(["--plan", plan, "--repeat", str(REPEATS), "--input", raw, path])
    return min(done["latencies_ms"])


def time_beside_whole(path, plan):
    """Time of a float plan, relative to whole maps."""
    elements = 1
    for side in run(["--predict", "--plan", WHOLE, path])["inputs"][0]["dims"]:
        elements *= side
    with tempfile.NamedTemporaryFile() as raw:
        raw.write(bytes(4 * elements))
        raw.flush()
        times = [(milliseconds(path, WHOLE, raw.name), milliseconds(path, plan, raw.name)) for _ in range(ROUNDS)]
    return min(with_plan for _, with_plan in times) / min(whole for whole, _ in times)


def fastest_within(path, asked):
    """The fastest plan of the float network within a size, an element counted as a byte: relative time and KiB, or None."""
    plans = ["rows%d/NoCut" % rows for rows in (4, 8, 16)] + [row["plan"] for row in run(["--predict", "--pareto", path])]
    plans.append(predict(path, ["--search", "least"])[0])
    found = None
    for plan in dict.fromkeys(plans):
        facts = ask(["--predict", "--plan", plan, path])
        if facts is None or facts["redundant_macs"] or ":loaded" in plan or ":streamed" in plan:
            continue
        kib = sum(facts["breakdown"][tag] for tag in ("activations", "input", "scratch")) / 4 / 1024
        if kib > asked:
            continue
        ratio = time_beside_whole(path, plan)
        found = min(found or (ratio, kib), (ratio, kib))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", action="store_true")
    parser.add_argument("networks", nargs="*", metavar="NETWORK", default=list(WANTED))
    options = parser.parse_args()
    print("| network | whole maps | least | arena | asked for | s to plan |%s" % (" time of floats | fastest within | its time |" if options.run else ""))
    print("|---|---|---|---|---|---|%s" % ("---|---|---|" if options.run else ""))
    for name in options.networks:
        path = os.path.join(BUILD, "networks", name)
        begin = sum(os.times()[2:4])
        _, least, arena = predict(path + "-int8.onnx", ["--search", "least"])
        seconds = sum(os.times()[2:4]) - begin
        _, whole, _ = predict(path + "-int8.onnx", ["--plan", WHOLE])
        row = "| %s | %.1f | %.1f | %.1f | %s | %.1f |" % (name, whole, least, arena, WANTED.get(name, ""), seconds)
        if options.run:
            within = fastest_within(path + ".onnx", WANTED.get(name, 0))
            row += " x %.2f | %s |" % (time_beside_whole(path + ".onnx", predict(path + ".onnx", ["--search", "least"])[0]),
                                       "%.1f | x %.2f" % within[::-1] if within else "none |")
        print(row, flush=True)


if __name__ == "__main__":
    main()
