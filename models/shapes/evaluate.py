#!/usr/bin/env python3
"""Mean average precision of detections, as run_inference --json prints them.

A detection is right when its box covers that of an object of its class in the picture
with an IoU of at least 0.5 and no detection of higher confidence took that object
before. The average precision of a class is the area below its precision-recall curve
over all points, precision being made non-increasing first, as in PASCAL VOC since 2010.
The mean is taken over the classes that occur.
"""

import argparse
import json
import os
import sys

# Markers of a JPEG frame header, which holds the size: SOF0-15 without DHT, JPG and DAC.
FRAME_HEADERS = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


class InputError(Exception):
    """Input that cannot be evaluated; the message names what and where."""


def jpeg_size(path):
    """(width, height) from the frame header."""
    with open(path, "rb") as file:
        if file.read(2) != b"\xff\xd8":
            raise InputError("%s: not a JPEG" % path)
        while True:
            marker = file.read(2)
            if len(marker) < 2 or marker[0] != 0xFF:
                raise InputError("%s: no frame header" % path)
            if marker[1] == 0xFF:   # fill byte before a marker
                file.seek(-1, os.SEEK_CUR)
                continue
            length = int.from_bytes(file.read(2), "big")
            segment = file.read(length - 2) if length >= 2 else b""
            if marker[1] in FRAME_HEADERS:
                if len(segment) < 5:
                    raise InputError("%s: cut off" % path)
                return int.from_bytes(segment[3:5], "big"), int.from_bytes(segment[1:3], "big")


def read_lines(path):
    with open(path, encoding="utf-8") as file:
        return [line.strip() for line in file if line.strip()]


def read_labels(picture, n_classes):
    """Objects of a picture, (class, (left, top, right, bottom)) in pixels."""
    width, height = jpeg_size(picture)
    path = os.path.splitext(picture)[0] + ".txt"
    objects = []
    for line in read_lines(path):
        try:
            number, x, y, w, h = (float(field) for field in line.split())
        except ValueError:
            raise InputError("%s: expected `class x y width height`: %s" % (path, line)) from None
        if number not in range(n_classes):
            raise InputError("%s: no class %g" % (path, number))
        objects.append((int(number), ((x - w / 2) * width, (y - h / 2) * height,
                                      (x + w / 2) * width, (y + h / 2) * height)))
    return objects


def read_detections(file, names):
    """{absolute path of the picture: [(confidence, class, box)]}"""
    found = {}
    for number, line in enumerate(file, 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            items = []
            for item in record["detections"]:
                box = item["box"]
                left, top = float(box["x"]), float(box["y"])
                items.append((float(item["confidence"]), names.index(item["label"]),
                              (left, top, left + float(box["width"]),
                               top + float(box["height"]))))
            found[os.path.realpath(record["image"])] = items
        except (KeyError, TypeError, ValueError) as error:
            raise InputError("%s:%d: not a line of detections: %s"
                             % (file.name, number, error)) from None
    return found


def iou(a, b):
    w = min(a[2], b[2]) - max(a[0], b[0])
    h = min(a[3], b[3]) - max(a[1], b[1])
    if w <= 0 or h <= 0:
        return 0.0
    both = w * h
    return both / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both)


def verdicts(objects, detections, least_iou):
    """For each detection, from the most confident down: does it find a new object?

    objects: {picture: [box]}; detections: [(confidence, picture, box)]; one class."""
    taken = {picture: [False] * len(boxes) for picture, boxes in objects.items()}
    result = []
    for _, picture, box in sorted(detections, key=lambda d: -d[0]):
        boxes = objects.get(picture, [])
        best = max(range(len(boxes)), key=lambda i: iou(box, boxes[i]), default=None)
        right = (best is not None and not taken[picture][best]
                 and iou(box, boxes[best]) >= least_iou)
        if right:
            taken[picture][best] = True
        result.append(right)
    return result


def average_precision(right, n_objects):
    """Area below the precision-recall curve; right: from the most confident down."""
    points, n_right = [], 0
    for n, hit in enumerate(right, 1):
        n_right += hit
        if hit:   # recall moves only here
            points.append(n_right / n)
    area, best = 0.0, 0.0
    for precision in reversed(points):
        best = max(best, precision)
        area += best / n_objects
    return area


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(
        description="Print the average precision of each class, and their mean.",
        epilog="Exit status: 0, 1 if the mean is below --at-least, 2 for unusable input.")
    parser.add_argument("list", metavar="LIST",
                        help="paths of pictures (JPEG), one a line, relative to LIST's folder; "
                             "the labels are beside each, in Darknet's format, as .txt")
    parser.add_argument("detections", metavar="DETECTIONS", nargs="?", default="-",
                        help="what run_inference --json --thresh 0.01 printed for the pictures "
                             "(default: standard input); its paths are relative to the "
                             "current folder")
    parser.add_argument("--names", metavar="FILE", default=os.path.join(here, "shapes.names"),
                        help="class names, one a line (default: shapes.names beside this "
                             "program)")
    parser.add_argument("--iou", type=float, default=0.5, metavar="VALUE",
                        help="least IoU of a right detection (default %(default)s)")
    parser.add_argument("--at-least", type=float, metavar="VALUE",
                        help="exit with status 1 if the mean is lower")
    options = parser.parse_args()

    try:
        names = read_lines(options.names)
        folder = os.path.dirname(os.path.abspath(options.list))
        pictures = {}
        for path in read_lines(options.list):
            path = os.path.join(folder, path)
            pictures[os.path.realpath(path)] = read_labels(path, len(names))
        if options.detections == "-":
            found = read_detections(sys.stdin, names)
        else:
            with open(options.detections, encoding="utf-8") as file:
                found = read_detections(file, names)
        for path in pictures:
            if path not in found:
                raise InputError("%s: no line of detections" % path)
        if not any(pictures.values()):
            raise InputError("%s: no objects" % options.list)
    except (InputError, OSError) as error:
        print("evaluate.py: %s" % error, file=sys.stderr)
        return 2

    print("%-12s %8s %11s %9s" % ("class", "objects", "detections", "AP@%.2f" % options.iou))
    precisions, n_objects_all, n_detections_all = [], 0, 0
    for number, name in enumerate(names):
        objects = {path: [box for label, box in items if label == number]
                   for path, items in pictures.items()}
        detections = [(confidence, path, box) for path in pictures
                      for confidence, label, box in found[path] if label == number]
        n_objects = sum(len(boxes) for boxes in objects.values())
        n_objects_all += n_objects
        n_detections_all += len(detections)
        value = "-"
        if n_objects > 0:
            precisions.append(average_precision(verdicts(objects, detections, options.iou),
                                                n_objects))
            value = "%.4f" % precisions[-1]
        print("%-12s %8d %11d %9s" % (name, n_objects, len(detections), value))
    mean = sum(precisions) / len(precisions)
    print("%-12s %8d %11d %9.4f" % ("mean", n_objects_all, n_detections_all, mean))
    print("%d pictures" % len(pictures))
    if options.at_least is not None and mean < options.at_least:
        print("evaluate.py: %.4f is below %g" % (mean, options.at_least), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
