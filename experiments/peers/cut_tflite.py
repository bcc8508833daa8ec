"""Cuts TFLite files into their operators, so that each can be given the values of the library's
previous operators: copies of the file with other lists of inputs, outputs and operators. Also
widens hybrid files' narrow weights to floats."""

import array
import struct

from flatbuffer import INT8, UINT8, model_of

INPUTS, OUTPUTS, OPERATORS = 1, 2, 3   # field numbers of a subgraph
FLOAT = 0


class Map:
    """An 8-bit tensor, or a graph's input."""

    def __init__(self, index, tensor):
        self.index, self.kind, self.name = index, tensor.number(1, "b"), tensor.text(3)
        self.n = 1
        for size in tensor.numbers(0, "i"):
            self.n *= size
        quantization = tensor.table(4)
        self.scale = (quantization.numbers(2, "f") if quantization else []) or [1.0]
        self.zero = (quantization.numbers(3, "q") if quantization else []) or [0]

    def has_numbers(self):
        return self.kind in (INT8, UINT8)

    def numbers(self, reals):
        """Quantizes values to bytes."""
        return bytes((round(real / self.scale[0]) + self.zero[0]) & 255 for real in reals)

    def values(self, numbers):
        """Bytes as integers of the tensor's type."""
        return [number - 256 if self.kind == INT8 and number > 127 else number for number in numbers]


class Cut:
    """A file with one subgraph."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        self.graph = model_of(self.data).tables(2)[0]
        buffers = model_of(self.data).tables(4)
        self.maps = {}
        for index, tensor in enumerate(self.graph.tables(0)):
            if not buffers[tensor.number(2, "I")].numbers(0, "B"):
                self.maps[index] = Map(index, tensor)
        self.inputs = self.graph.numbers(INPUTS, "i")
        self.operators = [(operator.numbers(1, "i"), operator.numbers(2, "i")) for operator in self.graph.tables(OPERATORS)]

    def made(self):
        """All 8-bit outputs of operators."""
        return [self.maps[t] for _, outputs in self.operators for t in outputs if self.maps[t].has_numbers()]

    def pieces(self):
        """(operator, its input maps, its output maps), for operators between 8-bit maps or that
        read the input."""
        for k, (reads, puts) in enumerate(self.operators):
            inputs = list(dict.fromkeys(t for t in reads if t in self.maps))
            known = all(self.maps[t].has_numbers() or t in self.inputs for t in inputs)
            if inputs and known and all(self.maps[t].has_numbers() for t in puts):
                yield k, [self.maps[t] for t in inputs], [self.maps[t] for t in puts]

    def write(self, path, outputs, inputs=None, operator=None):
        """The file with these outputs, or with one operator that reads these inputs."""
        data = bytearray(self.data)
        self.put(data, OUTPUTS, outputs)
        if operator is not None:
            self.put(data, INPUTS, inputs)
            place = self.graph.follow(self.graph.place(OPERATORS))
            table = self.graph.follow(place + 4 + 4 * operator)
            struct.pack_into("<II", data, place, 1, table - (place + 4))
        with open(path, "wb") as file:
            file.write(data)

    def put(self, data, field, maps):
        append(data, self.graph.place(field), len(maps), struct.pack("<%di" % len(maps), *(one.index for one in maps)))


def append(data, place, n, items):
    """Appends a vector to the file, replacing another."""
    data += bytes(-(len(data) + 4) % 16)   # tensors are aligned to 16 after their length
    struct.pack_into("<I", data, place, len(data) - place)
    data += struct.pack("<I", n) + items


def widen(path, out):
    """Writes a hybrid file's float twin: int8 constants are dequantized."""
    with open(path, "rb") as file:
        data = bytearray(file.read())
    model = model_of(bytes(data))
    buffers = model.tables(4)
    for tensor in model.tables(2)[0].tables(0):
        buffer = buffers[tensor.number(2, "I")]
        numbers = buffer.numbers(0, "b") if tensor.number(1, "b") == INT8 else []
        if not numbers:
            continue
        shape, quantization = tensor.numbers(0, "i"), tensor.table(4)
        scales, zeros, axis = quantization.numbers(2, "f"), quantization.numbers(3, "q"), quantization.number(6, "i")
        inner = 1
        for size in shape[axis + 1:]:
            inner *= size
        at = [0] * len(numbers) if len(scales) == 1 else [i // inner % shape[axis] for i in range(len(numbers))]
        reals = array.array("f", (scales[k] * (number - (zeros[k] if zeros else 0)) for k, number in zip(at, numbers)))
        append(data, buffer.place(0), 4 * len(reals), reals.tobytes())
        data[tensor.place(1)] = FLOAT
    with open(out, "wb") as file:
        file.write(data)
