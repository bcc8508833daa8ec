#!/usr/bin/python3
"""Draw the pictures and the labels that the shapes model is trained and measured on.

Writes below OUT:
    train/000000.jpg ...    pictures        train.txt      their paths, one a line
    train/000000.txt ...    labels          holdout.txt    the same for holdout/
A label line is Darknet's: class centre_x centre_y width height, the last four as
fractions of the picture. Paths in the lists are relative to OUT, so that no part of
them but our own is seen by Darknet, which finds a label by replacing ".jpg", but also
"images" and "raw", anywhere in the path.

Each picture depends on the seed, the name of its set and its number alone: asking for
more pictures does not change the first ones, and the two sets never share one.
"""

import argparse
import math
import os
import random
import sys

import numpy
from PIL import Image, ImageDraw, ImageFilter

CLASSES = ("circle", "square", "triangle", "star", "cross", "ring")

# Shapes are drawn on a canvas this many times larger and averaged down: soft edges.
OVERSAMPLE = 2

# Diameter of a shape over the longer side of the picture, before stretching.
SMALLEST, LARGEST = 0.13, 0.45

# A shape that others or the frame hide further than this is not placed there.
LEAST_VISIBLE = 0.7

# Boxes that cover each other more than this would be one box after non-maximum
# suppression, whatever the network says.
MOST_IOU = 0.2

# Least Euclidean distance in RGB between a shape and the mean of what lies below it.
LEAST_CONTRAST = 110

# Shapes stand upright but for a turn to either side of up to this many degrees.
MOST_TURN = 30


def regular(n, radius=1.0, turn=0.0):
    return [(radius * math.cos(turn + 2 * math.pi * i / n),
             radius * math.sin(turn + 2 * math.pi * i / n)) for i in range(n)]


def outlines(rng, name):
    """Polygons in the unit circle: the first is filled, the second cut out of it."""
    if name == "circle":
        return [regular(48)]
    if name == "ring":
        return [regular(48), regular(48, rng.uniform(0.45, 0.7))]
    if name == "square":
        return [regular(4, 1, math.pi / 4)]
    if name == "triangle":
        return [regular(3, 1, -math.pi / 2)]
    if name == "star":
        outer = regular(5, 1, -math.pi / 2)
        inner = regular(5, rng.uniform(0.36, 0.48), math.pi / 5 - math.pi / 2)
        return [[p for pair in zip(outer, inner) for p in pair]]
    if name == "cross":
        a = rng.uniform(0.24, 0.34)
        b = math.sqrt(1 - a * a)
        return [[(a, b), (a, a), (b, a), (b, -a), (a, -a), (a, -b),
                 (-a, -b), (-a, -a), (-b, -a), (-b, a), (-a, a), (-a, b)]]
    raise ValueError(name)


def transformed(rng, polygons, radius):
    """Turn, stretch by up to 15 % along any axis, scale to pixels."""
    turn = math.radians(rng.uniform(-MOST_TURN, MOST_TURN))
    axis = rng.uniform(0, 2 * math.pi)
    stretch = rng.uniform(0.87, 1.15)
    c, s, ca, sa = math.cos(turn), math.sin(turn), math.cos(axis), math.sin(axis)
    result = []
    for polygon in polygons:
        points = []
        for x, y in polygon:
            x, y = c * x - s * y, s * x + c * y
            along, across = ca * x + sa * y, (-sa * x + ca * y)
            along, across = along * stretch, across / stretch
            points.append((radius * (ca * along - sa * across),
                           radius * (sa * along + ca * across)))
        result.append(points)
    return result


def colour(rng):
    return tuple(rng.randrange(10, 246) for _ in range(3))


def shade(rgb, factor):
    return tuple(max(0, min(255, round(v * factor))) for v in rgb)


def gradient(rng, width, height, one, other):
    """A linear gradient at a random angle between two colours."""
    angle = rng.uniform(0, 2 * math.pi)
    x = numpy.linspace(-1, 1, width, dtype=numpy.float32)[None, :] * math.cos(angle)
    y = numpy.linspace(-1, 1, height, dtype=numpy.float32)[:, None] * math.sin(angle)
    t = ((x + y) / 2.83 + 0.5)[:, :, None]
    one, other = numpy.float32(one), numpy.float32(other)
    return Image.fromarray((one + (other - one) * t).astype(numpy.uint8))


def line(rng, draw, width, height, side, widest):
    x, y = rng.uniform(0, width), rng.uniform(0, height)
    points = [(x, y)]
    angle = rng.uniform(0, 2 * math.pi)
    for _ in range(rng.choice((1, 1, 2, 4))):
        angle += rng.uniform(-1, 1)
        length = rng.uniform(0.1, 0.6) * side
        x, y = x + length * math.cos(angle), y + length * math.sin(angle)
        points.append((x, y))
    draw.line(points, fill=colour(rng), width=max(1, round(rng.uniform(0.003, widest) * side)),
              joint="curve")


def distractor(rng, draw, width, height, side):
    """Something that is none of the classes: a bar, a half disc, a sliver, a blob, an arc."""
    x, y = rng.uniform(0, width), rng.uniform(0, height)
    radius = rng.uniform(0.03, 0.16) * side
    kind = rng.choice(("bar", "half", "sliver", "blob", "arc", "arc"))
    if kind == "arc":
        start = rng.uniform(0, 360)
        draw.arc((x - radius, y - radius, x + radius, y + radius), start,
                 start + rng.uniform(50, 190), fill=colour(rng),
                 width=max(1, round(rng.uniform(0.004, 0.02) * side)))
        return
    if kind == "bar":
        thin = rng.uniform(0.12, 0.35)
        points = [(1, thin), (1, -thin), (-1, -thin), (-1, thin)]
    elif kind == "half":
        points = [p for p in regular(48) if p[1] >= 0]
    elif kind == "sliver":
        thin = rng.uniform(0.15, 0.45)
        points = [(px, py * thin) for px, py in regular(32)]
    else:
        a, b = rng.uniform(0, 2 * math.pi), rng.uniform(0, 2 * math.pi)
        points = [point for i in range(32) for t in (2 * math.pi * i / 32,)
                  for point in regular(1, 0.65 + 0.25 * math.cos(2 * t + a)
                                       + 0.1 * math.cos(3 * t + b), t)]
    turn = rng.uniform(0, 2 * math.pi)
    c, s = math.cos(turn), math.sin(turn)
    draw.polygon([(x + radius * (c * px - s * py), y + radius * (s * px + c * py))
                  for px, py in points], fill=colour(rng))


def background(rng, width, height, side):
    base = colour(rng)
    canvas = gradient(rng, width, height, base,
                      colour(rng) if rng.random() < 0.5 else shade(base, rng.uniform(0.6, 1.5)))
    draw = ImageDraw.Draw(canvas)
    if rng.random() < 0.25:   # stripes or a checker board of two close tones
        step = rng.uniform(0.03, 0.12) * side
        tone = shade(base, rng.uniform(0.75, 1.3))
        checker = rng.random() < 0.5
        for i in range(int(width / step) + 1):
            for j in range(int(height / step) + 1 if checker else 1):
                if (i + j) % 2 == 0:
                    draw.rectangle((i * step, j * step, (i + 1) * step,
                                    (j + 1) * step if checker else height), fill=tone)
    for _ in range(rng.randrange(0, 4)):
        distractor(rng, draw, width, height, side)
    if rng.random() < 0.35:   # out of focus
        small = canvas.resize((max(1, width // 4), max(1, height // 4)), Image.BILINEAR)
        small = small.filter(ImageFilter.GaussianBlur(rng.uniform(0.002, 0.012) * side / 4))
        canvas = small.resize((width, height), Image.BILINEAR)
        draw = ImageDraw.Draw(canvas)
    for _ in range(rng.randrange(0, 4)):
        distractor(rng, draw, width, height, side)
    for _ in range(rng.randrange(0, 6)):
        line(rng, draw, width, height, side, 0.02)
    return canvas


def iou(a, b):
    w = min(a[2], b[2]) - max(a[0], b[0])
    h = min(a[3], b[3]) - max(a[1], b[1])
    if w <= 0 or h <= 0:
        return 0.0
    area = lambda r: (r[2] - r[0]) * (r[3] - r[1])
    return w * h / (area(a) + area(b) - w * h)


def place(rng, canvas, owner, shapes, side):
    """Try one random shape at one random spot; append it to shapes if it fits."""
    width, height = canvas.size
    name = rng.randrange(len(CLASSES))
    radius = 0.5 * side * math.exp(rng.uniform(math.log(SMALLEST), math.log(LARGEST)))
    polygons = transformed(rng, outlines(rng, CLASSES[name]), radius)
    left, top = min(p[0] for p in polygons[0]), min(p[1] for p in polygons[0])
    right, bottom = max(p[0] for p in polygons[0]), max(p[1] for p in polygons[0])
    x = round(rng.uniform(-0.2, 0.8) * (right - left) + rng.random() * (width - 0.6 * (right - left)))
    y = round(rng.uniform(-0.2, 0.8) * (bottom - top) + rng.random() * (height - 0.6 * (bottom - top)))
    x, y = x - round((right - left) * 0.3), y - round((bottom - top) * 0.3)
    w, h = math.ceil(right - left) + 1, math.ceil(bottom - top) + 1
    box = (max(0, x), max(0, y), min(width, x + w), min(height, y + h))
    if box[2] - box[0] < 4 or box[3] - box[1] < 4:
        return
    if any(iou(box, other["box"]) > MOST_IOU for other in shapes):
        return

    mask = Image.new("L", (w, h), 0)
    draw = ImageDraw.Draw(mask)
    draw.polygon([(px - left, py - top) for px, py in polygons[0]], fill=255)
    for hole in polygons[1:]:
        draw.polygon([(px - left, py - top) for px, py in hole], fill=0)
    inside = numpy.asarray(mask.crop((box[0] - x, box[1] - y, box[2] - x, box[3] - y))) > 0
    area = numpy.count_nonzero(numpy.asarray(mask))
    if numpy.count_nonzero(inside) < LEAST_VISIBLE * area:
        return
    below = owner[box[1]:box[3], box[0]:box[2]]
    hidden = numpy.bincount(below[inside], minlength=len(shapes) + 1)
    for number, other in enumerate(shapes, 1):
        if other["visible"] - hidden[number] < LEAST_VISIBLE * other["area"]:
            return
    for number, other in enumerate(shapes, 1):
        other["visible"] -= hidden[number]

    under = numpy.asarray(canvas.crop(box))[inside].mean(axis=0)
    for _ in range(50):
        fill = colour(rng)
        if math.dist(fill, under) >= LEAST_CONTRAST:
            break
    if rng.random() < 0.5:
        paint = Image.new("RGB", (w, h), fill)
    else:
        paint = gradient(rng, w, h, fill, shade(fill, rng.uniform(0.65, 1.35)))
    if rng.random() < 0.3:
        rim = max(2, round(rng.uniform(0.03, 0.1) * radius))
        pen = ImageDraw.Draw(paint)
        tone = shade(fill, rng.choice((0.4, 0.6, 1.5)))
        for polygon in polygons:
            closed = [(px - left, py - top) for px, py in polygon]
            pen.line(closed + closed[:2], fill=tone, width=rim, joint="curve")
    canvas.paste(paint, (x, y), mask)
    below[inside] = len(shapes) + 1
    shapes.append({"class": name, "box": box, "area": area,
                   "visible": numpy.count_nonzero(inside)})


def lit(rng, picture):
    """Uneven light, a change of exposure and sensor noise."""
    width, height = picture.size
    noise = numpy.random.Generator(numpy.random.PCG64(rng.getrandbits(64)))
    pixels = numpy.asarray(picture).astype(numpy.float32)
    angle, depth = rng.uniform(0, 2 * math.pi), rng.uniform(0, 0.35)
    x = numpy.linspace(-1, 1, width, dtype=numpy.float32)[None, :] * math.cos(angle)
    y = numpy.linspace(-1, 1, height, dtype=numpy.float32)[:, None] * math.sin(angle)
    pixels *= (rng.uniform(0.7, 1.2) * (1 + depth * (x + y) / 1.42))[:, :, None]
    # Grain of one kind on all channels, at a quarter of the cost of three independent ones.
    grain = noise.standard_normal((height, width), dtype=numpy.float32) * rng.uniform(0, 7)
    pixels += grain[:, :, None] * numpy.float32([rng.uniform(0.4, 1.2) for _ in range(3)])
    return Image.fromarray(numpy.clip(pixels, 0, 255).astype(numpy.uint8))


def any_size(rng):
    side = rng.randrange(192, 337)
    other = round(side * rng.choice((1, 1, 3 / 4, 3 / 4, 2 / 3, 9 / 16)))
    return (side, other) if rng.random() < 0.6 else (other, side)


def write(path, rng, size):
    """One picture, path + ".jpg", and its labels, path + ".txt"."""
    width, height = (v * OVERSAMPLE for v in size or any_size(rng))
    side = max(width, height)
    canvas = background(rng, width, height, side)
    owner = numpy.zeros((height, width), dtype=numpy.uint8)
    shapes = []
    wanted = rng.randrange(1, 8)
    for _ in range(6 * wanted):
        if len(shapes) < wanted:
            place(rng, canvas, owner, shapes, side)
    draw = ImageDraw.Draw(canvas)
    for _ in range(rng.randrange(0, 3)):   # thin, in front of the shapes
        line(rng, draw, width, height, side, 0.008)
    picture = lit(rng, canvas.reduce(OVERSAMPLE))
    picture.save(path + ".jpg", quality=rng.randrange(75, 93))
    with open(path + ".txt", "w", encoding="ascii") as out:
        for shape in shapes:
            x0, y0, x1, y1 = shape["box"]
            out.write("%d %.6f %.6f %.6f %.6f\n" % (
                shape["class"], (x0 + x1) / 2 / width, (y0 + y1) / 2 / height,
                (x1 - x0) / width, (y1 - y0) / height))


def write_set(out, name, count, seed, sizes):
    os.makedirs(os.path.join(out, name), exist_ok=True)
    with open(os.path.join(out, name + ".txt"), "w", encoding="ascii") as listing:
        for i in range(count):
            path = "%s/%06d" % (name, i)
            # A string seed goes through SHA-512, the same in every version of Python 3.
            rng = random.Random("%d %s %d" % (seed, name, i))
            write(os.path.join(out, path), rng, sizes[i % len(sizes)] if sizes else None)
            listing.write(path + ".jpg\n")
            if (i + 1) % 500 == 0:
                print("%s: %d of %d" % (name, i + 1, count), file=sys.stderr)


def parse_sizes(text):
    sizes = []
    for item in text.split(","):
        width, _, height = item.partition("x")
        if not (width.isdecimal() and height.isdecimal() and min(int(width), int(height)) >= 32):
            raise argparse.ArgumentTypeError(
                "expected WxH, both at least 32, not \"%s\"" % item)
        sizes.append((int(width), int(height)))
    return sizes


def main():
    parser = argparse.ArgumentParser(
        description="Draw pictures of shapes and their labels for darknet detector train.",
        epilog="Classes, in the order of their numbers: %s." % ", ".join(CLASSES))
    parser.add_argument("out", metavar="OUT", help="folder to write to; made if missing")
    parser.add_argument("--train", type=int, default=8000, metavar="N",
                        help="pictures to train on (default %(default)s)")
    parser.add_argument("--holdout", type=int, default=500, metavar="N",
                        help="pictures to measure on (default %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="default %(default)s")
    parser.add_argument("--sizes", type=parse_sizes, metavar="WxH[,WxH...]",
                        help="sizes of the pictures in turn (default: 192 to 336 pixels on "
                             "the longer side, several aspect ratios)")
    options = parser.parse_args()
    for name, count in (("train", options.train), ("holdout", options.holdout)):
        if count > 0:
            write_set(options.out, name, count, options.seed, options.sizes)


if __name__ == "__main__":
    main()
