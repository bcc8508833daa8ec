"""The networks of experiments/networks as papers count them: a concatenation of channels is an
operator with its own output."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "networks"))

import networks

from operators import Graph


def build(name):
    """Bytes of 8-bit tensors; in place as in experiments/networks/memory.py."""
    graph = networks.build(name)
    number = {node.name: i for i, node in enumerate(graph.nodes)}
    number[graph.input.name] = len(graph.nodes)
    operands = [[[number[one.name]] for one in node.inputs] for node in graph.nodes]
    places = [[number[node.inputs[0].name]] if node.in_place and node.inputs[0].size == node.size else [] for node in graph.nodes]
    facts = [{"layer": i, "joins": len(node.inputs) > 2} for i, node in enumerate(graph.nodes)]
    outputs = [number[one.name] for one in graph.outputs]
    return Graph(operands, [node.size for node in graph.nodes] + [graph.input.size], outputs, places, facts)
