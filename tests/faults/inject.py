#!/usr/bin/env python3
"""Makes system calls fail, one at a time.

  inject.py [--only TEXT] [--sample N] [--jobs N] [--seed N] [CASE...]

Runs each case once under strace to record its calls in order. Then, for every call on files,
memory, threads and rings that may fail, and for every error that it may have, runs the case again
with only that call failing. Each such run must end by itself in time with a documented exit status,
print one line if it fails, give the right result if it succeeds, and leave only complete files.
--sample: this many points of each case, drawn by --seed; --only: calls whose name contains TEXT.

Calls before main, in which the C library maps and protects memory, are not tested: it prints its
own messages. Exit status: 0 all pass, 1 a point fails, 77 injection is not possible here."""

import argparse
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile

from bench import Bench, can_run, cases, wrong_answer, wrong_files

# Errors that a call may have. Short reads are in tests/faults/hostile_files.sh, which has to
# provide the bytes.
ERRORS = {
    "openat": ["ENOENT", "EACCES", "EMFILE", "ENOMEM", "EIO"], "open": ["ENOENT", "EMFILE"],
    "read": ["EIO", "EINTR", "EAGAIN"], "pread64": ["EIO", "EINTR", "EAGAIN"], "readv": ["EIO"], "preadv": ["EIO"], "preadv2": ["EIO", "EOPNOTSUPP"],
    "write": ["EIO", "ENOSPC", "EINTR", "EPIPE"], "writev": ["EIO", "ENOSPC"], "pwrite64": ["EIO", "ENOSPC", "EINTR"],
    "fsync": ["EIO", "ENOSPC"], "fdatasync": ["EIO"], "rename": ["EIO", "ENOSPC", "EXDEV"], "link": ["EIO", "EPERM", "ENOSPC"], "flock": ["ENOLCK", "EINTR"], "ftruncate": ["EIO", "ENOSPC"],
    "fallocate": ["ENOSPC", "EOPNOTSUPP"], "close": ["EIO", "EINTR"], "lseek": ["EINVAL"], "fstat": ["EIO"], "newfstatat": ["EIO", "ENOMEM"],
    "statx": ["EIO"], "fcntl": ["EINVAL", "EMFILE"], "fadvise64": ["EINVAL"], "fchmod": ["EPERM"], "statfs": ["EIO"], "fstatfs": ["EIO"],
    "mmap": ["ENOMEM"], "mremap": ["ENOMEM"], "mprotect": ["ENOMEM"], "madvise": ["EAGAIN", "EINVAL"], "munmap": ["ENOMEM"],
    "mlock2": ["ENOMEM", "EPERM"], "mlock": ["ENOMEM"], "clone3": ["EAGAIN", "ENOMEM"], "clone": ["EAGAIN"],
    "sched_getaffinity": ["EINVAL"], "sched_setaffinity": ["EPERM"], "rt_sigaction": ["EINVAL"], "rt_sigprocmask": ["EINVAL"],
    "io_uring_setup": ["ENOSYS", "EPERM", "ENOMEM"], "io_uring_register": ["EINVAL", "ENOMEM"], "io_uring_enter": ["EAGAIN", "EINTR", "EBUSY"],
    "io_setup": ["EAGAIN", "ENOSYS"], "io_submit": ["EAGAIN", "EINVAL"], "io_getevents": ["EINTR"], "getrandom": ["ENOSYS"],
    "prctl": ["EINVAL"], "seccomp": ["EINVAL", "ENOMEM"], "landlock_create_ruleset": ["ENOSYS"], "landlock_restrict_self": ["E2BIG"],
    "pipe2": ["EMFILE"], "ioctl": ["EIO"], "clock_nanosleep": ["EINTR"], "sysinfo": ["EINVAL"], "prlimit64": ["EPERM"], "getrusage": ["EINVAL"],
    "socket": ["EMFILE"], "bind": ["EACCES"], "listen": ["EADDRINUSE"], "setsockopt": ["EINVAL"], "getsockname": ["ENOBUFS"],
    "accept4": ["EMFILE", "ENOMEM", "ECONNABORTED", "EINTR"], "recvfrom": ["ECONNRESET", "EINTR"], "sendto": ["EPIPE", "ECONNRESET", "EINTR"],
    "sendfile": ["EPIPE", "EINTR"], "shutdown": ["ENOTCONN"], "memfd_create": ["EMFILE", "ENOMEM"], "eventfd2": ["EMFILE"], "ppoll": ["EINTR"],
    "cachestat": ["ENOSYS"], "readlink": ["EIO"], "uname": ["EFAULT"], "getdents64": ["EIO", "ENOMEM"], "faccessat": ["EIO"], "faccessat2": ["EIO"], "access": ["EIO"],
    "wait4": ["EINTR"], "execve": ["ENOENT", "ENOMEM"], "poll": ["EINTR"], "getcwd": ["ENOENT"], "getdents": ["EIO"],
}


def strace(trace, injected=None):
    return ["strace", "-f", "-qq", "-o", trace] + (["-e", "trace=" + injected.split(":")[0], "-e", "inject=" + injected] if injected else [])


class Injector(Bench):
    def points(self, case, only):
        """(call, its number in its thread, error), and the expected run."""
        trace = os.path.join(self.folder, case.name + ".trace")
        expected = self.run(case, strace(trace))
        if expected[0] != 0:
            sys.exit("inject.py: %s: exit status %s: %s" % (case.name, expected[0], expected[2].decode(errors="replace")))
        counts, before, first, loading, loaded = {}, None, {}, set(), set()
        with open(trace, encoding="ascii", errors="replace") as lines:
            for line in lines:
                found = re.match(r"(\d+) +([a-z_0-9]+)\(", line)
                if not found:
                    continue
                thread, call = found.groups()
                counts[thread, call] = counts.get((thread, call), 0) + 1
                # main's first call checks the standard streams; a child's calls are counted from
                # its own start.
                if before is None and call == "fcntl" and "F_GETFD" in line:
                    before = {c: n for (_, c), n in counts.items()}
                    before[call] -= 1
                # Calls before the main of an executed program are not tested either.
                if call == "execve" and before is not None and " = -1 " not in line:
                    loading.add(thread)
                elif call == "fcntl" and "F_GETFD" in line:
                    loading.discard(thread)
                elif thread in loading:
                    loaded.add((call, counts[thread, call]))
                if before is not None:
                    first.setdefault(call, max(counts[thread, call], before.get(call, 0) + 1))
        most = {}
        for (_, call), n in counts.items():
            most[call] = max(most.get(call, 0), n)
        found = []
        for call in sorted(first):
            # pthread_create's own call: all signals stay blocked, also TERM
            if only not in call or (case.serves and call == "rt_sigprocmask"):
                continue
            for error in ERRORS.get(call, []):
                found += [(call, n, error) for n in range(first[call], most[call] + 1) if (call, n) not in loaded]
        return found, expected

    def loses_words(self, case, point):
        """True if the failed write is that of the message itself. With several processes the n-th
        call of each fails."""
        trace = os.path.join(self.folder, "words-%s-%s-%d" % (case.name, point[2], point[1]))
        self.run(case, strace(trace, "%s:error=%s:when=%d" % (point[0], point[2], point[1])))
        with open(trace, encoding="ascii", errors="replace") as lines:
            return any(" write(2, " in line and "INJECTED" in line for line in lines)

    def wrong(self, case, point, expected):
        """The problem with the run in which this call fails, or None."""
        status, stdout, stderr, left = self.run(case, strace("/dev/null", "%s:error=%s:when=%d" % (point[0], point[2], point[1])))
        if status is None:
            return "does not end"
        if status not in case.statuses:
            return "exit status %d: %s" % (status, stderr[-200:].decode(errors="replace"))
        told = any(line.startswith(case.says) for line in stderr.decode(errors="replace").splitlines())
        # the report shows how the command ended
        told = told or (case.group and status == 1 and "report" in left)
        if status != 0 and not told and not (point[0] == "write" and self.loses_words(case, point)):
            return "exit status %d without a word: %s" % (status, stderr[-200:].decode(errors="replace"))
        return wrong_files(case, left, expected[3]) or wrong_answer(case, status, stdout, left, expected)


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
        bench = Injector(folder)
        for case in cases():
            if o.case and case.name not in o.case:
                continue
            if not can_run(case):
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
