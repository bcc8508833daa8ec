"""HMCOS (Wang et al., 2022), reimplemented: cells as groups, a schedule of groups, and groups
opened at the peak.

Each join of several tensors ends a cell. All operators that the join post-dominates (everything
computed from them passes through it), and that are in no earlier cell, form a group. Operators that
only read the group and earlier ones are added while fewer bytes are live after them. Groups and
lone operators are scheduled by the program of serenity.py. Inside a group the order is reverse
post-order if that needs no more bytes than the group's start and end, else that of the same
program; it is found once for each set of outer tensors that die in the group. Then groups that hold
live tensors at the peak are opened, and everything is scheduled again within the previous peak,
until nothing changes."""

import time

from operators import Graph, bits, mask, peak, reverse_post_order
import serenity

INNER_STATES, OUTER_STATES = 1000, 4000


# ---- groups ----

def joins(graph):
    """(tensors of a join, its readers), by the last tensor. A join is an operand of several
    tensors, or a concatenation operator of the file."""
    found = {}
    for i, operands in enumerate(graph.operands):
        for operand in operands:
            if len(operand) > 2:
                found.setdefault(tuple(operand), []).append(i)
        if graph.facts[i].get("joins"):
            found[tuple(graph.reads[i])] = [i]
    return sorted(found.items(), key=lambda one: max(one[0]))


def cell_of(graph, tensors, readers, taken, own):
    """Operators whose readers are all in the cell, or that only read the join."""
    cell = set(readers) if own else set()
    candidates = sorted(ancestors(graph, tensors), reverse=True)
    for i in candidates:
        if i in taken or i in graph.outputs:
            continue
        if all(reader in cell or i in tensors and reader in readers for reader in graph.readers[i]) and graph.readers[i]:
            cell.add(i)
    return cell


def ancestors(graph, tensors):
    seen, stack = set(), [t for t in tensors if t < graph.n]
    while stack:
        i = stack.pop()
        if i not in seen:
            seen.add(i)
            stack.extend(t for t in graph.reads[i] if t < graph.n)
    return seen


def lengthened(graph, cell, taken):
    """Adds operators greedily while fewer bytes are live after them."""
    done = mask(taken | cell)
    live, best, more, best_more = 0, 0, [], []
    tried = set()
    while True:
        ready = [r for i in cell | set(more) for r in graph.readers[i] if not done >> r & 1 and not graph.before[r] & ~done and r not in tried]
        if not ready:
            return cell | set(best_more)
        nets = {i: graph.step(i, done, 0)[1] for i in ready}
        i = min(nets, key=lambda one: (nets[one], one))
        live += nets[i]
        done |= 1 << i
        more.append(i)
        if live < best:
            best, best_more = live, list(more)
        if len(more) > 8:
            return cell | set(best_more)


def find_groups(graph):
    taken, groups = set(), []
    for tensors, readers in joins(graph):
        own = bool(graph.facts[readers[0]].get("joins")) and tuple(graph.reads[readers[0]]) == tensors
        cell = cell_of(graph, tensors, readers, taken, own)
        if len(cell) > 1:
            cell = lengthened(graph, cell, taken) - taken
            taken |= cell
            groups.append(sorted(cell))
    return groups


# ---- the graph of groups ----

class Units:
    """Groups and lone operators as single operators, with the interface that serenity.Search needs."""

    def __init__(self, graph, groups, ends):
        self.graph, self.ends, self.memory = graph, ends, {}
        inside = {i for group in groups for i in group}
        units = groups + [[i] for i in range(graph.n) if i not in inside]
        self.units = sort_units(graph, units)
        self.n = len(self.units)
        self.unit_of = {i: u for u, unit in enumerate(self.units) for i in unit}
        self.before = [mask(self.unit_of[i] for k in unit for i in bits(graph.before[k]) if self.unit_of[i] != u) for u, unit in enumerate(self.units)]
        self.readers = [[v for v in range(self.n) if self.before[v] >> u & 1] for u in range(self.n)]
        self.outer = [self.outer_of(u) for u in range(self.n)]

    def outer_of(self, u):
        """(tensor, units that read it) for each tensor that a unit reads, does not make, and may
        free."""
        tensors = dict.fromkeys(t for i in self.units[u] for t in self.graph.reads[i] if self.unit_of.get(t) != u)
        return [(t, mask(self.unit_of[i] for i in self.graph.readers[t])) for t in tensors if t not in self.graph.outputs]

    def start(self):
        return self.graph.start()

    def ready(self, done):
        return [u for u in range(self.n) if not done >> u & 1 and not self.before[u] & ~done]

    def inner(self, u, units):
        """(order, peak bytes, change of live bytes) of a unit, relative to the live bytes before
        it."""
        units |= 1 << u
        dying = tuple(t for t, readers in self.outer[u] if not readers & ~units)
        if (u, dying) not in self.memory:
            self.memory[u, dying] = order_inside(self.graph, self.units[u], dying, self.ends)
        return self.memory[u, dying]

    def step(self, u, units, live):
        _, during, after = self.inner(u, units)
        return live + during, live + after

    def expand(self, order):
        done, out = 0, []
        for u in order:
            out += self.inner(u, done)[0]
            done |= 1 << u
        return out


def sort_units(graph, units):
    """Units in a possible order; a group that would wait for itself is opened."""
    where = {i: u for u, unit in enumerate(units) for i in unit}
    need = [{where[k] for i in unit for k in bits(graph.before[i])} - {u} for u, unit in enumerate(units)]
    done, order = set(), []
    while len(order) < len(units):
        ready = [u for u in range(len(units)) if u not in done and need[u] <= done]
        if not ready:
            stuck = max((u for u in range(len(units)) if u not in done), key=lambda u: len(units[u]))
            opened = [[i] for i in units[stuck]]
            return sort_units(graph, units[:stuck] + units[stuck + 1:] + opened)
        order += ready
        done |= set(ready)
    return [units[u] for u in order]


def order_inside(graph, unit, dying, ends):
    inside = set(unit)
    outer = sorted({t for i in unit for t in graph.reads[i] if t not in inside})
    done = 0   # readers of tensors that die, outside the group
    for t in dying:
        done |= graph.reader_mask[t]
    done &= ~mask(unit)
    sub, names = subgraph(graph, unit, outer, dying)
    order = reverse_post_order(sub)
    if peak(sub, order) > max(sub.start(), sum(sub.sizes[t] for t in sub.outputs)):
        seconds = None if ends is None else max(0.05, min(2.0, ends - time.monotonic()))
        order = serenity.schedule(sub, INNER_STATES, seconds, start=order)[0]
    inner = [names[i] for i in order]
    most, live, ran = 0, 0, done
    for i in inner:
        during, live = graph.step(i, ran, live)
        ran |= 1 << i
        most = max(most, during)
    return inner, most, live


def subgraph(graph, unit, outer, dying):
    """A group as a graph; inputs that it may not free count as outputs."""
    names = list(unit) + outer
    number = {t: k for k, t in enumerate(names)}
    operands = [[[number[t] for t in operand] for operand in graph.operands[i]] for i in unit]
    places = [[number[t] for t in graph.places[i]] for i in unit]
    inside = set(unit)
    outputs = {number[i] for i in unit if i in graph.outputs or any(r not in inside for r in graph.readers[i])}
    outputs |= {number[t] for t in outer if t not in dying} | {number[i] for i in unit if not graph.readers[i]}
    return Graph(operands, [graph.sizes[t] for t in names], outputs, places, [graph.facts[i] for i in unit]), names


# ---- the search ----

def at_peak(graph, order):
    """Operators that run at the peak, producers of tensors live there, and their readers."""
    done, live, alive = 0, graph.start(), set(graph.inputs())
    most, found = -1, set()
    for i in order:
        during, live = graph.step(i, done, live)
        alive.add(i)
        if during > most:
            most, found = during, set(alive) | {i}
        elif during == most:
            found |= alive | {i}
        alive -= set(graph.dying(i, done))
        done |= 1 << i
    return {i for i in found if i < graph.n} | {reader for t in found for reader in graph.readers[t]}


def schedule(graph, seconds=None):
    """(order, number of groups left, number of groups)."""
    ends = None if seconds is None else time.monotonic() + seconds
    groups = find_groups(graph)
    n_groups, best = len(groups), None
    while True:
        units = Units(graph, groups, ends)
        start = None if best is None else units_order(units, best)
        order = units.expand(order_units(units, ends, start))
        if best is None or peak(graph, order) < peak(graph, best):
            best = order
        hot = at_peak(graph, best)
        opened = [group for group in groups if not hot & set(group)]
        if len(opened) == len(groups) or ends is not None and time.monotonic() > ends:
            return best, len(groups), n_groups
        groups = opened


def units_order(units, order):
    """Units in the order of their first operators, as far as dependencies allow."""
    wanted = list(dict.fromkeys(units.unit_of[i] for i in order))
    done, out = 0, []
    while wanted:
        u = next(u for u in wanted if not units.before[u] & ~done)
        wanted.remove(u)
        out.append(u)
        done |= 1 << u
    return out


def peak_of(units, order):
    done, live, most = 0, units.start(), 0
    for u in order:
        during, live = units.step(u, done, live)
        done |= 1 << u
        most = max(most, during)
    return most


def order_units(units, ends, start):
    """The search of serenity.py, with the budget lowered from that of plain orders."""
    orders = [greedy_units(units), list(range(units.n)), units_order(units, reverse_post_order(units.graph))] + ([start] if start else [])
    best = min(orders, key=lambda order: peak_of(units, order))
    return serenity.descend(units, best, lambda order: peak_of(units, order), units.start(), OUTER_STATES, ends)[0]


def greedy_units(units):
    done, live, order = 0, units.start(), []
    for _ in range(units.n):
        steps = {u: units.step(u, done, live) for u in units.ready(done)}
        u = min(steps, key=lambda one: (steps[one][1], steps[one][0], one))
        live = steps[u][1]
        done |= 1 << u
        order.append(u)
    return order
