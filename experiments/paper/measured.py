"""Reads runs.csv (a sweep's rows), limits.csv and darknet.csv, and computes medians."""

import csv
import os
import statistics

from sweep import rows as sweep_rows
from sweep.cells import Misuse

MEGABYTE = 1048576

RUNS, LIMITS, BUFFERS = "runs.csv", "limits.csv", "darknet.csv"
LIMIT_COLUMNS = ("label", "paper_bytes", "predicted_charge_bytes", "least_bytes", "step_bytes", "below", "runs", "dry_runs", "swap", "cgroup",
                 "machine", "kernel", "commit", "date")
BUFFER_COLUMNS = ("layer", "type", "width", "height", "channels", "buffer", "allocated_bytes", "resident_bytes")
TEXTS = ("label", "below", "swap", "cgroup", "machine", "kernel", "commit", "date", "type", "buffer")


def number(text):
    """None if the field is empty."""
    if text == "":
        return None
    value = int(text)
    if not 0 <= value < 1 << 62:
        raise ValueError(text)
    return value


def read_csv(path, columns):
    """Lines as dictionaries of numbers, texts and None. Raises Misuse."""
    with open(path, encoding="utf-8", newline="") as file:
        reader = csv.reader(file.read().splitlines())
    heading = next(reader, [])
    if tuple(heading) != columns:
        raise Misuse("%s:1: expected the heading %s, found '%s'" % (path, ",".join(columns), ",".join(heading)[:60]))
    lines = []
    for n, fields in enumerate(reader, 2):
        if len(fields) != len(columns):
            raise Misuse("%s:%d: expected %d fields, found %d" % (path, n, len(columns), len(fields)))
        line = dict(zip(columns, fields))
        for column in columns:
            try:
                line[column] = line[column] if column in TEXTS else number(line[column])
            except ValueError:
                raise Misuse("%s:%d: %s expects an integer, found '%s'" % (path, n, column, line[column][:40])) from None
        lines.append(line)
    return lines


def megabytes(value):
    return None if value is None else value / MEGABYTE


class Runs:
    """A sweep's rows by label and limit (MB; None: no limit)."""

    def __init__(self, rows):
        self.rows, self.cells = rows, {}
        for row in rows:
            self.cells.setdefault((row["label"], megabytes(row["limit_bytes"])), []).append(row)

    def labels(self):
        return {label for label, _ in self.cells}

    def limits(self, labels=None):
        """Limits of the labels (or all), ascending, no limit last."""
        found = {limit for label, limit in self.cells if labels is None or label in labels}
        return sorted(found - {None}) + ([None] if None in found else [])

    def rows_of(self, label, limit):
        return self.cells.get((label, limit), [])

    def good(self, label, limit):
        return [row for row in self.rows_of(label, limit) if sweep_rows.succeeded(row)]

    def median(self, label, limit, column="latency_ms"):
        """Median of the successful runs, or None."""
        values = [row[column] for row in self.good(label, limit) if row[column] is not None]
        return statistics.median(values) if values else None

    def mark(self, label, limit):
        """How most failed runs ended (sweep's mark()); None: there are none."""
        bad = [sweep_rows.mark(row) for row in self.rows_of(label, limit) if not sweep_rows.succeeded(row)]
        return max(sorted(set(bad)), key=bad.count) if bad else None

    def plan(self, label, limit):
        """The plan that ran."""
        plans = [row["plan"] for row in self.good(label, limit)]
        return max(sorted(set(plans)), key=plans.count) if plans else None

    def is_dry(self, label, limit):
        """True if a run succeeded and no successful run swapped."""
        good = self.good(label, limit)
        return bool(good) and not any(map(sweep_rows.swapped, good))

    def best(self, limit, labels):
        """The fastest of the labels by medians, and its ms. If some were run more often, only these
        count, so that one lucky run decides nothing."""
        tried = {label: len(self.good(label, limit)) for label in labels}
        most = max(tried.values(), default=0)
        if most == 0:
            return None, None
        medians = {label: self.median(label, limit) for label, n in tried.items() if n * 2 > most}
        label = min(sorted(medians), key=medians.get)
        return label, medians[label]

    def texts(self, column):
        """All values of a column, in order."""
        return list(dict.fromkeys(row[column] for row in self.rows if row[column]))


def read_runs(folder):
    """Reads the runs. Raises Misuse, also if there are none."""
    path = os.path.join(folder, RUNS)
    try:
        rows = sweep_rows.read_rows(path)
    except OSError as error:
        raise Misuse("%s: %s; make paper writes it" % (path, error.strerror)) from None
    if not rows:
        raise Misuse("%s: expected runs, found none" % path)
    return Runs(rows)


def read_limits(folder):
    """Limits by label; empty if not measured."""
    path = os.path.join(folder, LIMITS)
    return {line["label"]: line for line in read_csv(path, LIMIT_COLUMNS)} if os.path.exists(path) else {}


def read_buffers(folder):
    path = os.path.join(folder, BUFFERS)
    return read_csv(path, BUFFER_COLUMNS) if os.path.exists(path) else []
