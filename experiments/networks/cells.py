"""NASNet-A and DARTS, networks of cells. There are two versions of each: as a generator with one
pattern makes them (script/nas.py of github.com/wzh99/HMCOS, used by papers on operator
scheduling), and as their authors define them."""

from graph import Graph

# Pairs of (operation, state), whose sums are new states, and the states that are concatenated.
# State 0 is the output of the cell before the last one, 1 that of the last.
NASNET_NORMAL = ([("sep5", 1), ("sep3", 0)], [("sep5", 0), ("sep3", 0)], [("avg", 1), ("id", 0)], [("avg", 0), ("avg", 0)],
                 [("sep3", 1), ("id", 1)]), (0, 2, 3, 4, 5, 6)
NASNET_REDUCTION = ([("sep5", 1), ("sep7", 0)], [("max", 1), ("sep7", 0)], [("avg", 1), ("sep5", 0)], [("id", 3), ("avg", 2)],
                    [("sep3", 2), ("max", 1)]), (3, 4, 5, 6)
DARTS_NORMAL = ([("sep3", 0), ("sep3", 1)], [("sep3", 0), ("sep3", 1)], [("sep3", 1), ("id", 0)], [("id", 0), ("dil3", 2)]), (2, 3, 4, 5)
DARTS_REDUCTION = ([("max", 0), ("max", 1)], [("id", 2), ("max", 1)], [("max", 0), ("id", 2)], [("id", 2), ("max", 1)]), (2, 3, 4, 5)
NASNET = NASNET_NORMAL, NASNET_REDUCTION
DARTS = DARTS_NORMAL, DARTS_REDUCTION


def squeeze(graph, x, filters):
    return graph.conv(graph.relu(x), filters, 1)


def reduce(graph, x, filters):
    """Halves height and width: every other pixel, and the pixels between."""
    x = graph.relu(x)
    return graph.concat([graph.conv(x, filters // 2, 1, 2), graph.conv(x, filters - filters // 2, 1, 2, shifted=True)])


def separable(graph, x, filters, kernel, stride):
    for step in (stride, 1):
        x = graph.conv(graph.depthwise(graph.relu(x), kernel, step), filters, 1)
    return x


def operation(graph, kind, x, filters, stride):
    if kind == "id":
        return x
    if kind in ("max", "avg"):
        return graph.pool(kind, x, 3, stride)
    if kind == "dil3":
        return graph.conv(graph.depthwise(graph.relu(x), 3, stride, dilation=2), filters, 1)
    return separable(graph, x, filters, int(kind[3:]), stride)


def cell(graph, states, filters, plan, stride):
    blocks, joined = plan
    for pair in blocks:
        sides = [operation(graph, kind, states[at], filters, stride if at < 2 else 1) for kind, at in pair]
        states.append(graph.add(*sides))
    return graph.concat([states[at] for at in joined])


def fit(graph, prev, cur, filters):
    """The output of the last cell but one, resized to the cell's other input."""
    if prev is None:
        return cur
    return squeeze(graph, prev, filters) if prev.shape[1] == cur.shape[1] else reduce(graph, prev, filters)


def classify(graph, x, classes):
    return graph.finish(graph.linear(graph.global_average(x), classes))


def generated(name, cells, side, filters, counts, classes):
    """A network of the generator. counts: numbers of normal cells, with a reduction cell between
    them; 0: none."""
    graph = Graph(name, (3, side, side))
    prev, cur = None, graph.conv(graph.input, 32, 3, 2 if side > 32 else 1)
    normal, reduction = cells
    kinds = []
    for k, count in enumerate(counts):
        kinds += ([reduction] if k else []) + [normal] * count
    for kind in kinds:
        filters *= 2 if kind is reduction else 1
        c = squeeze(graph, cur, filters)
        out = cell(graph, [fit(graph, prev, c, filters), c], filters, kind, 2 if kind is reduction else 1)
        prev, cur = cur, out
    return classify(graph, graph.relu(cur), classes)


def nasnet_mobile(name):
    """4 @ 1056 of tensorflow/models: the first cell's other state is the stem's output."""
    graph, (normal, reduction) = Graph(name, (3, 224, 224)), NASNET
    prev, cur, first = None, graph.conv(graph.input, 32, 3, 2, pads=(0, 0, 0, 0)), True
    for filters, kind in [(11, reduction), (22, reduction)] + [(44, normal)] * 4 + [(88, reduction)] + [(88, normal)] * 4 + (
            [(176, reduction)] + [(176, normal)] * 4):
        c = squeeze(graph, cur, filters)
        p = cur if first else fit(graph, prev, c, filters)
        prev, cur, first = cur, cell(graph, [p, c], filters, kind, 2 if kind is reduction else 1), False
    return classify(graph, graph.relu(cur), 1000)


def darts_cells(graph, prev, cur, filters, count, reductions, classes):
    normal, reduction = DARTS
    for k in range(count):
        kind = reduction if k in reductions else normal
        filters *= 2 if kind is reduction else 1
        p, c = fit(graph, prev, cur, filters), squeeze(graph, cur, filters)
        prev, cur = cur, cell(graph, [p, c], filters, kind, 2 if kind is reduction else 1)
    return classify(graph, cur, classes)


def darts_cifar(name):
    """The network of quark0/darts."""
    graph = Graph(name, (3, 32, 32))
    stem = graph.conv(graph.input, 108, 3)
    return darts_cells(graph, stem, stem, 36, 20, (6, 13), 10)


def darts_imagenet(name):
    graph = Graph(name, (3, 224, 224))
    prev = graph.conv(graph.conv(graph.input, 24, 3, 2, "relu"), 48, 3, 2)
    return darts_cells(graph, prev, graph.conv(graph.relu(prev), 48, 3, 2), 48, 14, (4, 9), 1000)
