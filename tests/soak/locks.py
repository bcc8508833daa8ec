#!/usr/bin/env python3
"""Runs YOLOv2 in groups of exactly its budget with every lock, and counts swapped pages.

locks.py [options]

  --runs N         for each limit and lock (default: 500; a run takes one to four seconds)
  --limits LIST    sizes in MiB, which are also the budget (default: 10,8,7)
  --locks LIST     (default: auto,on,off)
  --cold mount|evict
                   before each run. mount (default): the files are on a file system of their own, in a
                   loop device, which is unmounted: its records are read again, and charged to the group.
                   evict: only the run's files leave the page cache
  --program FILE   (default: BUILD/run_inference)
  --csv FILE       a line a run (default: BUILD/soak/locks.csv)
  --folder FOLDER  for the swap file and the file system's image (default: BUILD/soak); on a disk

A run decodes a JPEG three times. build/launcher starts it, with a swap file switched on. Needs root
and cgroups v1. After each limit and lock one line is printed: runs, failures, runs with swapped
pages, runs that reached the limit, and the fewest bytes that were left below it. With --cold mount,
runs may reach the limit, where the kernel reclaims records of the file system; with evict, none may.

Exit status: 0 no run failed or swapped or, with evict, reached its limit; 1 one did; 2 misuse; 77
cannot be tried here."""

import argparse
import contextlib
import csv
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True   # nothing but results is written into the tree
HERE = os.path.dirname(os.path.abspath(__file__))
os.chdir(os.path.dirname(os.path.dirname(HERE)))
sys.path[:0] = [HERE, os.path.dirname(HERE) + "/limits"]

from beside import LAUNCHER, Swap, missing_swap, swaps   # noqa: E402
from groups import BUILD, PAGE, Group, make_cold, why_not   # noqa: E402
from works import read_cases   # noqa: E402

CASE = "yolov2-10-auto"    # of tests/limits/cases.txt: its files are used, not its plan
COLUMNS = ("limit_bytes", "lock", "status", "predicted_charge_bytes", "peak_bytes", "limit_hits", "swapped_pages",
           "locked_bytes", "latency_ms", "message")
IMAGE_BYTES = 1 << 30
OTHER_FILES = 1500         # beside each of ours: the kernel reads 32 blocks of a table of inodes ahead


def do(*command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


class Mounted:
    """The files on a file system in a loop device; cold() unmounts and mounts it."""

    def __init__(self, folder, files):
        self.image, self.point, self.files, self.device = folder + "/locks.image", folder + "/locks.mount", files, None
        self.env = {**os.environ, "HOME": self.point + "/home"}   # a calibration is looked for there

    def __enter__(self):
        with open(self.image, "wb") as file:
            file.truncate(IMAGE_BYTES)
        do("mkfs.ext4", "-q", "-F", "-O", "^flex_bg", self.image)
        os.makedirs(self.point, exist_ok=True)
        self.device = subprocess.run(["losetup", "-f", "--show", "--direct-io=on", self.image], check=True, text=True,
                                     stdout=subprocess.PIPE).stdout.strip()
        do("mount", self.device, self.point)
        self.files = [shutil.copy(file, self.folder(str(n))) for n, file in enumerate(self.files)]
        self.folder("home")
        return self

    def folder(self, name):
        """Makes one at the top, which has a table of inodes of its own."""
        folder = "%s/%s/.cache/mafat" % (self.point, name)
        os.makedirs(folder)
        for other in range(OTHER_FILES):
            os.close(os.open("%s/%d" % (folder, other), os.O_CREAT | os.O_WRONLY))
        return folder

    def __exit__(self, *_):
        subprocess.run(["umount", self.point], check=False)
        if self.device:
            subprocess.run(["losetup", "-d", self.device], check=False)
        os.unlink(self.image)
        os.rmdir(self.point)

    def cold(self):
        do("umount", self.point)
        do("mount", self.device, self.point)


class Here:
    """The files where they are; cold() evicts them from the page cache."""

    def __init__(self, files):
        self.files, self.env = files, None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def cold(self):
        make_cold("evict", self.files)


def follow(group, process):
    """Waits for the end; returns the most bytes that were in swap, also if they were still in memory."""
    most = 0
    while process.poll() is None:
        now = group.stat()
        most = max(most, now.get("swap", 0) + now.get("swapcached", 0))
        time.sleep(0.001)
    return most


def run(place, limit, lock):
    program, model, picture = place.files[:3]
    place.cold()
    words = [program, "--json", "--quiet", "--memory", "%dM" % limit, "--repeat", "3", "--lock", lock, model, picture]
    with Group("mafat-soak-locks", limit << 20) as group, tempfile.TemporaryFile("w+") as out, \
            tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen([LAUNCHER, group.folder] + words, stdin=subprocess.DEVNULL, stdout=out,
                                   stderr=err, env=place.env)
        swapped = follow(group, process) // PAGE
        found = {"peak_bytes": group.read("max_usage_in_bytes"), "limit_hits": group.read("failcnt"),
                 "swapped_pages": max(swapped, group.stat().get("workingset_refault_anon", 0))}
        out.seek(0)
        err.seek(0)
        answer = json.loads(out.readline() or "{}")
        return {**answer, **found, "limit_bytes": limit << 20, "lock": lock, "status": process.returncode,
                "message": (err.read().strip().splitlines() or [""])[-1]}


def summary(limit, lock, rows):
    failed = sum(row["status"] != 0 for row in rows)
    swapped = [row["swapped_pages"] for row in rows if row["swapped_pages"]]
    full = sum(row["peak_bytes"] >= row["limit_bytes"] for row in rows)
    print("%2d MiB, --lock %-4s: %d runs, %d failed, %d swapped (%d pages), %d at the limit, least left %d" %
          (limit, lock, len(rows), failed, len(swapped), sum(swapped), full,
           min(row["limit_bytes"] - row["peak_bytes"] for row in rows)), flush=True)
    return failed or swapped, full


def files_of(program):
    case = next((case for case in read_cases() if case.name == CASE), None)
    case.prepare()
    return case.why or [program] + case.words[-2:]


def arguments():
    parser = argparse.ArgumentParser(usage=__doc__, add_help=True)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--limits", default="10,8,7", type=lambda text: [int(word) for word in text.split(",")])
    parser.add_argument("--locks", default="auto,on,off", type=lambda text: text.split(","))
    parser.add_argument("--cold", choices=("mount", "evict"), default="mount")
    parser.add_argument("--program", default=BUILD + "/run_inference")
    parser.add_argument("--folder", default=BUILD + "/soak")
    parser.add_argument("--csv")
    o = parser.parse_args()
    o.folder = os.path.realpath(o.folder)
    o.csv = o.csv or o.folder + "/locks.csv"
    return o


def main():
    o = arguments()
    os.makedirs(o.folder, exist_ok=True)
    files = files_of(os.path.realpath(o.program))
    why = why_not() or (files if isinstance(files, str) else None) or (not swaps() and missing_swap("file", o.folder))
    if why:
        print("locks.py: %s" % why, file=sys.stderr)
        return 77
    status = 0
    for number in (signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, lambda number, _: sys.exit(128 + number))   # leaves the with block below
    with open(o.csv, "w", encoding="utf-8", newline="") as file, contextlib.ExitStack() as stack:
        stack.enter_context(Swap("system" if swaps() else "file", o.folder))
        place = stack.enter_context(Mounted(o.folder, files) if o.cold == "mount" else Here(files))
        table = csv.DictWriter(file, COLUMNS, extrasaction="ignore", lineterminator="\n")
        table.writeheader()
        for limit, lock in itertools.product(o.limits, o.locks):
            rows = []
            for _ in range(o.runs):
                rows.append(run(place, limit, lock))
                table.writerow(rows[-1])
                file.flush()
            bad, full = summary(limit, lock, rows)
            status = status or int(bool(bad or (full and o.cold == "evict")))
    return status


if __name__ == "__main__":
    sys.exit(main())
