#!/usr/bin/python3
"""Writes a quantized TFLite file as an ONNX model with the same quantization (QDQ).

  twin_onnx.py MODEL.tflite OUT.onnx

For programs that do not read TFLite. Each operator is between a DequantizeLinear and a
QuantizeLinear. Maps are [1, c, h, w] except for inputs and outputs. After the input, int8 becomes
uint8 (values and zero points plus 128), for which onnxruntime has more kernels. Scales are the
file's. Supports the operators of the compared files; a custom one at the end is left out.

Needs Debian's python3-onnx."""

import argparse
import struct
import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

from flatbuffer import INT8, UINT8, Table, model_of

OPSET = 13
NUMPY = {0: numpy.float32, 2: numpy.int32, 3: numpy.uint8, 4: numpy.int64, 9: numpy.int8}
KINDS = {0: TensorProto.FLOAT, UINT8: TensorProto.UINT8, INT8: TensorProto.INT8}
SAME = 0
LAST = (0, 3, 1, 2)   # file's dimension for each of [n, c, h, w]: channels are last


class Unsupported(Exception):
    """Raised for what has no twin; the message has the reason."""


class Tensor:
    """A tensor of the file."""

    def __init__(self, table, buffers, index):
        self.shape, self.type = table.numbers(0, "i"), table.number(1, "b")
        self.name = "t%d" % index
        said = table.table(4)
        self.scales = numpy.array(said.numbers(2, "f") if said else [], "f4")
        self.zeros = numpy.array(said.numbers(3, "q") if said else [], "i8")
        buffer = buffers[table.number(2, "I")]
        place = buffer.place(0)
        self.values = None
        if place is not None and self.type in NUMPY:
            start = buffer.follow(place)
            n = struct.unpack_from("<I", buffer.data, start)[0]
            if n:
                self.values = numpy.frombuffer(buffer.data, NUMPY[self.type], n // numpy.dtype(NUMPY[self.type]).itemsize, start + 4).reshape(self.shape)

    def zero(self):
        return int(self.zeros[0] if self.zeros.size else 0) + (128 if self.type == INT8 else 0)


class Twin:
    """The graph that is written."""

    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        model = model_of(data)
        buffers, graph = model.tables(4), model.tables(2)[0]
        self.codes = [max(code.number(0, "b"), code.number(3, "i")) for code in model.tables(1)]
        self.tensors = [Tensor(table, buffers, k) for k, table in enumerate(graph.tables(0))]
        self.operators, self.inputs, self.outputs = graph.tables(3), graph.numbers(1, "i"), graph.numbers(2, "i")
        self.nodes, self.constants, self.values = [], {}, {}   # values: tensor -> its name as floats

    def constant(self, name, values):
        self.constants.setdefault(name, numpy.array(values, order="C"))
        return name

    def node(self, kind, inputs, out, **attributes):
        self.nodes.append(helper.make_node(kind, inputs, [out], name=out, **attributes))
        return out

    # ---- numbers ----

    def said(self, tensor):
        return [self.constant(tensor.name + "_scale", tensor.scales[0]), self.constant(tensor.name + "_zero", numpy.uint8(tensor.zero()))]

    def is_map(self, tensor):
        return len(tensor.shape) == 4

    def read(self, index):
        """A tensor as floats."""
        if index not in self.values:
            tensor = self.tensors[index]
            if tensor.values is None:
                raise Unsupported("tensor %d is made by no operator" % index)
            numbers = (tensor.values.astype("i4") + (128 if tensor.type == INT8 else 0)).astype("u1")
            if self.is_map(tensor):
                numbers = numbers.transpose(LAST)
            name = self.constant(tensor.name + "_numbers", numbers)
            self.values[index] = self.node("DequantizeLinear", [name] + self.said(tensor), tensor.name)
        return self.values[index]

    def write(self, index, name):
        """Quantizes floats to the tensor's type, and dequantizes them again."""
        tensor = self.tensors[index]
        if tensor.type not in (UINT8, INT8):
            self.values[index] = name
            return
        numbers = self.node("QuantizeLinear", [name] + self.said(tensor), tensor.name + "_q")
        self.values[index] = self.node("DequantizeLinear", [numbers] + self.said(tensor), tensor.name + "_d")

    def weights(self, index, bias, source, order, axis):
        """Weights in ONNX's order, and biases, with their scales."""
        tensor = self.tensors[index]
        numbers, scales, signs = tensor.values, tensor.scales, numpy.sign(tensor.scales).astype("i1")
        if (signs < 0).any():   # of a filter: last dimension for depthwise convolutions, else the first
            numbers = (numbers * signs.reshape([-1 if k == (3 if order and order[0] == 3 else 0) else 1 for k in range(numbers.ndim)])).astype("i1")
        zero = numpy.zeros(scales.size, numpy.int8) if tensor.type == INT8 else tensor.zeros.astype("u1")
        shape = () if scales.size == 1 else (-1,)
        words = [self.constant(tensor.name + "_numbers", numbers.transpose(order) if order else numbers),
                 self.constant(tensor.name + "_scales", abs(scales).reshape(shape)), self.constant(tensor.name + "_zeros", zero.reshape(shape))]
        inputs = [self.node("DequantizeLinear", words, tensor.name + "_w", axis=axis)]
        if bias is not None and bias >= 0:
            name, values = self.tensors[bias].name, self.tensors[bias].values.reshape(-1)
            sums = numpy.broadcast_to(self.tensors[source].scales[0] * abs(scales), values.size).astype("f4")
            words = [self.constant(name + "_numbers", values * numpy.broadcast_to(signs, values.size)), self.constant(name + "_scales", sums),
                     self.constant(name + "_zeros", numpy.zeros(values.size, "i4"))]
            inputs.append(self.node("DequantizeLinear", words, name + "_b", axis=0))
        return inputs

    def bounded(self, name, fused):
        if fused == 1:
            return self.node("Relu", [name], name + "_relu")
        if fused == 3:
            return self.node("Clip", [name, self.constant("zero", numpy.float32(0)), self.constant("six", numpy.float32(6))], name + "_clip")
        if fused:
            raise Unsupported("fused activation %d" % fused)
        return name

    # ---- operators ----

    def pads(self, padding, shape, kernel, strides, dilations):
        pads = [0, 0, 0, 0]
        for k in range(2):
            outputs = -(-shape[1 + k] // strides[k])
            missing = max(0, (outputs - 1) * strides[k] + (kernel[k] - 1) * dilations[k] + 1 - shape[1 + k])
            if padding == SAME:
                pads[k], pads[k + 2] = missing // 2, missing - missing // 2
        return pads

    def convolve(self, inputs, out, options, depthwise):
        x, w = self.tensors[inputs[0]], self.tensors[inputs[1]]
        strides = [options.number(2, "i"), options.number(1, "i")]
        at = 5 if depthwise else 4
        dilations, fused = [options.number(at + 1, "i", 1), options.number(at, "i", 1)], options.number(4 if depthwise else 3, "b")
        kernel = w.shape[1:3]
        words = self.weights(inputs[1], inputs[2] if len(inputs) > 2 else None, inputs[0], (3, 0, 1, 2) if depthwise else (0, 3, 1, 2), 0)
        name = self.node("Conv", [self.read(inputs[0])] + words, out, kernel_shape=kernel, strides=strides, dilations=dilations,
                         pads=self.pads(options.number(0, "b"), x.shape, kernel, strides, dilations), group=x.shape[3] if depthwise else 1)
        return self.bounded(name, fused)

    def pool(self, inputs, out, options, kind):
        kernel, strides = [options.number(4, "i"), options.number(3, "i")], [options.number(2, "i"), options.number(1, "i")]
        pads = self.pads(options.number(0, "b"), self.tensors[inputs[0]].shape, kernel, strides, [1, 1])
        return self.bounded(self.node(kind, [self.read(inputs[0])], out, kernel_shape=kernel, strides=strides, pads=pads), options.number(5, "b"))

    def reshape(self, source, shape, out):
        """The tensor with elements in the file's order."""
        tensor, name = self.tensors[source], self.read(source)
        if self.is_map(tensor) and tensor.shape[1] * tensor.shape[2] > 1 and tensor.shape[3] > 1:
            name = self.node("Transpose", [name], out + "_last", perm=[0, 2, 3, 1])
        if len(shape) == 4:
            turned = [shape[0], shape[1], shape[2], shape[3]]
            name = self.node("Reshape", [name, self.constant(out + "_shape", numpy.array(turned, "i8"))], out + "_nhwc")
            return self.node("Transpose", [name], out, perm=[0, 3, 1, 2])
        return self.node("Reshape", [name, self.constant(out + "_shape", numpy.array(shape, "i8"))], out)

    def connect(self, inputs, out, options):
        w, shape = self.tensors[inputs[1]], self.tensors[inputs[0]].shape
        name = self.read(inputs[0])
        if len(shape) != 2:
            name = self.reshape(inputs[0], [-1, w.shape[1]], out + "_flat")
        words = self.weights(inputs[1], inputs[2] if len(inputs) > 2 else None, inputs[0], None, 0)
        return self.bounded(self.node("Gemm", [name] + words, out, transB=1), options.number(0, "b"))

    def pad(self, inputs, out):
        pads = self.tensors[inputs[1]].values.reshape(-1, 2)[[0, 3, 1, 2]]
        return self.node("Pad", [self.read(inputs[0]), self.constant(out + "_pads", numpy.concatenate([pads[:, 0], pads[:, 1]]).astype("i8"))], out)

    def transpose(self, inputs, out):
        """Dimension k of a map is the file's dimension LAST[k]."""
        perm = [int(one) for one in self.tensors[inputs[1]].values]
        if len(perm) == 4:
            perm = [LAST.index(perm[LAST[k]]) for k in range(4)]
        return self.node("Transpose", [self.read(inputs[0])], out, perm=perm)

    def mean(self, inputs, out, index):
        axes = sorted(int(axis) % 4 for axis in self.tensors[inputs[1]].values.reshape(-1))
        if axes != [1, 2]:
            raise Unsupported("MEAN over dimensions %s" % axes)
        name = self.node("GlobalAveragePool", [self.read(inputs[0])], out)
        shape = self.tensors[index].shape
        return name if len(shape) == 4 else self.node("Reshape", [name, self.constant(out + "_shape", numpy.array(shape, "i8"))], out + "_flat")

    def add(self, operator):
        code, inputs, outputs = self.codes[operator.number(0, "I")], operator.numbers(1, "i"), operator.numbers(2, "i")
        options, index, out = operator.table(4), outputs[0], self.tensors[outputs[0]].name + "_f"
        if code in (3, 4):
            name = self.convolve(inputs, out, options, code == 4)
        elif code in (1, 17):
            name = self.pool(inputs, out, options, "AveragePool" if code == 1 else "MaxPool")
        elif code in (0, 18):
            name = self.node("Add" if code == 0 else "Mul", [self.read(inputs[0]), self.read(inputs[1])], out)
            name = self.bounded(name, options.number(0, "b") if options else 0)
        elif code == 2:
            axis = options.number(0, "i") % len(self.tensors[index].shape)
            if self.is_map(self.tensors[index]):
                axis = (0, 2, 3, 1)[axis]
            name = self.bounded(self.node("Concat", [self.read(one) for one in inputs], out, axis=axis), options.number(1, "b"))
        elif code == 9:
            name = self.connect(inputs, out, options)
        elif code in (22, 43):
            name = self.reshape(inputs[0], self.tensors[index].shape, out)
        elif code == 25:
            name = self.node("Softmax", [self.read(inputs[0])], out, axis=1 if self.is_map(self.tensors[index]) else -1)
        elif code == 14:
            name = self.node("Sigmoid", [self.read(inputs[0])], out)
        elif code == 34:
            name = self.pad(inputs, out)
        elif code == 39:
            name = self.transpose(inputs, out)
        elif code == 40:
            name = self.mean(inputs, out, index)
        elif code in (6, 114):
            name = self.read(inputs[0])
        else:
            raise Unsupported("operator %d" % code)
        self.write(index, name)

    def begin(self):
        index = self.inputs[0]
        tensor = self.tensors[index]
        if len(self.inputs) != 1 or tensor.type not in (0, UINT8, INT8):
            raise Unsupported("expected one input, of floats or numbers of 8 bits")
        name, words = "input", self.said(tensor) if tensor.type else []
        if tensor.type == INT8:
            words[1] = self.constant("input_zero", numpy.int8(tensor.zero() - 128))
        if tensor.type:
            name = self.node("DequantizeLinear", ["input"] + words, "input_floats")
        name = self.node("Transpose", [name], "input_map", perm=LAST) if self.is_map(tensor) else name
        if tensor.type == INT8:
            self.write(index, name)
        else:
            self.values[index] = name
        return helper.make_tensor_value_info("input", KINDS[tensor.type], tensor.shape)

    def end(self, index, name):
        """Maps with the file's order of dimensions."""
        if self.is_map(self.tensors[index]):
            return self.node("Transpose", [self.values[index]], name, perm=[0, 2, 3, 1])
        return self.node("Identity", [self.values[index]], name)

    def finish(self):
        info, ends = self.begin(), []
        for operator in self.operators:
            if self.codes[operator.number(0, "I")] == 32:   # custom
                ends = [one for one in operator.numbers(1, "i") if self.tensors[one].values is None]
                break
            self.add(operator)
        outputs = [self.end(index, "output%d" % k) for k, index in enumerate(ends or self.outputs)]
        graph = helper.make_graph(self.nodes, "twin", [info], [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
                                  [numpy_helper.from_array(numpy.asarray(values), name) for name, values in self.constants.items()])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
        model.ir_version = 8
        return model


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("model")
    parser.add_argument("out")
    arguments = parser.parse_args()
    try:
        onnx.save(Twin(arguments.model).finish(), arguments.out)
    except (Unsupported, OSError, struct.error) as error:
        print("twin_onnx.py: %s: %s" % (arguments.model, error), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
