"""Networks of inverted residuals and of depthwise convolutions."""

from graph import Graph

RELU6 = "relu6"
MOBILENET_V2 = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
# expand, kernel, stride, out, squeezed channels or 0, residual
MCUNET_V2 = ((96, 3, 2, 24, 0, 0), (96, 3, 2, 40, 0, 0), (240, 5, 1, 40, 10, 1), (240, 5, 1, 40, 10, 1), (120, 3, 1, 40, 10, 1),
             (240, 5, 2, 64, 10, 0), (256, 5, 1, 64, 16, 1), (192, 3, 1, 64, 16, 1), (256, 7, 1, 64, 16, 1), (384, 5, 1, 96, 16, 0),
             (384, 5, 1, 96, 24, 1), (288, 5, 1, 96, 24, 1), (384, 7, 2, 144, 24, 0), (576, 3, 1, 144, 36, 1), (576, 3, 1, 144, 36, 1),
             (576, 5, 1, 240, 0, 0))
# out, expand, stride, shortcut, split
FPNAS = ((24, 4, 2, 1, 1), (24, 6, 1, 1, 0), (40, 8, 2, 0, 0), (40, 6, 1, 1, 1), (40, 8, 1, 1, 0), (80, 6, 2, 1, 0), (80, 8, 1, 0, 1),
         (80, 8, 1, 1, 0), (80, 8, 1, 1, 1), (112, 6, 1, 0, 1), (112, 6, 1, 1, 0), (112, 6, 1, 0, 0), (192, 4, 2, 1, 1), (192, 8, 1, 0, 1),
         (192, 4, 1, 0, 0), (320, 6, 1, 0, 0))


def classify(graph, x, features, classes, activation=RELU6):
    if features:
        x = graph.conv(x, features, 1, activation=activation)
    return graph.finish(graph.linear(graph.global_average(x), classes))


def inverted(graph, x, expand, filters, stride):
    """expand: number of inner channels."""
    out = x if expand == x.shape[0] else graph.conv(x, expand, 1, activation=RELU6)
    out = graph.conv(graph.depthwise(out, 3, stride, RELU6), filters, 1)
    return graph.add(out, x) if stride == 1 and filters == x.shape[0] else out


def mobilenet_v2(name, side, stem=32, rows=MOBILENET_V2):
    graph = Graph(name, (3, side, side))
    x = graph.conv(graph.input, stem, 3, 2, RELU6)
    for factor, filters, count, stride in rows:
        for k in range(count):
            x = inverted(graph, x, factor * x.shape[0], filters, stride if k == 0 else 1)
    return classify(graph, x, 1280, 1000)


def squeeze_excite(graph, x, squeezed):
    gate = graph.conv(graph.global_average(x, flat=False), squeezed, 1, activation="relu")
    return graph.combine("Mul", x, graph.hard_sigmoid(graph.conv(gate, x.shape[0], 1)))


def mcunet_v2(name):
    """SE-Large, 224 x 224."""
    graph = Graph(name, (3, 224, 224))
    x = graph.conv(graph.conv(graph.input, 16, 3, 2, RELU6), 16, 1)
    for expand, kernel, stride, filters, squeezed, residual in MCUNET_V2:
        out = graph.depthwise(graph.conv(x, expand, 1, activation=RELU6), kernel, stride, RELU6)
        if squeezed:
            out = squeeze_excite(graph, out, squeezed)
        out = graph.conv(out, filters, 1)
        x = graph.add(out, x) if residual else out
    return classify(graph, x, 384, 1000)


def fpnas_block(graph, x, filters, factor, stride, shortcut, split):
    kept = None
    if split:
        half = x.shape[0] // 2
        kept, x, filters = graph.channels(x, 0, half), graph.channels(x, half, x.shape[0]), filters - half
        if stride == 2:
            kept = graph.conv(graph.depthwise(kept, 3, 2, "relu"), half, 1)
    expanded = graph.conv(x, x.shape[0] * factor, 1, activation="relu")
    out = graph.conv(graph.depthwise(expanded, 3, stride, "relu"), filters, 1)
    if shortcut:
        out = graph.add(out, x if stride == 1 and x.shape[0] == filters else graph.conv(x, filters, 1, stride))
    return graph.shuffle(graph.concat([kept, out]), 2) if split else out


def fpnas(name):
    graph = Graph(name, (3, 224, 224))
    x = graph.conv(graph.input, 34, 3, 2, "relu")
    x = graph.conv(graph.depthwise(x, 3, 1, "relu"), 24, 1)
    for block in FPNAS:
        x = fpnas_block(graph, x, *block)
    return classify(graph, x, 1280, 1000, "relu")


# Strides of the depthwise convolutions, and output channels of the following 1x1.
MOBILENET_V1_QUARTER = ((16, 1), (32, 2), (32, 1), (64, 2), (64, 1), (128, 2)) + ((128, 1),) * 5 + ((256, 2), (256, 1))
MOBILENET_V2_QUARTER = ((1, 8, 1, 1), (6, 8, 2, 2), (6, 8, 3, 2), (6, 16, 4, 2), (6, 24, 3, 1), (6, 40, 3, 2), (6, 80, 1, 1))


def mobilenet_v1(name, side, classes):
    """MobileNet v1 with a quarter of its width."""
    graph = Graph(name, (3, side, side))
    x = graph.conv(graph.input, 8, 3, 2, "relu")
    for filters, stride in MOBILENET_V1_QUARTER:
        x = graph.conv(graph.depthwise(x, 3, stride, "relu"), filters, 1, activation="relu")
    return classify(graph, x, 0, classes)


def ds_cnn(name):
    """Keyword spotting from 49 x 10 values."""
    graph = Graph(name, (1, 49, 10))
    x = graph.conv(graph.input, 64, (10, 4), 2, "relu", pads=(4, 1, 5, 1))
    for _ in range(4):
        x = graph.conv(graph.depthwise(x, 3, 1, "relu"), 64, 1, activation="relu")
    return classify(graph, x, 0, 12)
