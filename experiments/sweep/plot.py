"""Figures by gnuplot: panels of series, as PNG and as SVG.

    x = plot.LimitAxis(limits)                       # bytes or None, "none" at the right edge
    y = plot.latency_axis("latency of one picture")  # milliseconds, log
    series = [plot.Series("Darknet", [(x.at(limit), ms, None), (x.at(small), None, "oom")], plot.colour_of("darknet"))]
    plot.draw("figure.png", [plot.Panel("first 16 layers", x, y, series)])   # and figure.svg

A point is (x, y) or (x, y, mark). Marks: None; "timeout": an open triangle at y; "oom", "refused", "failed", "given-up":
drawn above the data, in a row for each series that has some; where y is not None, the point is drawn too.
"""

import math
import os
import shutil
import subprocess

COLOURS = {"mafat": "#0b6e4f", "mafat tiles": "#7fb069", "darknet": "#c1121f", "opencv": "#1d4e89", "onnxruntime": "#f4a259"}
OTHER_COLOURS = ["#6a4c93", "#8d99ae", "#5c4033", "#00a6a6"]
MEGABYTE = 1048576
WIDTH, HEIGHT = 1200, 760        # pixels of a figure of one panel
FONT = "DejaVu Sans,19"
MARKS = {"oom": ("killed: out of memory", 2), "timeout": ("time-out", 8), "refused": ("refused: does not fit", 6),
         "failed": ("failed", 3), "given-up": ("not tried", 1)}   # legend text, gnuplot's symbol
ROW = 0.055                      # height of a row of marks, as share of a panel's height


class Missing(Exception):
    """gnuplot is missing or failed."""


def colour_of(program, options=""):
    """The colour of a program by its name in the CSV; mafat with the paper's plans (tiles, or its search) has its own."""
    if program.startswith("mafat"):
        words = options.split()
        plan = words[words.index("--plan") + 1] if "--plan" in words[:-1] else ""
        tiles = plan[:1].isdigit() or plan.startswith("[") or "greedy" in words
        return COLOURS["mafat tiles" if tiles else "mafat"]
    return COLOURS.get(program, OTHER_COLOURS[sum(program.encode()) % len(OTHER_COLOURS)])


class Axis:
    """log: None or the base; ticks: [(value, text)], None: gnuplot's own."""

    def __init__(self, label, log=None, low=None, high=None, ticks=None):
        self.label, self.log, self.low, self.high, self.ticks = label, log, low, high, ticks
        self.gap = None   # (a, b): a gap without data; lines across it are dotted

    def scale(self, value):
        return math.log(value) if self.log else value

    def unscale(self, value):
        return math.exp(value) if self.log else value

    def range(self, values, margin):
        """(low, high) in scaled values: the given ones, else the data's range with a margin."""
        found = [self.scale(value) for value in values if value is not None and (value > 0 or not self.log)]
        low, high = (min(found), max(found)) if found else (0.0, 1.0)
        pad = (high - low) * margin or 0.5
        low = self.scale(self.low) if self.low is not None else low - pad
        return low, self.scale(self.high) if self.high is not None else high + pad


class LimitAxis(Axis):
    """Memory limits in MB, logarithmic; "none" is at the right edge."""

    def __init__(self, limits, label="memory limit, MB"):
        numbers = sorted({limit / MEGABYTE for limit in limits if limit is not None})
        step = 2.0 if len(numbers) < 2 else max(1.6, (numbers[-1] / numbers[0]) ** 0.1)
        self.none = (numbers[-1] if numbers else 64.0) * step
        ticks, last = [], 0.0
        for number in numbers:
            if number >= last * (numbers[-1] / numbers[0]) ** 0.035:   # labels would overlap
                ticks.append((number, "%g" % number))
                last = number
        if None in limits:
            ticks.append((self.none, "none"))
        low = (numbers[0] if numbers else self.none) / 1.12
        super().__init__(label, 2, low, (self.none if None in limits else numbers[-1]) * 1.12, ticks)
        if numbers and None in limits:
            self.gap = (numbers[-1], self.none)

    def at(self, limit):
        return self.none if limit is None else limit / MEGABYTE


def time_text(ms):
    return "%g ms" % ms if ms < 1000 else "%g s" % (ms / 1000) if ms < 60e3 * 10 else "%g min" % (ms / 60e3)


def latency_axis(label="latency", low=None, high=None):
    """Milliseconds, logarithmic."""
    ticks = [(n * 10 ** power, time_text(n * 10 ** power)) for power in range(-1, 7) for n in (1, 2, 3, 4, 5, 7)]
    return Axis(label, 10, low, high, ticks)


class Series:
    """An entry of the legend. style: linespoints, lines, points, steps, area or bars (`width` in
    units of x); dash: 1 solid, 2 dashed, 3 dotted ...; point: gnuplot's symbol; second: uses the
    panel's y2."""

    def __init__(self, label, points, colour, style="linespoints", dash=1, point=7, width=None, second=False):
        self.label, self.colour, self.style, self.dash, self.point = label, colour, style, dash, point
        self.width, self.second = width, second
        self.points = [(*point, None)[:3] for point in points]

    def shown(self):
        return [(x, y) for x, y, mark in self.points if y is not None and mark != "timeout"]

    def timeouts(self):
        return [(x, y) for x, y, mark in self.points if mark == "timeout" and y is not None]

    def marks(self):
        return [(x, mark) for x, _, mark in self.points if mark and mark != "timeout"]


class Panel:
    """One diagram. verticals: [(x, text)], thin vertical lines; legend: position in gnuplot's
    words, or None."""

    def __init__(self, title, x, y, series, y2=None, verticals=(), legend="bmargin left horizontal maxcols 3 Left reverse"):
        self.title, self.x, self.y, self.y2, self.series = title, x, y, y2, list(series)
        self.verticals, self.legend = list(verticals), legend


def quote(text):
    """Quotes text for gnuplot, which executes text in backquotes except inside single quotes."""
    return "'%s'" % str(text).replace("'", "''").replace("\n", " ")


def block(name, points):
    """A data block; points that are None leave a gap."""
    lines = ["%.9g %.9g" % point if point else "" for point in points]
    return "\n".join(["$%s << EOD" % name] + (lines or ["0 NaN"]) + ["EOD"])


def ticks_text(axis, low, high):
    """Ticks within the range, thinned if there are many."""
    inside = [(value, text) for value, text in axis.ticks if low <= axis.scale(value) <= high]
    for digits in ((1, 2, 5), (1,)):   # fewer ticks if there are many
        if axis.log == 10 and len(inside) > 9:
            inside = [(value, text) for value, text in inside if round(value / 10 ** math.floor(math.log10(value) + 1e-9)) in digits]
    return "(%s)" % ", ".join("%s %.9g" % (quote(text), value) for value, text in inside)


def axis_commands(letter, axis, low, high, top):
    """top: end of the axis, above `high` if there are rows of marks."""
    grid = axis.ticks is not None
    return ["set %slabel %s%s" % (letter, quote(axis.label), " offset 0,0.5" if letter == "x" else ""),
            "set logscale %s %d" % (letter, axis.log) if axis.log else "unset logscale %s" % letter,
            "set %srange [%.9g:%.9g]" % (letter, axis.unscale(low), axis.unscale(top)),
            "set %stics nomirror %s" % (letter, ticks_text(axis, low, high) if grid else "autofreq")]


def solid_parts(axis, points):
    """Points for a line: sorted and broken at the axis's gap, and the dotted line across the gap."""
    points = sorted(points)
    if not axis.gap:
        return points, []
    left = [point for point in points if point[0] <= axis.gap[0]]
    right = [point for point in points if point[0] > axis.gap[0]]
    across = [left[-1], right[0]] if left and right else []
    return left + ([None] if across else []) + right, across


class Sheet:
    """The commands of one panel."""

    def __init__(self, panel, number):
        self.panel, self.number = panel, number
        self.blocks, self.plots, self.used = [], [], []
        self.commands = []

    def add(self, points, style, title=None, axes="x1y1"):
        name = "data%d_%d" % (self.number, len(self.blocks))
        self.blocks.append(block(name, points))
        self.plots.append("$%s using 1:2 axes %s with %s %s" % (name, axes, style, "title " + quote(title) if title else "notitle"))

    def note(self, mark):
        if mark not in self.used:
            self.used.append(mark)

    def draw_series(self, series):
        colour = "linecolor rgb %s" % quote(series.colour)
        line = "%s linewidth 3 dashtype %d" % (colour, series.dash)
        point = "%s pointtype %d pointsize 1.6" % (colour, series.point)
        axes = "x1y2" if series.second else "x1y1"
        shown = series.shown()
        if series.style in ("lines", "linespoints"):
            points, across = solid_parts(self.panel.x, shown)
            both = "linespoints %s pointtype %d pointsize 1.6" % (line, series.point)
            self.add(points, both if series.style == "linespoints" else "lines " + line, series.label, axes)
            if across:
                self.add(across, "lines %s linewidth 1.5 dashtype 3" % colour, axes=axes)
        elif series.style == "points":
            self.add(shown, "points " + point, series.label, axes)
        elif series.style == "steps":
            self.add(sorted(shown), "steps " + line, series.label, axes)
        elif series.style == "area":
            self.add(sorted(shown), "filledcurves x1 %s fillstyle solid 0.35 noborder" % colour, series.label, axes)
        elif series.style == "bars":
            self.commands.append("set boxwidth %.9g absolute" % (series.width or 0.8))
            self.add(shown, "boxes %s fillstyle solid 0.9 noborder" % colour, series.label, axes)
        else:
            raise ValueError("no such style: " + series.style)
        for x, y in series.timeouts():
            self.note("timeout")
            self.add([(x, y)], "points %s linewidth 2.5 pointtype %d pointsize 2.2" % (colour, MARKS["timeout"][1]), axes=axes)

    def draw_marks(self, failing, low, high, height):
        """A row of marks for each series that has some, above the data."""
        axis = self.panel.y
        if not failing:
            return
        self.commands.append("set arrow from graph 0, first %.9g to graph 1, first %.9g nohead linewidth 1 linecolor rgb '#bbbbbb'" %
                             ((axis.unscale(high),) * 2))
        for row, series in enumerate(failing):
            at = axis.unscale(high + height * (row + 0.6))
            for x, mark in series.marks():
                self.note(mark)
                self.add([(x, at)], "points linecolor rgb %s linewidth 3 pointtype %d pointsize 1.7" %
                         (quote(series.colour), MARKS[mark][1]))

    def text(self):
        panel = self.panel
        x = panel.x.range([point[0] for series in panel.series for point in series.points], 0.03)
        y = panel.y.range([point[1] for series in panel.series for point in series.points if not series.second], 0.06)
        failing = [series for series in panel.series if series.marks()]
        share = ROW * len(failing) + (0.02 if failing else 0)
        height = (y[1] - y[0]) / (1 - share) * ROW
        top = y[0] + (y[1] - y[0]) / (1 - share)
        self.commands += ["set title %s" % quote(panel.title), *axis_commands("x", panel.x, *x, x[1]), *axis_commands("y", panel.y, *y, top)]
        if panel.y2:
            y2 = panel.y2.range([point[1] for series in panel.series for point in series.points if series.second], 0.06)
            self.commands += axis_commands("y2", panel.y2, *y2, y2[1])
        self.commands.append("set key %s" % panel.legend if panel.legend else "unset key")
        for at, text in panel.verticals:
            self.commands.append("set arrow from %.9g, graph 0 to %.9g, graph 1 nohead front linewidth 1 linecolor rgb '#999999' dashtype 2" % (at, at))
            if text:
                self.commands.append("set label %s at %.9g, graph 0.98 front rotate by 90 right offset 0.6,0 font ',13' textcolor rgb '#555555'" % (quote(text), at))
        for series in panel.series:
            self.draw_series(series)
        self.draw_marks(failing, *y, height)
        for mark in self.used:   # legend entries for the marks, in black
            self.add([], "points linecolor rgb 'black' linewidth 2.5 pointtype %d pointsize 1.7" % MARKS[mark][1], MARKS[mark][0])
        return "\n".join(self.blocks + self.commands + ["plot " + ", \\\n  ".join(self.plots)])


RESET = """unset arrow
unset label
unset logscale
unset y2tics
unset y2label
set border 3
set grid linetype 1 linewidth 1 linecolor rgb "#e8e8e8"
set key default
set key samplen 2.5 spacing 1.2 width -1 font ",16"
"""


def draw(png, panels, columns=1, size=None, title=None):
    """Writes `png` and an SVG beside it. Panels are in rows of `columns`; size: (width, height) in
    pixels. Raises Missing if gnuplot is missing or fails."""
    rows = -(-len(panels) // columns)
    width, height = size or (WIDTH, HEIGHT if rows == 1 else int(HEIGHT * 0.72) * rows)
    body = []
    for number, panel in enumerate(panels):
        body += [RESET, Sheet(panel, number).text()]
    if len(panels) > 1 or title:
        head = "set multiplot layout %d,%d %s" % (rows, columns, "title %s" % quote(title) if title else "")
        body = [head] + body + ["unset multiplot"]
    run("\n".join(body), png, (width, height))


def run(commands, png, size, font=FONT):
    """Runs gnuplot's commands to write `png` and an SVG beside it, or neither. Raises Missing."""
    if not shutil.which("gnuplot"):
        raise Missing("gnuplot is missing; apt-get install --no-install-recommends gnuplot-nox")
    stem = os.path.splitext(png)[0]
    for terminal, path in (("pngcairo", png), ("svg", stem + ".svg")):
        extra = "background '#ffffff' rounded" if terminal == "svg" else "rounded"
        script = "\n".join(["set encoding utf8",
                            "set terminal %s size %d,%d font %s noenhanced %s" % (terminal, *size, quote(font), extra),
                            "set output %s" % quote(path + ".part"), commands, "unset output", ""])
        try:
            done = subprocess.run(["gnuplot", "-"], input=script, capture_output=True, text=True, check=False)
            if done.returncode != 0 or not os.path.exists(path + ".part"):
                raise Missing("gnuplot: %s" % (done.stderr.strip().splitlines() or ["no output"])[-1])
            os.replace(path + ".part", path)
        finally:
            if os.path.exists(path + ".part"):
                os.unlink(path + ".part")
