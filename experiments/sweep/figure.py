"""Latency by limit from a sweep's rows, as a figure and a table."""

from sweep import plot
from sweep.cells import limit_text

SYMBOLS = (7, 5, 9, 13, 15, 11)   # gnuplot's filled symbols


def series(labels, x):
    """A plot.Series for each label; those of one colour differ by dash and symbol."""
    used, found = {}, []
    for label, points in labels.items():
        first = points[0].rows[0]
        colour = plot.colour_of(first["program"], first["options"])
        n = used[colour] = used.get(colour, -1) + 1
        found.append(plot.Series(label, [drawn for point in points for drawn in point.drawn(x.at(point.limit))], colour,
                                 dash=1 + n % 5, point=SYMBOLS[n % len(SYMBOLS)]))
    return found


def panel(name, labels, title=None):
    """The panel of one network: name is (network, layers), labels are those of rows.points()."""
    x = plot.LimitAxis({point.limit for points in labels.values() for point in points})
    return plot.Panel(title or "%s, %d layers" % name, x, plot.latency_axis("latency of the first picture"), series(labels, x))


def draw(png, networks):
    """Draws the figure. networks: from rows.points()."""
    plot.draw(png, [panel(name, labels) for name, labels in networks.items()])


def cell_text(point):
    if point is None:
        return ""
    words = []
    if point.latency_ms is not None:
        words.append("%.*f ms" % (1 if point.latency_ms < 1000 else 0, point.latency_ms))
    if point.mark:
        failed = len(point.rows) - len(point.good)
        words.append({"oom": "killed", "timeout": "time-out"}.get(point.mark, point.mark) +
                     (" %d of %d" % (failed, len(point.rows)) if point.good else ""))
    return ", ".join(words)


def table(networks):
    """A table of medians: a line for each limit, a column for each label."""
    lines = []
    for (name, layers), labels in networks.items():
        limits = sorted({point.limit for points in labels.values() for point in points}, key=lambda n: -(n or 1 << 62))
        by_limit = [{point.limit: point for point in points} for points in labels.values()]
        body = [["limit", *labels]] + [[limit_text(limit)] + [cell_text(points.get(limit)) for points in by_limit] for limit in limits]
        widths = [max(map(len, column)) for column in zip(*body)]
        lines.append("%s, %d layers: latency of the first picture, medians" % (name, layers))
        lines += ["  ".join(text.rjust(width) for text, width in zip(line, widths)) for line in body]
    return "\n".join(lines) + "\n"
