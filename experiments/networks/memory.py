"""Memory of a plain interpreter: execution orders of a graph, and the most bytes live at once.

Values have 8 bits. A tensor lives from its operator to its last reader; the input lives from the
start, outputs to the end. Weights are not counted."""


def order_back(graph):
    """Depth first from the outputs, over operands in their order: an operator follows all that it
    reads."""
    return depth_first(reversed_stack(graph.outputs), lambda node: node.inputs, {graph.input.name})


def order_forward(graph):
    """Reverse post-order from the input over readers, in the order in which operators were made."""
    readers = {one.name: [] for one in [graph.input] + graph.nodes}
    for node in graph.nodes:
        for source in node.inputs:
            readers[source.name].append(node)
    return depth_first([graph.input], lambda node: readers[node.name], set())[::-1][1:]


def reversed_stack(nodes):
    return list(nodes)[::-1]


def depth_first(stack, following, done):
    """Post-order without recursion: networks are deeper than Python's stack. The stack's last
    element comes first."""
    order = []
    while stack:
        node = stack[-1]
        if node.name in done:
            stack.pop()
            continue
        waiting = [one for one in following(node) if one.name not in done]
        if waiting:
            stack.extend(waiting[::-1])
            continue
        done.add(node.name)
        order.append(node)
        stack.pop()
    return order


def peak(graph, order, in_place=False):
    """The most bytes live while an operator of the order runs. in_place: an elementwise output
    takes the buffer of its first input of the same size if that input dies."""
    ends = last_readers(graph, order)
    live, most = graph.input.size, graph.input.size
    for at, node in enumerate(order):
        dying = {one.name: one for one in node.inputs if ends[one.name] == at}
        first = node.inputs[0]
        takes = in_place and node.in_place and first.name in dying and first.size == node.size
        most = max(most, live if takes else live + node.size)
        live += node.size - sum(one.size for one in dying.values())
    return most


def last_readers(graph, order):
    """The position of each tensor's last reader; outputs and unread tensors stay live."""
    ends = {}
    for at, node in enumerate(order):
        ends[node.name] = at
        for source in node.inputs:
            ends[source.name] = at
    ends.update((one.name, len(order)) for one in graph.outputs)
    return ends
