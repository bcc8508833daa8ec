#!/usr/bin/env python3
"""Prints the boxes found on pictures, through ctypes like Darknet's python/darknet.py. It does not
use mafat: with LD_PRELOAD=.../libmafat-darknet.so the same script needs a fraction of the memory.

  python3 detect.py yolov3-tiny.cfg yolov3-tiny.weights coco.names 0.5 dog.jpg
"""
import os
import sys
from ctypes import CDLL, POINTER, RTLD_GLOBAL, Structure, byref, c_char_p, c_float, c_int, c_void_p

LIBRARY = os.environ.get("DARKNET_LIBRARY", "/usr/lib/darknet/libdarknet.so")
HIER, NMS = 0.5, 0.45


class Box(Structure):
    _fields_ = [(name, c_float) for name in "xywh"]  # x, y: centre


class Detection(Structure):
    _fields_ = [("bbox", Box), ("classes", c_int), ("prob", POINTER(c_float)), ("mask", POINTER(c_float)),
                ("objectness", c_float), ("sort_class", c_int)]


class Image(Structure):
    _fields_ = [("w", c_int), ("h", c_int), ("c", c_int), ("data", POINTER(c_float))]


def declare(lib, name, result, *arguments):
    function = getattr(lib, name)
    function.restype, function.argtypes = result, arguments
    return function


lib = CDLL(LIBRARY, RTLD_GLOBAL)
load_network = declare(lib, "load_network", c_void_p, c_char_p, c_char_p, c_int)
free_network = declare(lib, "free_network", None, c_void_p)
load_image = declare(lib, "load_image_color", Image, c_char_p, c_int, c_int)
free_image = declare(lib, "free_image", None, Image)
predict = declare(lib, "network_predict_image", POINTER(c_float), c_void_p, Image)
get_boxes = declare(lib, "get_network_boxes", POINTER(Detection), c_void_p, c_int, c_int, c_float, c_float,
                    POINTER(c_int), c_int, POINTER(c_int))
free_boxes = declare(lib, "free_detections", None, POINTER(Detection), c_int)
suppress = declare(lib, "do_nms_sort", None, POINTER(Detection), c_int, c_int, c_float)


def detect(net, path, threshold, classes):
    """Yields (class, probability, left, top, width, height) in pixels of the picture."""
    picture, n = load_image(os.fsencode(path), 0, 0), c_int(0)
    predict(net, picture)
    boxes = get_boxes(net, picture.w, picture.h, threshold, HIER, None, 0, byref(n))
    suppress(boxes, n, classes, NMS)
    for found in boxes[:n.value]:
        for k in range(classes):
            if found.prob[k] > 0:
                b = found.bbox
                yield k, found.prob[k], b.x - b.w / 2, b.y - b.h / 2, b.w, b.h
    free_boxes(boxes, n)
    free_image(picture)


def main():
    if len(sys.argv) < 6:
        sys.exit(f"usage: {sys.argv[0]} MODEL.cfg MODEL.weights NAMES THRESHOLD PICTURE...")
    cfg, weights, names, threshold, *pictures = sys.argv[1:]
    with open(names, encoding="utf-8") as file:
        labels = file.read().splitlines()
    net = load_network(os.fsencode(cfg), os.fsencode(weights), 0)
    for path in pictures:
        for k, p, *b in detect(net, path, float(threshold), len(labels)):
            print(labels[k], f"{p:.3f}", *(f"{v:.1f}" for v in b))
    free_network(net)


if __name__ == "__main__":
    main()
