"""Prints a line of run.sh's table, or of make test-gate's output, from limit.sh's verdict, and a
line of the CSV.

report.py head
report.py row|sample VERDICT CASE GOAL CSV     exit status 1: the goal is not reached"""

import csv
import datetime
import json
import os
import platform
import subprocess
import sys

COLUMNS = ("case", "goal", "limit_bytes", "verdict", "passed", "of", "reasons", "outcome", "plan", "algorithm", "cpu", "latency_ms",
           "first_ms", "unlimited_ms", "ratio", "against_ms", "against_ratio", "bar", "same_bits", "peak_bytes", "vm_hwm_bytes",
           "anon_bytes", "cache_bytes", "predicted_charge_bytes", "unlimited_peak_bytes", "swap_bytes", "faults_first",
           "faults_later", "limit_hits", "oom_kills", "read_bytes", "weights_read_bytes", "swap", "processor", "kernel", "commit",
           "date")
HEADS = (("case", -20), ("MiB", 6), ("goal", -7), ("verdict", -7), ("runs", 4), ("ms", 8), ("x free", 6), ("x other", 7),
         ("bar", 4), ("peak", 6), ("resident", 8), ("swap", 5), ("faults", 6), ("bits", -5), ("plan", 0))


def line(values):
    return "  ".join("%*s" % (width, value) if width else value for (_, width), value in zip(HEADS, values)).rstrip()


def number(value, decimals=2):
    return "-" if value is None else "%.*f" % (decimals, value)


def mebibytes(value):
    return number(None if value is None else value / 1048576)


def reached(result, goal):
    """True if the case reaches its goal. A stretch may be missed."""
    if goal == "caught":
        return result["verdict"] == "fail" and bool(result["swap_bytes"] or result["oom_kills"])
    return result["verdict"] == "pass"


def row(result, case, goal):
    faults = "-" if result["faults_later"] is None else "%d/%d" % (result["faults_first"], result["faults_later"])
    bits = {None: "-", True: "same", False: "other"}[result["same_bits"]]
    return [case, mebibytes(result["limit_bytes"]), goal, result["verdict"], "%d/%d" % (result["passed"], result["of"]),
            number(result["latency_ms"], 1), number(result["ratio"]), number(result["against_ratio"]), number(result["bar"]),
            mebibytes(result["peak_bytes"]), mebibytes(result["vm_hwm_bytes"]), mebibytes(result["swap_bytes"]), faults, bits,
            "%s %s" % (result["plan"] or "-", result["algorithm"] or "")]


def sample(result, case, goal, good):
    name = "limits %s" % case
    figures = "%s MiB" % mebibytes(result["limit_bytes"])
    if result["latency_ms"] is not None:
        figures += ", %s ms, %s times the time without a limit" % (number(result["latency_ms"], 1), number(result["ratio"]))
    if result["against_ratio"] is not None:
        figures += ", %s times that of the other plan" % number(result["against_ratio"])
    figures += ", peak %s, swap %s" % (mebibytes(result["peak_bytes"]), mebibytes(result["swap_bytes"]))
    if good:
        return "ok %s: %s%s" % (name, figures, " is noticed" if goal == "caught" else "")
    why = "; ".join(result["reasons"]) or "it passes, though it cannot stay inside: nothing was noticed"
    return "FAIL %s: %s (%s)" % (name, why, figures)


def commit():
    try:
        done = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False)
    except OSError:  # there is no git
        return "unknown"
    return done.stdout.strip() or "unknown"


def processor():
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            return next((text.split(":", 1)[1].strip() for text in file if text.startswith("model name")), platform.machine())
    except OSError:
        return platform.machine()


def append(path, result, case, goal):
    fields = dict(result, case=case, goal=goal, reasons="; ".join(result["reasons"]), processor=processor(),
                  kernel=platform.release(), commit=commit(), date=datetime.datetime.now().isoformat(timespec="seconds"))
    new = not os.path.exists(path) or os.path.getsize(path) == 0
    with open(path, "a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, extrasaction="ignore")
        if new:
            writer.writeheader()
        writer.writerow(fields)


def main():
    if sys.argv[1] == "head":
        print(line([name for name, _ in HEADS]), flush=True)
        return 0
    path, case, goal, results = sys.argv[2:6]
    with open(path, encoding="utf-8") as file:
        result = json.load(file)
    append(results, result, case, goal)
    good = reached(result, goal)
    if sys.argv[1] == "sample":
        print(sample(result, case, goal, good), flush=True)
        return 0 if good else 1
    print(line(row(result, case, goal)))
    for reason in result["reasons"]:
        print("    " + reason)
    sys.stdout.flush()
    return 0 if good or goal == "stretch" else 1


if __name__ == "__main__":
    sys.exit(main())
