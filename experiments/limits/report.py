"""Writes README.md of this folder from the CSV."""

import math

import figure
from pages import wrapped
from sweep import rows

MB = figure.MB
TITLES = {16: "First 16 layers", None: "The whole network"}


def time_text(ms):
    return "%.0f ms" % ms if ms < 999.5 else "%.1f s" % (ms / 1e3) if ms < 99950 else "%.0f s" % (ms / 1e3)


def megabytes(value):
    if value is None:
        return ""
    value /= MB
    return "0" if value == 0 else "%.1f" % value if value < 9.95 else "%.0f" % value


def table(heads, lines, right=1):
    """The first `right` columns are text, the others are aligned right."""
    texts = ["| " + " | ".join(heads) + " |", "|" + "---|" * right + "---:|" * (len(heads) - right)]
    return "\n".join(texts + ["| " + " | ".join(line) + " |" for line in lines]) + "\n"


def swap_in(point):
    return point.median("swap_in_bytes")


def cell(point):
    """A latency, bold without swapping; failures and their number."""
    if point is None:
        return ""
    n_bad = len(point.rows) - len(point.good)
    failure = {"oom": "killed", "timeout": "time-out", "refused": "refused", "given-up": "-"}.get(point.mark, point.mark)
    if not point.good:
        return failure
    text = time_text(point.latency_ms)
    text = text if figure.swapped(point) else "**%s**" % text
    return text + (", %s %d of %d" % (failure, n_bad, len(point.rows)) if n_bad else "")


def by_size(limits):
    return sorted(limits, key=lambda limit: -(limit or 1 << 62))


def limit_mb(limit):
    return "none" if limit is None else ("%.3f" % (limit / MB)).rstrip("0").rstrip(".")


def latency_table(labels, order):
    shown = [label for label in order if label in labels]
    limits = by_size({point.limit for points in labels.values() for point in points})
    return table(["limit, MB"] + shown,
                 [[limit_mb(limit)] + [cell(figure.at(labels[label], limit)) for label in shown] for limit in limits])


def swap_table(labels, order):
    """MB swapped in, by the groups' counters, at limits where some program swapped."""
    shown = [label for label in order if any(figure.swapped(point) for point in labels.get(label, []))]
    limits = [limit for limit in by_size({point.limit for points in labels.values() for point in points})
              if any(figure.swapped(point) for label in shown for point in [figure.at(labels[label], limit)] if point and point.good)]
    lines = []
    for limit in limits:
        points = [figure.at(labels[label], limit) for label in shown]
        lines.append([limit_mb(limit)] +
                     [megabytes(swap_in(point)) if point and point.good else "" for point in points])
    return table(["limit, MB"] + shown, lines) if lines else "No program swapped.\n"


def beside_table(labels, order, limit):
    """All programs at one limit, relative to the faster of mafat's."""
    points = {label: figure.at(labels[label], limit) for label in order if label in labels and figure.at(labels[label], limit)}
    ours = [points[label] for label in figure.OURS if label in points and points[label].good]
    best = min((point.latency_ms for point in ours), default=None)
    answer = min((point.median("wall_ms") for point in ours), default=None)
    lines = []
    for label, point in points.items():
        line = [label, "%d of %d" % (len(point.good), len([row for row in point.rows if row["outcome"] != "given-up"]))]
        if point.good:
            line += [time_text(point.latency_ms), figure.times(point.latency_ms / best) if best and label not in figure.OURS else "",
                     megabytes(point.median("resident_bytes")), time_text(point.median("load_ms")), time_text(point.median("wall_ms")),
                     figure.times(point.median("wall_ms") / answer) if answer and label not in figure.OURS else "",
                     megabytes(swap_in(point)), megabytes(point.median("system_swap_out_bytes")), "%d" % (point.median("major_faults") or 0)]
        else:
            line += [cell(point)] + [""] * 8
        lines.append(line)
    return table(["program", "successful runs", "latency", "times mafat's", "resident, MB", "opening the network", "whole process", "times mafat's",
                  "swapped in, MB", "out, whole machine, MB", "major faults"], lines)


def swap_words(points):
    """Peak swap of these runs, in pages; empty if this machine does not count it."""
    counted = [row[column] for point in points for row in point.rows for column in ("swap_in_bytes", "swap_peak_bytes") if row[column] is not None]
    return " and swaps %d pages" % math.ceil(max(counted) / 4096) if counted else ""


def failure_words(label, point):
    """Why a program failed."""
    words = {"timeout": "time-out after %s" % time_text(point.timeout_ms or 0), "given-up": "timed out at a larger limit", "oom": "killed: out of memory"}
    return "%s: %s" % (label, words.get(point.mark, point.mark))


def lead_text(labels):
    """The main result."""
    limit = figure.SHOWN_LIMIT
    here = {label: point for label, points in labels.items() for point in [figure.at(points, limit)] if point}
    mine = {label: here[label] for label in figure.OURS if label in here and here[label].good}
    if not mine:
        return ""
    best = min(mine, key=lambda label: mine[label].latency_ms)
    text = "In %s MB %s takes %s%s. " % (limit_mb(limit), best.replace(", packed", " with packed"), time_text(mine[best].latency_ms), swap_words(mine.values()))
    counted, free = figure.lead(labels, free=False), figure.lead(labels)
    failed = [failure_words(label, point) for label, point in here.items() if label not in figure.OURS and label not in figure.FREE]
    if counted:
        text += "%s, the fastest other program that survives, takes %s: **%s times** as long. " % (
            counted[2], time_text(counted[1]), figure.times(counted[1] / counted[0]))
    elif failed:
        text += "**No other program that was run finishes** (%s). " % ", ".join(failed)
    if free and free[2] in figure.FREE:
        text += "Even when the memory of its shared libraries is not counted, %s takes %s, **%s times** as long, and has %s MB resident." % (
            figure.FREE[free[2]], time_text(free[1]), figure.times(free[1] / free[0]), megabytes(here[free[2]].median("resident_bytes")))
    return text.strip()


def least_text(labels):
    texts = []
    for label in figure.OURS[::-1]:
        ran = [point for point in labels.get(label, []) if point.good and point.limit]
        refused = [point for point in labels.get(label, []) if point.mark == "refused" and not point.good]
        if ran and refused:
            least = min(ran, key=lambda point: point.limit)
            texts.append("%s in %s MB, %s" % (label, limit_mb(least.limit), time_text(least.latency_ms)))
    return "Least: %s. mafat rejects smaller limits before it reads weights (exit status 3), and prints the least that would do." % "; ".join(texts) if texts else ""


def section(key, labels, order):
    title = TITLES.get(key[1], TITLES[None])
    parts = ["## %s\n" % title, lead_text(labels) + "\n", least_text(labels) + "\n", latency_table(labels, order),
             "Swapped in, MB, by each group's own counter:\n", swap_table(labels, order)]
    limit = figure.SHOWN_LIMIT
    if any(figure.at(points, limit) for points in labels.values()):
        parts += ["All programs at %s MB:\n" % limit_mb(limit), beside_table(labels, order, limit)]
    return "\n".join(part for part in parts if part.strip())


def said(found, column):
    """A column's values, each once, in the order of the rows."""
    return " / ".join(dict.fromkeys(str(row[column]) for row in found if row[column]))


PROTOCOL = """## Protocol

A run is one process in a fresh control group (`build/memory_limit`), on one CPU, from files that are not in the page cache, with swap available. [experiments/sweep](../sweep/README.md) describes the protocol. In short:

- **Latency** is that of the first picture, taken inside the process, from before the picture is opened to after the last layer. Opening the network is separate, and so is its swapping. Medians of up to %(repeats)s runs; a slow program runs once at that limit.
- **mafat** gets only the network and the picture: it detects its group's limit and plans for it. *packed weights* are the same weights, packed once by `pack_weights`.
- **Peers** are those of [experiments/peers](../peers/README.md), as Debian and npm ship them, with private copies of their libraries: the group is charged for everything that its program uses, as on a device with no more memory than the limit. Pages that do not fit are read again, which is not swapping: it shows in major faults and in the time of the whole process.
- *libraries free*: the libraries are in the page cache already, outside the group, which does not count them. A program then has several times the limit in memory. (Debian's OpenCV and Darknet link hundreds of libraries for pictures and windows; a build for a device would lie between the two.)
- A **time-out** comes after %(timeout)s; the program is not tried at smaller limits (-). **killed** is the kernel's OOM killer, which acts even with free swap if too much is needed at once. **refused**: mafat rejects the limit.
- **Bold**: none of the runs swapped, by the counters of their groups.
- MB are 1048576 bytes, of limits, memory and swap alike.

## Machine

"""


def timeouts_text(found):
    """The time-outs that occurred; --timeout is not in the rows."""
    seconds = sorted({round(row["wall_ms"] / 1e3) for row in found if row["outcome"] == "timeout"})
    return "some minutes" if not seconds else "%d s" % seconds[-1] if len(seconds) == 1 else "%d to %d s" % (seconds[0], seconds[-1])


def listed(names):
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def beside_whom(found, order):
    """The programs that ran, and those that did not."""
    names = [figure.FREE.get(label, label) for label in order if label not in figure.OURS]
    run = {figure.FREE.get(row["label"], row["label"]) for row in found}
    here, missing = ([name for name in dict.fromkeys(names) if (name in run) == there] for there in (True, False))
    return (", beside " + listed(here) if here else "") + (" (not here: %s)" % listed(missing) if missing else "")


def markdown(found, order):
    networks = rows.points(found)
    keys = sorted(networks, key=lambda key: key[1])
    about = {"repeats": max(row["repeat"] for row in found), "timeout": timeouts_text(found)}
    parts = ["# Latency against the memory limit\n",
             "This page shows the time of a picture under each memory limit: YOLOv2 at 608 x 608 with random weights, on one thread%s. `run.py` writes it from `runs.csv`:\n" % beside_whom(found, order),
             "    make figure                      # all of it, about three quarters of an hour, as root; FIGURE=--quick: five minutes; FIGURE=--help\n"
             "    experiments/limits/run.py --draw # only figure and this file, from runs.csv\n",
             "![Latency of YOLOv2 against the memory limit](limits.png)\n"]
    parts += [section(key, networks[key], order) for key in keys]
    parts.append(PROTOCOL % about + "".join("- %s: %s\n" % (name, said(found, column)) for name, column in (
        ("machine", "machine"), ("Linux", "kernel"), ("groups", "cgroup"), ("CPU", "cpus"), ("swap", "swap"), ("commit", "commit"))) +
        "- date: %s\n" % min(row["date"] for row in found)[:10])
    return wrapped("\n".join(parts))
