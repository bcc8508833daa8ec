"""Draws figures from the CSV: live bytes over the steps of each method for each network, and the
least arenas."""

import csv
import os
import tempfile

from methods import METHODS
from published import NETWORKS
from sweep import plot

COLOURS = {"whole": "#8d99ae", "tflm": "#5c4033", "milp": "#b5838d", "serenity": "#00a6a6", "hmcos": "#1d4e89", "tinyengine": "#f4a259",
           "ffmt": "#e07a9f", "fdt": "#c1121f", "fdt_both": "#780000", "motes": "#6a4c93", "least": "#0b6e4f", "quick": "#7fb069"}
DASHES = {"whole": 2, "tflm": 3}
SYMBOLS = {"whole": 2, "tflm": 1, "milp": 12, "serenity": 4, "hmcos": 8, "tinyengine": 10, "ffmt": 12, "fdt": 9, "fdt_both": 11, "motes": 13, "least": 7, "quick": 6}
# methods in figures over steps; orders of the others are similar
SHOWN = ["whole", "hmcos", "tinyengine", "fdt", "fdt_both", "motes", "quick", "least"]
SIZE, SUMMARY_SIZE = (1000, 560), (1700, 800)
SHORT = {"text_class": "text", "magic_wand": "wand", "nasnet_a_cifar": "nasnet 32", "darts_cifar": "darts 32", "nasnet_a_imagenet": "nasnet 224",
         "darts_imagenet": "darts 224", "mobilenet_v2": "mobilenet", "mcunet_v2_se_large": "mcunet", "bert_tiny": "bert"}


def read(folder, name):
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        return {}
    with open(path, newline="", encoding="utf-8") as file:
        return {(row["network"], row["method"]): row for row in csv.DictReader(file)}


def live_points(text):
    values = [int(word) / 1024 for word in text.split()]
    n = len(values)
    return [(100 * (k + e) / n, value) for k, value in enumerate(values) for e in (0, 1)]


def panel_of(network, live):
    series = [plot.Series(METHODS[name][0], live_points(live[network, name]["live"]), COLOURS[name], "lines", DASHES.get(name, 1))
              for name in SHOWN if (network, name) in live]
    return plot.Panel(network, plot.Axis("steps of a run, % (each method's own)", low=0, high=100), plot.Axis("bytes that live, KiB", low=0), series)


def arena(row):
    """Arena bytes without constants and bytes after the last buffer."""
    return int(row["arena_bytes"]) - int(row["constant_bytes"])


def summary(runs):
    known = [network for network in NETWORKS if (network, "whole") in runs and runs[network, "whole"]["arena_bytes"]]
    series = []
    for name in METHODS:
        points = [(k + 1, 100 * arena(runs[network, name]) / arena(runs[network, "whole"])) for k, network in enumerate(known)
                  if (network, name) in runs and runs[network, name]["arena_bytes"]]
        if points and name != "whole":
            series.append(plot.Series(METHODS[name][0], points, COLOURS[name], "points", point=SYMBOLS[name]))
    ticks = [(k + 1, SHORT.get(network, network)) for k, network in enumerate(known)]
    marks = [(n, "%g" % n) for n in (2, 5, 10, 20, 50, 100, 200, 500)]
    return plot.Panel("Arenas: percent of what whole maps in the file's order need", plot.Axis("", low=0.5, high=len(known) + 0.5, ticks=ticks),
                      plot.Axis("", log=10, ticks=marks), series)


def draw_one(path, panel, size):
    """Writes only the SVG."""
    with tempfile.TemporaryDirectory() as folder:
        plot.draw(os.path.join(folder, "figure.png"), [panel], size=size)
        with open(os.path.join(folder, "figure.svg"), encoding="utf-8") as drawn, open(path, "w", encoding="utf-8") as file:
            file.write(drawn.read())


def draw(folder):
    runs, live = read(folder, "runs.csv"), read(folder, "live.csv")
    try:
        for network in NETWORKS:
            if (network, "whole") in live:
                draw_one(os.path.join(folder, "live_%s.svg" % network), panel_of(network, live), SIZE)
        if runs:
            panel = summary(runs)
            panel.x.label = ""
            draw_one(os.path.join(folder, "arenas.svg"), panel, SUMMARY_SIZE)
    except plot.Missing as missing:
        print("figure.py: %s" % missing)
