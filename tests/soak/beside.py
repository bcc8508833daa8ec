"""Conditions of a soak run: starter, swap, and neighbours."""

import json
import os
import shutil
import subprocess
import time

from groups import BUILD, MOUNT, Group, text

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
LAUNCHER = os.path.realpath(BUILD + "/launcher")
MEMORY_LIMIT = os.path.realpath(BUILD + "/memory_limit")
SWAP_BYTES = 256 << 20
LARGE_BYTES = 256 << 20   # file that neighbours read


# ---- Starters: words before the command, which runs in the group

def by_launcher(group, _):
    return [LAUNCHER, group.folder]


def by_shell(group, _):
    """The shell executes the program."""
    return ["sh", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"', group.folder]


def by_waiting_shell(group, _):
    """The shell stays in the same group and forks."""
    return ["sh", "-c", 'echo $$ >"$0/cgroup.procs" && { "$@"; exit $?; }', group.folder]


def by_namespaces(group, _):
    return ["unshare", "-m", "-p", "-f", "--mount-proc", LAUNCHER, group.folder]


def by_memory_limit(_, report):
    """In memory_limit's group, whose figures it reports."""
    return [MEMORY_LIMIT, "--json", "-o", report]


def by_systemd(group, _):
    limit = ["-p", "MemoryMax=%d" % group.limit] if group.limit else []
    return ["systemd-run", "--scope", "--quiet", "--collect", "--unit=" + group.unit] + limit + ["--"]


STARTERS = {"launcher": by_launcher, "sh": by_shell, "sh-waits": by_waiting_shell, "namespaces": by_namespaces,
            "memory_limit": by_memory_limit, "systemd-run": by_systemd}


class Scope(Group):
    """In a group of systemd-run, which disappears when the command ends."""

    def __init__(self, name, limit=None):
        super().__init__(name, limit)
        self.unit = "%s.%d.%d" % (name, os.getpid(), time.monotonic_ns())
        self.folder = "%s/system.slice/%s.scope" % (MOUNT, self.unit)
        self.last = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def kill(self):
        if os.path.exists(self.folder):
            super().kill()

    def read(self, name):
        try:
            self.last[name] = super().read(name)
        except OSError:
            pass
        return self.last.get(name, 0)

    def stat(self):
        self.read("max_usage_in_bytes"), self.read("kmem.max_usage_in_bytes"), self.read("failcnt")
        try:
            self.last["stat"] = super().stat()
        except OSError:
            pass
        return self.last.get("stat", {"rss": 0, "cache": 0, "pgmajfault": 0})


def group_for(starter, limit):
    return (Scope if starter == "systemd-run" else Group)("mafat-soak", limit)


def says(*command):
    try:
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=10, check=False).stdout.strip()
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)


def missing_starter(name):
    """The reason why this machine lacks the starter; None: it has it."""
    if name == "systemd-run":
        state = says("systemctl", "is-system-running") if shutil.which("systemd-run") else "not installed"
        return None if state in ("running", "degraded") else "systemd: %s" % (state.splitlines() or ["?"])[0]
    if name == "namespaces":
        works = subprocess.run(["unshare", "-m", "-p", "-f", "--mount-proc", "true"], stderr=subprocess.DEVNULL, check=False)
        return "unshare is refused" if works.returncode else None
    if name == "memory_limit":
        answer = json.loads(says(MEMORY_LIMIT, "--check", "--json") or "{}") if os.access(MEMORY_LIMIT, os.X_OK) else {}
        return None if answer.get("cgroup") == "v1" else "memory_limit cannot work here"
    return None


# ---- Swap: a process removes it when its standard input ends, however we end

def swap_command(kind, folder):
    if kind == "file":
        return [ROOT + "/experiments/swap.sh", "with", str(SWAP_BYTES), "--folder", folder]
    return [HERE + "/zram.sh", str(SWAP_BYTES)]


def swaps():
    return [line.split()[0] for line in text("/proc/swaps").splitlines()[1:]]


def missing_swap(kind, folder):
    if kind in ("none", "system"):
        return "swap is on: " + " ".join(swaps()) if swaps() else None
    tried = subprocess.run(swap_command(kind, folder) + ["true"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                           stderr=subprocess.PIPE, text=True, check=False)
    return (tried.stderr.strip().splitlines() or ["cannot be switched on"])[-1] if tried.returncode else None


class Swap:
    """Swap of a kind, switched on while this is entered."""

    def __init__(self, kind, folder):
        self.kind, self.folder, self.holder = kind, folder, None

    def __enter__(self):
        if self.kind not in ("none", "system"):
            # In its own session: a terminal's Ctrl-C is for us, and we end it.
            self.holder = subprocess.Popen(swap_command(self.kind, self.folder) + ["sh", "-c", "echo on; exec cat"],
                                           stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
            self.holder.stdout.readline()
        return self

    def __exit__(self, *_):
        if self.holder:
            self.holder.stdin.close()
            self.holder.wait()
            self.holder.stdout.close()


# ---- Neighbours: in groups of their own

def large_file(folder):
    path = folder + "/large"
    if not os.path.exists(path) or os.path.getsize(path) != LARGE_BYTES:
        with open(path, "wb") as file:
            for _ in range(LARGE_BYTES >> 20):
                file.write(os.urandom(1 << 20))
    return path


def words_of(neighbour, folder):
    """A neighbour's limit and command. One has a quarter of the memory it needs and swaps all the
    time; without swap it refills most of its group again and again."""
    again = "while :; do %s; done"
    if neighbour == "cache":
        return 64 << 20, again % ("dd if='%s' of=/dev/null bs=1M 2>/dev/null" % large_file(folder))
    if neighbour == "disk":
        return None, again % ("dd if='%s' of=/dev/null bs=1M iflag=direct 2>/dev/null" % large_file(folder))
    if swaps():
        return 8 << 20, again % ("'%s' --size 32M --seconds 600 >/dev/null 2>&1" % os.path.realpath(BUILD + "/swap_cost"))
    return 16 << 20, again % "dd if=/dev/zero of=/dev/null bs=12M count=4 2>/dev/null"


class Neighbour:
    """Runs a neighbour inside the with block."""

    def __init__(self, kind, folder):
        self.group = None
        if kind != "none":
            limit, self.command = words_of(kind, folder)
            self.group = Group("mafat-soak-beside", limit)

    def __enter__(self):
        if self.group:
            self.group.__enter__()
            self.process = subprocess.Popen([LAUNCHER, self.group.folder, "/bin/sh", "-c", self.command], stdin=subprocess.DEVNULL)
        return self

    def __exit__(self, *_):
        if self.group:
            self.process.kill()
            self.process.wait()
            self.group.__exit__()


def remove_leftovers():
    """Removes groups of a killed soak."""
    for name in os.listdir(MOUNT):
        if name.startswith("mafat-soak") and not os.path.exists("/proc/" + name.rsplit(".", 1)[1]):
            group = Group("mafat-soak")
            group.folder = "%s/%s" % (MOUNT, name)
            group.__exit__()


def swapped_out():
    """The machine's counter of swapped-out pages; unchanged: nothing was swapped."""
    return next(int(line.split()[1]) for line in text("/proc/vmstat").splitlines() if line.startswith("pswpout "))
