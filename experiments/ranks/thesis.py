#!/usr/bin/env python3
"""Computes DeeperThings' Tables 5.1 and 5.2 (Stahl 2024, chapter 5) again, and solves its two
integer programs.

  thesis.py [--lp FOLDER] [--write]

For the thesis' four networks, of which it counts only convolutions: bytes held by one device, by
ten, and by ten with whole layers; and bytes exchanged by six if every weight layer is FDTO and if
the second program chooses (OWP), with the published figures. Both programs are solved by dynamic
programming, like `--search deeperthings` (search/ranks/sharing.c), and, if cbc or lp_solve is
installed, as LP files with the same result. --lp keeps these files. --write writes README.md's
tables.
Exit status: 0 done, 1 a solver found another result."""

import argparse
import os
import sys

sys.dont_write_bytecode = True   # nothing but results is written into the tree
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "planners"))

from milp import Missing, Programme, solver   # noqa: E402

BEGIN, END = "<!-- thesis.py -->\n", "<!-- /thesis.py -->\n"
# Published figures: MB held by one device, by ten, by ten with whole layers; MB exchanged by six,
# with FDTO alone and with OWP.
PUBLISHED = {"YOLOv2": (256, 28.4, 51.8, 84.0, 59.8), "AlexNet": (16.8, 2.65, 5.82, 9.69, 9.11),
             "VGG-16": (84.5, 13.2, 25.8, 202, 182), "Extraction": (97.5, 12.2, 20.1, 47.0, 41.8)}
# the table's, counted in convolutions
SWITCHES = {"YOLOv2": 8, "AlexNet": 1, "VGG-16": 4, "Extraction": 2}


class Net:
    """Convolutions as (values read, values made, weights)."""

    def __init__(self, height, width, channels):
        self.h, self.w, self.c, self.layers = height, width, channels, []

    def conv(self, filters, side=3, stride=1):
        read = self.h * self.w * self.c
        self.h, self.w = -(-self.h // stride), -(-self.w // stride)
        weights = side * side * self.c * filters
        self.c = filters
        self.layers.append((read, self.h * self.w * filters, weights))
        return self

    def pool(self, size=2, stride=2, valid=False):
        self.h, self.w = [(side - size) // stride + 1 if valid else -(-side // stride) for side in (self.h, self.w)]
        return self


def yolov2():
    net = Net(608, 608, 3).conv(32).pool().conv(64).pool()
    for wide in (128, 256):
        net.conv(wide).conv(wide // 2, 1).conv(wide).pool()
    net.conv(512).conv(256, 1).conv(512).conv(256, 1).conv(512)
    wide = (net.h, net.w, net.c)
    net.pool().conv(1024).conv(512, 1).conv(1024).conv(512, 1).conv(1024).conv(1024).conv(1024)
    deep = (net.h, net.w)
    net.h, net.w, net.c = wide
    net.conv(64, 1)
    # its reorganized pixels, concatenated with the last map
    net.h, net.w, net.c = deep + (256 + 1024,)
    return net.conv(1024).conv(425, 1).layers


def alexnet():
    net = Net(227, 227, 3)
    net.layers.append((227 * 227 * 3, 55 * 55 * 96, 11 * 11 * 3 * 96))
    net.h = net.w = 55
    net.c = 96
    return net.pool(3, 2, True).conv(256, 5).pool(3, 2, True).conv(384).conv(384).conv(256).layers


def vgg16():
    net = Net(224, 224, 3)
    for filters, times in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
        for _ in range(times):
            net.conv(filters)
        net.pool()
    return net.layers


def extraction():
    net = Net(224, 224, 3).conv(64, 7, 2).pool().conv(192).pool().conv(128, 1).conv(256).conv(256, 1).conv(512).pool()
    for _ in range(4):
        net.conv(256, 1).conv(512)
    net.conv(512, 1).conv(1024).pool()
    for _ in range(2):
        net.conv(512, 1).conv(1024)
    return net.conv(1000, 1).layers


NETWORKS = {"YOLOv2": yolov2, "AlexNet": alexnet, "VGG-16": vgg16, "Extraction": extraction}


# ---- first program: the first layer with shared weights (5.12 to 5.15); values times n ----

def held(layers, switch, n):
    maps = [(read + made) * (n if i >= switch else 1) for i, (read, made, _) in enumerate(layers)]
    return max(maps) + sum(weights * (1 if i >= switch else n) for i, (_, _, weights) in enumerate(layers))


def least_held(layers, n):
    return min(held(layers, switch, n) for switch in range(len(layers) + 1))


def switch_programme(layers, n):
    p = Programme("m")
    p.binary |= {"b%d" % i for i in range(len(layers))}
    total = sum(weights for _, _, weights in layers)
    p.row([(1, "c"), (-1, "m")] + [(-(n - 1) * weights, "b%d" % i) for i, (_, _, weights) in enumerate(layers)], -n * total)
    for i, (read, made, _) in enumerate(layers):
        p.row([((n - 1) * (read + made), "b%d" % i), (-1, "c")], -(read + made))
        if i:
            p.row([(1, "b%d" % (i - 1)), (-1, "b%d" % i)], 0)
    return p


# ---- second program: what each layer exchanges (5.16 to 5.23); values times n ----

def exchange(kind, before, after, layer, n):
    """r of (5.20): an output stays where it is made if the next layer continues there."""
    read, made, _ = layer
    stays, stayed = kind == "o" and after in ("o", "f"), before == "o" and kind in ("o", "f")
    if kind == "o":
        return (0 if stayed else read * (n - 1) * n) + (made * (n - 1) * n if stays else made * (n - 1))
    if kind == "i":
        return read * (n - 1) + made * (n - 1) * n
    return (0 if stayed else read * (n - 1) * n) if kind == "f" else made * (n - 1) * n


def may_follow(kind, after):
    return (kind == "f") == (after == "s")


def least_exchange(layers, n):
    # best cost so far by (kind of the previous layer, of this one)
    best = {(None, kind): 0 for kind in "oif"}
    for i, layer in enumerate(layers):
        found = {}
        for (before, kind), sum_before in best.items():
            for after in "oifs" if i + 1 < len(layers) else [None]:
                if may_follow(kind, after):
                    value = sum_before + exchange(kind, before, after, layer, n)
                    found[kind, after] = min(value, found.get((kind, after), value))
        best = found
    return min(best.values())


def schemes_programme(layers, n):
    p, cost = Programme("m"), []
    last = len(layers) - 1
    for l, (read, made, _) in enumerate(layers):
        o, i, f, s = names = ["%s%d" % (kind, l) for kind in "oifs"]
        p.binary |= set(names)
        one = [(1, name) for name in names]
        p.row(one, 1)
        p.row([(-c, name) for c, name in one], -1)
        cost += [(read * (n - 1) * n + made * (n - 1), o), (read * (n - 1) + made * (n - 1) * n, i), (read * (n - 1) * n, f), (made * (n - 1) * n, s)]
        if l == 0:
            p.row([(1, s)], 0)
        if l == last:
            p.row([(1, f)], 0)
            continue
        p.row([(1, f), (-1, "s%d" % (l + 1))], 0)
        p.row([(-1, f), (1, "s%d" % (l + 1))], 0)
        # Products of two binaries: the output stays, and its reader needs no broadcast.
        for after in "of":
            z, other = "z%s%d" % (after, l), "%s%d" % (after, l + 1)
            p.binary.add(z)
            p.row([(1, z), (-1, o)], 0)
            p.row([(1, z), (-1, other)], 0)
            p.row([(1, o), (1, other), (-1, z)], 1)
            cost.append((made * (n - 1) * (n - 1) - layers[l + 1][0] * (n - 1) * n, z))
    p.row(cost + [(-1, "m")], 0)
    return p


# ---- tables ----

def megabytes(values, n):
    return values * 4 / n / 1e6


def rows():
    for name, make in NETWORKS.items():
        layers = make()
        one, ten, whole, outputs, owp = PUBLISHED[name]
        weights = layers[SWITCHES[name]:]
        fan_outs = sum(exchange("o", "o" if i else None, "o" if i + 1 < len(weights) else None, layer, 6) for i, layer in enumerate(weights))
        yield name, [(one, megabytes(held(layers, 0, 1), 1)), (ten, megabytes(least_held(layers, 10), 10)),
                     (whole, megabytes(max(sum(layer) for layer in layers), 1)), (outputs, megabytes(fan_outs, 6)),
                     (owp, megabytes(least_exchange(weights, 6), 6))]


def tables():
    yield "| network | one device | ten | ten, whole layers | six exchange, FDTO | OWP | saved by it |\n|---|---|---|---|---|---|---|\n"
    for name, pairs in rows():
        saved = [100 * (1 - pairs[4][k] / pairs[3][k]) for k in (0, 1)]
        yield "| %s | %s | %.0f %% / %.0f %% |\n" % (name, " | ".join("%g / %.2f" % pair for pair in pairs), saved[0], saved[1])


def switch_of(values, layers):
    """The first layer whose weights a solver shares."""
    return sum(values.get("b%d" % i, 0) < .5 for i in range(len(layers)))


def exchange_of(values, layers, n):
    """The cost of the schemes that a solver chose."""
    kinds = [next(kind for kind in "oifs" if values.get("%s%d" % (kind, l), 0) > .5) for l in range(len(layers))]
    around = [None] + kinds + [None]
    return sum(exchange(kind, around[l], around[l + 2], layers[l], n) for l, kind in enumerate(kinds))


def check(name, what, programme, cost_of, expected, folder):
    """Solves one program: the solver's choice must cost as much as dynamic programming's. (lp_solve
    prints its own objective with only six digits.)"""
    if folder:
        with open(os.path.join(folder, "%s_%s.lp" % (name.lower().replace("-", ""), what)), "w", encoding="ascii") as file:
            programme.write_cplex(file)
    found = programme.solve(60)
    cost = cost_of(found[0]) if found else None
    same = cost == expected and found[1]
    print("%s %s, %s: %d, by %s %s (values times ranks)" % ("ok" if same else "FAIL", name, what, expected, solver(), cost))
    return same


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lp", metavar="FOLDER")
    parser.add_argument("--write", action="store_true")
    o = parser.parse_args()
    text = "".join(tables())
    print(text, end="")
    if o.write:
        path = os.path.join(HERE, "README.md")
        with open(path, encoding="utf-8") as file:
            before, _, rest = file.read().partition(BEGIN)
        with open(path, "w", encoding="utf-8") as file:
            file.write(before + BEGIN + text + END + rest.partition(END)[2])
    if o.lp:
        os.makedirs(o.lp, exist_ok=True)
    good = True
    try:
        for name, make in NETWORKS.items():
            layers = make()
            weights = layers[SWITCHES[name]:]
            good &= check(name, "switch", switch_programme(layers, 10), lambda values: held(layers, switch_of(values, layers), 10),
                          least_held(layers, 10), o.lp)
            good &= check(name, "schemes", schemes_programme(weights, 6), lambda values: exchange_of(values, weights, 6),
                          least_exchange(weights, 6), o.lp)
    except Missing as why:
        print("thesis.py: %s; by dynamic programming alone" % why, file=sys.stderr)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
