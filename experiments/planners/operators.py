"""A network as operators to be scheduled, each with one output, and its live bytes.

Operators are numbered from 0 in a possible order; tensor i is operator i's output. The network's
inputs have the following numbers and live from the start. Sets of operators are integers with a bit
for each."""

import json
import os
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("BUILD", os.path.join(ROOT, "build"))
# Operators whose output may take an input's buffer in a published planner.
NOTHING, ELEMENTS, ALL = "nothing", "elements", "all"


class Graph:
    """operands: for each operator lists of tensors; a list of several is a join that is not an
    operator. sizes: bytes, also of inputs. places: tensors whose buffer an output may take.
    facts: a dict for each operator."""

    def __init__(self, operands, sizes, outputs=(), places=None, facts=None):
        self.n, self.operands, self.sizes = len(operands), operands, list(sizes)
        self.reads = [unique(t for operand in one for t in operand) for one in operands]
        self.places = places or [[] for _ in operands]
        self.facts = facts or [{} for _ in operands]
        self.readers = [[] for _ in sizes]
        for i, reads in enumerate(self.reads):
            for t in reads:
                self.readers[t].append(i)
        self.outputs = set(outputs) or {i for i in range(self.n) if not self.readers[i]}
        self.before = [mask(t for t in reads if t < self.n) for reads in self.reads]
        self.reader_mask = [mask(readers) for readers in self.readers]
        self.layers = [facts.get("layer", i) for i, facts in enumerate(self.facts)]

    def inputs(self):
        return range(self.n, len(self.sizes))

    def in_place(self, how):
        """The same graph in which outputs take the buffer of a dying input: never, for elementwise
        operators, or whenever the program's kernels can."""
        def allowed(i):
            if how == NOTHING or how == ELEMENTS and self.facts[i].get("depthwise"):
                return []
            if how == ELEMENTS:
                return [t for t in self.places[i] if self.reads[i][:1] == [t] and self.facts[i].get("type") != "normalize"]
            return self.places[i]
        return Graph(self.operands, self.sizes, self.outputs, [allowed(i) for i in range(self.n)], self.facts)

    def dying(self, i, done):
        """Tensors whose last reader is operator i, after those in `done`."""
        done |= 1 << i
        return [t for t in self.reads[i] if t not in self.outputs and not self.reader_mask[t] & ~done]

    def step(self, i, done, live):
        """Bytes while operator i runs, with `live` before it, and after it."""
        dying = self.dying(i, done)
        taken = next((self.sizes[t] for t in self.places[i] if t in dying and self.sizes[t] == self.sizes[i]), 0)
        lost = 0 if self.readers[i] or i in self.outputs else self.sizes[i]
        return live + self.sizes[i] - taken, live + self.sizes[i] - lost - sum(self.sizes[t] for t in dying)

    def start(self):
        return sum(self.sizes[t] for t in self.inputs())

    def ready(self, done):
        return [i for i in range(self.n) if not done >> i & 1 and not self.before[i] & ~done]


def unique(items):
    return list(dict.fromkeys(items))


def mask(items):
    bits = 0
    for i in items:
        bits |= 1 << i
    return bits


def bits(number):
    while number:
        low = number & -number
        yield low.bit_length() - 1
        number ^= low


# ---- what an order needs ----

def profile(graph, order):
    """Live bytes at each step of an order."""
    done, live, steps = 0, graph.start(), []
    for i in order:
        during, live = graph.step(i, done, live)
        done |= 1 << i
        steps.append(during)
    return steps


def peak(graph, order):
    return max(profile(graph, order), default=graph.start())


def lives(graph, order):
    """(first step, last step, bytes) of each buffer; tensors in the same place are one. Inputs live
    from the first step."""
    at = {i: k for k, i in enumerate(order)}
    end = [max([at[i] for i in readers] + [at.get(t, 0)]) for t, readers in enumerate(graph.readers)]
    for t in graph.outputs:
        end[t] = len(order) - 1
    chain, out = {}, []
    for i in list(graph.inputs()) + list(order):
        taken = i < graph.n and next((t for t in graph.places[i] if end[t] == at[i] and graph.sizes[t] == graph.sizes[i] and t not in graph.outputs), None)
        if taken is None or taken is False:
            chain[i] = len(out)
            out.append([at.get(i, 0), end[i], graph.sizes[i]])
        else:
            chain[i] = chain[taken]
            out[chain[i]][1] = max(out[chain[i]][1], end[i])
    return [tuple(one) for one in out]


def is_order(graph, order):
    done = 0
    for i in order:
        if done >> i & 1 or graph.before[i] & ~done:
            return False
        done |= 1 << i
    return len(order) == graph.n


# ---- from the program, and back ----

def tool(name):
    return os.path.join(BUILD, name)


def read_graph(path):
    """A model's graph from build/lay_plans. Constants have 0 bytes: they are no activations."""
    done = subprocess.run([tool("lay_plans"), "--graph", path], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ValueError(done.stderr.strip())
    facts = json.loads(done.stdout)
    number = {one["layer"]: i for i, one in enumerate(facts["layers"])}
    number.update({one["tensor"]: len(number) + i for i, one in enumerate(facts["inputs"])})
    operands = [[[number[t] for t in operand] for operand in one["operands"]] for one in facts["layers"]]
    places = [[number[t] for t in one["places"]] for one in facts["layers"]]
    outputs = [number[one["layer"]] for one in facts["layers"] if one["output"]]
    sizes = [0 if one.get("type") == "constant" else one["bytes"] for one in facts["layers"] + facts["inputs"]]
    return Graph(operands, sizes, outputs, places, facts["layers"])


def order_plan(graph, order, in_place=False):
    """The plan that runs whole maps in this order: a group for each operator, nothing fused."""
    groups = ["1x1/0,%d" % graph.layers[i] for i in order[:-1]]
    return "/".join(groups + ["1x1"] + (["NoCut"] if not groups else [])) + ("/inplace" if in_place else "")


# ---- plain orders ----

def reverse_post_order(graph):
    """Depth first from the outputs, in the order of operands."""
    done, order = set(graph.inputs()), []
    stack = sorted(graph.outputs, reverse=True)
    stack = [i for i in range(graph.n - 1, -1, -1) if i not in graph.outputs] + stack   # and unread tensors last
    while stack:
        i = stack[-1]
        waiting = [t for t in graph.reads[i] if t not in done] if i not in done else []
        if waiting:
            stack.extend(waiting[::-1])
            continue
        stack.pop()
        if i not in done:
            done.add(i)
            order.append(i)
    return order


def greedy_order(graph):
    """Greedy: runs the ready operator that leaves the fewest bytes live; on ties the one that
    allocates the fewest."""
    done, live, order = 0, graph.start(), []
    for _ in range(graph.n):
        best = min(graph.ready(done), key=lambda i: (graph.step(i, done, live)[1], graph.step(i, done, live)[0], i))
        live = graph.step(best, done, live)[1]
        done |= 1 << best
        order.append(best)
    return order


def exhaustive(graph):
    """The least peak over all orders, exhaustively."""
    best = [None]

    def go(done, live, most):
        if best[0] is not None and most >= best[0]:
            return
        if done == (1 << graph.n) - 1:
            best[0] = most
        for i in graph.ready(done):
            during, after = graph.step(i, done, live)
            go(done | 1 << i, after, max(most, during))

    go(0, graph.start(), graph.start())
    return best[0]
