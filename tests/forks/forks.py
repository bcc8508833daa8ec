#!/usr/bin/env python3
"""Checks doc/forks.md: pjreddie's Darknet, AlexeyAB's fork and mafat.

Each case is a network of a few layers on generated values. Both forks' formulas are below, as plain
loops; run_inference must give the result of the fork that the case names. The difference to the
other fork's formula, relative to the layer's largest value, is the figure in doc/forks.md, within a
tenth. If build/oracle_layers exists, Debian's libdarknet must agree or differ as the case says.

BUILD names the build folder. Prints lines `ok NAME`, `FAIL NAME: why`, `skip NAME: why`; exit
status 1 if one failed."""

import argparse
import json
import math
import os
import re
import struct
import subprocess
import sys
import tempfile

BUILD = os.environ.get("BUILD", "build")
DOC = "doc/forks.md"
TOLERANCE = 2e-5  # relative to a layer's largest value, as in tests/oracle


# ---- maps, and layers that both forks compute alike ----

class Map:
    """Values in channel, row, column order."""

    def __init__(self, c, h, w, values=None):
        self.c, self.h, self.w = c, h, w
        self.values = values if values is not None else [0.0] * (c * h * w)

    def __getitem__(self, at):
        c, y, x = at
        return self.values[(c * self.h + y) * self.w + x]

    def __setitem__(self, at, value):
        c, y, x = at
        self.values[(c * self.h + y) * self.w + x] = value

    def like(self, f):
        return Map(self.c, self.h, self.w, [f(v) for v in self.values])

    def places(self):
        return [(c, y, x) for c in range(self.c) for y in range(self.h) for x in range(self.w)]


class Random:
    """Numerical Recipes' linear congruential generator: the same values everywhere."""

    def __init__(self, seed):
        self.state = seed

    def number(self, least, most):
        self.state = (self.state * 1664525 + 1013904223) % 2 ** 32
        exact = least + (most - least) * (self.state >> 8) / 2 ** 24
        return struct.unpack("<f", struct.pack("<f", exact))[0]

    def numbers(self, n, least=-1.0, most=1.0):
        return [self.number(least, most) for _ in range(n)]


def noise(c, h, w, seed=1, least=-1.0, most=1.0):
    return Map(c, h, w, Random(seed).numbers(c * h * w, least, most))


def convolve(m, weights, biases, size=1, stride=1, pad=0, groups=1):
    filters, per_group = len(biases), m.c // groups
    out = Map(filters, (m.h + 2 * pad - size) // stride + 1, (m.w + 2 * pad - size) // stride + 1)
    for f, y, x in out.places():
        total = biases[f]
        for c in range(per_group):
            for i in range(size):
                for j in range(size):
                    iy, ix = y * stride + i - pad, x * stride + j - pad
                    if 0 <= iy < m.h and 0 <= ix < m.w:
                        total += weights[((f * per_group + c) * size + i) * size + j] * \
                            m[f // (filters // groups) * per_group + c, iy, ix]
        out[f, y, x] = total
    return out


def mean(values):
    values = list(values)
    return sum(values) / len(values)


def pool(m, size, stride, padding, of=max):
    out = Map(m.c, (m.h + padding - size) // stride + 1, (m.w + padding - size) // stride + 1)
    for c, y, x in out.places():
        first_y, first_x = y * stride - padding // 2, x * stride - padding // 2
        out[c, y, x] = of(m[c, iy, ix] for iy in range(first_y, first_y + size) for ix in range(first_x, first_x + size)
                          if 0 <= iy < m.h and 0 <= ix < m.w)
    return out


def upsample(m, stride, scale=1.0):
    out = Map(m.c, m.h * stride, m.w * stride)
    for c, y, x in out.places():
        out[c, y, x] = scale * m[c, y // stride, x // stride]
    return out


def logistic(x):
    return 1 / (1 + math.exp(-x))


# ---- where they differ ----

def shortcut_pjreddie(m, other, alpha=1.0, beta=1.0):
    """Adds every stride-th pixel of the larger map to the smaller one, in the channels that both
    have."""
    out = Map(m.c, m.h, m.w, list(m.values))
    stride, sample = max(other.w // m.w, 1), max(m.w // other.w, 1)
    for c in range(min(m.c, other.c)):
        for y in range(min(m.h, other.h)):
            for x in range(min(m.w, other.w)):
                at = c, y * sample, x * sample
                out[at] = alpha * m[at] + beta * other[c, y * stride, x * stride]
    return out


def shortcut_alexeyab(m, other):
    """Adds the n-th value of one map to the n-th of the other, as far as both go; no alpha, no
    beta."""
    return Map(m.c, m.h, m.w, [v + (other.values[i] if i < len(other.values) else 0) for i, v in enumerate(m.values)])


def reorg(m, stride):
    """[reorg] of both forks: reads the input's h, w and c as those of the deeper map."""
    flat, depth = [], m.c // stride ** 2
    for k in range(m.c):
        for j in range(m.h):
            for i in range(m.w):
                c, offset = k % depth, k // depth
                x, y = i * stride + offset % stride, j * stride + offset // stride
                flat.append(m.values[x + m.w * stride * (y + m.h * stride * c)])
    return Map(m.c * stride ** 2, m.h // stride, m.w // stride, flat)


def reorg_back(m, stride):
    """[reorg] with reverse=1 of both forks."""
    flat, depth = [0.0] * len(m.values), m.c // stride ** 2
    for k, j, i in m.places():
        c, offset = k % depth, k // depth
        x, y = i * stride + offset % stride, j * stride + offset // stride
        flat[x + m.w * stride * (y + m.h * stride * c)] = m[k, j, i]
    return Map(depth, m.h * stride, m.w * stride, flat)


def space_to_depth(m, stride):
    """AlexeyAB's [reorg3d]: pixels of a square become channels."""
    out = Map(m.c * stride ** 2, m.h // stride, m.w // stride)
    for k, j, i in out.places():
        c, offset = k % m.c, k // m.c
        out[k, j, i] = m[c, j * stride + offset // stride, i * stride + offset % stride]
    return out


def normalize(m, scales, means, variances, biases, deviation):
    out = Map(m.c, m.h, m.w)
    for c, y, x in out.places():
        out[c, y, x] = (m[c, y, x] - means[c]) / deviation(variances[c]) * scales[c] + biases[c]
    return out


def deviation_pjreddie(variance):
    return math.sqrt(variance) + 1e-6


def deviation_alexeyab(variance):
    return math.sqrt(variance + 1e-5)


def packed_columns(m, weights, biases, stride):
    """pjreddie's 1x1 convolution with a stride: its output pixels are the first values of each
    channel."""
    filters, h, w = len(biases), (m.h - 1) // stride + 1, (m.w - 1) // stride + 1
    out, n = Map(filters, h, w), h * w
    for f in range(filters):
        for i in range(n):
            out.values[f * n + i] = biases[f] + sum(weights[f * m.c + c] * m.values[c * n + i] for c in range(m.c))
    return out


def yolo(m, classes, scale=1.0, new_coords=False):
    out = Map(m.c, m.h, m.w)
    for c, y, x in out.places():
        entry, v = c % (classes + 5), m[c, y, x]
        if not new_coords and entry not in (2, 3):
            v = logistic(v)
        out[c, y, x] = v * scale - (scale - 1) / 2 if entry < 2 else v
    return out


def softmax(values):
    powers = [math.exp(v - max(values)) for v in values]
    return [p / sum(powers) for p in powers]


def gaussian_yolo(m, classes, scale):
    """AlexeyAB's Gaussian head: x, y, w, h, each with its sigma; only w and h are not activated."""
    out = Map(m.c, m.h, m.w)
    for c, y, x in m.places():
        entry, v = c % (classes + 9), m[c, y, x]
        v = v if entry in (4, 6) else logistic(v)
        out[c, y, x] = v * scale - .5 * (scale - 1) if entry in (0, 2) else v
    return out


def region(m, classes, softmaxes, background, activates_classes):
    """One anchor."""
    out = Map(m.c, m.h, m.w, list(m.values))
    for y in range(m.h):
        for x in range(m.w):
            for c in (0, 1) if background else (0, 1, 4):
                out[c, y, x] = logistic(m[c, y, x])
            first = 4 if background else 5
            if softmaxes:
                for c, p in enumerate(softmax([m[c, y, x] for c in range(first, 5 + classes)])):
                    out[first + c, y, x] = p
            elif activates_classes:
                for c in range(5, 5 + classes):
                    out[c, y, x] = logistic(m[c, y, x])
    return out


def mish(x):
    return x * math.tanh(math.log1p(math.exp(x)))


def swish(x):
    return x * logistic(x)


def relu(x):
    return max(x, 0.0)


def relu6(x):
    return min(max(x, 0.0), 6.0)


def resize(m, h, w, position):
    """Bilinear resizing; position: maps output i of `to` to the input of `from`."""
    out = Map(m.c, h, w)

    def taps(i, start, to):
        p = min(max(position(i, start, to), 0.0), start - 1.0)
        first = min(int(p), start - 1)
        return first, min(first + 1, start - 1), p - first
    for c, y, x in out.places():
        y0, y1, dy = taps(y, m.h, h)
        x0, x1, dx = taps(x, m.w, w)
        out[c, y, x] = ((m[c, y0, x0] * (1 - dx) + m[c, y0, x1] * dx) * (1 - dy) +
                        (m[c, y1, x0] * (1 - dx) + m[c, y1, x1] * dx) * dy)
    return out


def corners(i, start, to):
    """Both forks' Darknet: corner pixels are aligned."""
    return i * (start - 1) / (to - 1)


def centres(i, start, to):
    """OpenCV's INTER_LINEAR, in AlexeyAB's Python and videos: pixel areas are aligned."""
    return (i + .5) * start / to - .5


def letterbox(m, h, w):
    new_h, new_w = (m.h * w // m.w, w) if w / m.w < h / m.h else (h, m.w * h // m.h)
    small = resize(m, new_h, new_w, corners)
    out, top, left = Map(m.c, h, w, [.5] * (m.c * h * w)), (h - new_h) // 2, (w - new_w) // 2
    for c, y, x in small.places():
        out[c, top + y, left + x] = small[c, y, x]
    return out


# ---- the cases ----

class Case:
    """ours: run_inference's result; other: the other fork's (None: the same). debian: "agrees",
    "differs", "dies" (invalid reads), or None if libdarknet is not tried. fork: as in --fork;
    None: not given."""

    def __init__(self, name, cfg, ours, weights=(), given=None, other=None, debian=None, picture=None,
                 header=(0, 2, 0, 0, 0), fork=None):
        self.name, self.cfg, self.ours, self.other, self.debian = name, cfg, ours, other, debian
        self.weights, self.given, self.picture, self.header, self.fork = list(weights), given, picture, header, fork


def net(m, keys=""):
    return f"[net]\nbatch=1\nheight={m.h}\nwidth={m.w}\nchannels={m.c}\n{keys}"


COPY = "[activation]\nactivation=linear\n"


def blend_cases():
    """AlexeyAB's layers; pjreddie's Darknet sums only one input."""
    m = noise(6, 8, 8)
    leaky, relued = m.like(lambda v: v if v > 0 else .1 * v), m.like(relu)
    before = net(m) + COPY + "[activation]\nactivation=leaky\n[activation]\nactivation=relu\n"
    both = shortcut_alexeyab(shortcut_alexeyab(relued, m), leaky)
    yield Case("shortcut of several layers", before + "[shortcut]\nfrom=0,-2\nactivation=linear\n", both, [], m,
               shortcut_pjreddie(relued, m), "differs")
    product = Map(6, 8, 8, [a * b for a, b in zip(relued.values, m.values)])
    yield Case("sam", before + "[sam]\nfrom=0\nactivation=linear\n", product, [], m, None, None)
    means = [sum(m.values[c * 64:c * 64 + 64]) / 64 for c in range(6)]
    scaled = Map(6, 8, 8, [v * means[i // 64] for i, v in enumerate(m.values)])
    yield Case("scale_channels", net(m) + COPY + "[avgpool]\n[scale_channels]\nfrom=0\nactivation=linear\n", scaled, [],
               m, None, None)
    weights, biases = Random(7).numbers(6), [.25]
    mask = convolve(m, weights, biases)
    masked = Map(6, 8, 8, [v * mask.values[i % 64] for i, v in enumerate(m.values)])
    yield Case("scale_channels scale_wh", net(m) + COPY + "[convolutional]\nfilters=1\nactivation=linear\n"
               "[scale_channels]\nfrom=0\nscale_wh=1\nactivation=linear\n", masked, biases + weights, m, None, None)


def shortcut_cases():
    m, r = noise(6, 8, 8), Random(7)
    for name, filters in ("fewer", 4), ("more", 9):
        weights, biases = r.numbers(filters * 6), r.numbers(filters)
        after = convolve(m, weights, biases)
        added = shortcut_pjreddie(after, m)
        assert added.values == shortcut_alexeyab(after, Map(min(filters, 6), 8, 8, m.values[:min(filters, 6) * 64])).values
        yield Case(f"shortcut {name} channels", net(m) + COPY + f"[convolutional]\nfilters={filters}\nactivation=linear\n"
                   "[shortcut]\nfrom=0\nactivation=linear\n", added, biases + weights, m,
                   shortcut_alexeyab(after, m), "agrees")
    small = pool(m, 2, 2, 0)
    half = "[maxpool]\nsize=2\nstride=2\npadding=0\n"
    yield Case("shortcut from a larger map", net(m) + COPY + half + "[shortcut]\nfrom=0\nactivation=linear\n",
               shortcut_pjreddie(small, m), [], m, shortcut_alexeyab(small, m), "agrees")
    large = upsample(small, 2)
    yield Case("shortcut from a smaller map", net(m) + half + "[upsample]\nstride=2\n[shortcut]\nfrom=0\nactivation=linear\n",
               shortcut_pjreddie(large, small), [], m, shortcut_alexeyab(large, small), "agrees")
    yield Case("shortcut alpha and beta", net(m) + COPY + "[activation]\nactivation=leaky\n"
               "[shortcut]\nfrom=0\nalpha=0.5\nbeta=2\nactivation=linear\n",
               shortcut_pjreddie(m.like(lambda v: v if v > 0 else .1 * v), m, .5, 2), [], m,
               shortcut_alexeyab(m.like(lambda v: v if v > 0 else .1 * v), m), "agrees")


def map_cases():
    m = noise(8, 6, 4)
    yield Case("reorg", net(m) + "[reorg]\nstride=2\n", reorg(m, 2), [], m, None, "agrees")
    yield Case("reorg beside reorg3d", net(m) + "[reorg]\nstride=2\n", reorg(m, 2), [], m, space_to_depth(m, 2), "agrees")
    yield Case("reorg3d", net(m) + "[reorg3d]\nstride=2\n", space_to_depth(m, 2), [], m)
    yield Case("reorg reverse", net(m) + "[reorg]\nstride=2\nreverse=1\n", reorg_back(m, 2), [], m, None, "agrees")
    m = noise(5, 7, 9)
    for size, stride, padding in (2, 1, 1), (2, 2, 1), (2, 2, 0), (3, 1, 2), (3, 2, 2), (4, 2, 3), (5, 1, 4), (13, 1, 12):
        keys = f"size={size}\nstride={stride}\n" + ("padding=0\n" if not padding else "")
        yield Case(f"maxpool {size} by {stride}, padding {padding}", net(m) + COPY + "[maxpool]\n" + keys,
                   pool(m, size, stride, padding), [], m, None, "agrees")
    for size, stride, padding in (2, 1, 1), (3, 2, 2), (5, 3, 1):
        yield Case(f"local_avgpool {size} by {stride}, padding {padding}",
                   net(m) + f"[local_avgpool]\nsize={size}\nstride={stride}\npadding={padding}\n",
                   pool(m, size, stride, padding, mean), [], m)
    yield Case("upsample scale", net(m) + "[upsample]\nstride=3\nscale=0.25\n", upsample(m, 3, .25), [], m, None, "agrees")
    yield Case("avgpool", net(m) + "[avgpool]\n",
               Map(5, 1, 1, [sum(m.values[c * 63:c * 63 + 63]) / 63 for c in range(5)]), [], m, None, "agrees")
    yield Case("dropout", net(m) + COPY + "[dropout]\nprobability=.5\n" + COPY, m, [], m, None, "agrees")
    first = Map(2, 7, 9, noise(6, 7, 9).values[2 * 63:4 * 63])
    m = noise(6, 7, 9)
    yield Case("route groups", net(m) + COPY + "[route]\nlayers=0\ngroups=3\ngroup_id=1\n" + COPY, first, [], m, m, "differs")


def convolution_cases():
    m, r = noise(4, 7, 9), Random(3)
    weights, biases = r.numbers(6 * 2 * 9), r.numbers(6)
    yield Case("convolution groups", net(m) + "[convolutional]\nfilters=6\nsize=3\npad=1\nstride=2\ngroups=2\nactivation=linear\n",
               convolve(m, weights, biases, 3, 2, 1, 2), biases + weights, m, None, "agrees")
    weights = r.numbers(6 * 4)
    yield Case("convolution 1x1 of stride 2", net(m) + "[convolutional]\nfilters=6\nsize=1\nstride=2\nactivation=linear\n",
               convolve(m, weights, biases, 1, 2), biases + weights, m, packed_columns(m, weights, biases, 2), "differs")
    for name, variance in ("1", 1.0), ("1e-2", 1e-2), ("1e-4", 1e-4), ("1e-6", 1e-6), ("0", 0.0):
        variances = [struct.unpack("<f", struct.pack("<f", variance))[0]] * 6
        scales, means = r.numbers(6, .5, 2), r.numbers(6)
        plain = convolve(m, weights, [0.0] * 6)
        both = [normalize(plain, scales, means, variances, [0.0] * 6, d) for d in (deviation_pjreddie, deviation_alexeyab)]
        yield Case(f"batch norm, variance {name}",
                   net(m) + "[convolutional]\nbatch_normalize=1\nfilters=6\nsize=1\nactivation=linear\n", both[0],
                   [0.0] * 6 + scales + means + variances + weights, m, both[1], "agrees")
        yield Case(f"AlexeyAB's batch norm, variance {name}",
                   net(m) + "[convolutional]\nbatch_normalize=1\nfilters=6\nsize=1\nactivation=linear\n", both[1],
                   [0.0] * 6 + scales + means + variances + weights, m, both[0], fork="alexeyab")
    tiny = [-7e-44, -1e-45, 0.0, 1e-40, -5e-6, 1e-5]  # as in AlexeyAB's published files
    yield Case("AlexeyAB's batch norm, variances below 0",
               net(m) + "[convolutional]\nbatch_normalize=1\nfilters=6\nsize=1\nactivation=mish\n",
               normalize(plain, [1e-3] * 6, means, tiny, [0.0] * 6, deviation_alexeyab).like(mish),
               [0.0] * 6 + [1e-3] * 6 + means + tiny + weights, m)
    variances, scales, means = r.numbers(4, .5, 2), r.numbers(4, .5, 2), r.numbers(4)
    yield Case("batchnorm layer", net(m) + "[batchnorm]\n", normalize(m, scales, means, variances, [0.0] * 4, deviation_pjreddie),
               scales + means + variances, m, None, "dies")
    for name, header in ("of 16 bytes", (0, 1, 0, 5)), ("of 20 bytes", (0, 2, 0, 5, 0)), ("AlexeyAB's", (0, 2, 5, 5, 0)):
        yield Case(f"weights header {name}", net(m) + "[convolutional]\nfilters=6\nsize=1\nactivation=linear\n",
                   convolve(m, weights, biases), biases + weights, m, None, "agrees", header=header)


def activation_cases():
    m = Map(1, 1, 161, [i / 10 - 8 for i in range(161)])
    # Debian's Darknet uses relu for unknown activations. The oracle's noise in 0..1 does not
    # distinguish relu6 from relu.
    for f, verdict in (mish, "differs"), (swish, "differs"), (relu6, "agrees"):
        yield Case(f"activation {f.__name__}", net(m) + f"[activation]\nactivation={f.__name__}\n" + COPY, m.like(f), [], m,
                   m.like(relu), verdict)


def head_cases():
    m = noise(12, 3, 5, 5, -3, 3)
    head = "[yolo]\nclasses=1\nnum=2\nanchors=1,2, 3,4\n"
    yield Case("yolo", net(m) + COPY + head, yolo(m, 1), [], m, None, "agrees")
    yield Case("yolo scale_x_y", net(m) + COPY + head + "scale_x_y=1.2\n", yolo(m, 1, 1.2), [], m, yolo(m, 1), None)
    yield Case("yolo new_coords", net(m) + COPY + head + "scale_x_y=2\nnew_coords=1\n", yolo(m, 1, 2, True), [], m, yolo(m, 1), None)
    m = noise(20, 3, 5, 5, -3, 3)
    yield Case("Gaussian_yolo", net(m) + COPY + "[Gaussian_yolo]\nclasses=1\nnum=2\nanchors=1,2, 3,4\nscale_x_y=1.2\n",
               gaussian_yolo(m, 1, 1.2), [], m)
    m = noise(8, 3, 5, 5, -3, 3)
    head = "[region]\nclasses=3\nnum=1\nanchors=1,2\n"
    yield Case("region softmax", net(m) + COPY + head + "softmax=1\n", region(m, 3, True, False, True), [], m, None, "agrees")
    yield Case("region softmax with background", net(m) + COPY + head + "softmax=1\nbackground=1\n",
               region(m, 3, True, True, True), [], m, region(m, 3, True, False, True), "agrees")
    yield Case("region without softmax", net(m) + COPY + head, region(m, 3, False, False, True), [], m,
               region(m, 3, False, False, False), "agrees")


def picture_cases():
    """A picture of 12 x 6: a slope with a bright square."""
    picture = Map(3, 6, 12)
    for c, y, x in picture.places():
        picture[c, y, x] = 20 * x if c == 0 else 40 * y if c == 1 else 255 if 2 <= y < 4 and 4 <= x < 7 else 0
    m, wide = picture.like(lambda v: v / 255), Map(3, 8, 8)
    boxed, stretched = letterbox(m, 8, 8), resize(m, 8, 8, corners)
    for name, keys, ours, other in (("letterbox", "", boxed, stretched), ("letter_box=1", "letter_box=1\n", boxed, stretched),
                                    ("letter_box=0", "letter_box=0\n", stretched, boxed),
                                    ("resize by corners", "letter_box=0\n", stretched, resize(m, 8, 8, centres))):
        yield Case(name, net(wide, keys) + COPY, ours, picture=picture, other=other)
    for name, keys, fork, ours, other in (("stretched by a key of AlexeyAB's", "mosaic=1\n", None, stretched, boxed),
                                          ("stretched by --fork", "", "alexeyab", stretched, boxed),
                                          ("letterboxed by --fork", "mosaic=1\n", "darknet", boxed, stretched),
                                          ("letter_box=1 of AlexeyAB's", "mosaic=1\nletter_box=1\n", None, boxed, stretched)):
        yield Case(name, net(wide, keys) + COPY, ours, picture=picture, other=other, fork=fork)


def cases():
    for make in shortcut_cases, blend_cases, map_cases, convolution_cases, activation_cases, head_cases, picture_cases:
        yield from make()


NET = "[net]\nheight=8\nwidth=8\nchannels=4\n"
# Refused by name: the section, the key (None: the section itself).
REFUSED = {
    "convolutional": "antialiasing=1 assisted_excitation=4 share_index=0 sway=1 rotate=1 "
                     "stretch=1 stretch_sway=1 deform=1 coordconv=1 cbn=1 xnor=1 binary=1 flipped=1 dot=1 numload=4 dontload=1 "
                     "activation=gelu activation=norm_chan activation=revleaky",
    "maxpool": "antialiasing=1 maxpool_depth=1 maxpool_zero_nonmax=1",
    "shortcut": "weights_type=per_feature weights_normalization=relu",
    "reorg": "flatten=1",
    "reorg3d": "reverse=1",
    "softmax": "tree=a.tree spatial=1",
    "region": "tree=a.tree coords=6",
    "upsample": "stride=-2",
    "yolo": "nms_kind=cornersnms",
    "Gaussian_yolo": "nms_kind=cornersnms yolo_point=middle",
}
REFUSED_SECTIONS = ("conv_lstm history implicit empty silence "
                    "contrastive normalization lrn deconvolutional l2norm logistic iseg rnn gru lstm crnn").split()
# Ignored with a warning: a fork that knows the key would act on it.
WARNED = {"shortcut": "bate=1", "convolutional": "bin_output=1 reverse=1"}
BEFORE = {"convolutional": COPY, "maxpool": COPY, "reorg": COPY, "softmax": COPY, "upsample": COPY,
          "shortcut": COPY * 3, "yolo": "[convolutional]\nfilters=6\n",
          "Gaussian_yolo": "[convolutional]\nfilters=10\n", "region": "[convolutional]\nfilters=6\n"}
KEYS = {"convolutional": "size=3\npad=1\n", "maxpool": "size=2\n", "reorg": "stride=2\n", "shortcut": "from=-2\n",
        "yolo": "classes=1\n", "Gaussian_yolo": "classes=1\n", "region": "classes=1\n"}


# ---- running them ----

class Tally:
    def __init__(self):
        self.failed, self.names = False, []

    def say(self, name, why=None):
        self.names.append(name)
        print(f"ok forks {name}" if why is None else f"FAIL forks {name}: {why}")
        self.failed = self.failed or why is not None


def difference(a, b):
    """The largest difference, relative to the largest value of a."""
    if (a.c, a.h, a.w) != (b.c, b.h, b.w):
        return math.inf
    largest = max(abs(v) for v in a.values)
    return max(abs(v - u) for v, u in zip(a.values, b.values)) / largest


def write(folder, name, data):
    path = os.path.join(folder, name)
    with open(path, "w" if isinstance(data, str) else "wb") as f:
        f.write(data)
    return path


def floats(values):
    return struct.pack(f"<{len(values)}f", *values)


def run(*arguments):
    return subprocess.run([f"{BUILD}/run_inference", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def header_bytes(header):
    seen = struct.pack("<q", header[3]) if len(header) == 5 else struct.pack("<i", header[3])
    return struct.pack("<3i", *header[:3]) + seen


def judge_by_debian(case, cfg, weights):
    """None, or the reason why libdarknet's verdict is not the expected one."""
    done = subprocess.run([f"{BUILD}/oracle_layers", cfg, weights], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    verdict = {0: "agrees", 1: "differs", 2: "differs"}.get(done.returncode, "dies")
    if verdict == case.debian:
        return None
    return f"Debian's libdarknet {verdict}, expected that it {case.debian}: {(done.stdout + done.stderr).strip()[-200:]}"


def try_case(case, folder, oracle):
    """The problem, or None; and the other fork's difference."""
    cfg = write(folder, "a.cfg", case.cfg)
    weights = write(folder, "a.weights", header_bytes(case.header) + floats(case.weights))
    dump = os.path.join(folder, "out")
    if case.picture:
        p = case.picture
        rows = bytes(int(p[c, y, x]) for y in range(p.h) for x in range(p.w) for c in range(3))
        given = [write(folder, "a.ppm", f"P6 {p.w} {p.h} 255\n".encode() + rows)]
    else:
        given = ["--input", write(folder, "in", floats(case.given.values))]
    done = run("--quiet", *(["--fork", case.fork] if case.fork else []), "--dump-output", dump, cfg, weights, *given)
    if done.returncode:
        return done.stderr.strip(), None
    with open(dump, "rb") as f:
        raw = f.read()
    if len(raw) != 4 * len(case.ours.values):
        return f"{len(raw) // 4} numbers, expected {len(case.ours.values)}", None
    found = Map(case.ours.c, case.ours.h, case.ours.w, list(struct.unpack(f"<{len(raw) // 4}f", raw)))
    off = difference(case.ours, found)
    if not off <= TOLERANCE:
        return f"off by {off:.1e} of its largest value", None
    if case.debian and oracle:
        return judge_by_debian(case, cfg, weights), difference(case.ours, case.other or case.ours)
    return None, difference(case.ours, case.other or case.ours)


def try_cases(tally, folder, oracle):
    figures = {}
    for case in cases():
        why, off = try_case(case, folder, oracle)
        tally.say(case.name, why)
        figures[case.name] = off if case.other else None
    return figures


def section_cfg(section, key):
    keys = "" if key and key.startswith("from=") else KEYS.get(section, "")
    return NET + BEFORE.get(section, COPY) + f"[{section}]\n" + keys + (key + "\n" if key else "")


def try_refusals(tally, folder):
    def refused(cfg, word):
        done = run("--predict", write(folder, "a.cfg", cfg))
        lines = done.stderr.splitlines()
        good = done.returncode == 2 and len(lines) == 1 and word in lines[0] and re.search(r"a\.cfg:\d+: ", lines[0])
        return None if good else f"exit status {done.returncode}: {done.stderr.strip()[:200]}"

    for section, keys in REFUSED.items():
        whys = [f"{key}: {why}" for key in keys.split()
                for why in [refused(section_cfg(section, key), {"from": "from=", "dilation": "dilation", "activation": key.split("=")[1]}
                                    .get(key.split("=")[0], key.split("=")[0]))] if why]
        tally.say(f"rejected keys of {section}", "; ".join(whys) or None)
    whys = [f"{s}: {why}" for s in REFUSED_SECTIONS for why in [refused(section_cfg(s, None), f"[{s}]")] if why]
    tally.say("rejected sections", "; ".join(whys) or None)


def try_warnings(tally, folder):
    whys = []
    for section, keys in WARNED.items():
        for key in keys.split():
            done = run("--predict", write(folder, "a.cfg", section_cfg(section, key)))
            if done.returncode or f"unknown key {key.split('=')[0]} in [{section}] is ignored" not in done.stderr:
                whys.append(f"{section} {key}: exit status {done.returncode}: {done.stderr.strip()[:200]}")
    tally.say("keys that nothing reads are reported", "; ".join(whys) or None)
    told = run("--predict", write(folder, "a.cfg", section_cfg("yolo", "nms_kind=greedynms")))
    good = told.returncode == 0 and "AlexeyAB's Darknet (line 9: nms_kind=greedynms in [yolo]), see --fork" in told.stderr
    tally.say("AlexeyAB's fork is reported", None if good else told.stderr.strip()[:200] or "not reported")
    told = run("--predict", "--fork", "darknet", os.path.join(folder, "a.cfg"))
    good = told.returncode == 0 and "unknown key nms_kind in [yolo] is ignored" in told.stderr
    tally.say("nms_kind of --fork darknet is reported", None if good else told.stderr.strip()[:200] or "not reported")
    head = NET.replace("=4", "=3") + "letter_box={}\n[connected]\noutput=275\n" \
        "[detection]\nclasses=1\nnum=2\nside=5\ncoords=4\n"
    told = [run("--predict", write(folder, "a.cfg", cfg)).stderr for cfg in
            (head.replace("letter_box={}\n", ""), head.format(0), head.format(1))]
    whys = [text for text, expected in zip(told, (True, False, False)) if ("letter_box=0 in [net]" in text) != expected]
    tally.say("letterbox with [detection] is reported", whys[0].strip()[:200] or "not reported" if whys else None)


def try_batchnorm_of_alexeyab(tally, folder):
    """AlexeyAB's weights files have biases before a [batchnorm]'s scales."""
    cfg = write(folder, "a.cfg", NET + "[batchnorm]\n")
    weights = write(folder, "a.weights", header_bytes((0, 2, 5, 0, 0)) + floats([0.5] * 16))
    given = write(folder, "in", floats([0.0] * 256))
    done = run("--quiet", cfg, weights, "--input", given)
    good = done.returncode == 2 and "[batchnorm] with biases" in done.stderr
    tally.say("batchnorm with biases", None if good else f"exit status {done.returncode}: {done.stderr.strip()}")


def try_variances(tally, folder):
    """A variance that stays negative with epsilon is invalid."""
    cfg = write(folder, "a.cfg", NET + "[convolutional]\nbatch_normalize=1\nfilters=1\nactivation=linear\n")
    given, whys = write(folder, "in", floats([0.0] * 256)), []
    for fork, variance, status in (("darknet", -7e-44, 2), ("alexeyab", -7e-44, 0), ("alexeyab", -2e-5, 2)):
        weights = write(folder, "a.weights", header_bytes((0, 2, 0, 0, 0)) + floats([0.0, 1.0, 0.0, variance] + [1.0] * 4))
        done = run("--quiet", "--fork", fork, cfg, weights, "--input", given)
        if done.returncode != status or (status and "not finite" not in done.stderr):
            whys.append(f"{fork}, {variance}: exit status {done.returncode}: {done.stderr.strip()}")
    tally.say("variances that are invalid", "; ".join(whys) or None)


def try_recorded(tally, models):
    """Recorded results of pjreddie's Darknet (README of the models): letterboxed, threshold 0.3."""
    wanted = {"yolo-fastest-1.1-xl": {"dog": {16: .94, 2: .88, 1: .86}, "person": {0: 1.00, 16: .98, 18: .87, 19: .58}},
              "yolo-fastest-1.1": {"dog": {16: .61, 1: .60, 2: .54}}}
    for network, pictures in wanted.items():
        cfg, weights = (os.path.join(models, f"{network}.{end}") for end in ("cfg", "weights"))
        for picture, confidences in pictures.items():
            name, path = f"recorded answers, {network}, {picture}", f"/usr/share/darknet/data/{picture}.jpg"
            if not all(map(os.path.exists, (cfg, weights, path))):
                print(f"skip forks {name}: needs {path}, and MAFAT_MODELS to name the folder with {network}.cfg and .weights")
                tally.names.append(name)
                continue
            done = run("--quiet", "--fork", "darknet", "--json", "--thresh", ".3", cfg, weights, path)
            found = {}
            for d in json.loads(done.stdout or "{}").get("detections", []):
                found[d["class"]] = max(d["confidence"], found.get(d["class"], 0))
            off = [c for c, p in confidences.items() if abs(found.get(c, 0) - p) > .0051]
            tally.say(name, f"classes {off}: {found}" if off else None)


# ---- doc/forks.md ----

def check_doc(tally, figures):
    """Every case is in the document, every name in it exists, and its figures match."""
    with open(DOC) as f:
        text = f.read()
    named = re.findall(r"^\| `([^`]+)` \| *([^|]*)\|", text[text.index("| test | other fork |"):], re.M)
    listed = {name for name, _ in named}
    whys = [f"{name} is not in {DOC}" for name in sorted(set(tally.names) - listed)]
    whys += [f"{name} of {DOC} was not tried" for name in sorted(listed - set(tally.names))]
    for name, figure in named:
        expected, figure = figures.get(name), figure.strip()
        if expected is None or expected == math.inf or expected <= TOLERANCE:
            good = figure == show(expected)
        else:
            good = re.fullmatch(r"[0-9.]+", figure) is not None and abs(float(figure) - expected) <= .1 * expected
        if not good:
            whys.append(f"{name}: {figure} in {DOC}, {expected} found")
    with open("README.md") as f:
        if f"]({DOC})" not in f.read():
            whys.append(f"README.md does not name {DOC}")
    tally.say("doc/forks.md says so", "; ".join(whys) or None)


def show(figure):
    return "" if figure is None else "other shape" if figure == math.inf else "0" if figure <= TOLERANCE else f"{figure:.2g}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--figures", action="store_true", help="print the table of doc/forks.md instead of checking it")
    options = parser.parse_args()
    tally, models = Tally(), os.environ.get("MAFAT_MODELS")
    oracle = os.access(f"{BUILD}/oracle_layers", os.X_OK) and os.path.exists("/usr/lib/darknet/libdarknet.so")
    if not oracle:
        print("skip forks Debian's verdicts: needs build/oracle_layers (make oracle) and /usr/lib/darknet/libdarknet.so")
    with tempfile.TemporaryDirectory() as folder:
        figures = try_cases(tally, folder, oracle)
        try_refusals(tally, folder)
        try_warnings(tally, folder)
        try_batchnorm_of_alexeyab(tally, folder)
        try_variances(tally, folder)
        try_recorded(tally, models or "")
    if options.figures:
        print("\n".join(f"| `{name}` | {show(figures.get(name))} |" for name in tally.names))
    else:
        check_doc(tally, figures)
    return 1 if tally.failed else 0


if __name__ == "__main__":
    sys.exit(main())
