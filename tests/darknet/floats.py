"""floats.py [--some] FILE FILE: compares layers (in the format of tests/darknet/network.c, or two
folders of raw floats): each must be within 2e-5 of the first one's largest value. --some: the
second file may lack layers."""
import array
import os
import struct
import sys

BOUND = 2e-5


def read(path):
    layers = {}
    if os.path.isdir(path):
        for name in sorted(os.listdir(path)):
            layers[name] = array.array("f")
            with open(os.path.join(path, name), "rb") as file:
                layers[name].frombytes(file.read())
        return layers
    with open(path, "rb") as file:
        data = file.read()
    at = 0
    while at < len(data):
        layer, n = struct.unpack_from("<ii", data, at)
        layers[layer] = array.array("f", data[at + 8:at + 8 + 4 * n])
        at += 8 + 4 * n
    return layers


some = sys.argv[1] == "--some"
a, b = map(read, sys.argv[-2:])
b = {layer: x for layer, x in b.items() if x or not some}
if not b or (set(b) - set(a) if some else set(a) != set(b)):
    sys.exit(f"layers {sorted(a)} and {sorted(b)}")
worst = 0.0, None
for layer in b:
    x, y = a[layer], b[layer]
    if len(x) != len(y):
        sys.exit(f"layer {layer}: {len(x)} and {len(y)} floats")
    largest = max(max(x), -min(x)) or 1
    worst = max(worst, (max(abs(p - q) for p, q in zip(x, y)) / largest, layer))
print(f"{len(b)} layers, at most {worst[0]:.1e}, layer {worst[1]}")
sys.exit(0 if worst[0] <= BOUND else 1)
