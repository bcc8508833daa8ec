"""Other causes that take pages from a run, with or without a limit: kernel threads that page out what they hold to be cold (DAMON; some virtual machines
start one, to give memory back), which go by physical addresses, so that a new process in old memory loses pages to them; and others who
drop all caches. A trace of its own, of the kernel's tracefs, and /proc/vmstat tell whether that happened during a run."""

import glob
import os

from groups import numbers, text

INSTANCES = "/sys/kernel/tracing/instances/mafat-soak-"
FOLDER = INSTANCES + str(os.getpid())   # two soaks at once each have their own
EVENTS = ("damon/damos_before_apply", "vmscan/mm_vmscan_reclaim_pages")   # it begins, and ends, with a piece of memory


def write(path, word):
    with open(path, "w", encoding="utf-8") as file:
        file.write(word)


def pages_out(thread):
    return text(thread + "/state").strip() == "on" and any(
        text(action).strip() == "pageout" for action in glob.glob(thread + "/contexts/*/schemes/*/action"))


def is_paged_out():
    """Is there such a thread here?"""
    try:
        return any(pages_out(thread) for thread in glob.glob("/sys/kernel/mm/damon/admin/kdamonds/[0-9]*"))
    except OSError:
        return False


def remove_leftovers():
    """Removes traces of soaks that were killed."""
    for folder in glob.glob(INSTANCES + "[0-9]*"):
        if not os.path.exists("/proc/" + folder[len(INSTANCES):]):
            os.rmdir(folder)


class Disturbance:
    """Watches while this is entered; of one run from begin() on."""

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
            except OSError:   # then it is not known when it works
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
