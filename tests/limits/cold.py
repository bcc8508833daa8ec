#!/usr/bin/env python3
"""What a memory group is charged for run_inference on a machine that has nothing of it in memory, beside the predicted charge.

cold.py [options] -- MODEL.cfg [MODEL.weights] PICTURE       or   --input FLOATS in place of the picture

Each run is started by build/launcher, a static program that joins a group of its own and becomes run_inference: once without a
limit, for the peak, and then --runs times with exactly the predicted charge as its limit. A line of CSV for each. Control groups
v1; root. Files are used as they are.

  --cold drop|evict|warm  drop_caches before each run (default; the whole machine's); the run's own files alone; nothing
  --memory SIZE           what the plan is made for (default: 64M); least: what the smallest plan needs
  --program FILE          (default: BUILD/run_inference)
  --runs N                at the predicted charge (default: 3)
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
import time

MOUNT = "/sys/fs/cgroup/memory"
BUILD = os.environ.get("BUILD", "build")
PAGE = os.sysconf("SC_PAGESIZE")
COLUMNS = ("model", "input", "state", "memory", "limit_bytes", "predicted_charge_bytes", "peak_bytes", "over_bytes", "rss_bytes",
           "cache_bytes", "kernel_bytes", "cache_left_bytes", "swapped_pages", "major_faults", "outcome")


def text(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def numbers(path):
    return {key: int(value) for key, value in (line.split() for line in text(path).splitlines())}


def make_cold(how, files):
    if how == "drop":
        os.sync()
        with open("/proc/sys/vm/drop_caches", "w", encoding="utf-8") as file:
            file.write("3\n")
    for path in files if how == "evict" else ():
        fd = os.open(path, os.O_RDONLY)
        os.fsync(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)


class Group:
    """A memory group that goes again, with its limit."""

    def __init__(self, limit):
        self.folder = "%s/mafat-cold.%d" % (MOUNT, os.getpid())
        self.limit = limit

    def __enter__(self):
        os.mkdir(self.folder)
        if self.limit:
            with open(self.folder + "/memory.limit_in_bytes", "w", encoding="utf-8") as file:
                file.write(str(self.limit))
        return self

    def __exit__(self, *_):
        for _ in range(200):
            try:
                return os.rmdir(self.folder)
            except OSError:
                time.sleep(0.02)

    def read(self, name):
        return int(text("%s/memory.%s" % (self.folder, name)))

    def stat(self):
        return numbers(self.folder + "/memory.stat")


def follow(group, process):
    """Until it ends: what the group held where it held most, and the most of it that was in swap."""
    most, usage, swap = group.stat(), 0, 0
    while process.poll() is None:
        now, used = group.stat(), group.read("usage_in_bytes")
        swap = max(swap, now.get("swap", 0))
        if used > usage:
            most, usage = now, used
        time.sleep(0.0005)
    return most, swap


def run(o, limit, memory, repeat):
    """One run; what is known of it."""
    program = os.path.realpath(o.program)
    launcher = os.path.realpath(BUILD + "/launcher")
    make_cold(o.cold, [program, launcher] + [word for word in o.command if os.path.isfile(word)])
    with Group(limit) as group, tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        with subprocess.Popen([launcher, group.folder, program, "--json", "--quiet", "--memory", memory, "--repeat", str(repeat)]
                              + o.command, stdout=out, stderr=err, stdin=subprocess.DEVNULL) as process:
            most, swap = follow(group, process)
        after = group.stat()
        out.seek(0)
        err.seek(0)
        answer = out.readline()
        found = {"answer": json.loads(answer) if answer else {}, "message": err.read().strip(), "status": process.returncode}
        found.update(peak_bytes=group.read("max_usage_in_bytes"), kernel_bytes=group.read("kmem.max_usage_in_bytes"),
                     rss_bytes=most["rss"], cache_bytes=most["cache"], cache_left_bytes=after["cache"],
                     major_faults=after["pgmajfault"],
                     swapped_pages=max(swap // PAGE, after.get("workingset_refault_anon", 0)))
    return found


def row(o, found, limit, memory):
    predicted = found["answer"].get("predicted_charge_bytes")
    shown = {"model": os.path.basename(o.command[0]), "input": os.path.basename(o.command[-1]), "state": o.cold, "memory": memory,
             "limit_bytes": limit, "predicted_charge_bytes": predicted,
             "over_bytes": found["peak_bytes"] - predicted if predicted else None,
             "outcome": "done" if found["status"] == 0 else "killed" if found["status"] == -9 else "exit %d" % found["status"]}
    return {**found, **shown}


def least_memory(o):
    """What the smallest plan needs, and a page or two: the process is measured anew each time."""
    found = re.search(r"needs (\d+) bytes", run(o, None, "1M", 1)["message"])
    return str(int(found.group(1)) + 65536) if found else "1M"


def arguments():
    parser = argparse.ArgumentParser(usage=__doc__, add_help=True)
    parser.add_argument("--cold", choices=("drop", "evict", "warm"), default="drop")
    parser.add_argument("--memory", default="64M")
    parser.add_argument("--program", default=BUILD + "/run_inference")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--no-head", action="store_true")
    parser.add_argument("command", nargs="+")
    words = sys.argv[1:]
    at = words.index("--") if "--" in words else len(words)
    o = parser.parse_args(words[:at] + ["-"])
    o.command = words[at + 1:]
    if not o.command:
        parser.error("expected -- MODEL PICTURE")
    # The model first, for the CSV; run_inference takes its options anywhere.
    if o.command[0] == "--input":
        o.command = o.command[2:] + o.command[:2]
    return o


def main():
    o = arguments()
    if not os.access(MOUNT + "/memory.limit_in_bytes", os.F_OK) or os.geteuid() != 0:
        print("cold.py: needs control groups v1 and root", file=sys.stderr)
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
    good = True
    for _ in range(o.runs):
        limit = -(-free["predicted_charge_bytes"] // PAGE) * PAGE
        found = row(o, run(o, limit, memory, o.repeat), limit, memory)
        table.writerow(found)
        sys.stdout.flush()
        good = good and found["outcome"] == "done" and found["swapped_pages"] == 0
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
