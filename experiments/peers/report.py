"""Computes medians from samples, and writes a Markdown table and a CSV."""

import csv
import os
import statistics
import sys

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from pages import wrapped   # noqa: E402

MEGABYTE = 1048576
COLUMNS = ("workload", "program", "setting", "metric", "value", "unit", "machine", "kernel", "commit", "date")
PEAK_SHARES = {"onnxruntime": 0.25, "TFLite": 0.5}      # largest ratio of our peak to the peer's
PREDICTION_SHARE, PREDICTION_BYTES = 0.02, 256 << 10   # largest excess over the resident bytes
UNITS = {"ms": "ms", "bytes": "bytes", "difference": "ratio", "share": "ratio"}


class Row:
    """A row of a workload's table: program, setting and all measurements."""

    def __init__(self, program, setting, picture, options=(), cpus=None, level=None, threads=1):
        self.program, self.setting, self.picture = program, setting, picture
        self.options, self.cpus = list(options), cpus
        self.level, self.threads = level, threads   # level None: the machine's best
        self.repeat, self.tolerance = 0, 0
        self.samples = {}      # metric -> one value a round
        self.failure = None    # reason why it is no longer measured

    @property
    def name(self):
        return self.program.name

    def key(self):
        """JPEG and PPM of one setting give one result."""
        return self.name, self.setting

    def add(self, metric, value):
        if value is not None and value >= 0:
            self.samples.setdefault(metric, []).append(value)

    def median(self, metric):
        return statistics.median(self.samples[metric]) if self.samples.get(metric) else None


def number(value, decimals=1):
    return "" if value is None else "%.*f" % (decimals, value)


def milliseconds(value):
    return number(value, 1 if value is None or value < 1000 else 0)


def megabytes(value):
    return number(None if value is None else value / MEGABYTE)


def ratio(above, below):
    return number(above / below, 2) if above and below else ""


def table(heads, lines):
    rows = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return "\n".join(rows + ["| " + " | ".join(line) + " |" for line in lines]) + "\n"


def like(row):
    """Properties that compared rows share. mafat's rows are compared with the first of their
    picture."""
    return (row.picture,) if row.name == "mafat" else (row.picture, row.level, row.threads)


def speed_table(rows):
    reference = {}
    for row in rows:
        if row.name == "mafat" and not row.failure:
            reference.setdefault((row.picture,), row)
            reference.setdefault((row.picture, row.level, row.threads), row)
    lines = []
    for row in rows:
        if row.name == "yardstick" or not row.samples.get("warm_ms"):
            continue
        ours = reference.get(like(row))
        warm, layers = row.median("warm_ms"), row.median("layers_ms")
        difference = row.median("difference")
        lines.append([
            row.name, row.setting, row.picture.upper(), milliseconds(row.median("first_ms")), milliseconds(warm),
            ratio(warm, ours and ours.median("warm_ms")), milliseconds(layers),
            ratio(layers, ours and ours.median("layers_ms")), milliseconds(row.median("total_ms")),
            megabytes(row.median("resident_bytes")), megabytes(row.median("resident_without_idle_bytes")),
            "reference" if difference is None else "%.0e%s" % (difference, " **differs**" if difference > row.tolerance else "")])
    return table(["program", "setting", "picture", "first ms", "warm ms", "x mafat", "layers ms", "x mafat",
                  "cold total ms", "resident MB", "less idle MB", "difference"], lines)


def yardstick_lines(workload, rows):
    """For each algorithm: the yardstick's best setting and our row for a PPM."""
    lines = []
    for algorithm in ("direct", "winograd"):
        theirs = [row for row in rows if row.name == "yardstick" and row.setting.startswith(algorithm) and row.median("best_ms")]
        ours = [row for row in rows if row.name == "mafat" and row.picture == "ppm" and row.median("layers_ms") and
                row.setting in (algorithm, "default")]
        if not theirs or not ours or (algorithm == "winograd" and ours[0].setting == "default"):
            continue
        best = min(theirs, key=lambda row: row.median("best_ms"))
        best_ms, our = best.median("best_ms"), ours[0]
        lines.append([workload.title, best.setting, number(best_ms), number(best.median("average_ms")),
                      number(our.median("layers_ms")), ratio(our.median("layers_ms"), best_ms),
                      number(our.median("best_ms")), ratio(our.median("best_ms"), best_ms),
                      megabytes(best.median("peak_resident_bytes")), megabytes(our.median("resident_bytes"))])
    return lines


def paired_ratio(above, below):
    """Median over rounds of the ratio of two rows' warm latencies: disturbances of a round mostly
    affect both."""
    pairs = list(zip(above.samples.get("warm_ms", []), below.samples.get("warm_ms", []))) if above and below else []
    return statistics.median(a / b for a, b in pairs) if pairs else None


def best_peer_lines(workload, rows):
    """A line for each level and number of threads at which ncnn exists, or onnxruntime at the
    machine's best."""
    ours = {}
    for row in rows:
        if row.name == "mafat" and row.picture == "ppm" and row.median("warm_ms"):
            ours.setdefault((row.level, row.threads), row)
    for (level, threads), our in ours.items():
        ncnn = next((row for row in rows if row.name.startswith("ncnn") and like(row)[1:] == (level, threads)), None)
        # onnxruntime uses the machine's best instructions, whatever our level.
        onnxruntime = next((row for row in rows if row.name == "onnxruntime" and row.threads == threads), None)
        peers = [row for row in (ncnn, onnxruntime) if row and row.median("warm_ms")]
        if not peers or (level and not ncnn):
            continue
        best = min(peers, key=lambda row: row.median("warm_ms"))
        yield [workload.title, level or our.program.level, str(threads), number(our.median("warm_ms"), 2),
               *(number(row and row.median("warm_ms"), 2) for row in (ncnn, onnxruntime)),
               *(number(paired_ratio(our, row), 2) for row in (ncnn, onnxruntime, best))]


def model_rows(rows):
    """A model file's row of mafat, and the rows of the measured peers."""
    ours = next((row for row in rows if row.name == "mafat" and row.median("warm_ms")), None)
    return ours, [row for row in rows if row.name != "mafat" and row.median("warm_ms")]


def model_time_lines(workload, rows):
    """A line for each peer; the best of those that read the file directly. For quantised files also
    for each of our levels, against peers restricted to it, if any."""
    first, peers = model_rows(rows)
    for our in (row for row in rows if row is first or (row.name == "mafat" and row.level and row.median("warm_ms"))):
        alike = [row for row in peers if row.level == our.level] or [row for row in peers if not row.level]
        best = min((row for row in alike if not row.program.converts), key=lambda row: row.median("warm_ms"), default=None)
        for row in alike:
            yield [workload.title, number(our.median("warm_ms"), 2) + (", " + our.level if our.level else ""),
                   row.name + (", " + row.setting if len(alike) > 1 else ""),
                   number(row.median("warm_ms"), 2), number(paired_ratio(our, row), 2) + (" (best)" if row is best else ""),
                   number(our.median("cpu_ms"), 2), number(row.median("cpu_ms"), 2), ratio(our.median("cpu_ms"), row.median("cpu_ms"))]


def shares_of_peaks(rows):
    """Our peak divided by each peer's, and its limit."""
    ours, peers = model_rows(rows)
    for name in dict.fromkeys(row.name for row in peers if not row.program.is_held) if ours else []:
        peak = min(row.median("peak_resident_bytes") for row in peers if row.name == name)
        yield name, peak, ours.median("peak_resident_bytes") / peak, PEAK_SHARES.get(name)


def memory_faults(rows):
    """Violations of the memory bounds of a model file."""
    ours, _ = model_rows(rows)
    if not ours:
        return []
    predicted, measured = ours.median("predicted_resident_bytes"), ours.median("resident_bytes")
    found = []
    if predicted < measured:
        found.append("%d bytes resident, more than the %d that are predicted" % (measured, predicted))
    if predicted > measured * (1 + PREDICTION_SHARE) + PREDICTION_BYTES:
        found.append("%d bytes resident, far fewer than the %d that are predicted" % (measured, predicted))
    return found + ["its peak is %.2f of that of %s; at most %.2f" % (share, name, most)
                    for name, _, share, most in shares_of_peaks(rows) if most and share > most]


def model_memory_lines(workload, rows):
    ours, _ = model_rows(rows)
    for name, peak, share, _ in shares_of_peaks(rows):
        yield [workload.title, *(number((ours.median(metric) or 0) / MEGABYTE, 2) for metric in (
            "predicted_resident_bytes", "resident_bytes", "peak_resident_bytes")), name, number(peak / MEGABYTE, 2), number(share, 2)]


def model_tables(results):
    """Tables of time and memory of the ONNX and TFLite files."""
    results = [(workload, rows) for workload, rows in results if workload.format != "cfg"]
    times = [line for workload, rows in results for line in model_time_lines(workload, rows)]
    peaks = [line for workload, rows in results for line in model_memory_lines(workload, rows)]
    return ["## Model files: time\n",
            table(["file", "mafat warm ms", "peer", "its warm ms", "mafat / peer", "mafat CPU ms", "its CPU ms", "mafat / peer"], times),
            "## Model files: memory\n",
            table(["file", "predicted MB", "resident MB", "peak MB", "peer", "its peak MB", "mafat / peer"], peaks)] if times else []


def markdown(results, idle, versions, notes, about):
    parts = ["# mafat beside other programs\n",
             "%(machine)s, Linux %(kernel)s, commit %(commit)s, %(date)s; medians of interleaved rounds: %(runs)d; "
             "one thread on one CPU unless the setting says otherwise. [README.md](README.md) explains each column. "
             "run.py writes this page.\n" % about,
             "; ".join(versions) + ".\n", quietness(results)]
    for workload, rows in results:
        parts += ["## %s\n" % workload.title, speed_table(rows)]
    lines = [line for workload, rows in results for line in yardstick_lines(workload, rows)]
    if lines:
        parts += ["## Beside the yardstick\n",
                  table(["network", "yardstick", "its best ms", "its average ms", "mafat layers ms", "ratio",
                         "mafat best latency ms", "ratio", "its peak MB", "mafat resident MB"], lines)]
    lines = [line for workload, rows in results for line in best_peer_lines(workload, rows)]
    if lines:
        parts += ["## Beside ncnn and onnxruntime\n",
                  table(["network", "level", "threads", "mafat warm ms", "ncnn", "onnxruntime", "mafat / ncnn",
                         "mafat / onnxruntime", "mafat / best"], lines)]
    parts += model_tables(results)
    if idle:
        parts += ["## Idle processes\n",
                  table(["program", "resident MB"], [[name, megabytes(value)] for name, value in idle.items()])]
    if notes:
        parts += ["## Not measured\n", "".join("- %s\n" % note for note in notes)]
    return wrapped("\n".join(parts))


def quietness(results):
    """Warns if processes had less than a whole CPU, apart from loading: then the machine was not
    quiet."""
    shares = [share for _, rows in results for row in rows for share in row.samples.get("cpu_share", [])
              if len(row.cpus) == 1]
    return "The timed processes had %.0f %% of their CPU (median; least: %.0f %%).\n" % (
        100 * statistics.median(shares), 100 * min(shares)) if shares else ""


def csv_lines(results, idle, about):
    tail = [about["machine"], about["kernel"], about["commit"], about["date"]]
    for name, value in idle.items():
        yield ["", name, "idle", "resident_bytes", "%d" % value, "bytes"] + tail
    for workload, rows in results:
        for row in rows:
            setting = row.setting + (", " + row.picture if row.picture else "")
            for metric, samples in row.samples.items():
                unit = UNITS[metric.rsplit("_", 1)[-1]]
                yield [workload.name, row.name, setting, metric, "%.9g" % statistics.median(samples), unit] + tail
                if metric == "warm_ms" and len(samples) > 1:
                    for suffix, value in (("least", min(samples)), ("most", max(samples))):
                        yield [workload.name, row.name, setting, "%s_%s" % (metric, suffix), "%.9g" % value, unit] + tail


def write(folder, results, idle, versions, notes, about):
    """Writes both files. Returns the Markdown."""
    os.makedirs(folder, exist_ok=True)
    text = markdown(results, idle, versions, notes, about)
    with open(os.path.join(folder, "results.md"), "w", encoding="utf-8") as file:
        file.write(text)
    with open(os.path.join(folder, "results.csv"), "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(csv_lines(results, idle, about))
    return text
