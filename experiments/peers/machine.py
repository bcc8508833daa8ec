"""Describes the machine of a measurement, and controls its page cache."""

import datetime
import os
import platform
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def read_first(path, start):
    """The value of the first line `start ...: value`, or the whole file if start is empty; None:
    missing."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            if not start:
                return file.read().strip("\0 \n") or None
            for line in file:
                if line.startswith(start):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return None


def find_levels():
    """Instruction sets of this machine at which programs are compared, best first."""
    if platform.machine() != "x86_64":
        return ["neon"]
    flags = (read_first("/proc/cpuinfo", "flags") or "").split()
    needed = {"avx512": ("avx512f", "avx512bw", "avx512dq", "avx512vl"), "avx2": ("avx2", "fma")}
    return [level for level, names in needed.items() if all(name in flags for name in names)]


def describe_machine():
    machine = (read_first("/proc/device-tree/model", "") or read_first("/proc/cpuinfo", "model name") or
               read_first("/proc/cpuinfo", "Model") or platform.machine())
    try:
        commit = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True,
                                check=False).stdout.strip()
    except OSError:
        commit = ""   # no git
    return {"machine": "%s, %d CPUs" % (machine, os.cpu_count()), "kernel": platform.release(), "commit": commit or "unknown",
            "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")}


def drop_from_page_cache(paths):
    for path in paths:
        fd = os.open(path, os.O_RDONLY)
        try:
            os.fsync(fd)   # dirty pages cannot be dropped
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(fd)


def read_into_page_cache(paths):
    for path in paths:
        with open(path, "rb") as file:
            while file.read(1 << 20):
                pass
