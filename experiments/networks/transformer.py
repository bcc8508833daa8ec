"""Attention over tokens."""

import math

from graph import Graph


def attention(graph, x, n):
    features = x.shape[-1]
    q, k, v = (graph.linear(x, features) for _ in range(3))
    q, k, v = graph.heads(q, n), graph.heads(k, n, is_turned=True), graph.heads(v, n)
    scores = graph.scaled(graph.matmul(q, k), 1 / math.sqrt(features // n))
    return graph.linear(graph.joined_heads(graph.matmul(graph.softmax(scores), v)), features)


def bert(name, layers=2, features=128, n=2, tokens=512):
    """BERT after its embedding, without pooling and heads."""
    graph = Graph(name, (tokens, features))
    x = graph.input
    for _ in range(layers):
        x = graph.layer_norm(graph.add(attention(graph, x, n), x))
        x = graph.layer_norm(graph.add(graph.linear(graph.gelu(graph.linear(x, 4 * features)), features), x))
    return graph.finish(x)
