"""Draws the figure: latency against the memory limit, a panel for each part of the network; PNG and
SVG."""

import math

from sweep import plot, rows

WIDTH, HEIGHT = 1600, 940
FONT = "DejaVu Sans,20"
SIZES = {"label": 20, "small": 17, "title": 23}
PANELS = [(16, "first 16 layers of YOLOv2, 608 x 608"), (None, "YOLOv2 whole, 608 x 608")]   # layers, title; None: all else
WEIGHTS = {16: 13717396}          # bytes of Darknet's weights file for the layers
WEIGHTS_WHOLE = 203934264
LOW_MS, STRIP = 50, 1.55          # start of the y axis; height of a row of kills relative to the one below
MB = plot.MEGABYTE
# Label in the CSV: name in the figure, colour, symbol, width, dash, horizontal shift of its
# time-outs, so that none hides another. In drawing order: ours last, on top.
CURVES = {"Darknet": ("Darknet", plot.COLOURS["darknet"], 7, 4, 1, 1),
          "OpenCV DNN": ("OpenCV DNN", plot.COLOURS["opencv"], 7, 4, 1, 1.07),
          "onnxruntime": ("onnxruntime", plot.COLOURS["onnxruntime"], 7, 4, 1, 0.93),
          "mafat": ("mafat", plot.COLOURS["mafat"], 7, 6, 1, 1),
          "mafat, packed weights": ("packed", plot.COLOURS["mafat"], 5, 3, 2, 1)}
OURS = ("mafat, packed weights", "mafat")
# drawn thinner, with the style of this program
FREE = {"OpenCV DNN, libraries free": "OpenCV DNN", "onnxruntime, libraries free": "onnxruntime"}
SHOWN_LIMIT = 16 * MB             # limit at which the factor to the fastest peer is printed


def swapped(point):
    """True if one of the successful runs swapped."""
    return any(map(rows.swapped, point.good))


def times(ratio):
    return "%.1f" % ratio if ratio < 9.95 else "%.0f" % ratio


def at(points, limit):
    return next((point for point in points if point.limit == limit), None)


def lead(labels, limit=SHOWN_LIMIT, free=True):
    """(our best latency, the fastest peer's, its label) at a limit, among those that survive. free:
    also peers with free libraries. None if one is missing."""
    found = {label: at(points, limit) for label, points in labels.items()}
    good = {label: point.latency_ms for label, point in found.items() if point and point.good}
    ours = min((ms for label, ms in good.items() if label in OURS), default=None)
    peers = {ms: label for label, ms in good.items() if label not in OURS and (free or label not in FREE)}
    return (ours, min(peers), peers[min(peers)]) if ours and peers else None


def least_limit(labels):
    """mafat's smallest limit that ran, and whether smaller ones were refused."""
    ran = [point.limit for label in OURS for point in labels.get(label, []) if point.good and point.limit]
    refused = [point.limit for label in OURS for point in labels.get(label, []) if point.mark == "refused" and not point.good]
    return min(ran, default=None), bool(ran and refused and min(refused) < min(ran))


class Canvas:
    """Commands of one panel: data blocks, objects, plots."""

    def __init__(self, number):
        self.number, self.blocks, self.commands, self.plots = number, [], [], []

    def plot(self, points, style):
        if points:
            name = "p%d_%d" % (self.number, len(self.blocks))
            self.blocks.append(plot.block(name, points))
            self.plots.append("$%s using 1:2 with %s notitle" % (name, style))

    def label(self, text, x, y, colour, more="left", size="label"):
        self.commands.append("set label %s at %s, %s %s front font ',%d' textcolor rgb %s" %
                             (plot.quote(text), x, y, more, SIZES[size], plot.quote(colour)))

    def line(self, a, b, style):
        self.commands.append("set arrow from %s, %s to %s, %s %s" % (*a, *b, style))


def number(value):
    return "first %.9g" % value


class Scale:
    """Both axes; panels differ only in the limits shown as ticks."""

    def __init__(self, networks):
        everything = [point for labels in networks.values() for label, points in labels.items() if label in CURVES or label in FREE for point in points]
        self.limits = sorted({point.limit for point in everything if point.limit})
        self.none = self.limits[-1] / MB * 2.1 if self.limits else 64
        self.low = (self.limits[0] / MB if self.limits else 32) / 1.25
        self.high = self.none * 1.35
        times = [point.latency_ms for point in everything if point.good] + [point.timeout_ms for point in everything if point.timeout_ms]
        self.top = max(times, default=1000) * 1.6
        killed = [label for label in [*CURVES, *FREE] if any(point.mark == "oom" for labels in networks.values() for point in labels.get(label, []))]
        self.rows = {label: self.top * STRIP ** (n + 0.6) for n, label in enumerate(killed)}
        self.end = self.top * STRIP ** (len(killed) + 0.2) if killed else self.top
        self.axis = plot.LimitAxis({point.limit for point in everything} | {None})
        self.axis.none, self.axis.gap = self.none, (self.limits[-1] / MB, self.none) if self.limits else None

    def x(self, limit):
        return self.axis.at(limit)

    def commands(self, with_times):
        powers = [2 ** n for n in range(0, 20) if self.low <= 2 ** n <= (self.limits[-1] / MB if self.limits else 0)]
        names = {512: "", 1024: "1G"}   # labels that would overlap others
        ticks = ["%s %g" % (plot.quote(names.get(n, "%g" % n)), n) for n in powers]
        ticks.append('"none" %.9g' % self.none)
        times = [10 ** n for n in range(0, 8) if LOW_MS <= 10 ** n <= self.top]
        texts = [plot.quote(plot.time_text(ms)) if with_times else '""' for ms in times]
        return ["set logscale x 2", "set logscale y 10", "set xrange [%.9g:%.9g]" % (self.low, self.high),
                "set yrange [%g:%.9g]" % (LOW_MS, self.end), "set xtics nomirror (%s)" % ", ".join(ticks),
                "set ytics nomirror (%s)" % ", ".join("%s %g" % pair for pair in zip(texts, times))]


def draw_curve(canvas, scale, points, style, thin=False):
    _, colour, symbol, width, dash, _ = style
    size = 1.9
    if thin:
        width, dash, size = 2.5, 4, 1.4
    ink = "linecolor rgb %s" % plot.quote(colour)
    good = [(scale.x(point.limit), point.latency_ms) for point in points if point.good]
    solid, across = plot.solid_parts(scale.axis, good)
    canvas.plot(solid, "lines %s linewidth %d dashtype %d" % (ink, width, dash))
    canvas.plot(across, "lines %s linewidth %g dashtype 3" % (ink, max(2, width / 2)))
    canvas.plot(good, "points %s pointtype %d pointsize %g" % (ink, symbol, size))
    canvas.plot([(scale.x(point.limit), point.latency_ms) for point in points if point.good and swapped(point)],
                "points linecolor rgb 'white' pointtype %d pointsize %g" % (symbol, size * 0.55))
    timeouts = [(scale.x(point.limit) * style[-1], point.timeout_ms) for point in points if point.mark == "timeout"]
    canvas.plot(timeouts, "points %s linewidth 3.5 pointtype 8 pointsize 2.6" % ink)
    first = next((point for point in points if point.mark == "timeout"), None)
    last = [pair for pair in good if first and pair[0] > scale.x(first.limit)]
    if timeouts and last:   # line towards the time-out
        canvas.plot([min(last), max(timeouts)], "lines %s linewidth %g dashtype 3" % (ink, max(2, width / 2)))


def draw_kills(canvas, scale, labels):
    if not scale.rows:
        return
    canvas.line(("graph 0", number(scale.top)), ("graph 1", number(scale.top)), "nohead linewidth 1.5 linecolor rgb '#bbbbbb'")
    for label, y in scale.rows.items():
        ink = "linecolor rgb %s" % plot.quote(CURVES[FREE.get(label, label)][1])
        canvas.plot([(scale.x(point.limit), y) for point in labels.get(label, []) if point.mark == "oom"],
                    "points %s pointtype 2 %s" % (ink, "linewidth 2.5 pointsize 1.2" if label in FREE else "linewidth 4 pointsize 1.7"))


def draw_names(canvas, scale, labels):
    """Each curve's name at its right end, moved apart if names would overlap."""
    ends = []
    for label, points in labels.items():
        ends_at = [(point.latency_ms, point.limit) for point in points if point.good] or [(point.timeout_ms, point.limit) for point in points if point.timeout_ms]
        if label in CURVES and label != OURS[0] and ends_at:
            ends.append([math.log(ends_at[0][0]), scale.x(ends_at[0][1]), CURVES[label]])
    ends.sort(key=lambda end: end[0])
    step = math.log(scale.end / LOW_MS) * 0.052
    for i in range(1, len(ends)):
        ends[i][0] = max(ends[i][0], ends[i - 1][0] + step)
    for y, x, (name, colour, *_) in ends:
        canvas.label(name, number(x), number(math.exp(y)), colour, "left offset 1.2,0")


def draw_lead(canvas, scale, labels):
    found = lead(labels)
    if not found or found[1] < 1.5 * found[0]:   # too small a factor for an arrow
        return
    ours, theirs, _ = found
    x = number(scale.x(SHOWN_LIMIT))
    canvas.line((x, number(ours * 1.13)), (x, number(theirs / 1.13)), "heads size graph 0.012,20 filled front linewidth 2.5 linecolor rgb '#222222'")
    canvas.label("%s times" % times(theirs / ours), x, number(ours ** 0.68 * theirs ** 0.32), "#222222", "left offset 0.7,0")


def draw_floor(canvas, scale, labels):
    least, refuses = least_limit(labels)
    if not refuses:
        return
    x = least / MB
    canvas.commands.append("set object rectangle from graph 0, graph 0 to %s, %s behind fillcolor rgb '#e3efe9' fillstyle solid noborder" %
                           (number(x / 1.04), number(scale.top)))
    canvas.label("mafat refuses less than %.3g MB" % x, number(math.sqrt(scale.low * x / 1.04)), number(LOW_MS * 1.25), plot.COLOURS["mafat"],
                 "left rotate by 90", "small")


def panel(number_, scale, title, labels, weights):
    canvas = Canvas(number_)
    canvas.commands += ["set title %s font ',%d' offset 0,-0.3" % (plot.quote(title), SIZES["title"]), *scale.commands(number_ == 0)]
    draw_floor(canvas, scale, labels)
    x = number(weights / MB)
    canvas.line((x, "graph 0"), (x, number(scale.top)), "nohead back linewidth 2 dashtype 2 linecolor rgb '#888888'")
    canvas.label("weights: %.0f MB" % (weights / MB), x, number(scale.top / 1.15), "#666666", "right rotate by 90 offset -1.1,0", "small")
    for label, as_whom in FREE.items():
        if label in labels:
            draw_curve(canvas, scale, labels[label], CURVES[as_whom], thin=True)
    for label, style in CURVES.items():
        if label in labels:
            draw_curve(canvas, scale, labels[label], style)
    draw_kills(canvas, scale, labels)
    draw_names(canvas, scale, labels)
    draw_lead(canvas, scale, labels)
    return "\n".join(canvas.blocks + canvas.commands + ["plot " + ", \\\n  ".join(canvas.plots or ["NaN notitle"])])


def legend():
    """A panel without axes: what the symbols mean, in a row."""
    ink = "linecolor rgb '#333333'"
    entries = [("nothing swapped", ["points %s pointtype 7 pointsize 1.9" % ink]),
               ("swaps", ["points %s pointtype 7 pointsize 1.9" % ink, "points linecolor rgb 'white' pointtype 7 pointsize 1.05"]),
               ("time-out", ["points %s linewidth 3.5 pointtype 8 pointsize 2.6" % ink]),
               ("killed: out of memory", ["points %s linewidth 4 pointtype 2 pointsize 1.7" % ink]),
               ("its libraries free", ["lines %s linewidth 2.5 dashtype 4" % ink, "points %s pointtype 7 pointsize 1.4" % ink]),
               ("mafat, packed weights", ["lines linecolor rgb %s linewidth 3 dashtype 2" % plot.quote(plot.COLOURS["mafat"]),
                                              "points linecolor rgb %s pointtype 5 pointsize 1.9" % plot.quote(plot.COLOURS["mafat"])])]
    canvas, x = Canvas(9), 0.005
    for text, styles in entries:
        for style in styles:
            canvas.plot([(x, 0), (x + 0.03, 0)] if style.startswith("lines") else [(x + 0.015, 0)], style)
        canvas.label(text, number(x + 0.035), number(0), "#333333", "left", "small")
        x += 0.06 + 0.0072 * len(text)
    return "\n".join(canvas.blocks + canvas.commands + ["set xrange [0:1]", "set yrange [-1:1]", "plot " + ", \\\n  ".join(canvas.plots)])


COMMON = """set border 3 linewidth 1.5 linecolor rgb "#444444"
set grid linetype 1 linewidth 1 linecolor rgb "#e4e4e4"
unset key
set tics scale 0.6
"""


def script(found):
    networks = rows.points(found)
    chosen = [(title, labels, WEIGHTS.get(layers, WEIGHTS_WHOLE)) for wanted, title in PANELS for (_, layers), labels in networks.items()
              if layers == wanted or (wanted is None and layers not in WEIGHTS)]
    scale = Scale(networks)
    share = 0.9 / len(chosen)
    lines = ["set multiplot title %s font ',%d'" % (plot.quote("Latency of one picture under a memory limit, one thread, cold"), SIZES["title"]), COMMON]
    for n, (title, labels, weights) in enumerate(chosen):
        lines += ["set lmargin at screen %.4f" % (0.075 + n * (share + 0.025)), "set rmargin at screen %.4f" % (0.075 + n * (share + 0.025) + share - 0.117),
                  "set tmargin at screen 0.87", "set bmargin at screen 0.175", 'set xlabel "memory limit, MB" offset 0,0.3',
                  panel(n, scale, title, labels, weights), "unset arrow", "unset label", "unset object"]
    lines += ["set lmargin at screen 0.03", "set rmargin at screen 0.99", "set tmargin at screen 0.075", "set bmargin at screen 0.015", "unset border",
              "unset grid", "unset tics", "unset title", "unset xlabel", "unset logscale", legend(), "unset multiplot"]
    return "\n".join(lines)


def draw(png, found):
    plot.run(script(found), png, (WIDTH, HEIGHT), FONT)
