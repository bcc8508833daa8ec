#!/usr/bin/env python3
"""Measures the cost of narrower types: a network packed with each type of weights, and with integer
activations, is run on pictures and compared with its floats. Prints a Markdown table: bytes of
the file, boxes, mean average precision if labels are given, milliseconds of user time per
inference at two kernel levels.

User time of many repeats less that of one, on a picture of the network's size, so that opening,
decoding and other load do not count; the least of three."""
import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile

TYPES = [("float32", []), ("fp16", ["--weights", "fp16"]), ("int8 weights", ["--weights", "int8"]),
         ("int4 weights", ["--weights", "int4"]), ("int8 activations", None)]


def run(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return out, resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def detect(build, packed, names, pictures, thresh):
    out, _ = run([f"{build}/run_inference", "--json", "--quiet", "--thresh", str(thresh), "--names", names, packed, *pictures])
    return [json.loads(line) for line in out.splitlines()]


def overlap(a, b):
    w = min(a["x"] + a["width"], b["x"] + b["width"]) - max(a["x"], b["x"])
    h = min(a["y"] + a["height"], b["y"] + b["height"]) - max(a["y"], b["y"])
    both = max(w, 0) * max(h, 0)
    return both / (a["width"] * a["height"] + b["width"] * b["height"] - both)


def pair(wanted, found):
    """Pairs each box of the float network with the overlapping box of its class: [(float's, ours or None)]."""
    pairs, left = [], list(found)
    for box in wanted:
        best = max((o for o in left if o["label"] == box["label"]), key=lambda o: overlap(box["box"], o["box"]), default=None)
        if best and overlap(box["box"], best["box"]) >= .5:
            left.remove(best)
        else:
            best = None
        pairs.append((box, best))
    return pairs


def compare(floats, ours, thresh):
    """Boxes of the float network above the threshold: how many are found and how far off, and the
    boxes that only we have."""
    wanted = there = more = 0
    confidence, least = 0.0, 1.0
    for a, b in zip(floats, ours):
        sure = [d for d in a["detections"] if d["confidence"] >= thresh]
        for box, ours_of in pair(sure, b["detections"]):
            wanted += 1
            if not ours_of:
                continue
            there += 1
            confidence = max(confidence, abs(box["confidence"] - ours_of["confidence"]))
            least = min(least, overlap(box["box"], ours_of["box"]))
        mine = [d for d in b["detections"] if d["confidence"] >= thresh]
        more += sum(1 for _, known in pair(mine, a["detections"]) if not known)
    return f"{there} of {wanted}, {more} more", f"{confidence:.3f}", f"{least:.2f}"


def precision(build, packed, names, labels):
    folder = os.path.dirname(labels)
    pictures = [os.path.join(folder, line.strip()) for line in open(labels, encoding="utf-8")]
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        for answer in detect(build, packed, names, pictures, .01):
            file.write(json.dumps(answer) + "\n")
        file.flush()
        out, _ = run([sys.executable, "models/shapes/evaluate.py", labels, file.name])
    return next(line.split()[-1] for line in out.splitlines() if line.startswith("mean"))


def size_of(cfg):
    """The input's size. Pictures of that size are not resized."""
    with open(cfg, encoding="utf-8") as file:
        text = file.read()
    return tuple(int(re.search(rf"^{key} *= *(\d+)", text, re.MULTILINE)[1]) for key in ("width", "height"))


def write_picture(path, width, height):
    with open(path, "wb") as file:
        file.write(b"P6 %d %d 255\n" % (width, height))
        file.write(bytes(i * 7919 >> 3 & 255 for i in range(width * height * 3)))


def milliseconds(build, packed, picture, cpu, repeats):
    def user(n):
        return run([f"{build}/run_inference", "--quiet", "--cpu", cpu, "--repeat", str(n), packed, picture])[1]
    return min(user(repeats) - user(1) for _ in range(3)) / (repeats - 1) * 1000


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build")
    parser.add_argument("--calibrate", nargs="+", required=True, metavar="PICTURE", help="for activations as integers")
    parser.add_argument("--pictures", nargs="*", default=[], help="whose boxes are compared")
    parser.add_argument("--labels", help="a list of pictures with labels beside them, as models/shapes/evaluate.py takes it")
    parser.add_argument("--names", required=True)
    parser.add_argument("--cpu", nargs="+", default=["avx2", "avx512"], help="kernel levels that are timed")
    parser.add_argument("--repeats", type=int, default=100)
    parser.add_argument("--thresh", type=float, default=.5, help="of boxes that are compared")
    parser.add_argument("cfg")
    parser.add_argument("weights")
    a = parser.parse_args()
    heads = ["", "file, KB"]
    if a.pictures:
        heads += ["boxes", "confidence off by", "least overlap"]
    if a.labels:
        heads += ["mAP"]
    heads += [f"ms, {cpu}" for cpu in a.cpu]
    print("| " + " | ".join(heads) + " |\n|" + "---|" * len(heads))
    floats = None
    with tempfile.TemporaryDirectory() as folder:
        picture = os.path.join(folder, "picture.ppm")
        write_picture(picture, *size_of(a.cfg))
        for name, options in TYPES:
            packed = os.path.join(folder, "packed")
            whole = ["--activations", "int8", "--calibrate", *a.calibrate]
            run([f"{a.build}/pack_weights", "--force", *(whole if options is None else options), a.cfg, a.weights, packed])
            row = [name, f"{os.path.getsize(packed) / 1000:.0f}"]
            if a.pictures:
                answers = detect(a.build, packed, a.names, a.pictures, .1)
                floats = floats or answers
                row += compare(floats, answers, a.thresh)
            if a.labels:
                row.append(precision(a.build, packed, a.names, a.labels))
            row += [f"{milliseconds(a.build, packed, picture, cpu, a.repeats):.2f}" for cpu in a.cpu]
            print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
