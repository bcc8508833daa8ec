"""Plans of few bytes that take little time, from others: of their groups, and of groups from any of their cuts to any other, the
quickest way of each within a limit of bytes, as measured.

What a group needs and how long it takes hardly depends on how the others are cut. So plans are timed whose groups are all cut
alike: those of a plan as they are, more and more coarsely (variants), and those between any two places where some plan cuts the
list of layers (Table). For a limit of bytes each group takes the quickest cut whose peak is within it (compose), or groups are
chosen, too (Table.compose: dynamic programming over the places). The least limits that are quick enough give plans, which are
measured in their turn."""

import re

COARSER = (1, 2, 3, 4, 6, 8, 12, 16, 32)
WHOLE = 1 << 30
WAYS = ("1x1", "1x1:dw0", *("rows%d" % n for n in (1, 2, 3, 4, 6, 8, 16)), *("rows%d:bricks" % n for n in (1, 2, 3, 4, 6, 8)),
        *("rows%d:early:bricks" % n for n in (1, 2, 4)))
MOST_PLACES = 24   # that groups of a table begin at
FURTHEST = 10      # places from where a group begins to where it ends


def groups_of(plan):
    """Texts of groups, of cuts between them, and what stands behind."""
    words = plan.split("/")
    behind = [word for word in words if word in ("inplace", "NoCut") or word.startswith("order=")]
    words = [word for word in words if word not in behind]
    return words[0::2], words[1::2], [word for word in behind if word != "NoCut"]


def text_of(groups, cuts, behind):
    """An order is for groups that are not by rows."""
    if all(group.startswith("rows") for group in groups):
        behind = [word for word in behind if not word.startswith("order=")]
    words = [groups[0]]
    for cut, group in zip(cuts, groups[1:]):
        words += [cut, group]
    return "/".join(words + (["NoCut"] if not cuts else []) + behind)


def coarser(group, times):
    """rows1 by 4: rows4; 1x32 by 4: 1x8; by WHOLE: 1x1."""
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
    """The rows of a group with other words behind them."""
    head = group.partition(":")[0]
    return head + words if head.startswith("rows") else group


def variants(plan):
    """Whole maps in the best order, where the plan names none."""
    groups, cuts, behind = groups_of(plan)
    if not any(word.startswith("order=") for word in behind):
        behind = ["order=best"] + behind
    cuttings = [[coarser(group, times) for group in groups] for times in (*COARSER, WHOLE)]
    cuttings += [[by_words(group, words) for group in cutting] for words in ("", ":bricks", ":early:bricks") for cutting in cuttings]
    cuttings = [list(cutting) for cutting in dict.fromkeys(map(tuple, cuttings))]
    return cuttings, cuts, behind


def compose(variants_of_it, told, most_ms, keep=6):
    """Plans for the least limits within which each group by its quickest cut, in sum, takes at most most_ms; told: what
    build/lay_plans says of the variants."""
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
    """Layers before which plans begin a group; those of few plans last."""
    found = {}
    for plan in plans:
        for cut in groups_of(plan)[1]:
            if cut.isdigit():
                found[int(cut)] = found.get(int(cut), 0) + 1
    return sorted(sorted(found, key=lambda place: -found[place])[:MOST_PLACES])


class Table:
    """Bytes and milliseconds of groups between any two places, by each way of WAYS."""

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
        """Each group of each way in one of them at least: (steps, text)."""
        for length in range(1, min(FURTHEST, self.last) + 1):
            for first in range(min(length, self.last - length + 1)):
                ends = sorted({0, first, *range(first, self.last + 1, length), self.last})
                for way in WAYS:
                    steps = [(begin, end, way) for begin, end in zip(ends, ends[1:])]
                    yield steps, self.text(steps)

    def learn(self, steps, facts):
        """facts: what build/lay_plans says of the plan."""
        if len(facts.get("groups", ())) != len(steps):
            return
        for (begin, end, way), group in zip(steps, facts["groups"]):
            ways = self.groups.setdefault((begin, end), {})
            ways[way] = min((group["ms"], group["peak_bytes"]), ways.get(way, (float("inf"), 0)))

    def quickest(self, limit):
        """Milliseconds, and (from, to, way) of the groups within so many bytes; None: there are none."""
        best = [(0, ())] + [None] * self.last
        for end in range(1, self.last + 1):
            options = [(best[begin][0] + ms, (*best[begin][1], (begin, end, way))) for begin in range(end) if best[begin]
                       for way, (ms, peak) in self.groups.get((begin, end), {}).items() if peak <= limit]
            best[end] = min(options, default=None)
        return best[self.last]

    def compose(self, most_ms, keep=12):
        """Plans for the least limits within which groups take at most most_ms in sum."""
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
