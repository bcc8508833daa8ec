"""A network as a graph of operators, as papers on memory count them, and as ONNX.

One node is one operator with one output. Batch norms are folded; activations after convolutions and
linear layers are part of them. Where ONNX needs several operators for one (a channel shuffle), they
are one node. Weights are drawn when a file is written; counting needs none."""

import array
import math
import random
import struct

import onnx_file

EPSILON = 1e-5


class Node:
    """An operator and its output; shape: without the batch."""

    def __init__(self, name, inputs, shape, in_place=False, macs=0, weights=0):
        self.name, self.inputs, self.shape = name, inputs, tuple(shape)
        self.in_place = in_place   # elementwise or a reshape: may take the buffer of its first input
        self.macs, self.weights = macs, weights
        self.is_rectified = False  # half of its elements are zero, so its readers' weights are drawn larger

    @property
    def size(self):
        return math.prod(self.shape)


class Graph:
    """Built operator by operator, each method giving the new node."""

    def __init__(self, name, input_shape):
        self.name = name
        self.input = Node("input", [], input_shape)
        self.nodes, self.outputs = [], []
        self.operators = []   # ONNX operators: (kind, inputs, output, attributes)
        self.constants = []   # (name, dimensions, how its values are made)

    # ---- writing ----

    def write(self, path, zeros=False):
        draw = None if zeros else random.Random(self.name)
        constants = [onnx_file.tensor(name, dims, *make(draw, math.prod(dims))) for name, dims, make in self.constants]
        nodes = [onnx_file.node(kind, inputs, [output], attributes) for kind, inputs, output, attributes in self.operators]
        ends = [(one.name, (1,) + one.shape) for one in [self.input] + self.outputs]
        with open(path, "wb") as file:
            file.write(onnx_file.model(self.name, nodes, constants, ends[:1], ends[1:]))

    def example_input(self, seed):
        """Raw floats: tokens around 0; a map from 0 to 1, smooth like a picture with some noise."""
        draw = random.Random(seed)
        if len(self.input.shape) != 3:
            return random_floats(draw, self.input.size, 1.0)
        channels, height, width = self.input.shape
        values = array.array("f")
        for _ in range(channels):
            waves = [(draw.uniform(0.5, 4) * 2 * math.pi / side, draw.uniform(0, 2 * math.pi)) for side in (height, width)]
            down, across = ([0.2 * math.sin(step * k + start) for k in range(side)] for side, (step, start) in zip((height, width), waves))
            values.extend(0.5 + y + x + draw.uniform(-0.1, 0.1) for y in down for x in across)
        return values.tobytes()

    def random_constant(self, name, dims, deviation):
        self.constants.append((name, dims, lambda draw, n: (onnx_file.FLOAT, random_floats(draw, n, deviation))))
        return name

    def floats(self, name, values, dims=None):
        raw = struct.pack("<%df" % len(values), *values)
        self.constants.append((name, (len(values),) if dims is None else dims, lambda draw, n: (onnx_file.FLOAT, raw)))
        return name

    def numbers(self, name, values):
        raw = struct.pack("<%dq" % len(values), *values)
        self.constants.append((name, (len(values),), lambda draw, n: (onnx_file.INT64, raw)))
        return name

    def emit(self, kind, inputs, output, **attributes):
        """An operator of ONNX; the name of its output."""
        self.operators.append((kind, [one.name if isinstance(one, Node) else one for one in inputs], output, attributes))
        return output

    def add_node(self, kind, inputs, shape, **facts):
        self.nodes.append(Node("%s_%d" % (kind, len(self.nodes)), inputs, shape, **facts))
        return self.nodes[-1]

    def finish(self, *outputs):
        self.outputs = list(outputs)
        return self

    # ---- operators ----

    def conv(self, x, filters, kernel, stride=1, activation=None, groups=1, dilation=1, shifted=False, pads=None):
        """Same-padded unless pads is given: (top, left, bottom, right). shifted: reads x without
        its first row and column, with a row and a column of zeros more at the end."""
        (channels, *sides), kernel, strides = x.shape, pair(kernel), pair(stride)
        before = [dilation * (size - 1) // 2 for size in kernel]
        pads = pads or before * 2
        out = [(side + pads[k] + pads[k + 2] - dilation * (kernel[k] - 1) - 1) // strides[k] + 1 for k, side in enumerate(sides)]
        weights = filters * (channels // groups) * math.prod(kernel)
        node = self.add_node("conv", [x], (filters, *out), macs=weights * math.prod(out), weights=weights)
        source = x
        if shifted:
            starts, ends = self.numbers(node.name + "_starts", [1, 1]), self.numbers(node.name + "_ends", sides)
            source = self.emit("Slice", [x, starts, ends, self.numbers(node.name + "_axes", [2, 3])], node.name + "_shifted")
            pads = [0, 0, 1, 1]
        dims = (filters, channels // groups, *kernel)
        self.affine(node, "Conv", [source], x, dims, math.prod(dims[1:]), activation, kernel_shape=kernel, strides=strides,
                    pads=pads, dilations=[dilation] * 2, group=groups)
        return node

    def affine(self, node, kind, inputs, x, dims, fan_in, activation, **attributes):
        """A layer with weights, a bias and an activation."""
        deviation = math.sqrt((2 if x.is_rectified else 1) / fan_in)
        filters = dims[1] if kind == "MatMul" else dims[0]
        words = [self.random_constant(node.name + "_weights", dims, deviation)]
        bias = self.random_constant(node.name + "_bias", (filters,), 0.1)
        name = node.name if activation is None else node.name + "_sums"
        if kind == "MatMul":
            self.emit("Add", [self.emit(kind, inputs + words, node.name + "_products"), bias], name)
        else:
            self.emit(kind, inputs + words + [bias], name, **attributes)
        if activation is not None:
            self.activate(activation, name, node.name)
        node.is_rectified = activation is not None

    def activate(self, activation, source, output):
        if activation == "relu6":
            limits = [self.floats("%s_%s" % (output, word), [value], ()) for word, value in (("least", 0.0), ("most", 6.0))]
            return self.emit("Clip", [source] + limits, output)
        return self.emit("Relu", [source], output)

    def depthwise(self, x, kernel, stride=1, activation=None, dilation=1):
        return self.conv(x, x.shape[0], kernel, stride, activation, x.shape[0], dilation)

    def linear(self, x, features, activation=None):
        """A linear layer, for a vector or each token."""
        tokens = math.prod(x.shape[:-1])
        weights = features * x.shape[-1]
        node = self.add_node("linear", [x], (*x.shape[:-1], features), macs=weights * tokens, weights=weights)
        if len(x.shape) == 1:
            self.affine(node, "Gemm", [x], x, (features, x.shape[0]), x.shape[0], activation, transB=1)
        else:
            self.affine(node, "MatMul", [x], x, (x.shape[-1], features), x.shape[-1], activation)
        return node

    def flat(self, x):
        """Reshapes to a vector."""
        node = self.add_node("flat", [x], (x.size,), in_place=True)
        node.is_rectified = x.is_rectified
        self.emit("Flatten", [x], node.name, axis=1)
        return node

    def anchors(self, x, values):
        """Reshapes a head's map to values of anchors, pixel by pixel."""
        channels, height, width = x.shape
        n = channels // values * height * width
        node = self.add_node("anchors", [x], (n, values))
        self.shapes(x, node.name, None, [0, 2, 3, 1], [1, n, values])
        return node

    def relu(self, x):
        node = self.add_node("relu", [x], x.shape, in_place=True)
        node.is_rectified = True
        self.emit("Relu", [x], node.name)
        return node

    def pool(self, kind, x, kernel, stride=1, padded=True):
        """kind: max or avg. Padding is not averaged."""
        kernel, strides = pair(kernel), pair(stride)
        pads = [size // 2 if padded else 0 for size in kernel]
        out = [(side + 2 * pads[k] - kernel[k]) // strides[k] + 1 for k, side in enumerate(x.shape[1:])]
        node = self.add_node(kind, [x], (x.shape[0], *out))
        self.emit({"max": "MaxPool", "avg": "AveragePool"}[kind], [x], node.name, kernel_shape=kernel, strides=strides, pads=pads * 2)
        return node

    def global_average(self, x, flat=True):
        """flat: to a vector."""
        node = self.add_node("global", [x], x.shape[:1] if flat else (x.shape[0], 1, 1))
        if flat:
            self.emit("Flatten", [self.emit("GlobalAveragePool", [x], node.name + "_map")], node.name, axis=1)
        else:
            self.emit("GlobalAveragePool", [x], node.name)
        return node

    def combine(self, kind, a, b):
        """Add or Mul; b may be a gate, of one value for each channel."""
        node = self.add_node(kind.lower(), [a, b], a.shape, in_place=True)
        self.emit(kind, [a, b], node.name)
        return node

    def add(self, a, b):
        return self.combine("Add", a, b)

    def concat(self, parts, axis=0):
        shape = list(parts[0].shape)
        shape[axis] = sum(one.shape[axis] for one in parts)
        node = self.add_node("concat", list(parts), shape)
        self.emit("Concat", parts, node.name, axis=axis + 1)
        return node

    def channels(self, x, first, last):
        """Some of a map's channels."""
        node = self.add_node("slice", [x], (last - first, *x.shape[1:]))
        words = [self.numbers("%s_%s" % (node.name, word), [value]) for word, value in (("start", first), ("end", last), ("axis", 1))]
        self.emit("Slice", [x] + words, node.name)
        return node

    def shuffle(self, x, groups):
        """A channel shuffle: one channel of each group in turn."""
        channels, height, width = x.shape
        node = self.add_node("shuffle", [x], x.shape)
        self.shapes(x, node.name, [1, groups, channels // groups, height, width], [0, 2, 1, 3, 4], [1, channels, height, width])
        return node

    def hard_sigmoid(self, x):
        node = self.add_node("hard_sigmoid", [x], x.shape, in_place=True)
        self.emit("HardSigmoid", [x], node.name, alpha=1 / 6, beta=0.5)
        return node

    def function(self, kind, x, in_place=True, **attributes):
        """An operator of one operand and no constant."""
        node = self.add_node(kind.lower(), [x], x.shape, in_place=in_place)
        self.emit(kind, [x], node.name, **attributes)
        return node

    # ---- tokens ----

    def shapes(self, x, output, split=None, perm=None, merged=None):
        """Reshape, Transpose, Reshape, as far as they are given."""
        steps = [step for step in (("Reshape", split), ("Transpose", perm), ("Reshape", merged)) if step[1]]
        for k, (kind, values) in enumerate(steps):
            name = output if k == len(steps) - 1 else "%s_%d" % (output, k)
            if kind == "Reshape":
                x = self.emit(kind, [x, self.numbers(name + "_shape", values)], name)
            else:
                x = self.emit(kind, [x], name, perm=values)

    def heads(self, x, n, is_turned=False):
        """Splits tokens into n heads. is_turned: transposed, as right operand of a product of rows."""
        tokens, features = x.shape
        sides = (features // n, tokens) if is_turned else (tokens, features // n)
        node = self.add_node("heads", [x], (n, *sides))
        self.shapes(x, node.name, [1, tokens, n, features // n], [0, 2, 3, 1] if is_turned else [0, 2, 1, 3])
        return node

    def joined_heads(self, x):
        n, tokens, features = x.shape
        node = self.add_node("joined", [x], (tokens, n * features))
        self.shapes(x, node.name, None, [0, 2, 1, 3], [1, tokens, n * features])
        return node

    def matmul(self, a, b):
        node = self.add_node("matmul", [a, b], (*a.shape[:-1], b.shape[-1]), macs=math.prod(a.shape) * b.shape[-1])
        self.emit("MatMul", [a, b], node.name)
        return node

    def scaled(self, x, factor):
        node = self.add_node("scale", [x], x.shape, in_place=True)
        self.emit("Mul", [x, self.floats(node.name + "_factor", [factor], ())], node.name)
        return node

    def softmax(self, x):
        return self.function("Softmax", x, in_place=False, axis=-1)

    def layer_norm(self, x):
        """Layer normalization over each token's features."""
        node, features = self.add_node("norm", [x], x.shape), x.shape[-1]
        words = [self.floats(node.name + "_scale", [1.0] * features), self.random_constant(node.name + "_bias", (features,), 0.1)]
        self.emit("LayerNormalization", [x] + words, node.name, axis=-1, epsilon=EPSILON)
        return node

    def gelu(self, x):
        node = self.function("Gelu", x)
        node.is_rectified = True
        return node


def pair(value):
    return list(value) if isinstance(value, (list, tuple)) else [value, value]


def random_floats(draw, n, deviation):
    """Uniform over 65536 values around 0 with this standard deviation; draw None: zeros."""
    if draw is None:
        return bytes(4 * n)
    step = deviation * math.sqrt(3) / 32768
    return array.array("f", [step * (k - 32767.5) for k in array.array("H", draw.randbytes(2 * n))]).tobytes()
