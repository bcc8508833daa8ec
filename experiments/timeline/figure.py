"""Draws the figure: for each program memory and swap over its own time, and which layer runs. PNG
and SVG."""

from sweep import plot, rows
from timeline.traces import PICTURE

MB = plot.MEGABYTE
WIDTH, HEIGHT_OF_ONE, REST = 1400, 400, 10
FONT = "DejaVu Sans,18"
SMALL, TITLE = 15, 19
SWAP = "#6a4c93"
SHADES = ("#f3f3f3", "#ffffff")
LEAST_WIDTH = 0.021   # share of the panel; narrower layers are not numbered
STRIP = 0.26          # share of a panel for the lower part: which layer runs


def time_unit(end_ms):
    return (1e3, "s") if end_ms > 5e3 else (1, "ms")


def duration(ms):
    return "%.0f ms" % ms if ms < 999.5 else "%.1f s" % (ms / 1e3) if ms < 99950 else "%.0f s" % (ms / 1e3)


def size(n_bytes):
    return "0" if not n_bytes else "%.1f MB" % (n_bytes / MB) if n_bytes < 9.95 * MB else "%.0f MB" % (n_bytes / MB)


def outcome(trace):
    """The outcome, for a title."""
    row = trace.row
    if row["latency_ms"] is not None:
        return duration(row["latency_ms"])
    if row["outcome"] == "exit":
        return "refused: does not fit" if row["exit_status"] == 3 else "failed"
    return {"oom": "killed, out of memory", "timeout": "time-out"}.get(row["outcome"], row["outcome"]) + " after " + duration(row["wall_ms"])


def swap_text(trace):
    if not trace.most("swap_bytes") and not rows.swapped(trace.row):
        return "nothing swapped"
    known = trace.row["swap_in_bytes"]
    return "%s in swap at most" % size(trace.most("swap_bytes")) + (", %s read back" % size(known) if known is not None else "")


def named(trace):
    """Its label, with a note if it read packed weights."""
    packed = trace.row["program"] == "mafat-packed" and "packed" not in trace.label
    return trace.label + (" (packed weights)" if packed else "")


def title(trace):
    return "%s: %s; at most %s of memory; %s" % (named(trace), outcome(trace), size(trace.most("usage_bytes")), swap_text(trace))


def rounded(value):
    """Rounds up to a good end of an axis."""
    power = 1.0
    while power * 10 <= value:
        power *= 10
    return next(n * power for n in (1, 1.5, 2, 3, 4, 5, 6, 8, 10) if n * power >= value)


class Scale:
    """Axes that all panels share, in MB."""

    def __init__(self, traces):
        self.limit = traces[0].row["limit_bytes"]
        most = max(trace.most("usage_bytes") for trace in traces)
        self.memory = max(self.limit or 0, most, MB) / MB * 1.24
        self.swap = rounded(max(max(trace.most("swap_bytes") for trace in traces) / MB * 1.1, 10))
        self.layers = max([mark.layer for trace in traces for mark in trace.marks], default=0)


def step(most, n):
    """Distance between about n ticks."""
    return next(width for power in (1, 10, 100, 1000, 10000) for width in (power, 2 * power, 5 * power) if most / width <= n)


def rectangle(x0, y0, x1, y1, colour):
    return "set object rectangle from %s, %s to %s, %s behind fillcolor rgb %s fillstyle solid noborder" % (x0, y0, x1, y1, plot.quote(colour))


def first(value):
    return "first %.9g" % value


def cut_text(cut):
    """A group's division in words."""
    kind = cut.split(":")[0]
    if kind.startswith("rows"):
        return "rows"
    return "panels" if kind.startswith("panels") else "whole maps" if kind == "1x1" else kind + " tiles"


def shade_layers(trace, unit, width_ms):
    """The background: layers or groups, alternately dark and light, with their names."""
    commands = []
    for n, (low, high, cut, start, end) in enumerate(trace.groups()):
        x0, x1 = start / unit, end / unit
        commands.append(rectangle(first(x0), "graph 0", first(x1), "graph 1", SHADES[n % 2]))
        commands.append("set arrow from %s, graph 0 to %s, graph 1 nohead back linewidth 1 linecolor rgb '#cccccc'" % (first(x0), first(x0)))
        share = (end - start) / width_ms
        text = "%d" % low if low == high and not cut else "%d-%d" % (low, high) if low != high else "%d" % low
        long_text = "layers %s: %s" % (text, cut_text(cut)) if cut and low != high else "layer %s: %s" % (text, cut_text(cut)) if cut else text
        text = long_text if share > 0.0093 * len(long_text) else text
        if share > max(LEAST_WIDTH, 0.0095 * len(text)):
            commands.append("set label %s at %s, graph 0.93 center font ',%d' textcolor rgb '#666666'" % (plot.quote(text), first((x0 + x1) / 2), SMALL))
    begin = next((mark.start_ms for mark in trace.marks), None)
    if begin is not None and begin / width_ms > 0.07:
        commands.append("set label 'opens' at %s, graph 0.93 center font ',%d' textcolor rgb '#666666'" % (first(begin / unit / 2), SMALL))
    return commands


def memory_part(trace, scale, colour, unit, end_ms, name):
    usage = [(sample["ms"] / unit, sample["usage_bytes"] / MB) for sample in trace.samples if sample["usage_bytes"] is not None]
    swap = [(sample["ms"] / unit, sample["swap_bytes"] / MB) for sample in trace.samples if sample["swap_bytes"] is not None]
    ink = "linecolor rgb %s" % plot.quote(colour)
    commands = ["set label %s at graph 0, graph 1.13 left font ',%d'" % (plot.quote(title(trace)), TITLE), "set yrange [0:%.9g]" % scale.memory,
                "set y2range [0:%.9g]" % scale.swap, "set ytics nomirror %g" % step(scale.memory, 4), "set y2tics nomirror %g textcolor rgb %s" %
                (step(scale.swap, 4), plot.quote(SWAP)), "set ylabel 'memory, MB' textcolor rgb %s" % plot.quote(colour),
                "set y2label 'in swap, MB' textcolor rgb %s" % plot.quote(SWAP), "set xtics format ''", "set grid y"]
    commands += shade_layers(trace, unit, end_ms)
    if scale.limit:
        at = scale.limit / MB
        commands.append("set arrow from graph 0, %s to graph 1, %s nohead front linewidth 2 dashtype 2 linecolor rgb '#444444'" % (first(at), first(at)))
        commands.append("set label 'limit %g MB' at graph 0, %s left offset 0.6,-0.65 front font ',%d' textcolor rgb '#444444'" % (at, first(at), SMALL))
    blocks, plots = [], []
    for key, points, style in (("usage", usage, "axes x1y1 with filledcurves y1=0 %s fillstyle transparent solid 0.30 noborder" % ink),
                               ("line", usage, "axes x1y1 with lines %s linewidth 3" % ink),
                               ("swap", swap, "axes x1y2 with lines linecolor rgb %s linewidth 3.5" % plot.quote(SWAP))):
        if points:
            blocks.append(plot.block(key + name, points))
            plots.append("$%s using 1:2 %s notitle" % (key + name, style))
    return "\n".join(blocks + commands + ["plot " + ", ".join(plots or ["NaN notitle"])])


def bars(trace):
    """(start, end, lowest, highest layer). A layer computed inside another's step has no own
    interval."""
    marked = sorted({mark.layer for mark in trace.marks})
    below = {layer: (before + 1 if before >= 0 or layer == 0 else 0) for before, layer in zip([PICTURE] + marked, marked)}
    found = []
    for mark in trace.marks:
        low = mark.layer if not trace.row["program"].startswith("mafat") or mark.layer == PICTURE else below[mark.layer]
        found.append((mark.start_ms, mark.end_ms, min(low, mark.layer), mark.layer))
    return found


def strip_part(trace, scale, colour, unit, unit_name, end_ms, name):
    least = end_ms / 3000   # wide enough to be visible
    lines = ["%.9g %.9g %.9g %.9g" % (start / unit, max(end, start + least) / unit, low - 0.5, high + 0.5) for start, end, low, high in bars(trace)]
    commands = ["set yrange [-1.5:%g]" % (scale.layers + 0.5), "set ytics nomirror %g" % step(scale.layers + 1, 4), "unset y2tics", "unset y2label",
                "set ylabel 'layer' textcolor rgb '#444444'", "set xtics format '%%g %s'" % unit_name, "unset grid"]
    commands += [command for command in shade_layers(trace, unit, end_ms) if not command.startswith("set label")]
    block = "\n".join(["$bars%s << EOD" % name] + (lines or ["0 0 0 0"]) + ["EOD"])
    style = "using ($1+$2)/2:($3+$4)/2:1:2:3:4 with boxxyerror linecolor rgb %s fillstyle solid 1 noborder notitle" % plot.quote(colour)
    return "\n".join([block] + commands + ["plot $bars%s %s" % (name, style)])


def script(traces):
    scale, n = Scale(traces), len(traces)
    total = HEIGHT_OF_ONE * n + REST
    lines = ["set multiplot", 'set border 11 linewidth 1.5 linecolor rgb "#444444"', "unset key", "set tics scale 0.6",
             'set style line 1 linecolor rgb "#e0e0e0"']
    for number, trace in enumerate(traces):
        unit, unit_name = time_unit(trace.end_ms)
        end_ms = trace.end_ms * 1.004
        colour = plot.colour_of(trace.row["program"], trace.row["options"])
        top = 1 - (REST / 2 + HEIGHT_OF_ONE * number + 46) / total
        bottom = 1 - (REST / 2 + HEIGHT_OF_ONE * (number + 1) - 44) / total
        middle = bottom + (top - bottom) * STRIP
        lines += ["set lmargin at screen 0.075", "set rmargin at screen 0.915", "set xrange [0:%.9g]" % (end_ms / unit),
                  "set tmargin at screen %.5f" % top, "set bmargin at screen %.5f" % (middle + 16 / total),
                  memory_part(trace, scale, colour, unit, end_ms, str(number)), "unset object", "unset arrow", "unset label",
                  "set tmargin at screen %.5f" % middle, "set bmargin at screen %.5f" % bottom,
                  strip_part(trace, scale, colour, unit, unit_name, end_ms, str(number)), "unset object", "unset arrow", "unset label"]
    return "\n".join(lines + ["unset multiplot"]), (WIDTH, total)


def draw(png, traces):
    commands, pixels = script(traces)
    plot.run(commands, png, pixels, FONT)
