"""Model files of 1 to 8 MB with far more data than their network needs: initializers, nodes,
attributes, metadata, names, tensors, buffers, sections. Deterministic. Each network is one small
layer, or many layers; the memory for the other data must be bounded. Imported by sweep.py."""

import os
import struct

SIDE = 16            # of the input, 3 channels
FLOATS = 3 * SIDE * SIDE


# ---- Protocol Buffers

def varint(n):
    out = bytearray()
    n &= (1 << 64) - 1
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def field(number, value):
    """An integer, or bytes, text or a message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def tensor(name, dims, raw, kind=1):
    return b"".join(field(1, d) for d in dims) + field(2, kind) + field(8, name) + field(9, raw)


def value(name, dims):
    shape = b"".join(field(1, field(1, d)) for d in dims)
    return field(1, name) + field(2, field(1, field(1, 1) + field(2, shape)))


def ints(name, numbers):
    return field(1, name) + b"".join(field(8, n) for n in numbers) + field(20, 7)


def node(kind, inputs, outputs, attributes=(), name=""):
    return (b"".join(field(1, i) for i in inputs) + b"".join(field(2, o) for o in outputs) +
            (field(3, name) if name else b"") +
            field(4, kind) + b"".join(field(5, a) for a in attributes))


CONV = node("Conv", ["x", "w"], ["c"], [ints("pads", [1, 1, 1, 1])])
WEIGHT = tensor("w", [8, 3, 3, 3], b"\0\0\0\x3c" * 216)


def onnx(nodes=(CONV,), initializers=(), more_graph=b"", more=b"", inputs=(), output=("c", [1, 8, SIDE, SIDE])):
    graph = (b"".join(field(1, n) for n in nodes) + field(2, "g") +
             b"".join(field(5, t) for t in (WEIGHT, *initializers)) +
             field(11, value("x", [1, 3, SIDE, SIDE])) + b"".join(field(11, i) for i in inputs) +
             field(12, value(*output)) + more_graph)
    return field(1, 8) + more + field(7, graph) + field(8, field(2, 13))


def scalars(n, width=1):
    return [tensor("unused_initializer_%d" % i, [], b"\0\0\x80\x3f") if width == 1 else
            tensor("list_%d" % i, [width], bytes(4 * width)) for i in range(n)]


def chain(kind, n, attributes=(), name=lambda i: ""):
    return [node(kind, ["x" if i == 0 else "v%d" % (i - 1)], ["v%d" % i], attributes, name(i)) for i in range(n)]


def chained(kind, n, **more):
    return onnx(chain(kind, n, **more), output=("v%d" % (n - 1), [1, 3, SIDE, SIDE]))


def added(n):
    nodes = [node("Add", ["x" if i == 0 else "v%d" % (i - 1), "k%d" % i], ["v%d" % i]) for i in range(n)]
    return onnx(nodes, [tensor("k%d" % i, [1, 3, 1, 1], bytes(12)) for i in range(n)],
                output=("v%d" % (n - 1), [1, 3, SIDE, SIDE]))


def unread_nodes(n):
    value_of = field(1, "value") + field(5, tensor("", [1], b"\0\0\0\0")) + field(20, 4)
    return onnx([CONV] + [node("Constant", [], ["made_%d" % i], [value_of]) for i in range(n)])


def computed(n):
    """Numbers that are computed while the file is read: a mask of n by n, made larger by every node."""
    shape = tensor("shape", [4], struct.pack("<4q", 1, 1, n, n), 7)
    nodes = [CONV, node("ConstantOfShape", ["shape"], ["m0"])] + \
            [node("Add", ["m%d" % i, "m%d" % i], ["m%d" % (i + 1)]) for i in range(3)]
    return onnx(nodes, [shape], output=("c", [1, 8, SIDE, SIDE]), more=field(6, "p" * (1 << 20)))


def joined(n):
    """Maps of many parts: each Concat doubles them."""
    axis = [field(1, "axis") + field(3, 1) + field(20, 2)]
    nodes = [node("Relu", ["x"], ["r"]), node("Concat", ["r", "x"], ["j0"], axis)]
    nodes += [node("Concat", ["j%d" % i, "j%d" % i], ["j%d" % (i + 1)], axis) for i in range(n)]
    return onnx(nodes, output=("j%d" % n, [1, 6 << n, SIDE, SIDE]), more=field(6, "p" * (1 << 20)))


def properties(n, bytes_each):
    return b"".join(field(14, field(1, "key_%d" % i) + field(2, "v" * bytes_each)) for i in range(n))


def external(n):
    def where(i):
        entry = field(1, "location") + field(2, "file_%d.bin" % i)
        return field(1, 1) + field(2, 1) + field(8, "far_%d" % i) + field(13, entry) + field(14, 1)
    return onnx(initializers=[where(i) for i in range(n)])


# ---- FlatBuffers

class Flat:
    """A FlatBuffer, written from its root: whatever is referred to follows."""

    def __init__(self):
        self.data = bytearray(4) + b"TFL3"

    def align(self, n, ahead=0):
        self.data += bytes(-(len(self.data) + ahead) % n)

    def refer(self, at):
        struct.pack_into("<I", self.data, at, len(self.data) - at)

    def vector(self, form, numbers):
        """The offset of the first element."""
        self.align(8, 4)
        self.data += struct.pack("<I", len(numbers))
        at = len(self.data)
        self.data += struct.pack("<%d%s" % (len(numbers), form), *numbers)
        return at

    def table(self, at, fields):
        """at: offset of the reference to this table; None: none. fields: {number: value}; a value is
        ("I", 5), a function that writes the object referred to, bytes, or a list of integers."""
        n = max(fields, default=-1) + 1
        offsets, position = [0] * n, 4
        for k in sorted(fields):
            size = struct.calcsize(fields[k][0]) if isinstance(fields[k], tuple) else 4
            position += -position % size
            offsets[k] = position
            position += size
        self.align(8)
        self.data += struct.pack("<HH%dH" % n, 4 + 2 * n, position, *offsets)
        self.align(8)
        begin = len(self.data)
        vtable = begin - (4 + 2 * n + -(4 + 2 * n) % 8)
        if at is not None:
            struct.pack_into("<I", self.data, at, begin - at)
        self.data += struct.pack("<i", begin - vtable) + bytes(position - 4)
        for k in sorted(fields):
            if isinstance(fields[k], tuple):
                struct.pack_into("<" + fields[k][0], self.data, begin + offsets[k], fields[k][1])
        for k in sorted(fields):
            place = begin + offsets[k]
            if callable(fields[k]):
                fields[k](place)
            elif not isinstance(fields[k], tuple):
                form, numbers = ("B", fields[k] + b"\0") if isinstance(fields[k], bytes) else ("i", fields[k])
                self.align(8, 4)
                struct.pack_into("<I", self.data, place, len(self.data) - place)
                self.vector(form, numbers)
                if isinstance(fields[k], bytes):
                    first = place + struct.unpack_from("<I", self.data, place)[0]
                    struct.pack_into("<I", self.data, first, len(fields[k]))

    def tables(self, fields_of_each):
        """A function that writes a vector of tables."""
        def write(place):
            self.align(8, 4)
            self.refer(place)
            at = self.vector("I", [0] * len(fields_of_each))
            for i, fields in enumerate(fields_of_each):
                self.table(at + 4 * i, fields)
        return write


def tflite(tensors=(), buffers=(), operators=(), codes=(), more=None):
    f = Flat()
    shape = [1, SIDE, SIDE, 3]
    own = [{0: shape, 1: ("b", 0), 2: ("I", 0), 3: b"x"}, {0: shape, 1: ("b", 0), 2: ("I", 0), 3: b"y"}]
    graph = {0: f.tables(own + list(tensors)), 1: [0], 2: [1],
             3: f.tables([{0: ("I", 0), 1: [0], 2: [1]}] + list(operators))}
    root = {0: ("I", 3), 1: f.tables([{0: ("b", 19), 3: ("i", 19)}] + list(codes)), 2: f.tables([graph]),
            4: f.tables([{}] + list(buffers))}
    root.update(more or {})
    at = len(f.data)
    f.table(0, root)
    assert at
    return bytes(f.data)


def unused_tensors(n, name=b"unused_tensor_%d", scales=0):
    def one(i):
        t = {0: [1, 4, 4, 1], 1: ("b", 0), 2: ("I", 0), 3: name % i if b"%d" in name else name}
        return t
    return [one(i) for i in range(n)]


def relus(n):
    tensors = [{0: [1, SIDE, SIDE, 3], 1: ("b", 0), 2: ("I", 0), 3: b"t%d" % i} for i in range(n)]
    operators = [{0: ("I", 0), 1: [1 if i == 0 else i + 1], 2: [i + 2]} for i in range(n)]
    return tflite(tensors, operators=operators)


# ---- Darknet

NET = "[net]\nwidth=%d\nheight=%d\nchannels=3\n" % (SIDE, SIDE)
CONVOLUTIONAL = "[convolutional]\nfilters=8\nsize=3\nstride=1\npad=1\nactivation=relu\n"
WEIGHTS = struct.pack("<iiiq", 0, 2, 0, 0) + b"\0\0\0\x3c" * (8 + 216)


def cfg(more="", net=""):
    return (NET + net + CONVOLUTIONAL + more).encode()


# ---- the files

K = 1024
FILES = {
    "scalars_1.onnx": lambda: onnx(initializers=scalars(30 * K)),
    "scalars_5.onnx": lambda: onnx(initializers=scalars(150 * K)),
    "scalars_8.onnx": lambda: onnx(initializers=scalars(190 * K)),
    "lists.onnx": lambda: onnx(initializers=scalars(4 * K, 256)),
    "properties_small.onnx": lambda: onnx(more=properties(200 * K, 4)),
    "properties_large.onnx": lambda: onnx(more=properties(2, 2 * K * K)),
    "properties_medium.onnx": lambda: onnx(more=properties(1 * K, 4000)),
    "relus_1.onnx": lambda: chained("Relu", 45 * K),
    "relus_3.onnx": lambda: chained("Relu", 110 * K),
    "relus_2000.onnx": lambda: chained("Relu", 2000, name=lambda i: "n" * 500),
    "relus_1000.onnx": lambda: chained("Relu", 1000, name=lambda i: "n" * 4000),
    "identities.onnx": lambda: chained("Identity", 100 * K),
    "attributes.onnx": lambda: chained("Relu", 200, attributes=[ints("a%d" % i, range(20)) for i in range(250)]),
    "long_attribute.onnx": lambda: chained("Relu", 2, attributes=[ints("a", range(1000 * K))]),
    "strings.onnx": lambda: chained("Relu", 1, attributes=[
        field(1, "s") + b"".join(field(9, "t") for _ in range(400 * K)) + field(20, 8)]),
    "values.onnx": lambda: onnx(more_graph=b"".join(
        field(13, value("nowhere_%d" % i, [1, 2, 3, 4])) for i in range(60 * K))),
    "documented.onnx": lambda: onnx(more_graph=field(10, "d" * (6 * K * K))),
    "inputs.onnx": lambda: onnx(initializers=scalars(40 * K), inputs=[
        value("unused_initializer_%d" % i, []) for i in range(40 * K)]),
    "added.onnx": lambda: added(1000) + field(6, "p" * K * K),
    "added_many.onnx": lambda: added(25 * K),
    "constants.onnx": lambda: unread_nodes(60 * K),
    "computed.onnx": lambda: computed(1 * K),
    "joined.onnx": lambda: joined(14),
    "opsets.onnx": lambda: onnx(more=b"".join(
        field(8, field(1, "domain.%d" % i) + field(2, 1)) for i in range(150 * K))),
    "external.onnx": lambda: external(20 * K),
    "tensors.tflite": lambda: tflite(unused_tensors(60 * K)),
    "tensors_named.tflite": lambda: tflite(unused_tensors(4 * K, b"n" * 1000)),
    "buffers.tflite": lambda: tflite(buffers=[{}] * (120 * K)),
    "relus.tflite": lambda: relus(25 * K),
    "relus_2000.tflite": lambda: tflite_padded(relus(2000)),
    "codes.tflite": lambda: tflite_padded(tflite(codes=[
        {0: ("b", 32), 1: b"custom_%d" % i} for i in range(4 * K - 2)])),
    "described.tflite": lambda: tflite(more={3: b"d" * (4 * K * K)}),
    "sections.cfg": lambda: cfg("[]\n" * 10 + "[a]\n" * (380 * 1000)),
    "sections_2000.cfg": lambda: cfg("[maxpool]\nsize=1\nstride=1\n" * 2000 + "#" * K * K),
    "options.cfg": lambda: cfg(net="".join("key%d=%d\n" % (i, i) for i in range(100 * K))),
    "comments.cfg": lambda: cfg("# comment\n" * (500 * K)),
    "one_line.cfg": lambda: cfg("mask=" + "1," * (2 * K * K) + "\n"),
    "blank.cfg": lambda: cfg("\n" * (7 * K * K)),
    "lines.names": lambda: b"".join(b"a label\n" for _ in range(500 * K)),
    "letters.names": lambda: b"\n" * (2 * K * K) + b"x" * (5 * K * K),
}


def tflite_padded(data):
    return data + bytes(max(0, (1 << 20) - len(data)))


def write(folder, names=None):
    """Writes the files that are not there yet; returns their paths."""
    os.makedirs(folder, exist_ok=True)
    extra = {"input.bin": lambda: bytes(4 * FLOATS), "weights": lambda: WEIGHTS, "small.cfg": cfg}
    for name, make in {**FILES, **extra}.items():
        path = os.path.join(folder, name)
        if not os.path.exists(path) and (names is None or name in names or name in extra):
            with open(path + ".part", "wb") as file:
                file.write(make())
            os.rename(path + ".part", path)
    return [os.path.join(folder, name) for name in (FILES if names is None else names)]


def command(path):
    """The arguments of run_inference for a file: its model, and what it reads."""
    folder = os.path.dirname(path)
    weights, small = os.path.join(folder, "weights"), os.path.join(folder, "small.cfg")
    if path.endswith(".names"):
        return [small, weights, "--names", path]
    return [path, weights] if path.endswith(".cfg") else [path]
