#!/usr/bin/env python3
"""Sends signals at random moments.

  kills.py [--times N] [--jobs N] [--seed N] [--only SIGNAL] [CASE...]

Runs the cases of bench.py in turn, N times in all (2000), and sends each a signal at a random
moment: TERM, INT, HUP, QUIT or KILL; STOP, then CONT a little later; STOP and CONT repeatedly
(STORM); or SIGALRM every 0.5 ms, which ends waiting calls with EINTR (ALRM; tests/faults/storm.c,
dynamic programs only). A process ends by the signal, or normally if its work was done; a stopped
one continues to the right result. Ten seconds later no process, control group or incomplete file
may be left. After KILL, and for programs without a signal handler (users of the library;
memory_limit and QUIT), temporary files may be left (.part, a suffix of six letters, calibrating-),
as well as truncated reports of memory_limit.

Exit status: 0 all pass, 1 a run fails."""

import argparse
import concurrent.futures
import copy
import os
import random
import re
import signal
import sys
import tempfile
import time

from bench import Bench, can_run, cases, program, wrong_answer, wrong_files

SIGNALS = ("TERM", "INT", "HUP", "QUIT", "KILL", "STOP", "STORM", "ALRM")
GOES_ON = ("STOP", "STORM", "ALRM")
MOST_STOPS = 300
UNNAMED = re.compile(r"\.part$|\.[A-Za-z0-9]{6}$|^calibrating-|^report$|^timeline$")


class Moment:
    """The signal of one run, and its moment."""

    def __init__(self, case, name, seconds, pause):
        if name == "ALRM" and case.name == "tight":
            name = "STORM"  # STORM does not work with private libraries
        self.case, self.name, self.seconds, self.pause = case, name, seconds, pause
        if name == "ALRM":
            self.case = copy.copy(case)
            self.case.command = [word + "_dynamic" if word == program("run_inference") else word for word in case.command]

    def wrapper(self):
        return ("env", "LD_PRELOAD=" + program("storm.so")) if self.name == "ALRM" else ()

    def strike(self, process):
        if self.name == "ALRM":
            return
        if self.name == "STORM":
            self.stop_often(process)
            return
        time.sleep(self.seconds)
        try:
            process.send_signal(getattr(signal, "SIG" + self.name))
            if self.name == "STOP":
                time.sleep(self.pause)
                process.send_signal(signal.SIGCONT)
        except ProcessLookupError:
            pass

    def stop_often(self, process):
        draw = random.Random(self.seconds)
        for _ in range(MOST_STOPS):
            if process.poll() is not None:
                return
            for number in (signal.SIGSTOP, signal.SIGCONT):
                process.send_signal(number)
                time.sleep(draw.uniform(0, 0.004))

    def statuses(self):
        if self.name in GOES_ON:
            return (0,)
        number = getattr(signal, "SIG" + self.name)
        # memory_limit's status if the command was ended
        return (0, -number, 128 + number) + ((2,) if self.name != "KILL" and self.case.group else ())


def wrong(bench, moment, expected):
    case = moment.case
    status, stdout, stderr, left = bench.run(case, moment.wrapper(), moment.strike)
    if status is None:
        return "does not end"
    if status not in moment.statuses():
        return "exit status %d: %s" % (status, stderr[-200:].decode(errors="replace"))
    if status != 0 and (moment.name == "KILL" or case.name.startswith("library") or (case.group and moment.name == "QUIT")):
        left = {name: content for name, content in left.items() if not UNNAMED.search(name)}
    return wrong_files(case, left, expected[3]) or wrong_answer(case, status, stdout, left, expected)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", nargs="*", help="of: " + ", ".join(c.name for c in cases()))
    parser.add_argument("--times", type=int, default=2000, metavar="N")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=SIGNALS, action="append")
    o = parser.parse_args()
    chosen, draw, failed = [], random.Random(o.seed), 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        bench = Bench(folder)
        for case in cases():
            if o.case and case.name not in o.case:
                continue
            if not can_run(case):
                print("skip kills %s: needs %s, and a control group of root's" % (case.name, case.needs))
                continue
            begin = time.monotonic()
            expected = bench.run(case)
            if expected[0] != 0:
                sys.exit("kills.py: %s: exit status %s: %s" % (case.name, expected[0], expected[2].decode(errors="replace")))
            chosen.append((case, expected, time.monotonic() - begin))
        ends = dict.fromkeys((case.name for case, _, _ in chosen), 0)
        moments = []
        for i in range(o.times):
            case, expected, seconds = chosen[i % len(chosen)]
            moments.append((Moment(case, draw.choice(o.only or SIGNALS), draw.uniform(0, 1.2 * seconds), draw.uniform(0, 0.05)), expected))
        for (moment, _), why in zip(moments, pool.map(lambda m: wrong(bench, *m), moments)):
            if why:
                ends[moment.case.name] += 1
                print("FAIL kills %s: %s after %.4f s: %s" % (moment.case.name, moment.name, moment.seconds, " ".join(why.split())), flush=True)
        for name, bad in ends.items():
            failed += bad
            if not bad:
                print("ok kills %s" % name)
    print("%d signals, %d not as they should be" % (o.times, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
