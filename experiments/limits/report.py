"""README.md of this folder, from the CSV alone."""

import math

import figure
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
    """The first `right` columns are text, the others are set to the right."""
    texts = ["| " + " | ".join(heads) + " |", "|" + "---|" * right + "---:|" * (len(heads) - right)]
    return "\n".join(texts + ["| " + " | ".join(line) + " |" for line in lines]) + "\n"


def swap_in(point):
    return point.median("swap_in_bytes")


def cell(point):
    """A latency, bold without swapping; what went wrong, and how often."""
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
    """MB swapped in, by the groups' counters, where some program did."""
    shown = [label for label in order if any(figure.swapped(point) for point in labels.get(label, []))]
    limits = [limit for limit in by_size({point.limit for points in labels.values() for point in points})
              if any(figure.swapped(point) for label in shown for point in [figure.at(labels[label], limit)] if point and point.good)]
    lines = []
    for limit in limits:
        points = [figure.at(labels[label], limit) for label in shown]
        lines.append([limit_mb(limit)] +
                     [megabytes(swap_in(point)) if point and point.good else "" for point in points])
    return table(["limit, MB"] + shown, lines) if lines else "Nobody swapped.\n"


def beside_table(labels, order, limit):
    """Everything at one limit, against the faster of ours."""
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
    return table(["program", "runs that ended well", "latency", "times ours", "resident, MB", "opening the network", "whole process", "times ours",
                  "swapped in, MB", "out, whole machine, MB", "major faults"], lines)


def swap_words(points):
    """What these runs had in swap at most, in pages; nothing where this machine does not count it."""
    counted = [row[column] for point in points for row in point.rows for column in ("swap_in_bytes", "swap_peak_bytes") if row[column] is not None]
    return " and swaps %d pages" % math.ceil(max(counted) / 4096) if counted else ""


def failure_words(label, point):
    """How a program failed, in a sentence."""
    words = {"timeout": "time-out after %s" % time_text(point.timeout_ms or 0), "given-up": "timed out with more memory already", "oom": "killed: out of memory"}
    return "%s: %s" % (label, words.get(point.mark, point.mark))


def lead_text(labels):
    """The sentence that counts."""
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
        text += "**No other program that was run gives an answer** (%s). " % ", ".join(failed)
    if free and free[2] in figure.FREE:
        text += "With its libraries for nothing, in memory that nobody counts, %s takes %s, **%s times** as long, and has %s MB resident." % (
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
    return "Least: %s. Anything less it refuses before it reads weights (exit status 3), and says so much." % "; ".join(texts) if texts else ""


def section(key, labels, order):
    title = TITLES.get(key[1], TITLES[None])
    parts = ["## %s\n" % title, lead_text(labels) + "\n", least_text(labels) + "\n", latency_table(labels, order),
             "Swapped in, MB, by each group's own counter:\n", swap_table(labels, order)]
    limit = figure.SHOWN_LIMIT
    if any(figure.at(points, limit) for points in labels.values()):
        parts += ["Everything at %s MB:\n" % limit_mb(limit), beside_table(labels, order, limit)]
    return "\n".join(part for part in parts if part.strip())


def said(found, column):
    """A column's values, each once, in the order of the rows."""
    return " / ".join(dict.fromkeys(str(row[column]) for row in found if row[column]))


PROTOCOL = """## Protocol

A run is one process in a fresh memory group of its own (`build/memory_limit`), on one CPU, from files that are in no page cache, with swap at hand: that of
[experiments/sweep](../sweep/README.md), which says it in full. What matters here:

- **Latency** is that of the first picture, taken inside the process, from before the picture is opened to after the last layer; opening the network is
  apart, and so is what it swaps. Medians of up to %(repeats)s runs; what is slow is run once at that limit.
- **mafat** is given nothing but the network and the picture: it finds its group's limit, and the plan for it. *packed weights* are the same weights, packed once by
  `pack_weights`; they are no file that another program made.
- **Peers** are those of [experiments/peers](../peers/README.md), as Debian and npm ship them, with copies of their libraries that no other process has: a group pays for all that its
  program uses, as a device does that has no more memory than the limit. What does not fit is read again and again, which is no swapping: it shows in major faults and in
  the time of the whole process. *libraries free*: they are in the page cache already,
  outside the group, which does not count them; then a program has several times the limit in memory. (Debian's OpenCV and Darknet are linked with hundreds of libraries
  for pictures and windows; one built for a device would lie between the two.)
- A **time-out** comes after %(timeout)s; what timed out is not tried at smaller limits (-). **killed** is the kernel's OOM killer, which comes although swap is free where
  too much is wanted at once. **refused** is mafat's own answer.
- **Bold**: none of the runs swapped, by the counters of their groups.
- MB are 1048576 bytes, of limits, memory and swap alike.

    make figure                      # all of it, about three quarters of an hour, as root; FIGURE=--quick: five minutes; FIGURE=--help
    experiments/limits/run.py --draw # only figure and this file, from runs.csv

## Where

"""


def timeouts_text(found):
    """As they were; what --timeout was is not in the rows."""
    seconds = sorted({round(row["wall_ms"] / 1e3) for row in found if row["outcome"] == "timeout"})
    return "some minutes" if not seconds else "%d s" % seconds[-1] if len(seconds) == 1 else "%d to %d s" % (seconds[0], seconds[-1])


def listed(names):
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def beside_whom(found, order):
    """Who was run, and who was not."""
    names = [figure.FREE.get(label, label) for label in order if label not in figure.OURS]
    run = {figure.FREE.get(row["label"], row["label"]) for row in found}
    here, missing = ([name for name in dict.fromkeys(names) if (name in run) == there] for there in (True, False))
    return (", beside " + listed(here) if here else "") + (" (not here: %s)" % listed(missing) if missing else "")


def markdown(found, order):
    networks = rows.points(found)
    keys = sorted(networks, key=lambda key: key[1])
    about = {"repeats": max(row["repeat"] for row in found), "timeout": timeouts_text(found)}
    parts = ["# Latency against the memory limit\n", "![Latency of YOLOv2 against the memory limit](limits.png)\n",
             "YOLOv2 at 608 x 608 with random weights, on one thread%s. Written by `run.py` from `runs.csv`.\n" % beside_whom(found, order)]
    parts += [section(key, networks[key], order) for key in keys]
    parts.append(PROTOCOL % about + "".join("- %s: %s\n" % (name, said(found, column)) for name, column in (
        ("machine", "machine"), ("Linux", "kernel"), ("groups", "cgroup"), ("CPU", "cpus"), ("swap", "swap"), ("commit", "commit"))) +
        "- date: %s\n" % min(row["date"] for row in found)[:10])
    return "\n".join(parts)
