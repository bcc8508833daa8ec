"""Draws the paper's four figures, and one more with all of mafat's features, from the measurements:
PNG and SVG."""

import math
import os

import plans
from measured import megabytes
from sweep import plot
from sweep import rows as sweep_rows

TITLES = {
    "fig1": "Darknet, %s",
    "fig2": "Predicted and measured limits, %s",
    "fig3": "Plans of tiles, %s",
    "fig4": "Darknet, the paper's search, the best of its plans: %s",
    "fig5": "Darknet, the paper's plans, everything mafat has: %s",
}
NETWORK = "YOLOv2's first 16 layers"
SEQUENCE = ("#440154", "#3b528b", "#21918c", "#5ec962", "#c7b400")   # from coarse to fine
TILES = plot.COLOURS["mafat tiles"]
ZERO_MB = 0.1    # what a logarithmic axis shows for 0


def limit_bytes(limit):
    return None if limit is None else limit * plot.MEGABYTE


def limit_axis(limits, size=None):
    """Ticks at the measured limits; where labels would overlap, at powers of two."""
    axis = plot.LimitAxis([limit_bytes(limit) for limit in limits])
    width = (size or (plot.WIDTH, 0))[0] - 210
    first, last = axis.ticks[0][0], axis.ticks[-1][0]
    numbers = [limit for limit in limits if limit] + ([axis.none] if None in limits else [])
    if not numbers or first == last:
        return axis
    per_octave = width / math.log2(max(numbers) / min(numbers) * 1.12 ** 2)
    kept = []
    for number in sorted(numbers, key=lambda n: (n != axis.none, math.log2(n) % 1 != 0, n % 16 != 0, n)):
        text = "none" if None in limits and number == axis.none else "%g" % number
        half = 7.3 * len(text) + 4   # pixels
        if all(abs(math.log2(number / other)) * per_octave >= half + 7.3 * len(other_text) + 4 for other, other_text in kept):
            kept.append((number, text))
    axis.ticks = sorted(kept)
    return axis


def latencies(runs, label, axis, limits):
    """Points of one label: medians, and marks where no run succeeded."""
    points = []
    for limit in limits:
        rows = runs.rows_of(label, limit)
        if rows:
            points += sweep_rows.Point(rows).drawn(axis.at(limit_bytes(limit)))
    return points


def best_of(runs, labels, axis, limits):
    points = [(axis.at(limit_bytes(limit)), runs.best(limit, labels)[1]) for limit in limits]
    return [point for point in points if point[1] is not None]


def swapped_points(runs, limits, axis, column):
    points = []
    for limit in limits:
        value = megabytes(runs.median(plans.DARKNET, limit, column))
        if value is not None:
            points.append((axis.at(limit_bytes(limit)), max(value, ZERO_MB)))
    return points


def figure_1(runs, _):
    limits = runs.limits([plans.DARKNET])
    if not limits:
        return None
    axis, colour = limit_axis(limits), plot.COLOURS["darknet"]
    ticks = [(ZERO_MB, "0")] + [(10 ** n, "%d" % 10 ** n) for n in range(0, 7)]
    swapped = plot.Axis("swapped, MB", 10, ZERO_MB / 1.5, None, ticks)
    series = [plot.Series(text, swapped_points(runs, limits, axis, column), shade, style, point=point)
              for text, column, shade, style, point in (
                  ("out, system-wide", "system_swap_out_bytes", colour, "linespoints", 5),
                  ("in, system-wide", "system_swap_in_bytes", "#f08a7e", "linespoints", 7),
                  ("in, the group's own", "swap_in_bytes", "#222222", "points", 6),
                  ("most in swap at once, of the group", "swap_peak_bytes", "#6a4c93", "linespoints", 4))]
    darknet = plot.Series("Darknet", latencies(runs, plans.DARKNET, axis, limits), colour)
    return [plot.Panel("latency", axis, plot.latency_axis(), [darknet], legend=None),
            plot.Panel("swapped by one inference and the loading before it", axis, swapped, series)], 1, (1200, 1150)


def figure_2(_, limits):
    panels = []
    for key, text in (("NoCut", "one group (NoCut)"), ("8/2x2", "cut at 8, 2x2 below")):
        lines = [(plans.top_of(plan), limits[plan]) for plan in plans.FIGURE_2[key] if plan in limits]
        if not lines:
            return None
        x = plot.Axis("tiles above", None, 0.4, 5.6, [(top, "%dx%d" % (top, top)) for top, _ in lines])
        y = plot.Axis("MB", None, 0, 190)
        series = []
        for name, column, offset, colour in (("Algorithm 1, as printed", "paper_bytes", -0.27, "#8d99ae"),
                                             ("exact prediction", "predicted_charge_bytes", 0, "#1d4e89"),
                                             ("measured: least without swap", "least_bytes", 0.27, TILES)):
            points = [(top + offset, megabytes(line[column])) for top, line in lines if line[column] is not None]
            series.append(plot.Series(name, points, colour, "bars", width=0.25))
        if key != "NoCut":
            series.append(plot.Series("the paper's measured floor", [(5, plans.PAPER_FLOOR)], "#222222", "points", point=2))
        panels.append(plot.Panel(text, x, y, series, legend="inside top right vertical"))
    return panels, 2, (1300, 640)


def figure_3(runs, _):
    tilings = [plan for plan in plans.FIGURE_2["8/2x2"] if plan in runs.labels()]
    limits = runs.limits([label for label in runs.labels() if plans.is_plan(label)])
    if not limits:
        return None
    axis = limit_axis(limits)
    left = [plot.Series(plan, latencies(runs, plan, axis, limits), SEQUENCE[plans.top_of(plan) - 1], point=4 + plans.top_of(plan))
            for plan in tilings]
    right = []
    for i, cut in enumerate((None, 4, 8, 12)):
        labels = [plan for plan in cut_plans(cut) if plan in runs.labels()]
        points = best_of(runs, labels, axis, limits)
        right.append(plot.Series("cut at %d" % cut if cut else "NoCut", points, SEQUENCE[(0, 1, 2, 4)[i]], point=4 + i))
    return [plot.Panel("tilings, cut at 8, 2x2 below", axis, plot.latency_axis(), left),
            plot.Panel("cuts, each with its best tiling above (2x2 below)", axis, plot.latency_axis(), right)], 1, (1200, 1150)


def cut_plans(cut):
    """Plans of the second panel of figure 3."""
    return [plans.plan_text(top, cut) for top in plans.TOPS]


def compared(runs, axis, limits):
    measured = [label for label in runs.labels() if plans.is_plan(label)]
    return [plot.Series("Darknet", latencies(runs, plans.DARKNET, axis, limits), plot.COLOURS["darknet"]),
            plot.Series("Algorithm 2's choice", latencies(runs, plans.SEARCH, axis, limits), "#3f7d20", point=4, dash=2),
            plot.Series("best measured plan", best_of(runs, measured, axis, limits), TILES, point=9)]


def figure_4(runs, _):
    limits = [limit for limit in runs.limits() if limit in plans.PAPER_LIMITS]
    if not limits or plans.SEARCH not in runs.labels():
        return None
    axis = limit_axis(limits)
    theirs = [(axis.at(limit_bytes(limit)), plans.TABLE_1[limit][3]) for limit in limits]
    series = compared(runs, axis, limits) + [plot.Series("the paper's Algorithm 2, on a Raspberry Pi 3", theirs, "#8d99ae", dash=3, point=1)]
    return [plot.Panel(TITLES["fig4"] % NETWORK, axis, plot.latency_axis(), series)], 1, (1200, 820)


def figure_5(runs, _):
    limits = runs.limits()
    ours = [label for label in plans.OURS if label in runs.labels()]
    if not ours:
        return None
    axis = limit_axis(limits)
    styles = {"mafat, direct": (2, 6), "mafat, direct, packed": (2, 7), "mafat": (1, 4), "mafat, packed": (1, 5)}
    series = compared(runs, axis, limits)
    for label in ours:
        dash, point = styles[label]
        series.append(plot.Series(label, latencies(runs, label, axis, limits), plot.COLOURS["mafat"], dash=dash, point=point))
    return [plot.Panel(TITLES["fig5"] % NETWORK, axis, plot.latency_axis(), series)], 1, (1200, 900)


FIGURES = {"fig1": figure_1, "fig2": figure_2, "fig3": figure_3, "fig4": figure_4, "fig5": figure_5}


def drawable(runs, limits):
    """Names of the figures with data in every panel."""
    found = {name: function(runs, limits) for name, function in FIGURES.items()}
    return [name for name, figure in found.items()
            if figure and all(any(series.points for series in panel.series) for panel in figure[0])]


def draw(folder, runs, limits):
    """Raises plot.Missing without gnuplot."""
    os.makedirs(folder, exist_ok=True)
    for name in drawable(runs, limits):
        panels, columns, size = FIGURES[name](runs, limits)
        title = None if len(panels) == 1 else TITLES[name] % NETWORK
        plot.draw(os.path.join(folder, name + ".png"), panels, columns=columns, size=size, title=title)
