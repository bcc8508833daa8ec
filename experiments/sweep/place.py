"""The work folder and swap file of a sweep, and the guard that removes them: a process in its own
session that waits for the end of a pipe. The kernel closes the other end however the sweep ends."""

import contextlib
import os
import shutil
import subprocess
import tempfile

from sweep import EXPERIMENTS
from sweep.cells import Misuse
from sweep.files import in_memory

PREFIX = "mafat-sweep-"
# $1: the pipe, $2: the folder. Reports that it runs (perhaps to nobody), waits, and removes;
# repeatedly, because a program of the sweep may still make a file.
GUARD = """trap "" HUP INT TERM PIPE; echo ready 2>/dev/null; cat "$1" >/dev/null
for again in 1 2 3 4 5 6 7 8 9 10; do rm -rf -- "$2" 2>/dev/null && break; sleep 0.2; done"""
SWAP = os.path.join(EXPERIMENTS, "swap.sh")


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def remove_leftovers(base):
    """Removes files of sweeps that were killed together with their guards."""
    for name in os.listdir(base):
        pid = name[len(PREFIX):]
        if name.startswith(PREFIX) and pid.isdigit() and not alive(int(pid)):
            shutil.rmtree(os.path.join(base, name), ignore_errors=True)


@contextlib.contextmanager
def results_folder(folder):
    """Makes the folder before anything runs; removes it if nothing was written. Raises Misuse."""
    made = not os.path.isdir(folder)
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise Misuse("%s: %s" % (folder, error.strerror)) from None
    try:
        if not os.access(folder, os.W_OK | os.X_OK):
            raise Misuse("%s: cannot be written" % folder)
        yield
    finally:
        if made:
            with contextlib.suppress(OSError):   # not empty: keep it
                os.rmdir(folder)


class Place:
    """swap: a size for swap.sh, or None. base: a folder on a disk."""

    def __init__(self, base, swap=None):
        try:
            os.makedirs(base, exist_ok=True)
            if in_memory(base):
                raise Misuse("%s is in memory: files there cannot be evicted; TMPDIR names a folder on a disk" % base)
            remove_leftovers(base)
        except OSError as error:
            raise Misuse("%s: %s" % (base, error.strerror)) from None
        self.folder = os.path.join(os.path.realpath(base), PREFIX + str(os.getpid()))
        self.guard, self.pipe, self.ready = None, None, False
        self.swap = swap

    def open(self, held):
        """held: blocks signals. Raises Misuse with swap.sh's message if swap is not possible."""
        reading, self.pipe = os.pipe()
        command = ["sh", "-c", GUARD, "guard", "/dev/fd/%d" % reading, self.folder]
        if self.swap:
            command = [SWAP, "with", self.swap, *command]
        try:
            with tempfile.TemporaryFile("w+", dir=os.path.dirname(self.folder), encoding="utf-8", errors="replace") as errors:
                with held():   # from here on the guard cleans up in any case
                    self.guard = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors,
                                                  pass_fds=[reading], start_new_session=True, cwd="/")
                self.ready = self.guard.stdout.readline().strip() == b"ready"
                if not self.ready:
                    errors.seek(0)
                    lines = errors.read().strip().splitlines()
                    raise Misuse("%s; --swap asis or none does without" % (lines[-1] if lines else "%s: ended early" % command[0]))
            os.mkdir(self.folder)
        except OSError as error:
            raise Misuse("%s: %s" % (self.folder, error.strerror)) from None
        finally:
            os.close(reading)

    def close(self):
        if self.pipe is not None:
            os.close(self.pipe)
            self.pipe = None
        if self.guard:
            if not self.ready:
                self.guard.terminate()   # may still be making the swap file, for minutes
            self.guard.wait()
            self.guard.stdout.close()
            self.guard = None
        shutil.rmtree(self.folder, ignore_errors=True)
