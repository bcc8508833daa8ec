#!/usr/bin/env python3
"""System calls that fail, one by one.

    inject.py [--only TEXT] [--sample N] [--jobs N] [--seed N] [CASE...]

Runs each case once under strace to learn which calls it makes, in what order. Then once for every call of those that may
fail, on files, memory, threads and rings, and for every error that it may fail with: that call fails, and all else is as ever.
Each such run must end by itself within a time, by a documented exit status; with one line where that is not 0; with the right
answer where it is; and must leave no file but one that is whole. --sample: so many points of each case, drawn by --seed;
--only: of calls whose name has TEXT in it.

What happens before main, where the C library maps and protects what it needs, is not looked at: its messages are its own.
Exit status: 0 all is well, 1 a point is not, 77 nothing can be injected here."""

import argparse
import concurrent.futures
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(os.environ.get("BUILD", os.path.join(ROOT, "build")))
SHAPES = os.path.join(ROOT, "models", "shapes")
CFG, WEIGHTS = os.path.join(SHAPES, "shapes.cfg"), os.path.join(SHAPES, "shapes.weights")
JPEG = os.path.join(SHAPES, "holdout", "000000.jpg")
PATIENCE = 240  # seconds: a machine may be busy
GROUPS = "/sys/fs/cgroup/memory" if os.path.isdir("/sys/fs/cgroup/memory") else "/sys/fs/cgroup"

# Which errors a call may fail with; those of reads and writes also give less than was asked for (:retval).
FILES = ["EIO", "ENOMEM", "EACCES", "EINTR"]
ERRORS = {
    "openat": ["ENOENT", "EACCES", "EMFILE", "ENOMEM", "EIO"], "open": ["ENOENT", "EMFILE"],
    "read": ["EIO", "EINTR", "EAGAIN"], "pread64": ["EIO", "EINTR", "EAGAIN"], "readv": ["EIO"], "preadv": ["EIO"], "preadv2": ["EIO", "EOPNOTSUPP"],
    "write": ["EIO", "ENOSPC", "EINTR", "EPIPE"], "writev": ["EIO", "ENOSPC"], "pwrite64": ["EIO", "ENOSPC", "EINTR"],
    "fsync": ["EIO", "ENOSPC"], "fdatasync": ["EIO"], "rename": ["EIO", "ENOSPC", "EXDEV"], "ftruncate": ["EIO", "ENOSPC"],
    "fallocate": ["ENOSPC", "EOPNOTSUPP"], "close": ["EIO", "EINTR"], "lseek": ["EINVAL"], "fstat": ["EIO"], "newfstatat": ["EIO", "ENOMEM"],
    "statx": ["EIO"], "fcntl": ["EINVAL", "EMFILE"], "fadvise64": ["EINVAL"], "fchmod": ["EPERM"], "statfs": ["EIO"], "fstatfs": ["EIO"],
    "mmap": ["ENOMEM"], "mremap": ["ENOMEM"], "mprotect": ["ENOMEM"], "madvise": ["EAGAIN", "EINVAL"], "munmap": ["ENOMEM"],
    "mlock2": ["ENOMEM", "EPERM"], "mlock": ["ENOMEM"], "clone3": ["EAGAIN", "ENOMEM"], "clone": ["EAGAIN"],
    "sched_getaffinity": ["EINVAL"], "sched_setaffinity": ["EPERM"], "rt_sigaction": ["EINVAL"], "rt_sigprocmask": ["EINVAL"],
    "io_uring_setup": ["ENOSYS", "EPERM", "ENOMEM"], "io_uring_register": ["EINVAL", "ENOMEM"], "io_uring_enter": ["EAGAIN", "EINTR", "EBUSY"],
    "io_setup": ["EAGAIN", "ENOSYS"], "io_submit": ["EAGAIN", "EINVAL"], "io_getevents": ["EINTR"], "getrandom": ["ENOSYS"],
    "prctl": ["EINVAL"], "seccomp": ["EINVAL", "ENOMEM"], "landlock_create_ruleset": ["ENOSYS"], "landlock_restrict_self": ["E2BIG"],
    "pipe2": ["EMFILE"], "ioctl": ["EIO"], "clock_nanosleep": ["EINTR"], "sysinfo": ["EINVAL"], "prlimit64": ["EPERM"], "getrusage": ["EINVAL"],
    "cachestat": ["ENOSYS"], "readlink": ["EIO"], "uname": ["EFAULT"],
}


class Case:
    """A command; {out} in it is a folder for what it makes, {given} one of what there is; measures: its answer goes by what is measured; needs: a program that may
    not be there; group: it makes a control group, below one of its own; always: a call and an error that are in every sample, each time they can be."""

    def __init__(self, name, command, makes=(), statuses=(0, 1, 2, 3), says="run_inference: ", measures=False, needs=None, group=False, always=None):
        self.name, self.command, self.makes, self.statuses, self.says = name, command, makes, statuses, says
        self.measures, self.needs, self.group, self.always = measures, needs, group, always

    def sample(self, points, n, seed):
        always = [p for p in points if (p[0], p[2]) == self.always]
        others = [p for p in points if (p[0], p[2]) != self.always]
        return always + (random.Random(seed).sample(others, n) if n < len(others) else others)


def program(name):
    return os.path.join(BUILD, name)


def cases():
    run = [program("run_inference"), "--quiet"]
    pack = [program("pack_weights"), "--quiet"]
    packed = "{given}/shapes.packed"
    return [
        Case("plain", run + [CFG, WEIGHTS, JPEG]),
        Case("json", run + ["--json", "--report", "--threads", "2", CFG, WEIGHTS, JPEG]),
        Case("streamed", run + ["--plan", "rows1:streamed/NoCut", CFG, WEIGHTS, JPEG]),
        Case("loaded", run + ["--threads", "2", "--plan", "1x1:loaded/6/1x1:loaded", packed, JPEG]),
        Case("rows", run + ["--threads", "2", "--plan", "rows2:streamed/8/panels:streamed", packed, JPEG]),
        Case("kept", run + ["--repeat", "2", "--algorithm", "direct", packed, JPEG]),
        Case("tiles", run + ["--plan", "2x2:loaded/NoCut", CFG, WEIGHTS, JPEG]),
        Case("several", run + ["--memory", "64M", CFG, WEIGHTS, JPEG, JPEG.replace("000000", "000001")]),
        Case("sweep", run + ["--predict", "--sweep", "8M,64M", CFG]),
        Case("front", run + ["--predict", "--pareto", "--memory", "64M", CFG], measures=True),  # which plans no other beats goes by what is resident
        Case("dump", run + ["--dump-output", "{out}/output", "--marks", "{out}/marks", CFG, WEIGHTS, JPEG], makes=("output", "marks")),
        Case("predict", run + ["--predict", "--memory", "64M", "--map", "{out}/map.svg", CFG], makes=("map.svg",)),
        Case("tight", run + ["--sandbox", "off", "--lock", "on", "--memory", "5M", CFG, WEIGHTS, JPEG]),
        Case("pack", pack + [CFG, WEIGHTS, "{out}/packed"], makes=("packed",), statuses=(0, 1, 2), says="pack_weights: "),
        Case("pack-half", pack + ["--weights", "fp16", "--measure", JPEG, CFG, WEIGHTS, "{out}/packed"], makes=("packed",), statuses=(0, 1, 2),
             says="pack_weights: "),
        Case("pack-int8", pack + ["--activations", "int8", "--calibrate", JPEG, CFG, WEIGHTS, "{out}/packed"], makes=("packed",), statuses=(0, 1, 2),
             says="pack_weights: "),
        Case("pack-check", pack + ["--check", packed], statuses=(0, 1, 2), says="pack_weights: "),
        Case("calibrate", [program("run_inference"), "--calibrate", "--quiet", "--memory", "64M"], makes=("calibration",), measures=True),
        Case("annotate", [program("annotate"), "-q", "-o", "{out}/drawn.png", "{given}/found.json"], makes=("drawn.png",), statuses=(0, 1, 2), says="annotate: ",
             needs=program("annotate")),
        Case("annotate-jpeg", [program("annotate"), "-q", "-o", "{out}/drawn.jpg", "{given}/found.json"], makes=("drawn.jpg",), statuses=(0, 1, 2),
             says="annotate: ", needs=program("annotate")),
        Case("limit", [program("memory_limit"), "--parent", "{group}", "--limit", "64M", "--output", "{out}/report", "--timeline", "{out}/timeline", "--"] + run + [CFG, WEIGHTS, JPEG],
             makes=("report", "timeline"), statuses=(0, 1, 2), says=("memory_limit: ", "run_inference: "),
             needs=program("memory_limit"), group=True, always=("close", "EIO")),  # an end of a pipe that stays open, and nobody waits for it
        Case("library", [program("failing_library"), CFG, WEIGHTS, JPEG], statuses=(0, 1), says="failing_library: "),
        Case("library-packed", [program("failing_library"), packed, packed, JPEG], statuses=(0, 1), says="failing_library: "),
        Case("make", [program("make_weights"), "--quiet", CFG, "{out}/weights"], makes=("weights",), says="make_weights: "),
    ]


def answer(text):
    """What is found, or planned: memory and milliseconds, which are measured, may be others, and not known at all."""
    if text.startswith(b"{"):
        told = json.loads(text)
        return [told[key] for key in ("image", "network", "inputs", "outputs", "detections")]
    lines = [re.sub(rb" in [0-9.]+ ms| [0-9]+\.[0-9]+", b"", line) for line in text.splitlines()]
    predicted = [line for line in lines if line.startswith((b"inputs ", b"outputs ", b"plan ", b"work "))]
    return predicted or lines


def collect_groups(path):
    """Removes a group; were there any below?"""
    below = [name for name in os.listdir(path) if os.path.isdir(os.path.join(path, name))]
    for name in below:
        os.rmdir(os.path.join(path, name))
    os.rmdir(path)
    return below


def is_whole(name, content):
    """Of what is measured, or drawn with whatever letters there are."""
    if name.endswith(".png"):
        return content.endswith(b"IEND\xaeB\x60\x82")
    if name.endswith(".jpg"):
        return content.endswith(b"\xff\xd9")
    return content.endswith(b"\n")


class Bench:
    def __init__(self, folder):
        self.given = os.path.join(folder, "given")
        self.folder = folder
        os.mkdir(self.given)
        subprocess.run([program("pack_weights"), "--quiet", CFG, WEIGHTS, os.path.join(self.given, "shapes.packed")], check=True)
        with open(os.path.join(self.given, "found.json"), "wb") as found:
            subprocess.run([program("run_inference"), "--quiet", "--json", CFG, WEIGHTS, JPEG], stdout=found, check=True)

    def run(self, case, injected, trace=None):
        """Exit status (None: it did not end), stdout, stderr, and the files that it left."""
        out = tempfile.mkdtemp(dir=self.folder)
        group = os.path.join("mafat-faults", os.path.basename(out))
        if case.group:
            os.makedirs(os.path.join(GROUPS, group))
        command = [word.replace("{out}", out).replace("{given}", self.given).replace("{group}", group) for word in case.command]
        strace = ["strace", "-f", "-qq", "-o", trace or "/dev/null"] + (["-e", "trace=" + injected.split(":")[0], "-e", "inject=" + injected] if injected else [])
        environment = dict(os.environ, XDG_CACHE_HOME=out if case.measures else "/nonexistent", TMPDIR=out, MALLOC_ARENA_MAX="1")
        with subprocess.Popen(strace + command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, stdin=subprocess.DEVNULL,
                              start_new_session=True) as process:
            try:
                stdout, stderr = process.communicate(timeout=PATIENCE)
                status = process.returncode
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)  # with what it traces
                stdout, stderr = process.communicate()
                status = None
        left = self.collect(out)
        if case.group and collect_groups(os.path.join(GROUPS, group)):
            left["a control group"] = b""
        return status, stdout.replace(out.encode(), b"OUT"), stderr.replace(out.encode(), b"OUT"), left

    @staticmethod
    def collect(out):
        """What is there, by name; a calibration's, which is a hash, is another for every machine."""
        left = {}
        for folder, _, names in os.walk(out):
            for name in names:
                with open(os.path.join(folder, name), "rb") as file:
                    left["calibration" if re.fullmatch(r"[a-z0-9-]+-[0-9a-f]+", name) and folder != out else name] = file.read()
        shutil.rmtree(out)
        return left

    def points(self, case, only):
        """(call, which of them in its thread, error), and the run as it should be."""
        trace = os.path.join(self.folder, case.name + ".trace")
        expected = self.run(case, None, trace)
        if expected[0] != 0:
            sys.exit("inject.py: %s: exit status %s: %s" % (case.name, expected[0], expected[2].decode(errors="replace")))
        counts, before, first = {}, None, {}
        with open(trace, encoding="ascii", errors="replace") as lines:
            for line in lines:
                found = re.match(r"(\d+) +([a-z_0-9]+)\(", line)
                if not found:
                    continue
                thread, call = found.groups()
                counts[thread, call] = counts.get((thread, call), 0) + 1
                # main's first call asks whether the standard streams are open; a child's calls are counted from its own start.
                if before is None and call == "fcntl" and "F_GETFD" in line:
                    before = {c: n for (_, c), n in counts.items()}
                    before[call] -= 1
                if before is not None:
                    first.setdefault(call, max(counts[thread, call], before.get(call, 0) + 1))
        most = {}
        for (_, call), n in counts.items():
            most[call] = max(most.get(call, 0), n)
        found = []
        for call in sorted(first):
            if only not in call:
                continue
            for error in ERRORS.get(call, []):
                found += [(call, n, error) for n in range(first[call], most[call] + 1)]
        return found, expected

    def loses_words(self, case, point):
        """Is it what would have been said that cannot be written? Of several processes each one's n-th call fails."""
        trace = os.path.join(self.folder, "words-%s-%s-%d" % (case.name, point[2], point[1]))
        self.run(case, "%s:error=%s:when=%d" % (point[0], point[2], point[1]), trace)
        with open(trace, encoding="ascii", errors="replace") as lines:
            return any(" write(2, " in line and "INJECTED" in line for line in lines)

    def wrong(self, case, point, expected):
        """What is wrong with the run in which this fails; None."""
        status, stdout, stderr, left = self.run(case, "%s:error=%s:when=%d" % (point[0], point[2], point[1]))
        if status is None:
            return "does not end"
        if status not in case.statuses:
            return "exit status %d: %s" % (status, stderr[-200:].decode(errors="replace"))
        if status == 0 and not case.measures and answer(stdout) != answer(expected[1]):
            return "another answer: %s" % stdout[:200].decode(errors="replace")
        told = any(line.startswith(case.says) for line in stderr.decode(errors="replace").splitlines())
        told = told or (case.group and status == 1 and "report" in left)  # which says how the command ended
        if status != 0 and not told and not (point[0] == "write" and self.loses_words(case, point)):
            return "exit status %d without a word: %s" % (status, stderr[-200:].decode(errors="replace"))
        for name, content in left.items():
            if name not in case.makes:
                return "leaves %s" % name
            measured = name.endswith((".png", ".jpg")) or name in ("marks", "report", "timeline", "calibration")
            if measured and name != "marks" and not is_whole(name, content):  # these are emptied first, and grow
                return "leaves a part of %s: %s" % (name, content[-40:])
            measured |= name.endswith(".svg") and len(content) == len(expected[3][name])
            if not measured and content != expected[3][name]:
                return "leaves %s of %d bytes instead of %d" % (name, len(content), len(expected[3][name]))
        if status == 0 and set(expected[3]) - set(left):
            return "has not made %s" % ", ".join(set(expected[3]) - set(left))
        return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", nargs="*", help="of: " + ", ".join(c.name for c in cases()))
    parser.add_argument("--only", default="", metavar="TEXT")
    parser.add_argument("--sample", type=int, metavar="N")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N")
    parser.add_argument("--seed", type=int, default=1)
    o = parser.parse_args()
    if not shutil.which("strace") or subprocess.run(["strace", "-qq", "-o", "/dev/null", "true"], capture_output=True, check=False).returncode:
        print("skip faults: needs strace, and the right to trace")
        return 77
    failed = total = 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        bench = Bench(folder)
        for case in cases():
            if o.case and case.name not in o.case:
                continue
            if (case.needs and not os.access(case.needs, os.X_OK)) or (case.group and not os.access(GROUPS, os.W_OK)):
                print("skip faults %s: needs %s, and a control group of root's" % (case.name, case.needs))
                continue
            points, expected = bench.points(case, o.only)
            if o.sample:
                points = case.sample(points, o.sample, o.seed)
            bad = 0
            for point, why in zip(points, pool.map(lambda p, c=case, e=expected: bench.wrong(c, p, e), points)):
                if why:
                    bad += 1
                    print("FAIL faults %s: %s number %d fails with %s: %s" % (case.name, point[0], point[1], point[2], " ".join(why.split())), flush=True)
            if not bad:
                print("ok faults %s: %d calls fail" % (case.name, len(points)), flush=True)
            failed += bad
            total += len(points)
    print("%d points, %d not as they should be" % (total, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
