#!/usr/bin/env python3
"""Compares the charge of a cold run_inference in a memory cgroup with the prediction.

cold.py [options] -- MODEL.cfg [MODEL.weights] PICTURE       or   --input FLOATS in place of the picture

Each run is started by build/launcher, a static program that joins a group of its own and becomes run_inference: once without a
limit, for the peak, and then --runs times with exactly the predicted charge as its limit. A line of CSV for each. Control groups
v1; root. Files are used as they are.

  --cold drop|evict|warm  drop_caches before each run (default; the whole machine's); the run's own files alone; nothing
  --memory SIZE           what the plan is made for (default: 64M); least: what the smallest plan needs
  --program FILE          (default: BUILD/run_inference)
  --runs N                at the predicted charge (default: 3)
  --bisect                in place of these: the least limit in which --runs times a run of one inference and one of --repeat are neither
                          killed nor swapped, and the others of these take 10 major faults at most; to 16 KB, from 1 MB below the
                          predicted charge on. The last line says how far below that it is
  --repeat N              inferences in each (default: 3)
  --no-head               without the CSV's head

A page of the group's own counts as swapped if it was seen in swap, every half millisecond, or came back from there. Exit
status: 0 no run was killed, failed or swapped; 1 one did; 2 misuse; 77 cannot be tried here."""

import argparse
import csv
import json
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True   # nothing but results is written into the tree
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from groups import BUILD, Group, charged, follow, make_cold, outcome, whole_pages, why_not   # noqa: E402

BISECT_BYTES = 16384
FAULTS_LATER = 10
COLUMNS = ("model", "input", "state", "memory", "limit_bytes", "predicted_charge_bytes", "peak_bytes", "over_bytes", "rss_bytes",
           "cache_bytes", "kernel_bytes", "cache_left_bytes", "swapped_pages", "major_faults", "outcome")


def run(o, limit, memory, repeat):
    """Runs once. Returns the measurements."""
    program = os.path.realpath(o.program)
    launcher = os.path.realpath(BUILD + "/launcher")
    make_cold(o.cold, [program, launcher] + [word for word in o.command if os.path.isfile(word)])
    with Group("mafat-cold", limit) as group, tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        with subprocess.Popen([launcher, group.folder, program, "--json", "--quiet", "--memory", memory, "--repeat", str(repeat)]
                              + o.command, stdout=out, stderr=err, stdin=subprocess.DEVNULL) as process:
            most, swap, _ = follow(group, process)
        out.seek(0)
        err.seek(0)
        answer = out.readline()
        return {"answer": json.loads(answer) if answer else {}, "message": err.read().strip(), "status": process.returncode,
                **charged(group, most, swap)}


def row(o, found, limit, memory):
    predicted = found["answer"].get("predicted_charge_bytes")
    shown = {"model": os.path.basename(o.command[0]), "input": os.path.basename(o.command[-1]), "state": o.cold, "memory": memory,
             "limit_bytes": limit, "predicted_charge_bytes": predicted,
             "over_bytes": found["peak_bytes"] - predicted if predicted else None,
             "outcome": outcome(found["status"])}
    return {**found, **shown}


def least_memory(o):
    """The sufficient budget that a refused run reports."""
    found = re.search(r"--memory (\d+K) would do", run(o, None, "1M", 1)["message"])
    return found.group(1) if found else "1M"


def bisect(o, free, memory, table):
    """The least limit that passes, from at most 1 MiB below the predicted charge up to it; None if
    that fails."""
    def passes(limit):
        for _ in range(o.runs):
            pair = [row(o, run(o, limit, memory, repeat), limit, memory) for repeat in (1, o.repeat)]
            table.writerows(pair)
            if any(found["outcome"] != "done" or found["swapped_pages"] for found in pair):
                return False
            if pair[1]["major_faults"] - pair[0]["major_faults"] > FAULTS_LATER:
                return False
        return True

    good = whole_pages(free["predicted_charge_bytes"])
    bad = good - (1 << 20)
    if not passes(good):
        return None
    if passes(bad):
        return bad
    while good - bad > BISECT_BYTES:
        middle = whole_pages((good + bad) // 2)
        if passes(middle):
            good = middle
        else:
            bad = middle
    return good


def arguments():
    parser = argparse.ArgumentParser(usage=__doc__, add_help=True)
    parser.add_argument("--cold", choices=("drop", "evict", "warm"), default="drop")
    parser.add_argument("--memory", default="64M")
    parser.add_argument("--program", default=BUILD + "/run_inference")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--bisect", action="store_true")
    parser.add_argument("--no-head", action="store_true")
    parser.add_argument("command", nargs="+")
    words = sys.argv[1:]
    at = words.index("--") if "--" in words else len(words)
    o = parser.parse_args(words[:at] + ["-"])
    o.command = words[at + 1:]
    if not o.command:
        parser.error("expected -- MODEL PICTURE")
    # The model comes first, for the CSV; run_inference accepts options anywhere.
    if o.command[0] == "--input":
        o.command = o.command[2:] + o.command[:2]
    return o


def main():
    o = arguments()
    if why_not():
        print("cold.py: %s" % why_not(), file=sys.stderr)
        return 77
    for program in (BUILD + "/launcher", o.program):
        if not os.access(program, os.X_OK):
            print("cold.py: needs %s: make %s" % (program, program), file=sys.stderr)
            return 77
    table = csv.DictWriter(sys.stdout, COLUMNS, extrasaction="ignore", lineterminator="\n")
    if not o.no_head:
        table.writeheader()
    memory = least_memory(o) if o.memory == "least" else o.memory
    free = row(o, run(o, None, memory, o.repeat), None, memory)
    table.writerow(free)
    if free["outcome"] != "done":
        print("cold.py: %s" % free["message"], file=sys.stderr)
        return 1
    if o.bisect:
        least = bisect(o, free, memory, table)
        below = None if least is None else whole_pages(free["predicted_charge_bytes"]) - least
        print("# %s %s: predicted %d, least %s, %s KB below" % (free["model"], free["input"], free["predicted_charge_bytes"], least,
                                                               "?" if below is None else below // 1024))
        return 1 if least is None else 0
    good = True
    for _ in range(o.runs):
        limit = whole_pages(free["predicted_charge_bytes"])
        found = row(o, run(o, limit, memory, o.repeat), limit, memory)
        table.writerow(found)
        sys.stdout.flush()
        good = good and found["outcome"] == "done" and found["swapped_pages"] == 0
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
