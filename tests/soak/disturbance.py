"""Detects other causes that take pages from a run, with or without a limit: kernel threads that
page out memory they consider cold (DAMON; some virtual machines use it to return memory), by
physical address, so that a new process in old memory loses pages; and processes that drop all
caches. A separate instance of the kernel's tracefs, and /proc/vmstat, show whether that happened
during a run."""

import glob
import os

from groups import numbers, text

INSTANCES = "/sys/kernel/tracing/instances/mafat-soak-"
FOLDER = INSTANCES + str(os.getpid())   # separate for each soak
EVENTS = ("damon/damos_before_apply", "vmscan/mm_vmscan_reclaim_pages")   # start and end of paging out a region


def write(path, word):
    with open(path, "w", encoding="utf-8") as file:
        file.write(word)


def pages_out(thread):
    return text(thread + "/state").strip() == "on" and any(
        text(action).strip() == "pageout" for action in glob.glob(thread + "/contexts/*/schemes/*/action"))


def is_paged_out():
    """True if there is such a thread here."""
    try:
        return any(pages_out(thread) for thread in glob.glob("/sys/kernel/mm/damon/admin/kdamonds/[0-9]*"))
    except OSError:
        return False


def remove_leftovers():
    """Removes traces of killed soaks."""
    for folder in glob.glob(INSTANCES + "[0-9]*"):
        if not os.path.exists("/proc/" + folder[len(INSTANCES):]):
            os.rmdir(folder)


class Disturbance:
    """Watches inside the with block; begin() starts a run."""

    def __init__(self):
        self.traces, self.drops = False, 0

    def switch(self, word):
        for event in EVENTS:
            write("%s/events/%s/enable" % (FOLDER, event), word)

    def __enter__(self):
        if is_paged_out():
            try:
                remove_leftovers()
                os.makedirs(FOLDER, exist_ok=True)
                self.switch("1")
                self.traces = True
            except OSError:   # then its activity is unknown
                pass
        return self

    def __exit__(self, *_):
        if self.traces:
            self.switch("0")
            os.rmdir(FOLDER)

    @staticmethod
    def dropped():
        counters = numbers("/proc/vmstat")
        return counters.get("drop_pagecache", 0) + counters.get("drop_slab", 0)

    def begin(self):
        self.drops = self.dropped()
        if self.traces:
            write(FOLDER + "/trace", "")

    def happened(self):
        if self.dropped() != self.drops:
            return True
        return self.traces and any(not line.startswith("#") for line in text(FOLDER + "/trace").splitlines())
