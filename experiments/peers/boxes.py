#!/usr/bin/env python3
"""Compares boxes and keypoints of detectors with a plain decoding of onnxruntime's outputs.

boxes.py [--verbose] [PICTURE...]

Models: yolox_nano, FastestDet, ultraface and yunet of MAFAT_MODELS/onnx. Pictures: two of Debian's
darknet package and a photograph of a face (fetched by experiments/peers/install.sh), or the named
ones; thresholds 0.5, 0.3 and 0.05. Both programs get the input that run_inference makes of the
picture. Boxes must agree within 0.01 pixels, confidences within 1e-4.

Exit status: 0 all agree; 1 one differs, or no face is found; 2 misuse."""

import argparse
import array
import json
import math
import os
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True   # nothing but results is written into the tree

import programs
from machine import ROOT
from model_works import ModelFiles
from workloads import PICTURE, Unavailable

PICTURES = [PICTURE, os.path.join(os.path.dirname(PICTURE), "person.jpg")]
FACE = "astronaut.png"           # in the peers' folder
THRESHOLDS, NMS = (0.5, 0.3, 0.05), 0.45
PIXELS, SHARE = 0.01, 1e-4       # largest differences
NEAR = 100                       # candidates of nearly equal confidence


# ---- decoding: (class, confidence, left, top, right, bottom, points), in pixels of the input ----

def cells(width, height, strides):
    for stride in strides:
        for y in range(height // stride):
            for x in range(width // stride):
                yield stride, x, y


def logistic(x):
    return 1 / (1 + math.exp(-x))


def box(x, y, w, h):
    return x - w / 2, y - h / 2, x + w / 2, y + h / 2


def yolox(outputs, width, height):
    values, n = outputs[0][1], outputs[0][0].dims[2]
    for i, (stride, x, y) in enumerate(cells(width, height, (8, 16, 32))):
        v = values[i * n:(i + 1) * n]
        place = box((v[0] + x) * stride, (v[1] + y) * stride, math.exp(v[2]) * stride, math.exp(v[3]) * stride)
        for kind, share in enumerate(v[5:]):
            yield (kind, v[4] * share, *place, [])


def fastestdet(outputs, width, height):
    values, (_, n, rows, columns) = outputs[0][1], outputs[0][0].dims
    for i, (_, x, y) in enumerate(cells(width, height, (16,))):
        v = [values[c * rows * columns + i] for c in range(n)]
        best = max(v[5:])
        place = box((x + math.tanh(v[1])) / columns * width, (y + math.tanh(v[2])) / rows * height,
                    logistic(v[3]) * width, logistic(v[4]) * height)
        yield (v.index(best, 5) - 5, v[0] ** .6 * best ** .4, *place, [])


def ultraface(outputs, width, height):
    scores, boxes = (next(values for tensor, values in outputs if tensor.dims[2] == n) for n in (2, 4))
    for i in range(len(scores) // 2):
        left, top, right, bottom = boxes[4 * i:4 * i + 4]
        yield (0, scores[2 * i + 1], left * width, top * height, right * width, bottom * height, [])


def yunet(outputs, width, height):
    named = {tensor.name: values for tensor, values in outputs}
    number = {}
    for stride, x, y in cells(width, height, (8, 16, 32)):
        i = number[stride] = number.get(stride, -1) + 1
        of_class, of_object, v, points = (named["%s_%d" % (name, stride)] for name in ("cls", "obj", "bbox", "kps"))
        v, points = v[4 * i:4 * i + 4], points[10 * i:10 * i + 10]
        share = math.sqrt(min(max(of_class[i], 0), 1) * min(max(of_object[i], 0), 1))
        place = box((v[0] + x) * stride, (v[1] + y) * stride, math.exp(v[2]) * stride, math.exp(v[3]) * stride)
        yield (0, share, *place, [((points[2 * k] + x) * stride, (points[2 * k + 1] + y) * stride) for k in range(5)])


class Family:
    def __init__(self, model, options, decode, is_corner=False, finds_faces=False):
        self.model, self.options, self.decode = model, options, decode
        self.is_corner, self.finds_faces = is_corner, finds_faces


FAMILIES = [
    Family("yolox_nano.onnx", ["--scale", "1", "--channels", "bgr", "--resize", "corner"], yolox, is_corner=True),
    Family("FastestDet.onnx", ["--channels", "bgr"], fastestdet),
    Family("ultraface_RFB-320.onnx", ["--mean", "127", "--scale", "1/128"], ultraface, finds_faces=True),
    Family("yunet_n_320_320.onnx", ["--scale", "1", "--channels", "bgr"], yunet, finds_faces=True),
]


# ---- comparing boxes ----

def overlap(a, b):
    w, h = min(a[4], b[4]) - max(a[2], b[2]), min(a[5], b[5]) - max(a[3], b[3])
    both = max(w, 0) * max(h, 0)
    return both / ((a[4] - a[2]) * (a[5] - a[3]) + (b[4] - b[2]) * (b[5] - b[3]) - both)


def suppress(found, threshold):
    left = []
    for each in sorted((one for one in found if one[1] > threshold), key=lambda one: -one[1]):
        if all(each[0] != other[0] or overlap(each, other) <= NMS for other in left):
            left.append(each)
    return left


def size_of(path):
    """Width and height of a PNG or a JPEG."""
    with open(path, "rb") as file:
        data = file.read()
    if data.startswith(b"\x89PNG"):
        return struct.unpack(">II", data[16:24])
    at = 2
    while not 0xC0 <= data[at + 1] <= 0xC2:
        at += 2 + struct.unpack(">H", data[at + 2:at + 4])[0]
    return struct.unpack(">HH", data[at + 5:at + 9])[::-1]


def distance(a, b):
    """Largest distance between edges or points of two boxes."""
    return max([abs(p - q) for p, q in zip(a[2:6], b[2:6])] + [abs(p - q) for m, n in zip(a[6], b[6]) for p, q in zip(m, n)])


def to_picture(found, family, picture, width, height):
    w, h = size_of(picture)
    if family.is_corner:   # its box covers complete pixels
        width, height = min(width, w * height // h), min(height, h * width // w)
    x, y = w / width, h / height
    return [(kind, share, left * x, top * y, right * x, bottom * y, [(px * x, py * y) for px, py in points])
            for kind, share, left, top, right, bottom, points in found]


# ---- the programs ----

def field(number, data):
    """A field of a protocol buffers message: bytes or a number."""
    if isinstance(data, int):
        return varint(number << 3) + varint(data)
    return varint(number << 3 | 2) + varint(len(data)) + data


def varint(n):
    return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + varint(n >> 7)


def write_same(path, dims):
    """Writes a model whose output is its input."""
    shape = b"".join(field(1, field(1, n)) for n in dims)
    kind = field(2, field(1, field(1, 1) + field(2, shape)))
    node = field(1, b"in") + field(2, b"out") + field(4, b"Identity")
    graph = field(1, node) + field(2, b"same") + field(11, field(1, b"in") + kind) + field(12, field(1, b"out") + kind)
    with open(path, "wb") as file:
        file.write(field(1, 8) + field(7, graph) + field(8, field(2, 13)))


def call(command, env=None):
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **(env or {})})
    if done.returncode != 0:
        raise programs.Failed(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "exit status %d" % done.returncode)
    return done.stdout


class Boxes:
    def __init__(self, build, folder, is_verbose):
        self.program, self.folder, self.is_verbose = os.path.join(build, "run_inference"), folder, is_verbose
        self.peer, self.failed = programs.OnnxRuntime(build), False

    def decode(self, family, files, picture):
        """All boxes of onnxruntime's outputs, in pixels of the picture."""
        same, raw, dump = (os.path.join(self.folder, name) for name in ("same.onnx", "picture.raw", "outputs"))
        write_same(same, files.inputs[0].dims)
        call([self.program, "--quiet", *family.options, "--decode", "none", "--dump-output", raw, same, picture])
        call([*self.peer.program, "--plain", "--dump", dump, files.model, raw], self.peer.environment)
        values = array.array("f")
        with open(dump, "rb") as file:
            values.frombytes(file.read())
        height, width, _, _ = files.inputs[0].picture()
        found = family.decode(list(zip(files.outputs, files.split(values))), width, height)
        return to_picture(found, family, picture, width, height)

    def ours(self, family, files, picture, threshold):
        out = call([self.program, "--quiet", "--json", *family.options, "--thresh", str(threshold), files.model, picture])
        for one in json.loads(out)["detections"]:
            b = one["box"]
            yield (one["class"], one["confidence"], b["x"], b["y"], b["x"] + b["width"], b["y"] + b["height"],
                   [(p["x"], p["y"]) for p in one.get("keypoints", [])])

    @staticmethod
    def differ(ours, theirs):
        """The largest difference in pixels; None: different boxes. Boxes of nearly equal confidence
        may swap."""
        worst, left = 0, list(theirs)
        for a in ours:
            near = [b for b in left[:NEAR] if a[0] == b[0] and abs(a[1] - b[1]) <= SHARE and len(a[6]) == len(b[6])]
            if not near:
                return None
            apart, b = min((distance(a, b), b) for b in near)
            worst = max(worst, apart)
            left.remove(b)
        return None if left else worst

    def compare(self, family, files, picture):
        everything = self.decode(family, files, picture)
        for threshold in THRESHOLDS:
            ours, theirs = list(self.ours(family, files, picture, threshold)), suppress(everything, threshold)
            worst = self.differ(ours, theirs)
            missed = family.finds_faces and os.path.basename(picture) == FACE and not ours
            is_bad = worst is None or worst > PIXELS or missed
            self.failed |= is_bad
            print("%-4s boxes %-24s %-14s above %.2f: %3d %s" % (
                "FAIL" if is_bad else "ok", family.model, os.path.basename(picture), threshold, len(theirs),
                "found, another number or others by mafat: %d" % len(ours) if worst is None else
                "and a face is expected" if missed else "at most %.4f pixels apart" % worst), flush=True)
            if self.is_verbose or is_bad:
                for who, each in [("mafat", one) for one in ours] + [("onnxruntime", one) for one in theirs]:
                    print("     %-11s class %d %.4f  %.2f %.2f %.2f %.2f" % (who, *each[:6]))


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--verbose", action="store_true", help="every box")
    parser.add_argument("pictures", nargs="*", metavar="PICTURE")
    options = parser.parse_args()
    build = os.path.abspath(os.environ.get("BUILD", os.path.join(ROOT, "build")))
    folder = os.environ.get("MAFAT_MODELS")
    if not folder:
        print("skip boxes: MAFAT_MODELS does not name a folder with ONNX files")
        return 0
    pictures = options.pictures or [*PICTURES, os.path.join(build, "peers", FACE)]
    os.makedirs(os.path.join(build, "peers"), exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="boxes-", dir=os.path.join(build, "peers")) as work:
        try:
            boxes = Boxes(build, work, options.verbose)
        except Unavailable as reason:
            print("skip boxes: %s" % reason)
            return 0
        for picture in pictures:
            if not os.path.exists(picture):
                print("skip boxes %s: it is missing; experiments/peers/install.sh" % os.path.basename(picture))
        for family in FAMILIES:
            model = os.path.join(folder, "onnx", family.model)
            if not os.path.exists(model):
                print("skip boxes %s: it is not in MAFAT_MODELS/onnx" % family.model)
                continue
            files = ModelFiles(work, model, boxes.program)
            for picture in filter(os.path.exists, pictures):
                try:
                    boxes.compare(family, files, picture)
                except programs.Failed as reason:
                    boxes.failed = True
                    print("FAIL boxes %s: %s" % (family.model, reason), flush=True)
    return 1 if boxes.failed else 0


if __name__ == "__main__":
    sys.exit(main())
