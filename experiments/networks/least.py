#!/usr/bin/env python3
"""The least arenas of the networks that papers on memory measure on, as a table in Markdown.

    least.py [--run] [NETWORK...]

Reads BUILD/networks (make networks). Of their int8 twins: activations, input and scratch in KiB, weights kept and nothing computed
twice, of whole maps and of what `--search least` finds, beside what was asked for, and how many seconds finding it took. --run: how
long the networks of floats take by their own least plans, relative to whole maps: the least of some runs, in turn."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("BUILD", os.path.join(ROOT, "build"))
WANTED = {"nasnet_a_imagenet": 310, "darts_imagenet": 190, "nasnet_a_cifar": 180, "darts_cifar": 180, "mobilenet_v2": 200, "fpnas": 320,
          "mcunet_v2_se_large": 340, "bert_tiny": 260}
WHOLE = "1x1/NoCut"
ROUNDS, REPEATS = 5, 5


def run(arguments):
    done = subprocess.run([os.path.join(BUILD, "run_inference"), "--json", "--quiet"] + arguments, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit("least.py: " + (done.stderr.strip().splitlines() or ["exit status %d" % done.returncode])[-1])
    return json.loads(done.stdout)


def predict(path, choice):
    """The plan, and KiB of what it computes in."""
    facts = run(["--predict"] + choice + [path])
    if facts["redundant_macs"]:
        sys.exit("least.py: %s: %s computes again" % (path, facts["plan"]))
    return facts["plan"], sum(facts["breakdown"][tag] for tag in ("activations", "input", "scratch")) / 1024


def milliseconds(path, plan, raw):
    done = run(["--plan", plan, "--repeat", str(REPEATS), "--input", raw, path])
    return min(done["latencies_ms"])


def slowdown(path):
    """Of the least plan beside whole maps."""
    plan = predict(path, ["--search", "least"])[0]
    elements = 1
    for side in run(["--predict", "--plan", WHOLE, path])["inputs"][0]["dims"]:
        elements *= side
    with tempfile.NamedTemporaryFile() as raw:
        raw.write(bytes(4 * elements))
        raw.flush()
        times = [(milliseconds(path, WHOLE, raw.name), milliseconds(path, plan, raw.name)) for _ in range(ROUNDS)]
    return min(least for _, least in times) / min(whole for whole, _ in times)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", action="store_true")
    parser.add_argument("networks", nargs="*", metavar="NETWORK", default=list(WANTED))
    options = parser.parse_args()
    print("| network | whole maps | least | asked for | s to plan |%s" % (" time of floats |" if options.run else ""))
    print("|---|---|---|---|---|%s" % ("---|" if options.run else ""))
    for name in options.networks:
        path = os.path.join(BUILD, "networks", name)
        begin = time.monotonic()
        _, least = predict(path + "-int8.onnx", ["--search", "least"])
        seconds = time.monotonic() - begin
        _, whole = predict(path + "-int8.onnx", ["--plan", WHOLE])
        print("| %s | %.1f | %.1f | %s | %.1f |%s" % (name, whole, least, WANTED.get(name, ""), seconds,
                                                    " x %.2f |" % slowdown(path + ".onnx") if options.run else ""), flush=True)


if __name__ == "__main__":
    main()
