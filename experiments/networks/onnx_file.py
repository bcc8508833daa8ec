"""Writes ONNX files (protobuf) with Python's standard library only. Field numbers are those of
onnx.proto."""

import struct

OPSET = 20   # the first with Gelu
IR_VERSION = 9
FLOAT, INT64 = 1, 7
VARINT, BYTES, FIXED32 = 0, 2, 5   # wire types


def varint(number):
    number &= (1 << 64) - 1
    out = bytearray()
    while number > 0x7f:
        out.append(number & 0x7f | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def field(number, value):
    """One field: an integer, a float, text, or bytes, which may be a message."""
    if isinstance(value, int):
        return varint(number << 3 | VARINT) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | FIXED32) + struct.pack("<f", value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | BYTES) + varint(len(data)) + data


def attribute(name, value):
    """AttributeProto; its kind follows from the value."""
    if isinstance(value, (list, tuple)):
        return field(1, name) + b"".join(field(8, one) for one in value) + field(20, 7)
    number, kind = {float: (2, 1), int: (3, 2), str: (4, 3)}[type(value)]
    return field(1, name) + field(number, value) + field(20, kind)


def node(kind, inputs, outputs, attributes):
    """NodeProto, named as its first output."""
    return (b"".join(field(1, one) for one in inputs) + b"".join(field(2, one) for one in outputs) + field(3, outputs[0]) +
            field(4, kind) + b"".join(field(5, attribute(*one)) for one in sorted(attributes.items())))


def tensor(name, dims, kind, raw):
    """TensorProto."""
    return b"".join(field(1, size) for size in dims) + field(2, kind) + field(8, name) + field(9, raw)


def value(name, dims):
    """ValueInfoProto of floats."""
    shape = b"".join(field(1, field(1, size)) for size in dims)
    return field(1, name) + field(2, field(1, field(1, FLOAT) + field(2, shape)))


def model(name, nodes, constants, inputs, outputs):
    """ModelProto. constants: of tensor(); inputs, outputs: (name, dimensions)."""
    graph = (b"".join(field(1, one) for one in nodes) + field(2, name) + b"".join(field(5, one) for one in constants) +
             b"".join(field(11, value(*one)) for one in inputs) + b"".join(field(12, value(*one)) for one in outputs))
    return field(1, IR_VERSION) + field(2, "mafat") + field(7, graph) + field(8, field(1, "") + field(2, OPSET))
