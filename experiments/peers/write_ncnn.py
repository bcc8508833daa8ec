#!/usr/bin/env python3
"""Writes a Darknet network (.cfg, .weights) as an ncnn model (.param, .bin) with ncnn's tools.

darknet2ncnn converts; ncnnoptimize folds batch norm and activations into the convolutions, as ncnn
recommends. This script adds what darknet2ncnn lacks to the text between the two: [reorg], a
[shortcut] of another shape, [softmax], the epsilon of batch norm. A [yolo] or [region] head is left
out, as in write_onnx.py."""

import argparse
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True   # nothing is written beside this file

from workloads import read_text, section_name, split_sections, write_text

# Replaced by [dropout], which darknet2ncnn ignores, so that later layers keep their numbers.
LEFT_OUT = ("yolo", "region", "softmax", "cost")


class Unsupported(Exception):
    """Raised for what is not supported; the message has the reason."""


def number(section, key, default=0):
    found = re.search(r"(?m)^\s*%s\s*=\s*(-?\d+)" % key, section)
    return int(found.group(1)) if found else default


def numbers(section, key):
    text = re.search(r"(?m)^\s*%s\s*=\s*([-\d\s,]+)$" % key, section).group(1)
    return [int(part) for part in text.split(",") if part.strip()]


def shapes(sections):
    """Channels, height and width of every layer's output."""
    net = sections[0]
    now = (number(net, "channels", 3), number(net, "height"), number(net, "width"))
    found = []
    for section in sections[1:]:
        kind, (c, h, w) = section_name(section), now
        size, stride = number(section, "size", 1), number(section, "stride", 1)
        if kind == "convolutional":
            pad = 2 * (size // 2 if number(section, "pad") else number(section, "padding"))
            now = (number(section, "filters", 1), (h + pad - size) // stride + 1, (w + pad - size) // stride + 1)
        elif kind == "maxpool":
            pad = number(section, "padding", size - 1)
            now = (c, (h + pad - size) // stride + 1, (w + pad - size) // stride + 1)
        elif kind == "avgpool":
            now = (c, 1, 1)
        elif kind == "reorg":
            now = (c * stride * stride, h // stride, w // stride)
        elif kind == "upsample":
            now = (c, h * stride, w * stride)
        elif kind == "route":
            sources = [found[i] for i in numbers(section, "layers")]
            now = (sum(source[0] for source in sources),) + sources[0][1:]
        elif kind not in ("shortcut", "dropout") + LEFT_OUT:
            raise Unsupported("[%s] is not supported" % kind)
        found.append(now)
    return found


def readable_cfg(sections):
    """The cfg for darknet2ncnn. It uses map sizes only to check shortcuts; with one pixel all
    agree. A [reorg] becomes a [route] with as many channels."""
    text = re.sub(r"(?m)^\s*(width|height)\s*=.*$", r"\1=1", sections[0])
    for section in sections[1:]:
        kind = section_name(section)
        if kind in LEFT_OUT:
            section = "[dropout]\n"
        elif kind == "reorg":
            section = "[route]\nlayers=%s\n" % ",".join(["-1"] * number(section, "stride", 1) ** 2)
        text += section
    return text


class Layer:
    """A line of a .param: type, name, inputs, outputs, parameters."""

    def __init__(self, kind, name, inputs, outputs, parameters):
        self.kind, self.name, self.inputs, self.outputs, self.parameters = kind, name, inputs, outputs, parameters

    @classmethod
    def read(cls, line):
        kind, name, n_inputs, n_outputs, *rest = line.split()
        n_inputs, n_outputs = int(n_inputs), int(n_outputs)
        return cls(kind, name, rest[:n_inputs], rest[n_inputs:n_inputs + n_outputs], rest[n_inputs + n_outputs:])

    def write(self):
        counts = [str(len(self.inputs)), str(len(self.outputs))]
        return " ".join([self.kind, self.name, *counts, *self.inputs, *self.outputs, *self.parameters]) + "\n"

    def index(self):
        """The Darknet layer that it belongs to, or None."""
        found = re.match(r"(\d+)_\d+$", self.name)
        return int(found.group(1)) if found else None


def chain(name, blob, *steps):
    """A chain of layers from a blob on; the first argument names the last one's output."""
    for i, (kind, *parameters) in enumerate(steps):
        own = name if i == len(steps) - 1 else "%s_%s%d" % (name, kind.lower(), i)
        yield Layer(kind, own, [blob], [own], parameters)
        blob = own


def size_parameters(c, h, w):
    return "0=%d" % w, "1=%d" % h, "2=%d" % c


def reorg(layer, stride, shape):
    """Darknet reads (c, h, w) as (c / s^2, h s, w s) and gathers every s-th pixel; the result (c,
    h, w) is read as (c s^2, h / s, w / s)."""
    c, h, w = shape
    return chain(layer.name, layer.inputs[0],
                 ("Reshape", *size_parameters(c // stride ** 2, h * stride, w * stride)),
                 ("Reorg", "0=%d" % stride, "1=1"),
                 ("Reshape", *size_parameters(c * stride ** 2, h // stride, w // stride)))


def fit_shortcut(layer, now, other):
    """Darknet adds every s-th pixel of a larger map, and only the channels that both maps have."""
    steps, stride = [], other[2] // now[2]
    if other[0] > now[0] or other[1:] != (now[1] * stride, now[2] * stride):
        raise Unsupported("a [shortcut] of a smaller map or of more channels is not supported")
    if stride > 1:
        steps.append(("Pooling", "0=0", "1=1", "2=%d" % stride, "5=1"))
    if other[0] < now[0]:
        steps.append(("Padding", "8=%d" % (now[0] - other[0])))
    if steps:
        name = layer.name + "_fitted"
        yield from chain(name, layer.inputs[1], *steps)
        layer.inputs[1] = name
    yield layer


def make_good(layers, sections):
    """Corrects what darknet2ncnn does not support."""
    known = shapes(sections)
    for layer in layers:
        i = layer.index()
        section = sections[1 + i] if i is not None else ""
        if layer.kind == "Input":
            net = sections[0]
            layer.parameters = size_parameters(number(net, "channels", 3), number(net, "height"), number(net, "width"))
        elif layer.kind == "BatchNorm":
            # Darknet adds 1e-6 after the root; adding nothing below it is closer than ncnn's 1e-5.
            layer.parameters[1] = "1=0"
        if layer.kind == "Concat" and section_name(section) == "reorg":
            yield from reorg(layer, number(section, "stride", 1), known[i - 1])
        elif layer.kind == "Eltwise":
            source = number(section, "from")
            yield from fit_shortcut(layer, known[i - 1], known[source if source >= 0 else i + source])
        else:
            yield layer
    if section_name(sections[-1]) == "softmax":
        yield from chain("softmax", layers[-1].outputs[-1], ("Softmax", "0=0", "1=1"))


def drop_unread(layers):
    """Removes outputs of splits that only a replaced [reorg] read."""
    read = {blob for layer in layers for blob in layer.inputs}
    for layer in layers:
        if layer.kind == "Split":
            layer.outputs = [blob for blob in layer.outputs if blob in read]


def call(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = (done.stderr.strip() or "exit status %d" % done.returncode).splitlines()
        raise Unsupported("%s: %s" % (os.path.basename(command[0]), lines[-1]))


def write_model(tools, cfg, weights, param, model):
    sections = split_sections(read_text(cfg))
    readable, raw_param, raw_bin = param + ".cfg", param + ".raw", model + ".raw"
    try:
        write_text(readable, readable_cfg(sections))
        call(os.path.join(tools, "darknet2ncnn"), readable, weights, raw_param, raw_bin, "0")
        magic, _, *lines = read_text(raw_param).splitlines()
        layers = list(make_good([Layer.read(line) for line in lines], sections))
        drop_unread(layers)
        n_blobs = sum(len(layer.outputs) for layer in layers)
        head = "%s\n%d %d\n" % (magic, len(layers), n_blobs)
        write_text(raw_param, head + "".join(layer.write() for layer in layers))
        call(os.path.join(tools, "ncnnoptimize"), raw_param, raw_bin, param, model, "0")
    finally:
        for path in (readable, raw_param, raw_bin):
            if os.path.exists(path):
                os.unlink(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("tools", help="the folder with darknet2ncnn and ncnnoptimize")
    parser.add_argument("cfg")
    parser.add_argument("weights")
    parser.add_argument("param")
    parser.add_argument("bin")
    arguments = parser.parse_args()
    try:
        write_model(arguments.tools, arguments.cfg, arguments.weights, arguments.param, arguments.bin)
    except (Unsupported, OSError) as error:
        print("write_ncnn.py: %s" % error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
