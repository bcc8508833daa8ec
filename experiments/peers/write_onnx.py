#!/usr/bin/python3
"""Writes a Darknet network (.cfg and .weights) as an ONNX model.

Batch norm is folded into the convolutions, as onnxruntime does. Paddings, routes and the order of
[reorg] are Darknet's. A [yolo] or [region] head is left out: the outputs are the head's inputs,
which saves a peer a little work. Unsupported layers and activations are refused by name and line.

Needs Debian's python3-onnx."""

import argparse
import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 13
IR_VERSION = 8
HEADS = ("yolo", "region")
IGNORED = ("dropout", "cost")


class Unsupported(Exception):
    """Raised for unsupported sections; the message has the line of the cfg and its text."""


class Section:
    """One [name] of a cfg with its keys."""

    def __init__(self, name, line):
        self.name, self.line, self.keys = name, line, {}

    def text(self, key, default=""):
        return self.keys.get(key, default)

    def number(self, key, default=0):
        return int(self.keys.get(key, default))

    def numbers(self, key):
        return [int(number) for number in self.keys[key].split(",") if number.strip()]

    def unsupported(self, what):
        return Unsupported("line %d: [%s] %s is not supported" % (self.line, self.name, what))


def read_cfg(path):
    sections = []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            line = line.split("#")[0].strip()
            if line.startswith("["):
                sections.append(Section(line.strip("[]"), number))
            elif "=" in line and sections:
                key, value = line.split("=", 1)
                sections[-1].keys[key.strip()] = value.strip()
    return sections


class Weights:
    """The floats of a .weights file, in the file's order."""

    def __init__(self, path):
        with open(path, "rb") as file:
            major, minor, _ = numpy.fromfile(file, "<i4", 3)
            file.seek(8 if major * 10 + minor >= 2 else 4, 1)   # pictures seen in training
            self.floats = numpy.fromfile(file, "<f4")
        self.transposed = major > 1000 or minor > 1000          # [connected] only
        self.used = 0

    def take(self, *shape):
        n = int(numpy.prod(shape))
        if self.used + n > self.floats.size:
            raise Unsupported("the weights end too early")
        self.used += n
        return self.floats[self.used - n:self.used].reshape(shape)


class Tensor:
    """A layer's output: its name in the graph and its shape."""

    def __init__(self, name, channels, height, width):
        self.name, self.channels, self.height, self.width = name, channels, height, width


class Writer:
    """Grows the graph layer by layer."""

    def __init__(self, weights):
        self.weights = weights
        self.nodes, self.constants = [], []
        self.tensors = []   # one for each layer; None: a head that was left out
        self.now = None     # input of the next layer

    def add(self, kind, inputs, **attributes):
        name = "%d_%s_%d" % (len(self.tensors), kind.lower(), len(self.nodes))
        self.nodes.append(helper.make_node(kind, inputs, [name], name=name, **attributes))
        return name

    def constant(self, values):
        name = "constant_%d" % len(self.constants)
        self.constants.append(numpy_helper.from_array(numpy.ascontiguousarray(values), name))
        return name

    def activate(self, section, name):
        kind = section.text("activation", "logistic" if section.name != "shortcut" else "linear")
        if kind == "linear":
            return name
        if kind == "leaky":
            return self.add("LeakyRelu", [name], alpha=0.1)
        simple = {"relu": "Relu", "logistic": "Sigmoid", "tanh": "Tanh"}
        if kind not in simple:
            raise section.unsupported("activation=" + kind)
        return self.add(simple[kind], [name])

    # ---- layers: each returns a Tensor ----

    def read_filters(self, section, filters, *shape):
        """Weights and biases with batch norm folded in, in double."""
        bias = self.weights.take(filters).astype("f8")
        if not section.number("batch_normalize"):
            return self.weights.take(filters, *shape), bias.astype("f4")
        scale, mean, variance = (self.weights.take(filters).astype("f8") for _ in range(3))
        factor = scale / (numpy.sqrt(variance) + 1e-6)
        weights = self.weights.take(filters, *shape) * factor.reshape((filters,) + (1,) * len(shape))
        return weights.astype("f4"), (bias - mean * factor).astype("f4")

    def convolutional(self, section):
        now, filters = self.now, section.number("filters", 1)
        size, stride, groups = section.number("size", 1), section.number("stride", 1), section.number("groups", 1)
        pad = size // 2 if section.number("pad") else section.number("padding")
        weights, bias = self.read_filters(section, filters, now.channels // groups, size, size)
        name = self.add("Conv", [now.name, self.constant(weights), self.constant(bias)],
                        kernel_shape=[size, size], strides=[stride, stride], pads=[pad] * 4, group=groups)
        return Tensor(self.activate(section, name), filters,
                      (now.height + 2 * pad - size) // stride + 1, (now.width + 2 * pad - size) // stride + 1)

    def connected(self, section):
        now, outputs = self.now, section.number("output", 1)
        inputs = now.channels * now.height * now.width
        bias = self.weights.take(outputs).astype("f8")
        weights = self.weights.take(inputs, outputs).T if self.weights.transposed else self.weights.take(outputs, inputs)
        if section.number("batch_normalize"):
            scale, mean, variance = (self.weights.take(outputs).astype("f8") for _ in range(3))
            factor = scale / (numpy.sqrt(variance) + 1e-6)
            weights, bias = weights * factor[:, None], bias - mean * factor
        flat = self.add("Flatten", [now.name])
        name = self.add("Gemm", [flat, self.constant(weights.astype("f4")), self.constant(bias.astype("f4"))], transB=1)
        name = self.add("Reshape", [self.activate(section, name), self.constant(numpy.array([1, outputs, 1, 1]))])
        return Tensor(name, outputs, 1, 1)

    def maxpool(self, section):
        now, stride = self.now, section.number("stride", 1)
        size = section.number("size", stride)
        padding = section.number("padding", size - 1)   # sum of both sides; the smaller half comes first
        before = padding // 2
        height, width = ((n + padding - size) // stride + 1 for n in (now.height, now.width))
        after = [max(0, (out - 1) * stride + size - n - before) for out, n in ((height, now.height), (width, now.width))]
        name = self.add("MaxPool", [now.name], kernel_shape=[size, size], strides=[stride, stride],
                        pads=[before, before] + after)
        return Tensor(name, now.channels, height, width)

    def avgpool(self, _section):
        return Tensor(self.add("GlobalAveragePool", [self.now.name]), self.now.channels, 1, 1)

    def softmax(self, section):
        now = self.now
        if section.number("groups", 1) != 1 or section.text("tree"):
            raise section.unsupported("with groups or a tree")
        flat = self.add("Flatten", [now.name])
        return Tensor(self.add("Softmax", [flat], axis=1), now.channels, now.height, now.width)

    def upsample(self, section):
        now, stride = self.now, section.number("stride", 2)
        if section.text("scale", "1") not in ("1", "1.0"):
            raise section.unsupported("scale")
        scales = self.constant(numpy.array([1, 1, stride, stride], "f4"))
        name = self.add("Resize", [now.name, "", scales], mode="nearest", nearest_mode="floor",
                        coordinate_transformation_mode="asymmetric")
        return Tensor(name, now.channels, now.height * stride, now.width * stride)

    def reorg(self, section):
        """Darknet reads the flat input as (c / s^2, h s, w s) and gathers every s-th pixel; the
        result (c, h, w) is read as (c s^2, h / s, w / s)."""
        now, s = self.now, section.number("stride", 1)
        if section.number("reverse") or section.number("flatten") or section.number("extra"):
            raise section.unsupported("reverse, flatten or extra")
        c, h, w = now.channels, now.height, now.width
        split = self.add("Reshape", [now.name, self.constant(numpy.array([c // (s * s), h, s, w, s]))])
        moved = self.add("Transpose", [split], perm=[2, 4, 0, 1, 3])
        name = self.add("Reshape", [moved, self.constant(numpy.array([1, c * s * s, h // s, w // s]))])
        return Tensor(name, c * s * s, h // s, w // s)

    def resolve(self, section, index):
        tensor = self.tensors[index if index >= 0 else len(self.tensors) + index]
        if tensor is None:
            raise section.unsupported("reading a head")
        return tensor

    def route(self, section):
        sources = [self.resolve(section, index) for index in section.numbers("layers")]
        if section.number("groups", 1) != 1:
            raise section.unsupported("groups")
        if len(sources) == 1:
            return sources[0]
        name = self.add("Concat", [source.name for source in sources], axis=1)
        return Tensor(name, sum(source.channels for source in sources), sources[0].height, sources[0].width)

    def shortcut(self, section):
        """Darknet adds every s-th pixel of a larger map, and only channels that both maps have.
        (Slice and Pad instead of MaxPool and Concat take onnxruntime equally long; a strided
        identity convolution takes longer.)"""
        now, (index,) = self.now, section.numbers("from")
        other = self.resolve(section, index)
        name, stride = other.name, other.width // now.width
        if (other.height, other.width) != (now.height * stride, now.width * stride) or other.channels > now.channels:
            raise section.unsupported("of a smaller map or of more channels")
        if stride > 1:
            name = self.add("MaxPool", [name], kernel_shape=[1, 1], strides=[stride, stride])
        if other.channels < now.channels:
            zeros = self.constant(numpy.zeros((1, now.channels - other.channels, now.height, now.width), "f4"))
            name = self.add("Concat", [name, zeros], axis=1)
        name = self.activate(section, self.add("Add", [now.name, name]))
        return Tensor(name, now.channels, now.height, now.width)

    def layer(self, section):
        if section.name in HEADS:
            self.tensors.append(None)
            return
        if section.name not in IGNORED:
            write = {"conv": self.convolutional, "convolutional": self.convolutional, "connected": self.connected,
                     "maxpool": self.maxpool, "avgpool": self.avgpool, "softmax": self.softmax,
                     "upsample": self.upsample, "reorg": self.reorg, "route": self.route,
                     "shortcut": self.shortcut}.get(section.name)
            if not write:
                raise Unsupported("line %d: [%s] is not supported" % (section.line, section.name))
            self.now = write(section)
        self.tensors.append(self.now)


def write_model(cfg, weights):
    sections = read_cfg(cfg)
    net = sections[0]
    writer = Writer(Weights(weights))
    shape = [1, net.number("channels", 3), net.number("height"), net.number("width")]
    writer.now = Tensor("input", *shape[1:])
    outputs = []
    for section in sections[1:]:
        if section.name in HEADS:
            outputs.append(writer.now)
        writer.layer(section)
    if sections[-1].name not in HEADS:
        outputs.append(writer.now)
    info = [helper.make_tensor_value_info(tensor.name, TensorProto.FLOAT, None) for tensor in outputs]
    graph = helper.make_graph(writer.nodes, "darknet", [helper.make_tensor_value_info("input", TensorProto.FLOAT, shape)],
                              info, writer.constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
    model.ir_version = IR_VERSION
    return model


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("cfg")
    parser.add_argument("weights")
    parser.add_argument("out")
    arguments = parser.parse_args()
    try:
        onnx.save(write_model(arguments.cfg, arguments.weights), arguments.out)
    except (Unsupported, OSError) as error:
        print("write_onnx.py: %s" % error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
