"""Of a plan by groups others that take less time: each group in more rows a step or fewer tiles, or as whole maps, as measured.

What a group needs and how long it takes hardly depends on how the others are cut. So a plan is timed with all its groups cut
alike, more and more coarsely; then, for a limit of bytes, each group takes the quickest cut whose peak is within it. The least limit
that is quick enough gives a plan, which is measured in its turn."""

import re

COARSER = (1, 2, 3, 4, 6, 8, 12, 16, 32)
WHOLE = 1 << 30


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


def variants(plan):
    """Whole maps in the best order, where the plan names none."""
    groups, cuts, behind = groups_of(plan)
    if not any(word.startswith("order=") for word in behind):
        behind = ["order=best"] + behind
    return [[coarser(group, times) for group in groups] for times in (*COARSER, WHOLE)], cuts, behind


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
