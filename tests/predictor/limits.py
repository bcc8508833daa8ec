#!/usr/bin/env python3
"""Checks that the smallest memory limit in which a run passes is the predicted one.

For each listed case of tests/limits/cases.txt with its plan: the predicted charge, and from there
down in steps of 256 KiB, whether the run passes in a fresh memory group (tests/limits/limit.sh: no
swap, no major faults after the first inference, at most 1.25 times the time without a limit). It
must pass at the prediction and fail 768 KiB below. Without the reserve: here the file system's
records are in the system's caches and the starter is in no group, so nothing uses it. Needs root;
BUILD names the build folder. Exit status 0 as predicted, 1 not, 77 not possible here."""

import argparse
import json
import os
import shlex
import subprocess
import sys

STEP, WITHIN, TIMES = 256 << 10, 512 << 10, 3
BUILD = os.environ.get("BUILD", "build")
# Rows and panels; kept, loaded and streamed weights; both algorithms; pictures in rows and whole.
CASES = ["yolov2-16-8", "yolov2-16-6", "yolov2-16-10-auto", "yolov2-7", "resnet50", "densenet201", "yolo-fastest-4",
         "yolo-fastest-xl-6", "vgg-16", "sample-yolov2", "sample-shapes"]


class Case:
    def __init__(self, name, runs):
        composed = subprocess.run(["bash", "tests/limits/run.sh", "--command", name, "--runs", str(runs)],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = composed.stdout.strip().splitlines()[-1:] or [composed.stderr.strip()]
        words = shlex.split(line[0])
        if composed.returncode or "--" not in words:
            raise LookupError(line[0])
        after = words.index("--")
        end = words.index("--against") if "--against" in words else len(words)
        self.name, self.options = name, []
        self.command = [words[after + 1], "--best-effort", "--reserve", "0"] + words[after + 2:end]
        options = words[1:after]
        for i in range(0, len(options), 2):  # without options for the reference run and the limit
            if options[i] not in ("--against-limit", "--limit", "--bar", "--time"):
                self.options += options[i:i + 2]

    def predicted(self):
        done = subprocess.run([self.command[0], "--json", "--quiet"] + self.command[1:], stdout=subprocess.PIPE, check=True)
        return json.loads(done.stdout)["predicted_charge_bytes"]

    def passes(self, limit):
        """The verdict and its reason. Too long a time is tried again, because others use the
        machine, too; swap and faults are not."""
        for _ in range(TIMES):
            good, reasons = self.try_limit(limit)
            if good or not all("times the time" in reason for reason in reasons):
                break
        return good, "; ".join(reasons)

    def try_limit(self, limit):
        done = subprocess.run(["bash", "tests/limits/limit.sh", "--json", "--limit", str(limit)] + self.options + ["--"] + self.command,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode not in (0, 1):
            raise LookupError(done.stderr.strip().splitlines()[-1])
        verdict = json.loads(done.stdout.splitlines()[-1])
        return done.returncode == 0, verdict["reasons"]


def mebibytes(n):
    return "%.2f" % (n / 1048576)


def try_case(case):
    predicted = case.predicted() // 4096 * 4096
    least, why = None, ""
    for limit in range(predicted, predicted - WITHIN - STEP - 1, -STEP):
        good, why = case.passes(limit)
        if not good:
            break
        least = limit
    if least is None:
        print("FAIL limits %s: predicted %s MiB, does not pass in them: %s" % (case.name, mebibytes(predicted), why))
        return False
    good = predicted - least <= WITHIN
    print("%s limits %s: predicted %s MiB, passes in %s MiB, %d KiB less%s" %
          ("ok" if good else "FAIL", case.name, mebibytes(predicted), mebibytes(least), (predicted - least) >> 10,
           "; below: " + why[:110] if good else " and may pass in still less"))
    return good


def main():
    parser = argparse.ArgumentParser(description="predicted charge against the smallest limit that passes (root)")
    parser.add_argument("cases", nargs="*", help="of tests/limits/cases.txt (default: %s)" % " ".join(CASES))
    parser.add_argument("--runs", type=int, default=2, help="processes of each limit, beside as many without (default: 2)")
    o = parser.parse_args()
    check = subprocess.run(["bash", "tests/limits/limit.sh", "--check"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if check.returncode:
        print("skip limits: " + check.stdout.strip())
        sys.exit(77)
    bad = n = 0
    for name in o.cases or CASES:
        try:
            case = Case(name, o.runs)
            good = try_case(case)
        except LookupError as reason:
            print("skip limits %s: %s" % (name, reason))
            continue
        sys.stdout.flush()
        n, bad = n + 1, bad + (not good)
    print("%s: %d of %d pairs of network and plan need what was predicted, to 512 KiB" % ("FAIL limits" if bad or not n else "ok limits",
                                                                                          n - bad, n))
    sys.exit(1 if bad or not n else 0)


if __name__ == "__main__":
    main()
