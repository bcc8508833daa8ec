"""Memory groups of control groups v1, what is read of them while a program runs there, and how files come to be in no page cache:
for cold.py and ../soak."""

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
    """Why nothing can be tried here; None where it can."""
    if not os.access(MOUNT + "/memory.limit_in_bytes", os.F_OK) or os.geteuid() != 0:
        return "needs control groups v1 and root"
    return None


def make_cold(how, files):
    """drop: of the whole machine; evict: these files; warm: nothing."""
    if how == "drop":
        os.sync()
        write("/proc/sys/vm/drop_caches", "3\n")
    for path in files if how == "evict" else ():
        fd = os.open(path, os.O_RDONLY)
        os.fsync(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)


class Group:
    """A memory group that goes again, with its limit and who is left in it."""

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
    """Bytes of a process that are in swap; 0 where it is gone."""
    try:
        found = [line.split()[1] for line in text("/proc/%d/status" % pid).splitlines() if line.startswith("VmSwap:")]
    except OSError:
        return 0
    return int(found[0]) << 10 if found else 0


def follow(group, process, interval=0.0005, late=None, waits=False):
    """Until it ends, or is killed because it is late: what the group held where it held most, and the most of it that was in swap. A
    starter that `waits` in the group, idle, has pages of its own there, which are not counted: they are no run's."""
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
    """The charge of the group; a page of its own counts as swapped if it was seen in swap, or came back from there, but for those of
    who started it."""
    after = group.stat()
    pages = max(swap // PAGE, after.get("workingset_refault_anon", 0)) - starter // PAGE
    return {"peak_bytes": group.read("max_usage_in_bytes"), "kernel_bytes": group.read("kmem.max_usage_in_bytes"),
            "rss_bytes": most["rss"], "cache_bytes": most["cache"], "cache_left_bytes": after["cache"],
            "major_faults": after["pgmajfault"], "limit_hits": group.read("failcnt"), "swapped_pages": max(pages, 0)}


def outcome(status):
    """The outcome of a process, or of one whose starter reports it as shells do."""
    return "done" if status == 0 else "killed" if status in (-9, 137) else "exit %d" % status
