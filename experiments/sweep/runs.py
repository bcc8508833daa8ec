"""Runs cells, each in its own memory group by build/memory_limit, and appends a row to the CSV when
it ends.

  runs.run(cells, "out.csv", runs.Options(timeout=60))      # -> the CSV's rows

A Session keeps files and swap from one run() to the next, for callers that choose cells by earlier
rows:

  with runs.Session(runs.Options()) as session:
      rows = session.run(cells, "out.csv")
      row = session.measure(cell)                           # into no CSV"""

import contextlib
import ctypes
import dataclasses
import datetime
import hashlib
import json
import math
import os
import random
import signal
import subprocess
import sys
import time

import machine
import programs
from sweep import ROOT
from sweep import rows as csv_rows
from sweep.arguments import build_folder
from sweep.cells import Misuse, read_size, tidy
from sweep.files import Files, find_program
from sweep.place import SWAP, Place

CHUNK = 1 << 20


@dataclasses.dataclass
class Options:
    timeout: float = 120        # seconds of one run
    cpus: str = None            # None: the last CPU that this process may use
    swap: str = "2G"            # a file of its own of this size; "none": what would swap is killed; "asis": what is on
    warm: bool = False          # files stay in the page cache
    # a memory group in which this user may make groups (memory_limit --parent)
    parent: str = None
    seed: int = None            # seed of the order; None: a new one each time
    patience: float = 20        # seconds; a slower program runs once at that limit
    give_up: bool = False       # programs that failed at a limit (give_up_for) are not tried at smaller ones
    give_up_for: tuple = ("oom", "timeout")
    fresh: bool = False         # start the CSV anew
    quiet: bool = False
    build: str = None           # None: the variable BUILD, or build/

    def __post_init__(self):
        self.build = os.path.abspath(self.build or build_folder())
        self.cpus = self.cpus or str(max(os.sched_getaffinity(0)))
        if self.swap not in ("none", "asis"):
            self.swap = str(read_size(self.swap, "--swap"))   # normalized


LIBC = ctypes.CDLL(None)
PR_SET_PDEATHSIG = 1


def die_with_parent():
    LIBC.prctl(PR_SET_PDEATHSIG, int(signal.SIGTERM))


class Interrupted(Exception):
    """Ended by the signal that it holds."""

    def __init__(self, number):
        super().__init__(signal.Signals(number).name)
        self.number = number


class Stopped(Exception):
    """A sweep cannot continue; the message is one line."""


class Signals:
    """Turns INT, TERM and HUP into one Interrupted, delayed while held(), so that no step is left
    half done."""

    NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def __init__(self):
        self.depth, self.pending, self.before = 0, None, {}

    def __enter__(self):
        for number in self.NUMBERS:
            if signal.getsignal(number) != signal.SIG_IGN:   # nohup
                self.before[number] = signal.signal(number, self.take)
        return self

    def __exit__(self, *_):
        for number, handler in self.before.items():
            signal.signal(number, handler)

    def take(self, number, _frame):
        for other in self.before:   # only the first: cleaning up is not interrupted
            signal.signal(other, lambda *_: None)   # not SIG_IGN, which a starting program would inherit
        if self.depth:
            self.pending = number
        else:
            raise Interrupted(number)

    @contextlib.contextmanager
    def held(self):
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1
        if self.pending and not self.depth:
            number, self.pending = self.pending, None
            raise Interrupted(number)


class Progress:
    """A progress line on a terminal: done, current, remaining time."""

    def __init__(self, quiet, total):
        self.shown = not quiet and sys.stderr.isatty()
        self.total, self.done, self.left_s = total, 0, None

    def show(self, text, since):
        if not self.shown:
            return
        width = os.get_terminal_size(sys.stderr.fileno()).columns or 80
        full = 20 * self.done // max(1, self.total)
        left = "" if self.left_s is None else ", %s left" % duration(max(0.0, self.left_s - (time.monotonic() - since)))
        line = "[%s%s] %d/%d%s: %s" % ("#" * full, "." * (20 - full), self.done, self.total, left, text)
        print("\r\033[K" + line[:max(10, width - 1)], end="", file=sys.stderr, flush=True)

    def clear(self):
        if self.shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def duration(seconds):
    if seconds < 90:
        return "%.0f s" % seconds
    return "%.0f min" % (seconds / 60) if seconds < 5400 else "%.1f h" % (seconds / 3600)


def took_s(row):
    return (row["wall_ms"] or 0) / 1e3


def time_left_s(cells, rows, timeout):
    """Estimated time of the cells: each as its program took at the nearest limit, else the mean of
    all rows."""
    by_label, mean_s = {}, sum(map(took_s, rows)) / len(rows)
    for row in rows:
        if row["outcome"] != "given-up":
            by_label.setdefault(csv_rows.key(row)[:3], []).append(row)
    far, left = 1 << 40, 0.0
    for cell in cells:
        same = by_label.get(cell.key()[:3])
        nearest = min(same, key=lambda row: abs(math.log((row["limit_bytes"] or far) / (cell.limit or far)))) if same else None
        left += min(timeout, took_s(nearest) if nearest else mean_s)
    return left


def order(cells, seed, give_up):
    """Random order within a repeat. With give_up larger limits come first, so that smaller ones can
    be skipped."""
    generator = random.Random(seed)
    cells = list(cells)
    generator.shuffle(cells)
    if give_up:
        return sorted(cells, key=lambda cell: (-(cell.limit or 1 << 62), cell.repeat))
    return sorted(cells, key=lambda cell: cell.repeat)


def digest(path):
    if path is None:
        return "made"
    value = hashlib.sha256()
    with open(path, "rb") as file:
        while chunk := file.read(CHUNK):
            value.update(chunk)
    return value.hexdigest()


class Meta:
    """A file beside the CSV: which cfg, weights and picture belong to its networks' names, and
    whether they were cached."""

    def __init__(self, csv, fresh):
        self.csv, self.path = csv, csv + ".meta.json"
        self.networks = {}
        if not fresh and os.path.exists(self.path):
            try:
                with open(self.path, encoding="utf-8") as file:
                    self.networks = json.load(file)["networks"]
            except (OSError, ValueError, KeyError, TypeError):
                raise Misuse("%s: not written by a sweep; without it, rows of another network cannot be told apart" % self.path) from None

    def check(self, network, warm, known):
        """known: the CSV has rows with that name. Raises Misuse if they are of other files."""
        found = {"cfg": digest(network.cfg), "weights": digest(network.weights), "picture": digest(network.image),
                 "page cache": "warm" if warm else "cold"}
        before = self.networks.get(network.name, {}) if known else {}
        for what, value in found.items():
            if before.get(what, value) != value:
                raise Misuse("%s: its rows of %s were measured with %s; --fresh starts it anew, --csv takes another file"
                             % (self.csv, network.name, "another " + what if what != "page cache" else "a %s page cache" % before[what]))
        self.networks[network.name] = found

    def write(self):
        with open(self.path + ".part", "w", encoding="utf-8") as file:
            json.dump({"networks": self.networks}, file, indent=1, sort_keys=True)
            file.write("\n")
        os.replace(self.path + ".part", self.path)


def swap_text(state, cost):
    """The swap in words, from swap.sh's status and cost."""
    if not state or not state["swaps"]:
        return "none is on"
    texts = ["%s on %s of %.2f GB" % (swap["kind"], swap["disk"] or swap["device"], swap["size_bytes"] / (1 << 30)) for swap in state["swaps"]]
    if cost:
        texts.append("a page out %.1f us, in %.1f us, at random %.1f us" % (cost["out_us"], cost["in_us"], cost["in_random_us"]))
    return "; ".join(texts + (["behind zswap"] if state["zswap"] else []))


class Session:
    """Files, swap and programs for any number of run(). Raises Misuse if something is missing,
    before anything runs."""

    def __init__(self, options):
        self.options = options
        self.limiter = os.path.join(options.build, "memory_limit")
        self.place, self.files, self.child, self.signals = None, None, None, Signals()
        self.about = None

    def __enter__(self):
        self.signals.__enter__()
        return self

    def __exit__(self, *_):
        try:
            self.end_child()
            if self.place:
                self.place.close()
        finally:
            self.place = self.files = None
            self.signals.__exit__()

    # ---- What is needed

    def open(self):
        """Opens work folder and swap, and checks that groups can be made."""
        if self.place:
            return
        self.try_limiter()
        base = os.environ.get("TMPDIR") or os.path.join(self.options.build, "sweep")
        place = Place(base, self.options.swap if self.options.swap not in ("none", "asis") else None)
        self.place = place
        place.open(self.signals.held)
        self.files = Files(place.folder, self.options.build)
        self.about = machine.describe_machine()
        if self.about["commit"] == "unknown":
            version = subprocess.run([os.path.join(self.options.build, "run_inference"), "--version"], capture_output=True, text=True,
                                     check=False).stdout.split()
            self.about["commit"] = version[-1] if version else "unknown"
        self.about["swap"] = "none" if self.options.swap == "none" else swap_text(self.ask_swap("status"), self.ask_swap("cost"))

    def ask_swap(self, what):
        """The JSON of a command of swap.sh; None: it failed."""
        status, out, _ = self.call([SWAP, what, "--json"], {"BUILD": self.options.build})
        return json.loads(out) if status == 0 else None

    def call(self, command, environment=None):
        """Runs a child to its end: (exit status, output, errors). The child ends when this process
        does."""
        with self.signals.held():
            self.child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                          errors="replace", env=dict(os.environ, **(environment or {})), preexec_fn=die_with_parent)
        out, err = self.child.communicate()
        status, self.child = self.child.returncode, None
        return status, out, err

    def try_limiter(self):
        """Checks that groups with a limit and these CPUs work here. memory_limit reports what would
        help."""
        if not os.access(self.limiter, os.X_OK):
            raise Misuse("%s is missing; make %s" % (self.limiter, self.limiter.replace(ROOT + "/", "")))
        command = [self.limiter, *self.group_options(64 << 20), "-o", os.devnull, "--", "true"]
        status, _, err = self.call(command)
        if status != 0:
            raise Misuse(programs.last_line(err, status))

    def group_options(self, limit):
        """memory_limit's options for a group with this limit."""
        options = ["--limit", str(limit), "--swap", "none" if self.options.swap == "none" else "all"] if limit else ["--limit", "none"]
        return options + ["--cpus", self.options.cpus] + (["--parent", self.options.parent] if self.options.parent else [])

    def prepare(self, cell):
        """The cell's command and files (files.Prepared)."""
        self.open()
        try:
            return self.files.prepare(cell.network, cell.program)
        except OSError as error:   # the disk is full
            raise Misuse(self.files.clean(str(error))) from None

    # ---- One run

    def end_child(self):
        """Ends memory_limit, which ends its command and removes its group."""
        if self.child and self.child.poll() is None:
            self.child.terminate()
            self.child.wait()
        self.child = None

    def cache(self, paths):
        """Reads files into the page cache, outside the group."""
        for path in paths:
            with contextlib.suppress(OSError), open(path, "rb", buffering=0) as file:
                while file.read(CHUNK):
                    pass

    def limit_command(self, cell, prepared, report, extra=()):
        """The command line of memory_limit; extra: further options."""
        evict = [] if self.options.warm else [word for path in prepared.evicted for word in ("--evict", path)]
        return [self.limiter, *self.group_options(cell.limit), "--timeout", "%g" % self.options.timeout, "--json", "-o", report, *evict, *extra,
                "--", *prepared.command]

    def measure(self, cell, tick=None, extra=()):
        """Runs a cell and returns its row. tick() is called twice a second."""
        prepared = self.prepare(cell)
        report, out, err = (os.path.join(self.place.folder, name) for name in ("report", "out", "err"))
        with contextlib.suppress(FileNotFoundError):
            os.unlink(report)
        self.cache(prepared.cached_libraries + (prepared.evicted if self.options.warm else []))
        machine.drop_from_page_cache(prepared.cold_libraries)
        with open(out, "wb") as out_file, open(err, "wb") as err_file:
            with self.signals.held():
                self.child = subprocess.Popen(self.limit_command(cell, prepared, report, extra), stdin=subprocess.DEVNULL,
                                              stdout=out_file, stderr=err_file, env=dict(os.environ, **prepared.environment))
            while True:
                try:
                    status = self.child.wait(0.5)
                    break
                except subprocess.TimeoutExpired:
                    if tick:
                        tick()
        self.child = None
        return self.row(cell, status, *(read_text(path) for path in (report, out, err)))

    def row(self, cell, status, report, out, err):
        try:
            found = json.loads(report)
        except ValueError:
            raise Stopped(self.files.clean(programs.last_line(err, status))) from None
        if found["outcome"] == "interrupted":
            raise Stopped("a run was interrupted from outside: %s" % cell)
        row = {column: found.get(column) for column in csv_rows.COLUMNS}
        row.update(self.about, network=cell.network.name, layers=cell.network.layers, program=cell.program.who, label=cell.program.label,
                   options=cell.program.options_text, limit_bytes=cell.limit, repeat=cell.repeat,
                   cgroup=" ".join(str(found[name]) for name in ("cgroup", "layout", "means") if found.get(name)),
                   cpus=" by ".join(str(found[name]) for name in ("cpus", "cpus_by") if found.get(name)),
                   date=datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"))
        answer = read_answer(out)
        if found["outcome"] == "exit" and found["exit_status"] == 0 and answer:
            row.update({name: answer.get(name) for name in ("plan", "algorithm", "arena_bytes", "predicted_charge_bytes")},
                       latency_ms=round(answer["latencies_ms"][0], 3), load_ms=round(answer["load_ms"], 3), resident_bytes=answer["measured_resident_bytes"])
        else:
            lines = [line for line in err.splitlines() if line.strip()]
            row["message"] = self.files.clean(lines[-1]) if lines else None
        return row

    # ---- Many

    def skip(self, cell, rows):
        """Reason why a cell is skipped: "slow", "given-up", or None."""
        mine = [row for row in rows if csv_rows.key(row)[:4] == cell.point()]
        if any(took_s(row) > self.options.patience or row["outcome"] == "given-up" for row in mine):
            return "slow"
        if self.options.give_up and cell.limit is not None and cell.repeat == 1:
            larger = [row for row in rows if csv_rows.key(row)[:3] == cell.key()[:3] and (row["limit_bytes"] or 1 << 62) > cell.limit]
            limits = {row["limit_bytes"] for row in larger}
            failures = (*self.options.give_up_for, "given-up")
            for limit in limits:
                if all(row["outcome"] in failures for row in larger if row["limit_bytes"] == limit):
                    return "given-up"
        return None

    def check(self, cells, writer):
        """Called before anything runs: checks that the CSV's rows belong to the same files."""
        meta = Meta(writer.path, self.options.fresh)
        names = {row["network"] for row in writer.rows}
        for network in {cell.network.name: cell.network for cell in cells}.values():
            meta.check(network, self.options.warm, network.name in names)
        here = tidy(machine.describe_machine()["machine"])
        known = {csv_rows.key(row)[:3]: (row["program"], row["options"], row["machine"]) for row in writer.rows}
        for cell in cells:
            ours = cell.program.who, cell.program.options_text, here
            theirs = known.setdefault(cell.key()[:3], ours)
            if theirs[:2] != ours[:2]:
                raise Misuse("label '%s' stands for '%s' already; give this one another ('LABEL: %s')" %
                             (cell.program.label, " ".join(theirs[:2]).strip(), " ".join(ours[:2]).strip()))
            if theirs[2] != here:
                raise Misuse("%s: its rows of %s are of another machine (%s); --fresh starts it anew, --csv takes another file" %
                             (writer.path, cell.program.label, theirs[2]))
        return meta

    def run(self, cells, path):
        """Runs the cells that the CSV does not have yet, and returns all its rows."""
        writer = csv_rows.Writer(path, self.options.fresh)
        try:
            meta = self.check(cells, writer)
            done = {csv_rows.key(row) for row in writer.rows}
            todo = [cell for cell in order(cells, self.options.seed, self.options.give_up)
                    if cell.key() not in done and self.skip(cell, writer.rows) != "slow"]
            if todo:
                self.run_all(todo, writer, meta)
            self.options.fresh = False   # not for the next run() either
            return writer.rows
        finally:
            with self.signals.held():
                writer.close()

    def run_all(self, todo, writer, meta):
        progress = Progress(self.options.quiet, len(todo))
        try:
            progress.show("files, swap, programs", time.monotonic())
            for who in sorted({cell.program.who for cell in todo}):
                find_program(who, self.options.build)   # fails before anything is made
            for cell in todo:
                self.prepare(cell)
            begun = False
            while todo:
                cell = todo.pop(0)
                why = self.skip(cell, writer.rows)
                if why != "slow":
                    now = time.monotonic()
                    if writer.rows and progress.shown:
                        progress.left_s = time_left_s([cell, *todo], writer.rows, self.options.timeout)
                    progress.show(str(cell), now)
                    row = self.given_up(cell) if why else self.measure(cell, lambda: progress.show(str(cell), now))
                    with self.signals.held():
                        if not begun:
                            writer.begin()
                            meta.write()
                            begun = True
                        writer.append(row)
                progress.done += 1
        finally:
            progress.clear()

    def given_up(self, cell):
        row = dict.fromkeys(csv_rows.COLUMNS)
        row.update(self.about, network=cell.network.name, layers=cell.network.layers, program=cell.program.who, label=cell.program.label,
                   options=cell.program.options_text, limit_bytes=cell.limit, repeat=cell.repeat, outcome="given-up",
                   message="failed at a larger limit",
                   date=datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"))
        return row


def read_text(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except FileNotFoundError:
        return ""


def read_answer(out):
    """The JSON object that a program prints; None: it failed before."""
    try:
        answer = json.loads(out)
        return answer if answer.get("latencies_ms") else None
    except (ValueError, AttributeError):
        return None


def run(cells, path, options=None):
    """Runs the cells without rows in the CSV at `path`, and returns all its rows. Raises Misuse
    (nothing was done), Stopped, Interrupted."""
    with Session(options or Options()) as session:
        return session.run(cells, path)


def main(function, name):
    """Runs function(), which returns an exit status, and reports in one line what stopped it."""
    def say(text):
        print("%s: %s" % (name, text), file=sys.stderr)
    try:
        return function()
    except Misuse as reason:
        say(reason)
        return 2
    except (Stopped, OSError) as reason:
        say(reason)
        return 1
    except Interrupted as signalled:
        return 128 + signalled.number
    except KeyboardInterrupt:
        return 130
