"""SSDLite on MobileNetV2, and small networks for radar."""

from graph import Graph
from mobile import MOBILENET_V2, RELU6, inverted

CLASSES = 91   # of COCO, with the background
# inner and output channels of the layers after the backbone
EXTRA = ((256, 512), (128, 256), (128, 256), (64, 128))
RADAR_GESTURES = 6


def ssdlite_maps(graph):
    """The inputs of the heads: the widest map at 19 x 19 and the later ones."""
    x, maps = graph.conv(graph.input, 32, 3, 2, RELU6), []
    for factor, filters, count, stride in MOBILENET_V2:
        for k in range(count):
            if (filters, k) != (160, 0):
                x = inverted(graph, x, factor * x.shape[0], filters, stride if k == 0 else 1)
                continue
            maps.append(graph.conv(x, factor * x.shape[0], 1, activation=RELU6))
            x = graph.conv(graph.depthwise(maps[0], 3, stride, RELU6), filters, 1)
    maps.append(graph.conv(x, 1280, 1, activation=RELU6))
    for between, filters in EXTRA:
        x = graph.depthwise(graph.conv(maps[-1], between, 1, activation=RELU6), 3, 2, RELU6)
        maps.append(graph.conv(x, filters, 1, activation=RELU6))
    return maps


def ssdlite_head(graph, maps, values):
    """values: numbers of each anchor, concatenated over all anchors and maps."""
    parts = []
    for k, one in enumerate(maps):
        anchors = 3 if k == 0 else 6
        out = graph.conv(graph.depthwise(one, 3, 1, RELU6), anchors * values, 1)
        parts.append(graph.anchors(out, values))
    return graph.concat(parts)


def ssdlite(name):
    """MobileNetV2 at 300 x 300: raw boxes and scores of 1917 anchors, neither decoded nor
    normalized."""
    graph = Graph(name, (3, 300, 300))
    maps = ssdlite_maps(graph)
    return graph.finish(ssdlite_head(graph, maps, 4), ssdlite_head(graph, maps, CLASSES))


def radar(name):
    """Gestures from a map of 32 ranges and 32 speeds; as large as an unpublished network: 0.09
    million multiply-adds."""
    graph = Graph(name, (1, 32, 32))
    x = graph.pool("max", graph.conv(graph.input, 8, 3, activation="relu", pads=(0, 0, 0, 0)), 3, 3, padded=False)
    x = graph.linear(graph.flat(x), 32, "relu")
    return graph.finish(graph.linear(x, RADAR_GESTURES))


def fan_example(name):
    """The running example of a thesis on tiling by depth (Stahl 2024, chapter 4)."""
    graph = Graph(name, (1, 32, 8))
    x = graph.conv(graph.input, 32, (6, 2), 2, "relu", pads=(2, 0, 2, 0))
    x = graph.conv(graph.depthwise(x, 3, 1, "relu"), 64, 1, activation="relu")
    return graph.finish(graph.linear(graph.flat(graph.pool("avg", x, x.shape[1:], padded=False)), 6, "relu"))
