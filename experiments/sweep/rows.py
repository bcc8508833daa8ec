"""The CSV: a row for each run, with numbers, texts and empty fields (None)."""

import csv
import fcntl
import io
import os
import stat
import statistics

from sweep.cells import Misuse, tidy

TEXTS = ("network", "program", "label", "options", "outcome", "plan", "algorithm", "message", "swap", "cgroup", "cpus",
         "machine", "kernel", "commit", "date")
COLUMNS = ("network", "layers", "program", "label", "options", "limit_bytes", "repeat", "outcome", "exit_status", "latency_ms", "load_ms",
           "wall_ms", "peak_bytes", "limit_hits", "oom_kills", "anon_peak_bytes", "cache_peak_bytes", "vm_hwm_bytes", "resident_bytes",
           "swap_peak_bytes", "swap_in_bytes", "swap_out_bytes", "system_swap_in_bytes", "system_swap_out_bytes", "major_faults",
           "refaults_anon", "refaults_file", "read_bytes", "plan", "algorithm", "arena_bytes", "predicted_charge_bytes", "message",
           "swap", "cgroup", "cpus", "machine", "kernel", "commit", "date")
REFUSED = 3   # exit status of run_inference: does not fit


def heading():
    return ",".join(COLUMNS) + "\n"


def text_of(row):
    """A row as one line; newlines in values are removed."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow([tidy(str(row[c])) if row.get(c) is not None else "" for c in COLUMNS])
    return out.getvalue()


def number(text):
    if text == "":
        return None
    value = float(text)
    return int(value) if value.is_integer() and "." not in text else value


def read_line(values):
    return {c: value if c in TEXTS else number(value) for c, value in zip(COLUMNS, values)}


def read_rows(path):
    """The complete rows of a CSV in order, as dictionaries; an unfinished last line is ignored.
    Raises Misuse."""
    with open(path, encoding="utf-8", errors="replace", newline="") as file:
        text = file.read()
    lines = text.split("\n")[:-1]
    if not lines:
        return []
    if lines[0] + "\n" != heading():
        raise Misuse("%s: its heading is not that of a sweep; --csv takes another file, --fresh starts it anew" % path)
    rows = []
    for n, values in enumerate(csv.reader(lines[1:]), 2):
        try:
            if len(values) != len(COLUMNS):
                raise ValueError("%d values instead of %d" % (len(values), len(COLUMNS)))
            rows.append(read_line(values))
        except ValueError as error:
            raise Misuse("%s:%d: no row of a sweep (%s)" % (path, n, error)) from None
    return rows


def key(row):
    return row["network"], row["layers"], row["label"], row["limit_bytes"], row["repeat"]


def succeeded(row):
    return row["outcome"] == "exit" and row["exit_status"] == 0 and row["latency_ms"] is not None


def swapped(row):
    """True if the group swapped, by its counters, or, if this machine has none, the whole machine."""
    own = [row[column] for column in ("swap_peak_bytes", "swap_in_bytes", "swap_out_bytes") if row[column] is not None]
    return any(own) if own else bool(row["system_swap_in_bytes"] or row["system_swap_out_bytes"])


def mark(row):
    """The mark of a run without a latency (plot.MARKS)."""
    if row["outcome"] == "exit":
        return "refused" if row["exit_status"] == REFUSED else "failed"
    return row["outcome"] if row["outcome"] in ("oom", "timeout", "given-up") else "failed"


class Point:
    """All runs of one program at one limit: median latency of the successful ones, and a mark if
    some failed."""

    def __init__(self, rows):
        good = [row for row in rows if succeeded(row)]
        bad = [mark(row) for row in rows if not succeeded(row)]
        self.rows, self.good, self.limit = rows, good, rows[0]["limit_bytes"]
        self.latency_ms = statistics.median(row["latency_ms"] for row in good) if good else None
        self.mark = max(sorted(set(bad)), key=bad.count) if bad else None
        self.timeout_ms = max((row["wall_ms"] for row in rows if row["outcome"] == "timeout"), default=None)

    def median(self, column):
        """Median over the successful runs that have the value."""
        values = [row[column] for row in self.good if row[column] is not None]
        return statistics.median(values) if values else None

    def drawn(self, x):
        """Points for plot.Series: a time-out at its own height, a failure among successes next to their median."""
        if self.mark == "timeout":
            return [(x, self.timeout_ms, "timeout")] + ([(x, self.latency_ms, None)] if self.good else [])
        return [(x, self.latency_ms, self.mark)]


def points(rows):
    """{(network, layers): {label: [Point by limit, largest first, "none" before all]}}, in the
    order of the rows."""
    groups = {}
    for row in rows:
        labels = groups.setdefault((row["network"], row["layers"]), {})
        labels.setdefault(row["label"], {}).setdefault(row["limit_bytes"], []).append(row)
    return {name: {label: [Point(limits[limit]) for limit in sorted(limits, key=lambda n: -(n or 1 << 62))]
                   for label, limits in labels.items()} for name, labels in groups.items()}


class Writer:
    """Appends whole rows. Each is one write, so that neither a kill nor a full disk leaves half a
    row. The file is locked."""

    def __init__(self, path, fresh=False):
        self.path, self.rows, self.file = path, [], None
        self.made = not os.path.exists(path)
        try:
            self.file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise Misuse("%s: cannot be written (%s)" % (path, error.strerror)) from None
        try:
            if not stat.S_ISREG(os.fstat(self.file).st_mode):
                raise Misuse("%s: expected a regular file" % path)
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not fresh:
                self.rows = read_rows(path)
        except BlockingIOError:
            self.made = False
            self.close()
            raise Misuse("%s: another sweep is writing to it" % path) from None
        except Misuse:
            self.close()
            raise
        self.fresh = fresh

    def begin(self):
        """Called before the first row: removes an unfinished line, and with --fresh everything."""
        with open(self.path, "rb") as file:
            text = file.read()
        whole = 0 if self.fresh else text.rfind(b"\n") + 1
        os.ftruncate(self.file, whole)
        if whole == 0:
            self.put(heading())

    def put(self, text):
        """Writes all or nothing: half a row would also spoil the next one."""
        before, data = os.fstat(self.file).st_size, text.encode()
        try:
            while data:   # partial write: the disk is nearly full, and the next write reports it
                data = data[os.write(self.file, data):]
        except OSError as error:
            os.ftruncate(self.file, before)
            raise OSError("%s: %s" % (self.path, error.strerror)) from None

    def append(self, row):
        line = text_of(row)
        self.put(line)
        self.rows.append(read_line(next(csv.reader([line]))))

    def close(self):
        """Removes the file if it is empty."""
        if self.file is not None:
            if self.made and not os.fstat(self.file).st_size:
                os.unlink(self.path)
            os.close(self.file)
            self.file = None
