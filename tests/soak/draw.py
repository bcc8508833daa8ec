"""Draws the next run by a seed, so that all pairs of values come early."""

import fnmatch
import itertools

CANDIDATES = 24


class Drawing:
    """factors: for each its values and their relative frequencies."""

    def __init__(self, random, factors):
        self.random, self.factors = random, factors
        self.seen = set()

    def one(self, name):
        values = self.factors[name]
        return self.random.choices(list(values), list(values.values()))[0]

    @staticmethod
    def pairs(choice):
        return set(itertools.combinations(sorted(choice.items()), 2))

    def next(self, given):
        """Draws with the given values and a case by frequency: of some candidates the one with the
        most new pairs."""
        given = {"case": self.one("case"), **given}
        candidates = [{**{name: self.one(name) for name in self.factors}, **given} for _ in range(CANDIDATES)]
        best = max(candidates, key=lambda choice: len(self.pairs(choice) - self.seen))
        self.seen |= self.pairs(best)
        return best


def only(factors, wishes):
    """The factors' values that the options "factor=pattern" leave; ValueError if none."""
    left = dict(factors)
    for wish in wishes:
        name, _, patterns = wish.partition("=")
        if name not in left:
            raise ValueError("--only expects one of %s and =VALUE, found %s" % (", ".join(factors), wish))
        left[name] = {value: chance for value, chance in left[name].items()
                      if any(fnmatch.fnmatch(value, pattern) for pattern in patterns.split(","))}
        if not left[name]:
            raise ValueError("--only %s: nothing is left of %s" % (wish, ", ".join(factors[name])))
    return left
