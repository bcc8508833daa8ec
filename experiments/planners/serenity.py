"""Serenity (Ahn et al., 2020): dynamic programming over sets of operators that have run, under a budget that adapts.

A state is the set of operators that have run (the published signature, the set of those that could run next, says the same); of each
the least peak of all ways to it is kept. States whose peak is above the budget are dropped. The budget begins as what a plain order
needs; if a step of the search has too many states, it is halved towards what was too little, if nothing is left, it is raised
(adaptive soft budgeting).

What is added, for graphs of hundreds of operators: an operator that leaves no more bytes than there were, and fits the budget while it
runs, runs at once. Any order within the budget can be changed so without leaving it, so the least peak stays the least
(tests/planners/check.py: with and without, beside exhaustive search)."""

import time

from operators import bits, greedy_order, peak, reverse_post_order

TOO_MANY = "too many"


class Search:
    """One run of the programme, of operators and their states."""

    def __init__(self, graph, budget, most_states, ends, eager):
        self.graph, self.budget, self.most_states, self.ends, self.eager = graph, budget, most_states, ends, eager
        self.came_from = {}   # state: (the one before, operators between)

    def settle(self, done, live, most, ready):
        """Runs what may run at once."""
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
    """(order, is it the least?). start: an order to begin with."""
    ends = None if seconds is None else time.monotonic() + seconds
    orders = ([start] if start else []) + [reverse_post_order(graph), greedy_order(graph), list(range(graph.n))]
    best = min(orders, key=lambda order: peak(graph, order))
    return descend(graph, best, lambda order: peak(graph, order), least_bound(graph), most_states, ends, eager)


def descend(graph, best, peak_of, low, most_states, ends, eager=True):
    """Lowers the budget from what the best order needs: to the least, as far as states are few enough, first of few, then of more."""
    high = peak_of(best)
    states = min(400, most_states)
    while low < high:
        budget, crowded = high - 1, None   # the least budget that had too many states
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
    """While an operator runs, what it reads and its output are there, but where one takes the other's place."""
    def own(i):
        taken = max((graph.sizes[t] for t in graph.places[i]), default=0)
        return sum(graph.sizes[t] for t in graph.reads[i]) + graph.sizes[i] - taken
    return max([own(i) for i in range(graph.n)] + [graph.start()])
