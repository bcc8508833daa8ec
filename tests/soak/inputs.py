#!/usr/bin/env python3
"""Makes inputs: a picture as PNG and as PPM, and floats for a network.

inputs.py FOLDER MODEL    writes missing ones of picture.png, picture.ppm and MODEL.raw there"""

import array
import json
import math
import os
import random
import re
import struct
import subprocess
import sys
import zlib

BUILD = os.environ.get("BUILD", "build")
WIDTH, HEIGHT = 768, 576   # as the usual JPEG


def rows():
    """Rows of pixels: slopes with noise, so that PNG does not compress them much."""
    noise = random.Random(1).randbytes(3 * WIDTH)
    for y in range(HEIGHT):
        slope = bytes((x // 4 + y // 3) & 0xf0 for x in range(WIDTH) for _ in range(3))
        yield bytes(s | n & 7 for s, n in zip(slope, noise[y:] + noise[:y]))


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png():
    head = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 2, 0, 0, 0)
    body = zlib.compress(b"".join(b"\0" + row for row in rows()))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


def ppm():
    return b"P6\n%d %d\n255\n" % (WIDTH, HEIGHT) + b"".join(rows())


def input_sizes(model):
    """Sizes for the input's dimensions."""
    if not model.endswith(".cfg"):
        told = subprocess.run([BUILD + "/run_inference", "--predict", "--json", model], stdout=subprocess.PIPE, check=True).stdout
        return json.loads(told)["inputs"][0]["dims"]
    with open(model, encoding="utf-8") as file:
        words = file.read()   # the [net] section comes first
    return [int(re.search(r"^%s *= *(\d+)" % key, words, re.M).group(1)) for key in ("channels", "height", "width")]


def floats(model):
    draw = random.Random(2)
    some = array.array("f", (draw.random() for _ in range(4093)))
    n = math.prod(input_sizes(model))
    return (some * (n // len(some) + 1))[:n].tobytes()


def made(path, make):
    if not os.path.exists(path):
        with open(path + ".part", "wb") as file:
            file.write(make())
        os.rename(path + ".part", path)
    return path


def png_in(folder):
    return made(folder + "/picture.png", png)


def ppm_in(folder):
    return made(folder + "/picture.ppm", ppm)


def floats_in(folder, model):
    return made("%s/%s.raw" % (folder, os.path.splitext(os.path.basename(model))[0]), lambda: floats(model))


if __name__ == "__main__":
    png_in(sys.argv[1])
    ppm_in(sys.argv[1])
    floats_in(*sys.argv[1:3])
