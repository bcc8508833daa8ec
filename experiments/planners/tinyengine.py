"""TinyEngine's patches (Lin et al., 2021): the leading layers run in n x n patches of the map that
ends them, with overlaps computed again; the others layer by layer. A plan of a grid, then whole
maps."""

from operators import ALL, order_plan

PATCHES = range(2, 8)


def ends(graph):
    """Operators at which the leading layers may end: everything before is done, and later operators
    read only one map of it."""
    found = []
    done = 0
    for i in range(graph.n - 1):
        facts = graph.facts[i]
        if not facts["tileable"]:
            break
        done |= 1 << i
        alive = [t for t in range(i + 1) if t in graph.outputs or graph.reader_mask[t] & ~done]
        inputs = [t for t in graph.inputs() if graph.reader_mask[t] & ~done]
        if alive == [i] and not inputs and min(facts["shape"][:2]) > 1:
            found.append(i)
    return found


def plans(graph):
    """(patches a side, last operator in patches, plan)."""
    whole = list(range(graph.n))
    for i in ends(graph):
        behind = order_plan(graph, whole[i + 1:], True)
        for n in PATCHES:
            if n <= min(graph.facts[i]["shape"][:2]):
                yield n, i, "%dx%d/0,%s/%s" % (n, n, spans(graph.layers[:i + 1]), behind)


def spans(numbers):
    """A list of layers as in a plan: 12,14-17."""
    out = []
    for number in sorted(numbers):
        if out and number == out[-1][1] + 1:
            out[-1][1] = number
        else:
            out.append([number, number])
    return ",".join("%d" % a if a == b else "%d-%d" % (a, b) for a, b in out)


def patch_macs(layers, n):
    """Multiply-adds of a chain in n x n patches, ignoring the map's borders, as in the published
    computation. layers: dicts of side (of the output), window, stride, work (multiply-adds of an
    output pixel)."""
    rows = -(-layers[-1]["side"] // n)
    total = 0
    for layer in reversed(layers):
        total += n * n * rows * rows * layer["work"]
        rows = rows + layer["window"] - 1 if layer["stride"] == 1 else layer["stride"] * (rows - 1) + layer["window"]
    return total


IN_PLACE = ALL   # also for depthwise convolutions
