"""Computes a float TFLite file in double precision with numpy: a reference where float programs
differ by rounding. Supports the operators of hybrid files.
  double_tflite.py MODEL.tflite INPUT.raw OUTPUT.raw    floats; outputs are concatenated"""

import sys

sys.dont_write_bytecode = True

import numpy as np

from flatbuffer import model_of

TYPES = {0: "<f4", 2: "<i4", 4: "<i8"}
ADD, AVERAGE_POOL, CONCATENATION, CONV, DEPTHWISE, CONNECTED, LOGISTIC, MAX_POOL, MUL = 0, 1, 2, 3, 4, 9, 14, 17, 18
RESHAPE, SOFTMAX, PAD, TRANSPOSE, STRIDED_SLICE, RESIZE_NEAREST = 22, 25, 34, 39, 45, 97
ACTIVATIONS = {0: lambda x: x, 1: lambda x: np.maximum(x, 0), 3: lambda x: np.clip(x, 0, 6)}


def windows(x, size, strides, dilations, same, outside):
    """Windows of an NHWC array: [n, row, column, channel, ky, kx]."""
    if same:
        pads = [(0, 0)]
        for n, k, stride, dilation in zip(x.shape[1:3], size, strides, dilations):
            lacking = max((-(-n // stride) - 1) * stride + (k - 1) * dilation + 1 - n, 0)
            pads.append((lacking // 2, lacking - lacking // 2))
        x = np.pad(x, pads + [(0, 0)], constant_values=outside)
    reach = [(k - 1) * dilation + 1 for k, dilation in zip(size, dilations)]
    view = np.lib.stride_tricks.sliding_window_view(x, reach, axis=(1, 2))
    return view[:, ::strides[0], ::strides[1], :, ::dilations[0], ::dilations[1]]


def convolve(x, w, bias, options):
    seen = windows(x, w.shape[1:3], (options.number(2, "i"), options.number(1, "i")), (options.number(5, "i", 1), options.number(4, "i", 1)),
                   options.number(0, "b") == 0, 0)
    return ACTIVATIONS[options.number(3, "b")](np.tensordot(seen, w, axes=([3, 4, 5], [3, 1, 2])) + bias)


def convolve_depthwise(x, w, bias, options):
    seen = windows(x, w.shape[1:3], (options.number(2, "i"), options.number(1, "i")), (options.number(6, "i", 1), options.number(5, "i", 1)),
                   options.number(0, "b") == 0, 0)
    if w.shape[3] != x.shape[3]:
        raise ValueError("a depthwise convolution of %d filters over %d channels" % (w.shape[3], x.shape[3]))
    return ACTIVATIONS[options.number(4, "b")](np.einsum("nrcdyx,yxd->nrcd", seen, w[0]) + bias)


def connect(x, w, bias, options):
    return ACTIVATIONS[options.number(0, "b")](x.reshape(-1, w.shape[1]) @ w.T + bias)


def softmax(x, options):
    shares = np.exp(options.number(0, "f") * (x - x.max(axis=-1, keepdims=True)))
    return shares / shares.sum(axis=-1, keepdims=True)


def pool(x, options, outside, pick):
    """Pools the elements inside the map."""
    seen = windows(x, (options.number(4, "i"), options.number(3, "i")), (options.number(2, "i"), options.number(1, "i")), (1, 1),
                   options.number(0, "b") == 0, outside)
    return pick(seen, axis=(4, 5))


def resize_nearest(x, size, options):
    if options and (options.number(0, "b") or options.number(1, "b")):
        raise ValueError("a nearest resize that aligns corners or has half pixels")
    rows, columns = (np.arange(n) * old // n for n, old in zip(size, x.shape[1:3]))
    return x[:, rows][:, :, columns]


def slice_of(x, begin, end, step, options):
    if any(options.number(mask, "i") for mask in (2, 3, 4)):
        raise ValueError("a strided slice with an ellipsis, or axes that come or go")
    at = []
    for axis, (first, last, by) in enumerate(zip(begin, end, step)):
        bit = 1 << axis
        at.append(slice(None if options.number(0, "i") & bit else first, None if options.number(1, "i") & bit else last, by))
    return x[tuple(at)]


def compute(code, inputs, options):
    x, rest = inputs[0], inputs[1:]
    if code == CONV:
        return convolve(x, *rest, options)
    if code == DEPTHWISE:
        return convolve_depthwise(x, *rest, options)
    if code == ADD:
        return ACTIVATIONS[options.number(0, "b")](x + rest[0])
    if code == MUL:
        return ACTIVATIONS[options.number(0, "b")](x * rest[0])
    if code == LOGISTIC:
        return 1 / (1 + np.exp(-x))
    if code == CONCATENATION:
        return np.concatenate(inputs, axis=options.number(0, "i"))
    if code == MAX_POOL:
        return pool(x, options, -np.inf, np.max)
    if code == AVERAGE_POOL:
        return pool(x, options, np.nan, np.nanmean)
    if code == CONNECTED:
        return connect(x, *rest, options)
    if code == SOFTMAX:
        return softmax(x, options)
    if code == RESHAPE:
        return x.reshape(rest[0] if rest else options.numbers(0, "i"))
    if code == PAD:
        return np.pad(x, rest[0])
    if code == TRANSPOSE:
        return x.transpose(rest[0])
    if code == STRIDED_SLICE:
        return slice_of(x, *rest, options)
    if code == RESIZE_NEAREST:
        return resize_nearest(x, rest[0], options)
    raise ValueError("operator %d" % code)


def constants(model, graph):
    """Constants of the file, floats as doubles."""
    buffers, found = model.tables(4), {}
    for index, tensor in enumerate(graph.tables(0)):
        data = bytes(buffers[tensor.number(2, "I")].numbers(0, "B"))
        if data:
            values = np.frombuffer(data, TYPES[tensor.number(1, "b")]).reshape(tensor.numbers(0, "i"))
            found[index] = values.astype("f8") if values.dtype.kind == "f" else values
    return found


def run(path, numbers):
    """All outputs for one input, one after the other."""
    with open(path, "rb") as file:
        model = model_of(file.read())
    graph = model.tables(2)[0]
    codes = [max(code.number(0, "b"), code.number(3, "i")) for code in model.tables(1)]
    tensors, known = graph.tables(0), constants(model, graph)
    source = graph.numbers(1, "i")[0]
    known[source] = np.asarray(numbers, "f8").reshape(tensors[source].numbers(0, "i"))
    for operator in graph.tables(3):
        inputs = [known[t] for t in operator.numbers(1, "i") if t >= 0]
        known[operator.numbers(2, "i")[0]] = compute(codes[operator.number(0, "I")], inputs, operator.table(4))
    return np.concatenate([known[t].ravel() for t in graph.numbers(2, "i")])


def main():
    model, source, out = sys.argv[1:]
    run(model, np.fromfile(source, "<f4")).astype("<f4").tofile(out)


if __name__ == "__main__":
    main()
