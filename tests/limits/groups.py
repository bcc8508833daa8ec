"""Memory groups of control groups v1, their figures while a program runs, and evicting files from
the page cache. Used by cold.py and ../soak."""

import os
import signal
import time

MOUNT = "/sys/fs/cgroup/memory"
BUILD = os.environ.get("BUILD", "build")
PAGE = os.sysconf("SC_PAGESIZE")


def text(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def write(path, what):
    with open(path, "w", encoding="utf-8") as file:
        file.write(what)


def numbers(path):
    return {key: int(value) for key, value in (line.split() for line in text(path).splitlines())}


def whole_pages(size):
    return -(-size // PAGE) * PAGE


def why_not():
    """The reason why tests cannot run here; None: they can."""
    if not os.access(MOUNT + "/memory.limit_in_bytes", os.F_OK) or os.geteuid() != 0:
        return "needs control groups v1 and root"
    return None


def make_cold(how, files):
    """drop: the whole machine's cache; evict: these files; warm: nothing."""
    if how == "drop":
        os.sync()
        write("/proc/sys/vm/drop_caches", "3\n")
    for path in files if how == "evict" else ():
        fd = os.open(path, os.O_RDONLY)
        os.fsync(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)


class Group:
    """A memory group with a limit; closing removes it and the processes in it."""

    def __init__(self, name, limit=None):
        self.folder = "%s/%s.%d" % (MOUNT, name, os.getpid())
        self.limit = limit

    def __enter__(self):
        os.mkdir(self.folder)
        if self.limit:
            write(self.folder + "/memory.limit_in_bytes", str(self.limit))
        return self

    def __exit__(self, *_):
        for _ in range(200):
            try:
                self.kill()
                return os.rmdir(self.folder)
            except FileNotFoundError:
                return None
            except OSError:
                time.sleep(0.01)
        return None

    def kill(self):
        for pid in text(self.folder + "/cgroup.procs").split():
            try:
                os.kill(int(pid), signal.SIGKILL)
            except ProcessLookupError:
                pass

    def read(self, name):
        return int(text("%s/memory.%s" % (self.folder, name)))

    def stat(self):
        return numbers(self.folder + "/memory.stat")


def swapped_of(pid):
    """Bytes of a process in swap; 0 if it has ended."""
    try:
        found = [line.split()[1] for line in text("/proc/%d/status" % pid).splitlines() if line.startswith("VmSwap:")]
    except OSError:
        return 0
    return int(found[0]) << 10 if found else 0


def follow(group, process, interval=0.0005, late=None, waits=False):
    """Watches a process until it ends or times out: the group's state at its peak, and its peak of
    swap. A starter that `waits` idle in the group has pages there, which are not counted."""
    most, usage, swap, starter = group.stat(), 0, 0, 0
    while process.poll() is None:
        now, used = group.stat(), group.read("usage_in_bytes")
        starter = max(starter, swapped_of(process.pid)) if waits else 0
        swap = max(swap, now.get("swap", 0))
        if used > usage:
            most, usage = now, used
        if late and time.monotonic() > late:
            group.kill()
            process.kill()
        time.sleep(interval)
    return most, swap, starter


def charged(group, most, swap, starter=0):
    """The group's charge. An own page counts as swapped if it was seen in swap or came back from
    there; the starter's pages do not count."""
    after = group.stat()
    pages = max(swap // PAGE, after.get("workingset_refault_anon", 0)) - starter // PAGE
    return {"peak_bytes": group.read("max_usage_in_bytes"), "kernel_bytes": group.read("kmem.max_usage_in_bytes"),
            "rss_bytes": most["rss"], "cache_bytes": most["cache"], "cache_left_bytes": after["cache"],
            "major_faults": after["pgmajfault"], "limit_hits": group.read("failcnt"), "swapped_pages": max(pages, 0)}


def outcome(status):
    """The outcome of a process, or of one whose shell reports it."""
    return "done" if status == 0 else "killed" if status in (-9, 137) else "exit %d" % status
