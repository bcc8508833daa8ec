#!/usr/bin/env python3
"""Checks in long runs that nothing grows or is lost.

  endless.py [--pictures N] [--opens N] [--sample]

Uses a small network with random weights. run_inference reads the same picture N times (10^6) from a
list, with streamed weights: every result must equal the first, and resident bytes, descriptors and
mappings must not grow after the first tenth. The library (tests/soak/endless.c) does the same with
floats, a tenth as often, and opens and closes models (10^5), some of them two in one arena.
--sample: 10^4 and 10^3. Exit status 0 or 1."""

import argparse
import os
import subprocess
import sys
import tempfile
import threading

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(os.environ.get("BUILD", os.path.join(ROOT, "build")))
SLACK_KB = 64  # for the ends of the heap and page tables
NETWORK = """[net]
width=16
height=12
channels=3
[convolutional]
filters=8
size=3
pad=1
activation=leaky
[maxpool]
size=2
stride=2
[convolutional]
filters=%d
size=1
activation=linear
[region]
anchors=0.5,0.7
classes=2
coords=4
num=1
softmax=1
"""


def holdings(pid):
    """Anonymous resident KB (code comes and goes 64 KB at a time), descriptors, mappings, threads."""
    with open("/proc/%d/smaps_rollup" % pid, encoding="ascii") as lines:   # exact: VmRSS may be off by 64 pages a CPU
        resident = next(int(line.split()[1]) for line in lines if line.startswith("Anonymous:"))
    with open("/proc/%d/maps" % pid, encoding="utf-8") as lines:
        mappings = len(lines.readlines())
    threads = 0
    for task in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/comm" % (pid, task), encoding="utf-8") as name:
            threads += not name.read().startswith("iou-")  # io_uring's kernel threads come and go
    return resident, len(os.listdir("/proc/%d/fd" % pid)), mappings, threads


def feed(stream, line, n, seen):
    """Writes the list; it ends when the process was measured."""
    piece = line * 1000
    try:
        for _ in range(n // 1000):
            stream.write(piece)
        stream.flush()
        seen.wait()
        stream.close()
    except BrokenPipeError:
        pass


def pictures(folder, cfg, weights, n):
    """Compares results as they arrive; the list goes through a pipe."""
    picture = os.path.join(folder, "picture.ppm")
    with open(picture, "wb") as file:
        file.write(b"P6 20 10 255\n" + bytes(i * 37 % 256 for i in range(600)))
    command = [os.path.join(BUILD, "run_inference"), "--quiet", "--thresh", "0.01", "--plan", "rows1:streamed/NoCut", cfg, weights, "-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as run:
        seen = threading.Event()
        threading.Thread(target=feed, args=(run.stdin, picture.encode() + b"\n", n, seen), daemon=True).start()
        answer, first, count, begin = [], [], 0, None
        for line in run.stdout:
            if line.startswith(picture.encode()):  # "picture: in 0.1 ms"
                count += 1
                if count > 1 and answer != first:
                    print("FAIL endless pictures: answer %d is another: %s" % (count - 1, answer))
                    run.kill()
                    return False
                if count == n // 10:
                    begin = holdings(run.pid)
                if count == n:
                    end = holdings(run.pid)
                    seen.set()
                answer = []
                continue
            answer.append(line)
            if count == 1:
                first.append(line)
    good = run.returncode == 0 and count == n and end[0] <= begin[0] + SLACK_KB and all(a <= b for a, b in zip(end[1:], begin[1:])) and first == answer and first
    print("%s endless pictures: %d of %d, exit status %d; resident %d -> %d KB, descriptors %d -> %d, mappings %d -> %d, threads %d -> %d"
          % (("ok" if good else "FAIL", count, n, run.returncode) + tuple(x for pair in zip(begin, end) for x in pair)), flush=True)
    return bool(good)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pictures", type=int, default=1000000)
    parser.add_argument("--opens", type=int, default=100000)
    parser.add_argument("--sample", action="store_true")
    o = parser.parse_args()
    n, opens = (10000, 1000) if o.sample else (o.pictures // 1000 * 1000, o.opens)
    with tempfile.TemporaryDirectory() as folder:
        models = []
        for filters in (7, 14):
            cfg, weights = (os.path.join(folder, "%d.%s" % (filters, end)) for end in ("cfg", "weights"))
            with open(cfg, "w", encoding="ascii") as file:
                file.write((NETWORK % filters).replace("num=1", "num=%d" % (filters // 7)).replace("0.5,0.7", ",".join(["0.5,0.7"] * (filters // 7))))
            subprocess.run([os.path.join(BUILD, "make_weights"), "--quiet", cfg, weights], check=True)
            models += [cfg, weights]
        good = pictures(folder, models[0], models[1], n)
        # Without the C library's caches of freed blocks, which count as used, so that not one byte
        # may grow.
        exact = dict(os.environ, GLIBC_TUNABLES="glibc.malloc.tcache_count=0")
        good &= subprocess.run([os.path.join(BUILD, "endless")] + models + [str(n // 10), str(opens)], check=False, env=exact).returncode == 0
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
