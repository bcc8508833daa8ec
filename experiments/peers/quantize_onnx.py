#!/usr/bin/python3
"""Writes a quantized twin of a float ONNX model.

  quantize_onnx.py [--activations uint8|int8] [--ends] MODEL.onnx OUT.onnx INPUT.raw...

Weights are int8 with a scale for each filter, activations 8-bit with one scale each, from their
ranges over some inputs. --ends: the model's inputs and outputs are 8-bit, too, if they are
quantized.

Each tensor between quantizable operators gets a QuantizeLinear and a DequantizeLinear (QDQ), as
from onnxruntime's own quantizer, which is not packaged. Other tensors stay floats. onnxruntime
finds the ranges (experiments/peers/install.sh). INPUT: raw floats for the model's only input.

Needs Debian's python3-onnx."""

import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper, shape_inference, version_converter

HERE = os.path.dirname(os.path.abspath(__file__))
OPSET = 13
WEIGHTED = {"Conv": 1, "Gemm": 1, "MatMul": 1}   # index of the weights among the inputs
COMPUTED = ("Add", "Mul", "AveragePool", "GlobalAveragePool", "Concat", "Relu", "Clip", "LeakyRelu", "Sigmoid", "HardSigmoid", "HardSwish", "Gelu",
            "LayerNormalization", "Softmax")
MOVED = ("MaxPool", "Reshape", "Flatten", "Transpose", "Squeeze", "Unsqueeze", "Slice", "Split", "Identity")
BOUNDS = ("Relu", "Clip")   # fused with the operator before
TYPES = {"uint8": (TensorProto.UINT8, numpy.uint8, 0), "int8": (TensorProto.INT8, numpy.int8, -128)}


class Unsupported(Exception):
    """Raised for what cannot be quantized; the message has the reason."""


def convert(model):
    """Converts old operators. ONNX's converter needs shapes that some files lack; here only Softmax
    on the last of three dimensions and lists of axes have changed."""
    try:
        return version_converter.convert_version(shape_inference.infer_shapes(model), OPSET)
    except RuntimeError:
        pass
    lists = {"Squeeze": ["axes"], "Unsqueeze": ["axes"], "Slice": ["starts", "ends", "axes"]}
    for node in model.graph.node:
        for word in lists.get(node.op_type, []):
            for one in [one for one in node.attribute if one.name == word]:
                name = "%s_%s" % (node.output[0], word)
                model.graph.initializer.append(numpy_helper.from_array(numpy.array(one.ints, "i8"), name))
                node.input.append(name)
                node.attribute.remove(one)
    del model.opset_import[:]
    model.opset_import.append(helper.make_opsetid("", OPSET))
    model.ir_version = 8
    return model


class Model:
    """A model's graph: producers and readers of each tensor, and constants."""

    def __init__(self, path):
        model = onnx.load(path)
        self.opset = next(one.version for one in model.opset_import if one.domain in ("", "ai.onnx"))
        if self.opset < OPSET:
            model, self.opset = convert(model), OPSET
        self.model, self.graph = model, model.graph
        self.constants = {one.name: numpy_helper.to_array(one) for one in self.graph.initializer}
        for node in [node for node in self.graph.node if node.op_type == "Constant"]:
            self.constants[node.output[0]] = numpy_helper.to_array(node.attribute[0].t)
        for one in list(self.graph.input):   # old files list constants as inputs
            if one.name in self.constants:
                self.graph.input.remove(one)
        self.outputs = {one.name for one in self.graph.output}
        self.find()

    def find(self):
        self.makers = {name: node for node in self.graph.node for name in node.output}
        self.readers = {}
        for node in self.graph.node:
            for name in node.input:
                self.readers.setdefault(name, []).append(node)

    def fold_normalizations(self):
        """Folds batch norms into the convolutions before them."""
        for node in [node for node in self.graph.node if node.op_type == "BatchNormalization"]:
            conv = self.makers.get(node.input[0])
            if conv is None or conv.op_type != "Conv" or conv.input[1] not in self.constants or len(self.readers[node.input[0]]) > 1 or node.input[0] in self.outputs:
                continue
            scale, bias, mean, variance = (self.constants[name].astype("f8") for name in node.input[1:5])
            epsilon = next((one.f for one in node.attribute if one.name == "epsilon"), 1e-5)
            factor = scale / numpy.sqrt(variance + epsilon)
            weights = self.constants[conv.input[1]]
            before = self.constants[conv.input[2]] if len(conv.input) > 2 else 0
            self.put(conv, 1, weights * factor.reshape((-1,) + (1,) * (weights.ndim - 1)))
            self.put(conv, 2, (before - mean) * factor + bias)
            conv.output[0] = node.output[0]
            self.graph.node.remove(node)
        self.find()

    def put(self, node, index, values):
        """Gives a node a constant of its own as an input."""
        name = "%s_folded_%d" % (node.output[0], index)
        self.constants[name] = numpy.ascontiguousarray(values, "f4")
        if index == len(node.input):
            node.input.append(name)
        else:
            node.input[index] = name


def find_ranges(model, inputs):
    """Ranges of the input and all computed tensors, measured with onnxruntime."""
    whole = onnx.ModelProto()
    whole.CopyFrom(model.model)
    del whole.graph.initializer[:]
    whole.graph.initializer.extend(numpy_helper.from_array(values, name) for name, values in model.constants.items())
    for node in [node for node in whole.graph.node if node.op_type == "Constant"]:
        whole.graph.node.remove(node)
    del whole.graph.output[:]
    names = [name for name in model.makers if name and name not in model.constants]
    whole.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "all.onnx")
        onnx.save(whole, path)
        modules = os.path.join(os.environ.get("BUILD", os.path.join(HERE, "..", "..", "build")), "peers", "node_modules")
        done = subprocess.run(["node", os.path.join(HERE, "ranges_onnxruntime.js"), path, *inputs], capture_output=True, text=True,
                              env=dict(os.environ, NODE_PATH=os.path.abspath(modules)), check=False)
    if done.returncode != 0:
        raise Unsupported("onnxruntime: " + (done.stderr.strip().splitlines() or ["exit status %d" % done.returncode])[-1])
    ranges = {name: tuple(pair) for name, pair in json.loads(done.stdout).items()}
    read = [numpy.fromfile(path, "<f4") for path in inputs]
    ranges[model.graph.input[0].name] = (min(float(one.min()) for one in read), max(float(one.max()) for one in read))
    return ranges


class Twin:
    """The graph to write."""

    def __init__(self, model, ranges, activations, has_ends):
        self.model, self.ranges, self.has_ends = model, ranges, has_ends
        self.type, self.numbers, self.least = TYPES[activations]
        self.nodes, self.constants = [], dict(model.constants)
        self.scales = {}   # (scale, zero point) of quantized tensors
        self.standing = {}  # tensor -> the output of its DequantizeLinear

    def constant(self, name, values):
        self.constants[name] = numpy.asarray(values)
        return name

    # ---- what is quantized ----

    def takes(self, node):
        """True if the operator's inputs and output are quantized."""
        if self.is_weighted(node):
            return True
        if not self.is_float(node.output[0]):
            return False
        if node.op_type == "MatMul":
            return all(self.is_float(name) for name in node.input)
        if node.op_type in ("Add", "Mul", "Concat"):
            return all(name in self.model.constants or self.is_float(name) for name in node.input)
        return node.op_type in COMPUTED + MOVED and self.is_float(node.input[0])

    def is_weighted(self, node):
        """True if the node multiplies by constant weights."""
        return node.op_type in WEIGHTED and node.input[1] in self.model.constants and node.input[0] not in self.model.constants and (
            node.op_type != "MatMul" or self.model.constants[node.input[1]].ndim == 2)

    def is_float(self, name):
        return name in self.ranges

    def is_inside(self, name):
        """True for a tensor between an operator and its clamping."""
        readers = self.model.readers.get(name, [])
        return len(readers) == 1 and readers[0].op_type in BOUNDS and name not in self.model.outputs and (
            self.model.makers.get(name) is not None and self.model.makers[name].op_type in tuple(WEIGHTED) + ("Add", "Mul"))

    def scale_of(self, name):
        """A tensor's scale; operators that only move elements keep it."""
        if name not in self.scales:
            maker = self.model.makers.get(name)
            if maker is not None and maker.op_type in MOVED and self.is_float(maker.input[0]):
                self.scales[name] = self.scale_of(maker.input[0])
            else:
                least, most = min(self.ranges[name][0], 0.0), max(self.ranges[name][1], 0.0)
                scale = numpy.float32((most - least) / 255 or 1.0)
                self.scales[name] = (scale, int(numpy.clip(round(-least / scale), 0, 255)) + self.least)
        return self.scales[name]

    # ---- writing ----

    def pair(self, name, source):
        """Writes a QuantizeLinear and a DequantizeLinear. Returns the name for readers."""
        scale, zero = self.scale_of(name)
        words = [self.constant(name + "_scale", scale), self.constant(name + "_zero", self.numbers(zero))]
        is_end = self.is_end(name)
        numbers, out = name if is_end else name + "_quantized", name if source != name and not is_end else name + "_dequantized"
        if source != numbers:   # an input exists already
            self.nodes.append(helper.make_node("QuantizeLinear", [source] + words, [numbers], name=name + "_q"))
        if not is_end or name in self.model.readers:
            self.nodes.append(helper.make_node("DequantizeLinear", [numbers] + words, [out], name=name + "_dq"))
        self.standing[name] = out
        return out

    def is_end(self, name):
        """True for an 8-bit input or output of the model."""
        if not self.has_ends or not self.is_float(name):
            return False
        maker = self.model.makers.get(name)
        if maker is not None:
            return name in self.model.outputs and self.takes(maker)
        return all(self.takes(node) for node in self.model.readers.get(name, []))

    def ends(self, values):
        """The graph's inputs or outputs, with the twin's types."""
        return [helper.make_tensor_value_info(one.name, self.type, [size.dim_value for size in one.type.tensor_type.shape.dim])
                if self.is_end(one.name) else one for one in values]

    def read(self, name):
        """A tensor as an operand of a quantized operator."""
        if name in self.model.constants:
            return self.number(name)
        return name if self.is_inside(name) else self.standing.get(name) or self.pair(name, name)

    def number(self, name):
        """An added or multiplied constant, with one scale."""
        values = self.model.constants[name]
        largest = float(abs(values).max()) or 1.0
        scale = numpy.float32(largest / 127)
        return self.dequantized(name, numpy.clip(numpy.rint(values / scale), -127, 127).astype(numpy.int8), scale, numpy.int8(0))

    def dequantized(self, name, numbers, scale, zero, axis=None):
        out = name + "_dequantized"
        if out not in self.constants and not any(out in node.output for node in self.nodes):
            inputs = [self.constant(name + "_quantized", numbers), self.constant(name + "_scale", scale), self.constant(name + "_zero", zero)]
            self.nodes.append(helper.make_node("DequantizeLinear", inputs, [out], name=name + "_dq", **({} if axis is None else {"axis": axis})))
        return out

    def weighted(self, node):
        """Weights with a scale for each filter, and a bias with the sums' scale."""
        values, attributes = self.model.constants[node.input[1]], {one.name: one for one in node.attribute}
        turned = node.op_type == "MatMul" or (node.op_type == "Gemm" and not attributes.get("transB", helper.make_attribute("transB", 0)).i)
        axis = 1 if turned else 0
        largest = abs(values).max(axis=tuple(k for k in range(values.ndim) if k != axis))
        scale = (numpy.where(largest > 0, largest, 1) / 127).astype("f4")
        shape = [-1 if k == axis else 1 for k in range(values.ndim)]
        numbers = numpy.clip(numpy.rint(values / scale.reshape(shape)), -127, 127).astype(numpy.int8)
        inputs = [self.read(node.input[0]), self.dequantized(node.input[1], numbers, scale, numpy.zeros(scale.size, numpy.int8), axis)]
        if len(node.input) > 2:
            sums = (self.scale_of(node.input[0])[0] * scale).astype("f4")
            bias = numpy.clip(numpy.rint(self.model.constants[node.input[2]].astype("f8").reshape(-1) / sums), -2**31, 2**31 - 1)
            inputs.append(self.dequantized(node.output[0] + "_bias", bias.astype(numpy.int32), sums, numpy.zeros(sums.size, numpy.int32), 0))
        return inputs

    def add(self, node):
        copy = onnx.NodeProto()
        copy.CopyFrom(node)
        self.nodes.append(copy)
        if not self.takes(node):
            copy.input[:] = [self.standing.get(name, name) for name in node.input]
            return
        self.nodes.pop()
        moved = node.op_type in MOVED + ("Clip", "LayerNormalization")   # whose other inputs are not maps
        inputs = self.weighted(node) if self.is_weighted(node) else [
            self.read(name) if k == 0 or not moved else name for k, name in enumerate(node.input)]
        copy.input[:] = inputs
        self.nodes.append(copy)
        for k, name in enumerate(node.output):
            if not self.is_inside(name):
                copy.output[k] = name + "_float"
                self.pair(name, name + "_float")

    def finish(self):
        for node in self.model.graph.node:
            if node.op_type != "Constant":
                self.add(node)
        read = {name for node in self.nodes for name in node.input}
        constants = [numpy_helper.from_array(values, name) for name, values in self.constants.items() if name in read]
        graph = helper.make_graph(self.nodes, "quantized", self.ends(self.model.graph.input), self.ends(self.model.graph.output), constants)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.model.opset)])
        made.ir_version = 8
        return made


def quantize(path, inputs, activations, has_ends):
    model = Model(path)
    if len(model.graph.input) != 1:
        raise Unsupported("expected one input, found %d" % len(model.graph.input))
    model.fold_normalizations()
    return Twin(model, find_ranges(model, inputs), activations, has_ends).finish()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--activations", choices=sorted(TYPES), default="uint8")
    parser.add_argument("--ends", action="store_true")
    parser.add_argument("model")
    parser.add_argument("out")
    parser.add_argument("inputs", nargs="+", metavar="INPUT.raw")
    arguments = parser.parse_args()
    try:
        onnx.save(quantize(arguments.model, arguments.inputs, arguments.activations, arguments.ends), arguments.out)
    except (Unsupported, OSError) as error:
        print("quantize_onnx.py: %s" % error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
