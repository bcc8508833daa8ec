"""Serenity (Ahn et al., 2020): dynamic programming over sets of executed operators under an
adaptive budget.

A state is the set of operators that have run (equivalent to the published signature, the set of
ready operators), with the least peak of all orders that lead to it. States with a peak above the
budget are dropped. The budget starts at what a plain order needs. It is halved towards the last
infeasible one if a step has too many states, and raised if no state is left (adaptive soft
budgeting).

Addition for graphs of hundreds of operators: an operator that leaves no more bytes than before, and
fits the budget, runs at once. Any order within the budget can be changed like this without
exceeding it, so the optimum stays the same (tests/planners/check.py compares both with exhaustive
search)."""

import time

from operators import bits, greedy_order, peak, reverse_post_order

TOO_MANY = "too many"


class Search:
    """One run of the search, on operators and their states."""

    def __init__(self, graph, budget, most_states, ends, eager):
        self.graph, self.budget, self.most_states, self.ends, self.eager = graph, budget, most_states, ends, eager
        self.came_from = {}   # state: (previous state, operators between)

    def settle(self, done, live, most, ready):
        """Runs operators that can run at once."""
        ran = []
        found = self.eager
        while found:
            found = False
            for i in bits(ready):
                during, after = self.graph.step(i, done, live)
                if after <= live and during <= self.budget:
                    done, live, most, ready = self.run(i, done, after, max(most, during), ready)
                    ran.append(i)
                    found = True
        return done, live, most, ready, ran

    def run(self, i, done, live, most, ready):
        done |= 1 << i
        ready &= ~(1 << i)
        for reader in self.graph.readers[i]:
            if not self.graph.before[reader] & ~done:
                ready |= 1 << reader
        return done, live, most, ready

    def find(self):
        """(peak, order), None, or TOO_MANY."""
        graph = self.graph
        first = 0
        for i in graph.ready(0):
            first |= 1 << i
        done, live, most, ready, ran = self.settle(0, graph.start(), graph.start(), first)
        if most > self.budget:
            return None
        self.came_from[done] = (None, ran)
        levels = {done.bit_count(): {done: (most, live, ready)}}
        for n_done in range(graph.n):
            level = levels.pop(n_done, {})
            if len(level) > self.most_states or self.ends is not None and time.monotonic() > self.ends:
                return TOO_MANY
            for k, (done, (most, live, ready)) in enumerate(level.items()):
                if k % 256 == 255 and self.ends is not None and time.monotonic() > self.ends:
                    return TOO_MANY
                for i in bits(ready):
                    during, after = graph.step(i, done, live)
                    if during <= self.budget:
                        self.reach(levels, done, i, self.run(i, done, after, max(most, during), ready))
        full = (1 << graph.n) - 1
        last = levels.get(graph.n, {}).get(full)
        return (last[0], self.order(full)) if last else None

    def reach(self, levels, before, i, state):
        done, live, most, ready, ran = self.settle(*state)
        level = levels.setdefault(done.bit_count(), {})
        if done not in level or most < level[done][0]:
            level[done] = (most, live, ready)
            self.came_from[done] = (before, [i] + ran)

    def order(self, state):
        order = []
        while state is not None:
            state, ran = self.came_from[state]
            order[:0] = ran
        return order


def schedule(graph, most_states=20000, seconds=None, eager=True, start=None):
    """(order, proven optimal?). start: an order to begin with."""
    ends = None if seconds is None else time.monotonic() + seconds
    orders = ([start] if start else []) + [reverse_post_order(graph), greedy_order(graph), list(range(graph.n))]
    best = min(orders, key=lambda order: peak(graph, order))
    return descend(graph, best, lambda order: peak(graph, order), least_bound(graph), most_states, ends, eager)


def descend(graph, best, peak_of, low, most_states, ends, eager=True):
    """Lowers the budget from the best order's peak towards the optimum, first with few states, then
    with more."""
    high = peak_of(best)
    states = min(400, most_states)
    while low < high:
        budget, crowded = high - 1, None   # smallest budget with too many states
        while low <= budget:
            found = Search(graph, budget, states, ends, eager).find()
            if found is TOO_MANY:
                crowded = budget
            elif found is None:
                low = budget + 1
            else:
                best, high, crowded = found[1], peak_of(found[1]), None
            if crowded is not None and crowded - low < max(1, high // 512) or ends is not None and time.monotonic() > ends:
                break
            budget = high - 1 if crowded is None and found is not None else (low + (crowded or high)) // 2
            if budget >= high or found is None and budget < low:
                break
        if low < high and (states >= most_states or ends is not None and time.monotonic() > ends):
            return best, False
        states *= 5
    return best, True


def least_bound(graph):
    """Lower bound: while an operator runs, its inputs and output are live, unless one takes the
    other's place."""
    def own(i):
        taken = max((graph.sizes[t] for t in graph.places[i]), default=0)
        return sum(graph.sizes[t] for t in graph.reads[i]) + graph.sizes[i] - taken
    return max([own(i) for i in range(graph.n)] + [graph.start()])
