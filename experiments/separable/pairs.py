"""Writes two layers as an ONNX file: a depthwise 3x3 and a 1x1 in either order, of floats or bytes,
with random weights."""

import os
import random
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "networks"))
import onnx_file  # noqa: E402

UINT8, INT8, INT32 = 2, 3, 6


def scalar(name, kind, number):
    return onnx_file.tensor(name, [], kind, struct.pack("<f" if kind == onnx_file.FLOAT else "<b", number))


def constants_of_bytes(draw, name, shape):
    """Weights, their scale and zero point, a bias, and the output's quantization: outputs are about
    as large as inputs."""
    count, inputs = shape[0] * shape[1] * shape[2] * shape[3], shape[1] * shape[2] * shape[3]
    weights = bytes(draw.randrange(256) for _ in range(count))
    bias = struct.pack("<%di" % shape[0], *(draw.randrange(-1000, 1000) for _ in range(shape[0])))
    return [onnx_file.tensor(name + "_w", shape, INT8, weights), onnx_file.tensor(name + "_b", [shape[0]], INT32, bias),
            scalar(name + "_ws", onnx_file.FLOAT, 1 / (74 * inputs ** 0.5)), scalar(name + "_wz", INT8, 0)]


def constants_of_floats(draw, name, shape):
    count, inputs = shape[0] * shape[1] * shape[2] * shape[3], shape[1] * shape[2] * shape[3]
    weights = struct.pack("<%df" % count, *(draw.uniform(-1, 1) / inputs ** 0.5 for _ in range(count)))
    return [onnx_file.tensor(name + "_w", shape, onnx_file.FLOAT, weights),
            onnx_file.tensor(name + "_b", [shape[0]], onnx_file.FLOAT, struct.pack("<%df" % shape[0], *([0.1] * shape[0])))]


def write(path, depthwise_first, side, stride, c, k, integers):
    draw = random.Random(1)
    nodes, constants, tensor, channels = [], [], "data", c
    if integers:
        constants += [scalar("s", onnx_file.FLOAT, 1 / 64), scalar("z", UINT8, 0)]
        nodes.append(onnx_file.node("QuantizeLinear", ["data", "s", "z"], ["q"], {}))
        tensor = "q"
    for number, depthwise in enumerate((depthwise_first, not depthwise_first)):
        filters = channels if depthwise else k
        name = "layer%d" % number
        shape = [filters, 1, 3, 3] if depthwise else [filters, channels, 1, 1]
        attributes = {"kernel_shape": shape[2:], "group": channels if depthwise else 1, "strides": [stride, stride] if depthwise else [1, 1],
                      "pads": [1, 1, 1, 1] if depthwise else [0, 0, 0, 0]}
        if integers:
            constants += constants_of_bytes(draw, name, shape)
            nodes.append(onnx_file.node("QLinearConv", [tensor, "s", "z", name + "_w", name + "_ws", name + "_wz", "s", "z", name + "_b"], [name],
                                        attributes))
            tensor = name
        else:
            constants += constants_of_floats(draw, name, shape)
            nodes.append(onnx_file.node("Conv", [tensor, name + "_w", name + "_b"], [name + "_c"], attributes))
            nodes.append(onnx_file.node("Relu", [name + "_c"], [name], {}))
            tensor = name
        channels = filters
    if integers:
        nodes.append(onnx_file.node("DequantizeLinear", [tensor, "s", "z"], ["out"], {}))
        tensor = "out"
    rows = side // stride
    with open(path, "wb") as f:
        f.write(onnx_file.model("pair", nodes, constants, [("data", [1, c, side, side])], [(tensor, [1, channels, rows, rows])]))
