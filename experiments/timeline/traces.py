"""Traces of single runs: samples of the group's memory and swap, and the times of its layers; and
both as CSVs."""

import contextlib
import csv
import io
import os
import re

from sweep import rows
from sweep.cells import Misuse

MOST_SAMPLES = 1000   # of a run, in the CSV; of neighbours the one with the most memory and swap is kept
SAMPLE_COLUMNS = ("label", "ms", "usage_bytes", "anon_bytes", "cache_bytes", "swap_bytes", "system_swap_in_bytes", "system_swap_out_bytes")
MARK_COLUMNS = ("label", "layer", "type", "start_ms", "end_ms")
MARKED = ("mafat", "mafat-packed", "darknet")   # programs that report when their layers run
PICTURE = -1


class Mark:
    """The interval of a layer or the picture, in milliseconds since the start of the process."""

    def __init__(self, layer, kind, start_ms, end_ms):
        self.layer, self.kind, self.start_ms, self.end_ms = layer, kind, start_ms, end_ms


class Trace:
    """A run: its row as in a sweep, samples as dictionaries of numbers (None: unknown here), marks
    in order."""

    def __init__(self, row, samples, marks):
        self.row, self.samples, self.marks = row, samples, marks
        self.label = row["label"]

    @property
    def end_ms(self):
        return max([self.samples[-1]["ms"] if self.samples else 1] + [mark.end_ms for mark in self.marks])

    def most(self, column):
        return max((sample[column] or 0 for sample in self.samples), default=0)

    def groups(self):
        """[(first layer, last layer, division, start, end)] of mafat's plan; each layer of other
        programs."""
        layers = [mark for mark in self.marks if mark.layer != PICTURE]
        if not self.row["plan"]:
            return [(mark.layer, mark.layer, "", mark.start_ms, mark.end_ms) for mark in layers]
        words = self.row["plan"].split("/")
        ends = [int(word) for word in words[1::2] if word.isdigit()] + [self.row["layers"]]
        found, first = [], 0
        for cut, end in zip(words[::2], ends):
            mine = [mark for mark in layers if first <= mark.layer < end]
            if mine:
                found.append((first, end - 1, cut, mine[0].start_ms, mine[-1].end_ms))
            first = end
        return found


def number(text):
    return float(text) if text else None


def read_samples(path):
    """memory_limit's timeline: (start in nanoseconds of its clock, samples). An unfinished last
    line is ignored."""
    start_ns, names, samples = None, None, []
    with open(path, encoding="utf-8") as file:
        for line in file:
            values = line.strip().split(",")
            if line.startswith("# start_ns "):
                start_ns = int(line.split()[2])
            elif names is None:
                names = values
            elif line.endswith("\n") and len(values) == len(names):
                samples.append({name: number(value) for name, value in zip(names, values)})
    return start_ns, samples


def read_marks(path, start_ns):
    marks = []
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            for line in file:
                match = re.fullmatch(r"(-?\d+) (\S+) (\d+) (\d+)\n", line)
                if match:
                    marks.append(Mark(int(match.group(1)), match.group(2), *((int(match.group(i)) - start_ns) / 1e6 for i in (3, 4))))
    return marks


def thin(samples):
    """At most MOST_SAMPLES samples, including the first and the last."""
    if len(samples) <= MOST_SAMPLES:
        return samples
    inside, n = samples[1:-1], MOST_SAMPLES - 2
    parts = [inside[len(inside) * i // n:len(inside) * (i + 1) // n] for i in range(n)]
    return samples[:1] + [max(part, key=lambda s: (s["usage_bytes"] or 0) + (s["swap_bytes"] or 0)) for part in parts] + samples[-1:]


def measure(session, cell, interval_ms, tick=None):
    """A Trace of one run in a sweep's Session."""
    prepared = session.prepare(cell)
    samples, marks = (os.path.join(session.place.folder, name) for name in ("samples", "marks"))
    for path in (samples, marks):
        if os.path.exists(path):
            os.unlink(path)
    if cell.program.who in MARKED and "--marks" not in prepared.command:
        prepared.command[prepared.first_option:prepared.first_option] = ["--marks", marks]
    row = session.measure(cell, tick, extra=["--timeline", samples, "--interval", str(interval_ms)])
    start_ns, found = read_samples(samples)
    return Trace(rows.read_line(next(csv.reader([rows.text_of(row)]))), thin(found), read_marks(marks, start_ns))


# ---- The CSVs: runs.csv is a sweep's


def table_text(columns, lines):
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(lines)
    return out.getvalue()


def text(value, form):
    return "" if value is None else form % value


def write(folder, traces):
    """Writes three files and only then renames them: on a full disk the old ones stay together."""
    texts = {
        "runs.csv": rows.heading() + "".join(rows.text_of(trace.row) for trace in traces),
        "samples.csv": table_text(SAMPLE_COLUMNS,
                                  [[trace.label, "%.3f" % sample["ms"]] + [text(sample.get(column), "%.0f") for column in SAMPLE_COLUMNS[2:]]
                                   for trace in traces for sample in trace.samples]),
        "marks.csv": table_text(MARK_COLUMNS, [[trace.label, mark.layer, mark.kind, "%.3f" % mark.start_ms, "%.3f" % mark.end_ms]
                                               for trace in traces for mark in trace.marks])}
    paths = {os.path.join(folder, name): content for name, content in texts.items()}
    try:
        for path, content in paths.items():
            with open(path + ".part", "w", encoding="utf-8", newline="") as file:
                file.write(content)
        for path in paths:
            os.replace(path + ".part", path)
    finally:
        for path in paths:
            with contextlib.suppress(OSError):
                os.unlink(path + ".part")


def read_table(path, columns):
    try:
        with open(path, encoding="utf-8", newline="") as file:
            lines = list(csv.reader(file))
    except (OSError, UnicodeDecodeError) as error:
        raise Misuse("%s: cannot be read (%s)" % (path, getattr(error, "strerror", None) or "no text")) from None
    if not lines or tuple(lines[0]) != columns:
        raise Misuse("%s: its heading is not that of a timeline" % path)
    for n, line in enumerate(lines[1:], 2):
        if len(line) != len(columns):
            raise Misuse("%s:%d: expected %d values, found %d" % (path, n, len(columns), len(line)))
    return lines[1:]


def read(folder):
    """The traces that write() wrote. Raises Misuse."""
    path = os.path.join(folder, "runs.csv")
    if not os.path.isfile(path):
        raise Misuse("%s: no such file; without --draw it is made" % path)
    traces = [Trace(row, [], []) for row in rows.read_rows(path)]
    if not traces:
        raise Misuse("%s: has no rows" % path)
    by_label = {trace.label: trace for trace in traces}
    try:
        for label, *values in read_table(os.path.join(folder, "samples.csv"), SAMPLE_COLUMNS):
            by_label[label].samples.append({name: number(value) for name, value in zip(SAMPLE_COLUMNS[1:], values)})
        for label, layer, kind, start, end in read_table(os.path.join(folder, "marks.csv"), MARK_COLUMNS):
            by_label[label].marks.append(Mark(int(layer), kind, float(start), float(end)))
    except (KeyError, ValueError) as error:
        raise Misuse("%s: samples.csv and marks.csv are not of the same runs as runs.csv (%s)" % (folder, error)) from None
    return traces
