#!/usr/bin/env python3
"""Compares random graphs of three formats with established programs, in batches.

  run.py [--graphs N] [--batch N] [--only FORMAT] [--first N]

FORMAT: darknet (libdarknet, layer by layer: tests/oracle/oracle_random.c); onnx or onnx-integers
(onnxruntime); tflite or tflite-integers (TFLite's library), of floats and 8-bit integers; or
tflite-strange: files with some operators that do not fit together. experiments/peers/install.sh
installs the programs, tests/differential/random_graphs.c makes the files, experiments/peers/judge_*
run them. Each graph is also run by three random plans, on one to three threads, at random kernel
levels, with random algorithms and weight placement, and must give the bits of the untiled run. If a
program crashes in a batch, the batch is run again in halves: a crash by a single graph is a
failure. A crash that no single graph causes comes from libdarknet's writes past its arrays. N
graphs of each (1000), numbers from --first on.

Exit status: 0, 1 with failures, 77 if none of the programs is installed."""

import argparse
import os
import platform
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(os.environ.get("BUILD", os.path.join(ROOT, "build")))
PEERS = os.path.join(BUILD, "peers")
TFLITE = os.path.join(PEERS, "tflite", "package", "cc_deps", "linux_arm64" if platform.machine() == "aarch64" else "linux_amd64")
DONE = re.compile(r"^(ok|FAIL) (\d+) graphs")


def pipe(producer, consumer, environment=None):
    """Lines of both programs, and whether both ended normally."""
    with subprocess.Popen(producer, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=False) as maker:
        judge = subprocess.run(consumer, stdin=maker.stdout, capture_output=True, check=False, env=dict(os.environ, **(environment or {})))
        maker.stdout.close()
        told = maker.stderr.read()
    return (judge.stdout + judge.stderr + told).decode(errors="replace").splitlines(), maker.returncode in (0, 1) and judge.returncode in (0, 1)


class Darknet:
    name = "darknet"

    def is_there(self):
        return os.access(os.path.join(BUILD, "oracle_random"), os.X_OK)

    def run(self, first, n):
        done = subprocess.run([os.path.join(BUILD, "oracle_random"), str(first), str(n)], capture_output=True, check=False,
                              env=dict(os.environ, OMP_NUM_THREADS="1"))
        return (done.stdout + done.stderr).decode(errors="replace").splitlines(), done.returncode in (0, 1)


class Onnx:
    name = "onnx"

    def is_there(self):
        return os.path.isdir(os.path.join(PEERS, "node_modules", "onnxruntime-node"))

    def run(self, first, n):
        return pipe([os.path.join(BUILD, "random_graphs"), self.name, str(first), str(n)], ["node", "experiments/peers/judge_onnxruntime.js"],
                    {"NODE_PATH": os.path.join(PEERS, "node_modules")})


class OnnxIntegers(Onnx):
    name = "onnx-integers"


class TFLite:
    name = "tflite"

    def is_there(self):
        judge, library = os.path.join(PEERS, "judge_tflite"), os.path.join(TFLITE, "libtensorflowlite_c.so")
        if not os.path.exists(library):
            return False
        if not os.path.exists(judge):
            subprocess.run(["gcc", "-O2", "-I" + os.path.join(os.path.dirname(TFLITE), "include"), "-o", judge, "experiments/peers/judge_tflite.c", library,
                            "-Wl,-rpath," + TFLITE, "-lm"], check=True)
        return True

    def run(self, first, n):
        return pipe([os.path.join(BUILD, "random_graphs"), self.name, str(first), str(n)], [os.path.join(PEERS, "judge_tflite")])


class TFLiteIntegers(TFLite):
    name = "tflite-integers"


class TFLiteStrange(TFLite):
    name = "tflite-strange"
    may_end = True  # some of these files crash TFLite's library


class Count:
    def __init__(self):
        self.graphs = self.failures = self.refused = self.crashes = self.unsteady = 0

    def try_batch(self, peer, first, n):
        lines, ended = peer.run(first, n)
        if not ended and n > 1:
            self.crashes += 1
            half = n // 2
            self.try_batch(peer, first, half)
            self.try_batch(peer, first + half, n - half)
            return
        if not ended and getattr(peer, "may_end", False):
            self.refused += 1
        elif not ended:
            lines.append("FAIL graph %d: ended by a signal" % first)
        for line in lines:
            if line.startswith("FAIL") and not DONE.match(line):
                found = re.match(r"FAIL \D*(\d+):", line)
                if found and n > 1 and peer.name == "darknet" and not any(again.startswith("FAIL") for again in peer.run(int(found.group(1)), 1)[0]):
                    self.unsteady += 1  # caused by libdarknet's accesses past its arrays
                    continue
                self.failures += 1
                print("FAIL differential %s: %s" % (peer.name, line[5:]), flush=True)
        done = [DONE.match(line) for line in lines]
        self.graphs += min((int(found.group(2)) for found in done if found), default=0)
        self.refused += sum(int(number) for line in lines if DONE.match(line) for number in re.findall(r"(\d+) (?:refused|that libdarknet cannot run)", line))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", type=int, default=1000)
    parser.add_argument("--batch", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", choices=("darknet", "onnx", "tflite", "onnx-integers", "tflite-integers", "tflite-strange"), action="append")
    o = parser.parse_args()
    os.chdir(ROOT)
    peers, failed = [p for p in (Darknet(), Onnx(), TFLite(), OnnxIntegers(), TFLiteIntegers(), TFLiteStrange()) if (not o.only or p.name in o.only)], False
    for peer in peers[:]:
        if not peer.is_there():
            print("skip differential %s: its program is not there (experiments/peers/install.sh)" % peer.name)
            peers.remove(peer)
    counts = {p.name: Count() for p in peers}
    # formats in turns: an interrupted run has some of each
    for first in range(o.first, o.first + o.graphs, o.batch):
        for peer in peers:
            counts[peer.name].try_batch(peer, first, min(o.batch, o.first + o.graphs - first))
            print("   %s %d: %d graphs, %d failures" % (peer.name, first, counts[peer.name].graphs, counts[peer.name].failures), flush=True)
    for name, count in counts.items():
        failed |= count.failures > 0
        print("%s differential %s: %d graphs, %d that one of both does not take, %d failures%s%s" %
              ("FAIL" if count.failures else "ok", name, count.graphs, count.refused, count.failures, "; %d batches were run again in halves" % count.crashes if count.crashes else "",
               "; %d differed in a batch and not by themselves" % count.unsteady if count.unsteady else ""))
    return 77 if not peers else 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
