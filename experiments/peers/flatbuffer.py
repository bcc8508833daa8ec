"""Reads TFLite files as tables: the needed part of FlatBuffers."""

import struct

UINT8, INT8 = 3, 9


class Table:
    """A table of a flatbuffer."""

    def __init__(self, data, at):
        self.data, self.at = data, at
        self.fields = at - struct.unpack_from("<i", data, at)[0]

    def place(self, index):
        size = struct.unpack_from("<H", self.data, self.fields)[0]
        offset = struct.unpack_from("<H", self.data, self.fields + 4 + 2 * index)[0] if 4 + 2 * index < size else 0
        return self.at + offset if offset else None

    def number(self, index, form, otherwise=0):
        place = self.place(index)
        return otherwise if place is None else struct.unpack_from("<" + form, self.data, place)[0]

    def follow(self, place):
        return place + struct.unpack_from("<I", self.data, place)[0]

    def table(self, index):
        place = self.place(index)
        return None if place is None else Table(self.data, self.follow(place))

    def numbers(self, index, form):
        place = self.place(index)
        if place is None:
            return []
        start = self.follow(place)
        n = struct.unpack_from("<I", self.data, start)[0]
        return list(struct.unpack_from("<%d%s" % (n, form), self.data, start + 4))

    def tables(self, index):
        place = self.place(index)
        start = self.follow(place)
        return [Table(self.data, self.follow(start + 4 + 4 * k)) for k in range(struct.unpack_from("<I", self.data, start)[0])]

    def text(self, index):
        return bytes(self.numbers(index, "B")).decode("utf-8", "replace")


def model_of(data):
    """The table of the whole file."""
    return Table(data, struct.unpack_from("<I", data, 0)[0])


def integers(path):
    """Which tensors have 8 bits: "maps", only "weights", or "" for none."""
    with open(path, "rb") as file:
        model = model_of(file.read())
    buffers, found = model.tables(4), ""
    for tensor in model.tables(2)[0].tables(0):
        if tensor.number(1, "b") not in (UINT8, INT8):
            continue
        if not buffers[tensor.number(2, "I")].numbers(0, "B"):
            return "maps"
        found = "weights"
    return found
