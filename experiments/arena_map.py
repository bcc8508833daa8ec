#!/usr/bin/env python3
"""Draws the picture of run_inference --predict --map as a PNG, with gnuplot's Cairo.

  arena_map.py FILE.svg FILE.png
  arena_map.py FILE.png [OPTION...] MODEL...       options and model as for run_inference --predict

Supports only the elements that --map writes. BUILD names the build folder (default: build)."""

import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

SVG = "{http://www.w3.org/2000/svg}"
BUILD = os.environ.get("BUILD", "build")
SCALE = 2   # PNG pixels for one SVG pixel


def colour(name, opacity):
    """gnuplot's #AARRGGBB; AA is the transparency."""
    return "#%02x%s" % (round(255 * (1 - opacity)), name[1:])


def quoted(text):
    return '"%s"' % text.replace("\\", "\\\\").replace('"', '\\"')


def path_points(steps):
    """Corners of a path "M x y H x V y ... Z"."""
    x = y = None
    for letter, numbers in re.findall("([MHVZ])([^MHVZ]*)", steps):
        values = [float(number) for number in numbers.split()]
        if letter == "Z":
            return
        x, y = values if letter == "M" else (values[0], y) if letter == "H" else (x, values[0])
        yield x, y


class Drawing:
    """gnuplot commands, in the order in which the elements are painted."""

    def __init__(self, root):
        self.width, self.height = float(root.get("width")), float(root.get("height"))
        self.commands, self.n = [], 0
        self.add(root, {})

    def add(self, element, inherited):
        look = {**inherited, **element.attrib}
        kind = element.tag.replace(SVG, "")
        if kind in ("svg", "g"):
            for child in element:
                self.add(child, {name: value for name, value in look.items() if name in ("fill", "fill-opacity", "stroke", "stroke-width")})
        elif kind in ("rect", "path", "line", "text"):
            getattr(self, kind)(element, look)

    def object(self, shape, look):
        opacity = float(look.get("fill-opacity", 1))
        fill, stroke = look.get("fill", "none"), look.get("stroke", "none")
        if (fill == "none" or opacity == 0) and stroke == "none":
            return
        self.n += 1
        style = "fillstyle empty" if fill == "none" else 'fillcolor rgb "%s" fillstyle solid 1' % colour(fill, opacity)
        border = "noborder" if stroke == "none" else 'border rgb "%s" linewidth %g' % (stroke, SCALE * float(look.get("stroke-width", 1)))
        self.commands.append("set object %d %s front clip %s %s" % (self.n, shape, style, border))

    def rect(self, _, look):
        x, y, w, h = (float(look[name]) for name in ("x", "y", "width", "height"))
        self.object("rectangle from first %g,%g to first %g,%g" % (x, y, x + w, y + h), look)

    def path(self, _, look):
        points = list(path_points(look["d"]))
        self.object("polygon from " + " to ".join("first %g,%g" % point for point in points + points[:1]), look)

    def line(self, _, look):
        """Draws a line as thin boxes, because gnuplot's arrows cover all of them. Lines are
        horizontal or vertical; dashes are 4 long with gaps of 3."""
        x1, y1, x2, y2 = (float(look[name]) for name in ("x1", "y1", "x2", "y2"))
        length, level = max(x2 - x1, y2 - y1), y1 == y2
        step, dash = (7, 4) if "stroke-dasharray" in look else (length, length)
        at = 0.0
        while at < length:
            end = min(at + dash, length)
            box = (x1 + at, y1 - .5, x1 + end, y1 + .5) if level else (x1 - .5, y1 + at, x1 + .5, y1 + end)
            self.object("rectangle from first %g,%g to first %g,%g" % box, {"fill": look["stroke"]})
            at += step

    def text(self, element, look):
        said = "".join([element.text or ""] + [child.tail or "" for child in element])
        size = float(look["font-size"])
        align = {"middle": "center", "end": "right"}.get(look.get("text-anchor"), "left")
        turned = " rotate by 90" if "transform" in look else ""
        # gnuplot positions a text by its middle, SVG by its base line.
        x, y = float(look["x"]) - (.35 * size if turned else 0), float(look["y"]) - (0 if turned else .35 * size)
        bold = ":Bold" if look.get("font-weight") == "bold" else ""
        self.commands.append('set label %s at first %g,%g %s%s noenhanced front font "DejaVu Sans Mono%s,%g" textcolor rgb "%s"' % (
            quoted(said), x, y, align, turned, bold, SCALE * size * .75, look["fill"]))

    def script(self, png):
        return "\n".join([
            "set terminal pngcairo truecolor size %d,%d" % (SCALE * self.width, SCALE * self.height), "set output " + quoted(png),
            "unset key", "unset border", "unset tics", "set lmargin 0", "set rmargin 0", "set tmargin 0", "set bmargin 0",
            "set xrange [0:%g]" % self.width, "set yrange [%g:0]" % self.height] + self.commands + ["plot NaN", ""])


def convert(svg, png):
    script = Drawing(xml.etree.ElementTree.parse(svg).getroot()).script(png)
    subprocess.run(["gnuplot"], input=script, text=True, check=True)


def main(arguments):
    if arguments and arguments[0] in ("-h", "--help"):
        print(__doc__)
        return 0
    try:
        if len(arguments) == 2 and arguments[0].endswith(".svg") and arguments[1].endswith(".png"):
            convert(*arguments)
        elif len(arguments) > 1 and arguments[0].endswith(".png"):
            with tempfile.TemporaryDirectory() as folder:
                svg = os.path.join(folder, "arena.svg")
                run = subprocess.run([BUILD + "/run_inference", "--predict", "--map", svg] + arguments[1:], check=False)
                if not os.path.exists(svg):
                    return run.returncode or 1
                convert(svg, arguments[0])
                return run.returncode
        else:
            print("arena_map.py: expected FILE.svg FILE.png, or FILE.png and a model: see --help", file=sys.stderr)
            return 2
    except (OSError, subprocess.CalledProcessError, xml.etree.ElementTree.ParseError) as error:
        print("arena_map.py: %s" % error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
