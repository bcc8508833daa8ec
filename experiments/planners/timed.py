"""Makes plans of few bytes that are fast from other plans: from their groups, and from groups
between any two of their cuts, each divided in the fastest measured way within a byte limit.

A group's bytes and time hardly depend on how other groups are divided. So plans are timed whose
groups are all divided alike: a plan's groups as they are and more and more coarsely (variants), and
groups between any two places where some plan cuts the list of layers (Table). For a byte limit,
each group takes the fastest division whose peak is within it (compose), or the groups are chosen,
too (Table.compose: dynamic programming over the places). The smallest limits that are fast enough
give plans, which are then measured."""

import re

COARSER = (1, 2, 3, 4, 6, 8, 12, 16, 32)
WHOLE = 1 << 30
WAYS = ("1x1", "1x1:dw0", *("rows%d" % n for n in (1, 2, 3, 4, 6, 8, 16)), *("rows%d:bricks" % n for n in (1, 2, 3, 4, 6, 8)),
        *("rows%d:early:bricks" % n for n in (1, 2, 4)))
MOST_PLACES = 24   # places at which a table's groups start
FURTHEST = 10      # most places between a group's start and end


def groups_of(plan):
    """Texts of the groups, of the cuts between them, and of the rest."""
    words = plan.split("/")
    behind = [word for word in words if word in ("inplace", "NoCut") or word.startswith("order=")]
    words = [word for word in words if word not in behind]
    return words[0::2], words[1::2], [word for word in behind if word != "NoCut"]


def text_of(groups, cuts, behind):
    """Adds an order if some groups are not by rows."""
    if all(group.startswith("rows") for group in groups):
        behind = [word for word in behind if not word.startswith("order=")]
    words = [groups[0]]
    for cut, group in zip(cuts, groups[1:]):
        words += [cut, group]
    return "/".join(words + (["NoCut"] if not cuts else []) + behind)


def coarser(group, times):
    """Divides more coarsely: rows1 by 4 is rows4, 1x32 by 4 is 1x8, by WHOLE 1x1."""
    head, colon, tail = group.partition(":")
    if head.startswith("rows"):
        if times == WHOLE:
            return "1x1"
        return "rows%d%s" % (int(head[4:] or 4) * times, colon + tail)
    grid = re.fullmatch(r"(\d+)x(\d+)", head)
    if not grid:
        return group
    sides = [max(1, int(side) // times) for side in grid.groups()]
    return "%dx%d%s" % (*sides, "" if sides == [1, 1] and tail == "balanced" else colon + tail)


def by_words(group, words):
    """A group's rows with other words after them."""
    head = group.partition(":")[0]
    return head + words if head.startswith("rows") else group


def variants(plan):
    """Whole maps in the best order, if the plan names none."""
    groups, cuts, behind = groups_of(plan)
    if not any(word.startswith("order=") for word in behind):
        behind = ["order=best"] + behind
    cuttings = [[coarser(group, times) for group in groups] for times in (*COARSER, WHOLE)]
    cuttings += [[by_words(group, words) for group in cutting] for words in ("", ":bricks", ":early:bricks") for cutting in cuttings]
    cuttings = [list(cutting) for cutting in dict.fromkeys(map(tuple, cuttings))]
    return cuttings, cuts, behind


def compose(variants_of_it, told, most_ms, keep=6):
    """Plans for the smallest limits within which each group's fastest division takes at most most_ms in sum.
    told: build/lay_plans' results for the variants."""
    cuttings, cuts, behind = variants_of_it
    known = [(groups, facts) for groups, facts in zip(cuttings, told) if len(facts.get("groups", ())) == len(groups)]
    n = len(known[0][0]) if known else 0
    options = [[(facts["groups"][g]["peak_bytes"], facts["groups"][g]["ms"], groups[g]) for groups, facts in known] for g in range(n)]
    found = []
    for limit in sorted({peak for group in options for peak, _, _ in group}):
        chosen = [min(((ms, peak, cut) for peak, ms, cut in group if peak <= limit), default=None) for group in options]
        if None in chosen or sum(ms for ms, _, _ in chosen) > most_ms:
            continue
        text = text_of([cut for _, _, cut in chosen], cuts, behind)
        if text not in found:
            found.append(text)
        if len(found) == keep:
            break
    return found


def texts(variants_of_it):
    cuttings, cuts, behind = variants_of_it
    return [text_of(groups, cuts, behind) for groups in cuttings]


def places(plans):
    """Layers at which plans start a group; rare ones last."""
    found = {}
    for plan in plans:
        for cut in groups_of(plan)[1]:
            if cut.isdigit():
                found[int(cut)] = found.get(int(cut), 0) + 1
    return sorted(sorted(found, key=lambda place: -found[place])[:MOST_PLACES])


class Table:
    """Bytes and milliseconds of groups between any two places, for each of WAYS."""

    def __init__(self, plans):
        self.places = [0, *places(plans), None]
        self.last = len(self.places) - 1
        self.groups = {}

    def text(self, steps):
        """The plan's text from (from, to, way) in sequence."""
        cuts = [str(self.places[end]) for _, end, _ in steps[:-1]]
        ways = [way for _, _, way in steps]
        return text_of(ways, cuts, ["order=best"])

    def plans(self):
        """Plans that together have each group, divided in each way, at least once: (steps, text)."""
        for length in range(1, min(FURTHEST, self.last) + 1):
            for first in range(min(length, self.last - length + 1)):
                ends = sorted({0, first, *range(first, self.last + 1, length), self.last})
                for way in WAYS:
                    steps = [(begin, end, way) for begin, end in zip(ends, ends[1:])]
                    yield steps, self.text(steps)

    def learn(self, steps, facts):
        """facts: build/lay_plans' result for the plan."""
        if len(facts.get("groups", ())) != len(steps):
            return
        for (begin, end, way), group in zip(steps, facts["groups"]):
            ways = self.groups.setdefault((begin, end), {})
            ways[way] = min((group["ms"], group["peak_bytes"]), ways.get(way, (float("inf"), 0)))

    def quickest(self, limit):
        """Milliseconds, and (from, to, way) of the groups, within so many bytes; None: impossible."""
        best = [(0, ())] + [None] * self.last
        for end in range(1, self.last + 1):
            options = [(best[begin][0] + ms, (*best[begin][1], (begin, end, way))) for begin in range(end) if best[begin]
                       for way, (ms, peak) in self.groups.get((begin, end), {}).items() if peak <= limit]
            best[end] = min(options, default=None)
        return best[self.last]

    def compose(self, most_ms, keep=12):
        """Plans for the smallest limits within which groups take at most most_ms in sum."""
        found = []
        for limit in sorted({peak for ways in self.groups.values() for _, peak in ways.values()}):
            quickest = self.quickest(limit)
            if not quickest or quickest[0] > most_ms:
                continue
            text = self.text(quickest[1])
            if text not in found:
                found.append(text)
            if len(found) == keep:
                break
        return found
