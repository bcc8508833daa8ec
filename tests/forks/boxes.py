#!/usr/bin/env python3
"""Measures how far the forks' differences move a trained network's boxes: the second table of
doc/forks.md.

Runs one network on the pictures of Debian's darknet package like pjreddie's Darknet, and like
AlexeyAB's: with everything, stretched, with AlexeyAB's batch norm epsilon, with his suppression
(computed here from unsuppressed boxes), with pictures resized like OpenCV (by libdarknet's decoder,
through ctypes). Prints for each the number of equal detections, differences of edges and
confidences, and detections of one side only. Needs Yolo-Fastest 1.1-xl in MAFAT_MODELS; BUILD names
the build folder."""

import argparse
import ctypes
import json
import math
import os
import re
import struct
import subprocess
import sys
import tempfile

BUILD = os.environ.get("BUILD", "build")
PICTURES = "dog person horses giraffe eagle kite scream".split()
DATA = "/usr/share/darknet/data"


def detect(cfg, weights, thresh, *arguments, fork="darknet"):
    done = subprocess.run([f"{BUILD}/run_inference", "--quiet", "--fork", fork, "--json", "--thresh", str(thresh), cfg, weights,
                           *arguments], stdout=subprocess.PIPE, check=True, text=True)
    return [[(d["class"], d["confidence"], *(d["box"][k] for k in ("x", "y", "width", "height"))) for d in
             json.loads(line)["detections"]] for line in done.stdout.splitlines()]


def iou(a, b):
    w = min(a[2] + a[4], b[2] + b[4]) - max(a[2], b[2])
    h = min(a[3] + a[5], b[3] + b[5]) - max(a[3], b[3])
    both = max(w, 0) * max(h, 0)
    return both / (a[4] * a[5] + b[4] * b[5] - both)


def edges(a, b):
    return max(abs(a[2] - b[2]), abs(a[3] - b[3]), abs(a[2] + a[4] - b[2] - b[4]), abs(a[3] + a[5] - b[3] - b[5]))


def distance(a, b):
    """DIoU's penalty: squared distance of the centres relative to the diagonal of the enclosing
    box."""
    w = max(a[2] + a[4], b[2] + b[4]) - min(a[2], b[2])
    h = max(a[3] + a[5], b[3] + b[5]) - min(a[3], b[3])
    x, y = (a[2] - b[2] + (a[4] - b[4]) / 2), (a[3] - b[3] + (a[5] - b[5]) / 2)
    return (x * x + y * y) / (w * w + h * h)


def suppress(found, size, beta):
    """Boxes after greedy suppression at 0.45. beta: DIoU's exponent; None: IoU. Coordinates are
    fractions of the picture, as in Darknet."""
    kept = []
    for d in sorted((c, p, x / size[0], y / size[1], w / size[0], h / size[1]) for c, p, x, y, w, h in found)[::-1]:
        if all(k[0] != d[0] or iou(k, d) - (distance(k, d) ** beta if beta else 0) <= .45 for k in kept):
            kept.append(d)
    return [(c, p, x * size[0], y * size[1], w * size[0], h * size[1]) for c, p, x, y, w, h in kept]


def compare(name, ours, theirs):
    pairs, left, right = [], 0, 0
    for a, b in zip(ours, theirs):
        rest = list(b)
        for d in a:
            best = max((e for e in rest if e[0] == d[0] and iou(d, e) > .6), key=lambda e: iou(d, e), default=None)
            if best is None:
                left += 1
            else:
                rest.remove(best)
                pairs.append((d, best))
        right += len(rest)
    moved = sorted(edges(a, b) for a, b in pairs)
    print(f"| {name} | {len(pairs)} | {left} | {right} | {moved[len(moved) // 2]:.2g} | {moved[-1]:.2g} | "
          f"{max(abs(a[1] - b[1]) for a, b in pairs):.2g} |", flush=True)


# ---- weights changed to another fork's batch norm ----

def layers_of(cfg_text):
    """(filters, weights per filter, normalized) of each [convolutional]; channels are followed as far as Yolo-Fastest needs."""
    channels, out = [], []
    for section in re.split(r"^\s*\[", cfg_text, flags=re.M)[1:]:
        kind, keys = section.split("]", 1)[0], dict(re.findall(r"^\s*(\w+)\s*=\s*([^\s#]+)", section, re.M))
        before = channels[-1] if channels else None
        if kind == "net":
            before = int(keys["channels"])
            channels = [before]
            continue
        if kind == "convolutional":
            filters, size = int(keys["filters"]), int(keys.get("size", 1))
            out.append((filters, before // int(keys.get("groups", 1)) * size * size, keys.get("batch_normalize", "0") != "0"))
            channels.append(filters)
        elif kind == "route":
            index = len(channels) - 1
            named = [int(i) for i in re.search(r"layers\s*=\s*([-0-9, ]+)", section).group(1).replace(" ", "").split(",") if i]
            channels.append(sum(channels[(index + i if i < 0 else i) + 1] for i in named))
        else:
            channels.append(before)
    return out


def with_alexeyabs_epsilon(cfg, weights, to):
    """Changes variances v to v' with sqrt(v') + 1e-6 = sqrt(v + 1e-5). Returns all variances."""
    with open(weights, "rb") as f:
        data = bytearray(f.read())
    with open(cfg) as f:
        layers = layers_of(f.read())
    at, all_of_them = 20, []
    for filters, per_filter, normalized in layers:
        at += 4 * filters
        if normalized:
            at += 8 * filters
            variances = struct.unpack_from(f"<{filters}f", data, at)
            all_of_them += variances
            struct.pack_into(f"<{filters}f", data, at, *((math.sqrt(v + 1e-5) - 1e-6) ** 2 for v in variances))
            at += 4 * filters
        at += 4 * filters * per_filter
    if at != len(data):
        raise ValueError(f"{cfg}: {len(data)} bytes of weights, {at} understood")
    with open(to, "wb") as f:
        f.write(data)
    return sorted(all_of_them)


# ---- pictures as OpenCV resizes them ----

class Image(ctypes.Structure):
    _fields_ = [("w", ctypes.c_int), ("h", ctypes.c_int), ("c", ctypes.c_int), ("data", ctypes.POINTER(ctypes.c_float))]


def stretched_by_centres(library, path, side):
    m = library.load_image_color(path.encode(), 0, 0)

    def taps(n):
        for i in range(side):
            p = min(max((i + .5) * n / side - .5, 0), n - 1)
            yield int(p), min(int(p) + 1, n - 1), p - int(p)
    across, values = list(taps(m.w)), []
    for c in range(3):
        for y0, y1, dy in taps(m.h):
            first, second = (c * m.h + y0) * m.w, (c * m.h + y1) * m.w
            values += [(m.data[first + a] * (1 - d) + m.data[first + b] * d) * (1 - dy) +
                       (m.data[second + a] * (1 - d) + m.data[second + b] * d) * dy for a, b, d in across]
    return m.w, m.h, struct.pack(f"<{len(values)}f", *values)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--network", default=f"{os.environ.get('MAFAT_MODELS', '')}/yolo-fastest-1.1-xl", help="its path without .cfg")
    network = parser.parse_args().network
    cfg, weights = network + ".cfg", network + ".weights"
    pictures = [f"{DATA}/{p}.jpg" for p in PICTURES]
    with open(cfg) as f:
        text = f.read()
    with tempfile.TemporaryDirectory() as folder:
        def variant(change):
            with open(f"{folder}/a.cfg", "w") as f:
                f.write(change(text))
            return f"{folder}/a.cfg"

        variances = with_alexeyabs_epsilon(cfg, weights, f"{folder}/w")
        print(f"variances: least {variances[0]:.2g}, a hundredth below {variances[len(variances) // 100]:.2g}, a tenth "
              f"below {variances[len(variances) // 10]:.2g}, median {variances[len(variances) // 2]:.2g}; "
              f"{sum(v < 1e-3 for v in variances)} of {len(variances)} below 1e-3")
        as_it_is = detect(cfg, weights, .3, *pictures)
        compare("--fork alexeyab", as_it_is, detect(cfg, weights, .3, *pictures, fork="alexeyab"))
        compare("letter_box=0", as_it_is, detect(variant(lambda t: t.replace("[net]", "[net]\nletter_box=0", 1)), weights, .3, *pictures))
        compare("epsilon", as_it_is, detect(cfg, f"{folder}/w", .3, *pictures))
        library = ctypes.CDLL("/usr/lib/darknet/libdarknet.so")
        library.load_image_color.restype = Image
        sizes = [(m.w, m.h) for m in (library.load_image_color(path.encode(), 0, 0) for path in pictures)]
        for thresh in .5, .3, .1, .05:
            plain, every = (detect(cfg, weights, thresh, *pictures, *more) for more in ([], ["--nms", "0"]))
            by_iou, by_diou = ([suppress(found, size, beta) for found, size in zip(every, sizes)] for beta in (None, .6))
            if list(map(len, by_iou)) != list(map(len, plain)):
                raise ValueError(f"suppression here is not run_inference's: {by_iou}, {plain}")
            compare(f"nms_kind=greedynms, --thresh {thresh}", plain, by_diou)
        stretched = variant(lambda t: t.replace("[net]", "[net]\nletter_box=0", 1))
        side = int(re.search(r"^width\s*=\s*(\d+)", text, re.M).group(1))
        theirs = []
        for path in pictures:
            w, h, raw = stretched_by_centres(library, path, side)
            with open(f"{folder}/in", "wb") as f:
                f.write(raw)
            theirs += [[(d[0], d[1], d[2] * w / side, d[3] * h / side, d[4] * w / side, d[5] * h / side) for d in found]
                       for found in detect(stretched, weights, .3, "--input", f"{folder}/in")]
        compare("resized as OpenCV does", detect(stretched, weights, .3, *pictures), theirs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
