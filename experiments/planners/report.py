"""Writes README.md: measured figures from runs.csv, published ones from published.py."""

import os

from figure import arena, read
from methods import METHODS, SEARCHES
from pages import wrapped
from published import (DIFFERENCES, FDT_PAPER, FDT_THESIS, HMCOS_MOST, MOTES_LIMIT, MOTES_MOST, MOTES_NETWORKS, NETWORKS, TINYENGINE_MOST)

LINE = 64            # buffers are multiples of this many bytes
SMALLER, SLOWER = 0.8, 1.05
ORDERS = ("tflm", "milp", "serenity", "hmcos")
RIVALS = ("fdt", "ffmt", "fdt_both", "motes")

INTRO = """# Published planners of memory

This page compares published methods that reduce activation memory, by execution order, patches, tiles and splits, with mafat's searches: on the same networks, with the same kernels, in arenas with the same layout. `make planners` gets a plan from each method, lays it out, runs it, and writes this page from the measurements (runs.csv, live.csv):

    make planners                                            # PLANNERS='--only kws,radar --methods hmcos,least', '--help'
    experiments/planners/run.py --report-only                # this page and its figures from the CSV
    build/lay_plans --graph MODEL                            # operators, inputs and bytes: the planners' input
    echo PLAN | build/lay_plans --rounds 5 MODEL             # arena, bits and time of a plan
    tests/planners/check.py --all                            # the methods against exhaustive search (minutes)
    make planners-check                                      # all plans again: bits and arenas; four networks under valgrind

TFLite models come from the folder of `MAFAT_MODELS`, the others from `make networks`; missing ones are omitted.

| method | implementation here |
|---|---|
| whole maps | mafat's `1x1/NoCut/order=file`: the file's order, with mafat's fusion. The reference |
| TFLite Micro | the file's order, operator by operator, nothing in place; by its own count the largest buffers first, each at the lowest free offset |
| FDT's integer programmes | order and layout of whole operators as mixed integer programs, solved by cbc or lp_solve, for networks of up to 16 operators |
| Serenity | dynamic programming over sets of operators under an adaptive budget; nothing in place |
| HMCOS | cells as groups, opened at the peak; by its count elementwise operators in place, in its plan all that the kernels support (`/inplace`). Reimplemented from its publication and public code |
| TinyEngine | the leading layers in n x n patches (2 to 7) of the map that ends them, overlap computed again; then operator by operator, depthwise in place. The least arena of all n and ends |
| FFMT, FDT, both | `--search fdt:tiling=ffmt`, `fdt`, `both`: tiles with overlap, channels, or either, by the published flow |
| MOTES | `--search motes:delta=1.05`: axes cut in equal parts, beam search |
| ours | `--search least`: weights kept, nothing computed twice, the least arena |
| ours, in time | the least arena of the plans that take at most 1.05 x whole maps, as measured. Candidates: `least`; the plans for every budget (`--pareto`) that keep their weights; these with some groups cut more coarsely; groups between any two cuts of all these plans (timed.py); and the plans of all methods above |

An order of whole operators is a plan with one group for each (`1x1/0,4/1x1/0,2/...`), so nothing is fused and the arena is that order's. Convolutions are direct, weights kept, one thread. A concatenation of channels is no operator here and copies nothing; publications count it as one (for cell networks see below).
"""


class Table:
    """Rows of text in Markdown."""

    def __init__(self, heads):
        self.lines = ["| %s |" % " | ".join(heads), "|%s" % ("---|" * len(heads))]

    def row(self, cells):
        self.lines.append("| %s |" % " | ".join(cells))

    def __str__(self):
        return "\n".join(self.lines) + "\n"


class Runs:
    """The measurements."""

    def __init__(self, folder):
        self.rows = read(folder, "runs.csv")
        self.networks = [network for network in NETWORKS if (network, "whole") in self.rows and self.rows[network, "whole"]["arena_bytes"]]
        self.methods = [name for name in METHODS if any(self.arena(network, name) for network in self.networks)]

    def row(self, network, method):
        row = self.rows.get((network, method))
        return row if row and row["arena_bytes"] else None

    def arena(self, network, method):
        row = self.row(network, method)
        return arena(row) if row else None

    def number(self, network, method, field):
        row = self.row(network, method)
        return float(row[field]) if row and row[field] else None

    def ratio(self, network, method, field, of="whole"):
        a, b = self.number(network, method, field), self.number(network, of, field)
        return a / b if a is not None and b else None

    def rivals(self, network):
        """(bytes, method) of the best of FDT, with all tilings, and MOTES."""
        return min(((self.arena(network, name), name) for name in RIVALS if self.arena(network, name)), default=None)


def kib(n):
    return "" if n is None else "%.1f" % (n / 1024)


def yes(holds):
    return "yes" if holds else "**no**"


# ---- parts of the page ----

def bytes_table(runs):
    table = Table(["arena, KiB"] + [METHODS[name][0] for name in runs.methods])
    for network in runs.networks:
        least = min(runs.arena(network, name) for name in runs.methods if runs.arena(network, name))
        table.row([network] + ["**%s**" % kib(runs.arena(network, name)) if runs.arena(network, name) == least else kib(runs.arena(network, name)) or "-"
                               for name in runs.methods])
    return str(table)


def own_table(runs):
    table = Table(["KiB by its own count"] + [METHODS[name][0] for name in ORDERS] + ["operators opened, proofs"])
    for network in runs.networks:
        counts = [runs.rows.get((network, name), {}).get("own_bytes", "") for name in ORDERS]
        notes = ["%s: %s" % (METHODS[name][0], runs.rows[network, name]["note"]) for name in ORDERS
                 if runs.rows.get((network, name), {}).get("note") and name != "milp"]
        table.row([network] + [kib(float(count)) if count else "-" for count in counts] + ["; ".join(notes)])
    return str(table)


def table_of(runs, head, cell):
    table = Table([head] + [METHODS[name][0] for name in runs.methods])
    for network in runs.networks:
        table.row([network] + [cell(network, name) for name in runs.methods])
    return str(table)


def ratio_text(value):
    return "-" if value is None else "%.2f" % value


def macs_cell(runs):
    """Multiply-adds beyond those of the network."""
    def cell(network, name):
        row = runs.row(network, name)
        if not row:
            return "-"
        own = int(row["macs"]) - int(row["redundant_macs"])
        share = 100 * int(row["redundant_macs"]) / own if own else 0
        return "0" if not int(row["redundant_macs"]) else "+%.1f %%" % share
    return cell


def seconds_cell(runs):
    def cell(network, name):
        row = runs.rows.get((network, name))
        return "%.1f" % float(row["seconds"]) if row and row["arena_bytes"] and row["seconds"] else "-"
    return cell


def machines(runs):
    found = sorted({row["machine"] for row in runs.rows.values() if row["machine"]})
    return "on " + " and ".join(found) if found else "on an unknown machine"


def used_text(runs):
    """Predicted and written bytes."""
    held, others, bits, filled = 0, [], [], []
    for network in runs.networks:
        for name in runs.methods:
            row = runs.row(network, name)
            if not row:
                continue
            predicted = int(row["arena_bytes"]) - int(row["behind_bytes"])
            if -(-int(row["used_bytes"]) // LINE) * LINE == predicted:
                held += 1
            else:
                others.append("%s, %s: %d bytes predicted, the last that is written is %d" % (network, METHODS[name][0], predicted, int(row["used_bytes"])))
            if row["hash"] != runs.row(network, "whole")["hash"]:
                bits.append("%s, %s" % (network, METHODS[name][0]))
            if row["filled_differs"] == "1":
                filled.append("%s, %s" % (network, METHODS[name][0]))
    lines = ["Each plan ran in an arena filled with two patterns before, and the changed bytes were counted. %d of %d plans wrote up to the last "
             "predicted line of %d bytes (for maps of bytes %d more follow, which are read and never written)%s" %
             (held, held + len(others), LINE, LINE, "." if not others else "; the others:\n")]
    lines += ["- " + other for other in others]
    lines.append("")
    lines.append("Outputs: %s." % ("every plan gives the bits of whole maps" if not bits else "**bits other than those of whole maps**: " + "; ".join(bits)) +
                 (" The initial contents of the arena changed nothing." if not filled else " **The initial contents of the arena changed outputs**: " + "; ".join(filled) + "."))
    return "\n".join(lines) + "\n"


def checks_text(folder):
    """Results of `make planners-check`, if it was run."""
    rows = read(folder, "checks.csv")
    if not rows:
        return ""
    commands = sorted({command for _, command in rows}, key=lambda command: (command != "plain", command))
    table = Table(["plans checked"] + ["%s: %s" % ("unchanged" if command == "plain" else "under " + command, what)
                                       for command in commands for what in ("plans", "the same bits", "written up to the predicted line")])
    for network in dict.fromkeys(network for network, _ in rows):
        cells = [rows.get((network, command)) for command in commands]
        table.row([network] + [cell[field] if cell else "-" for cell in cells for field in ("plans", "same_bits", "to_the_line")])
    return ("`make planners-check` runs all of these plans, and vww's, again in filled arenas, and those of four networks under valgrind, which reports "
            "accesses outside of mapped or allocated memory:\n\n" + str(table))


OURS = ("least", "quick")


def judged(runs, network, name):
    """Ours relative to (bytes of the better of FDT and MOTES, time of whole maps); None: unknown."""
    rival, ours = runs.rivals(network), runs.arena(network, name)
    return ours / rival[0] if ours and rival else None, runs.ratio(network, name, "ms")


def bars(runs):
    """For each of ours: at most the better of FDT and MOTES; much less; in time; all three."""
    table = Table(["network", "better of FDT and MOTES, KiB"] + ["%s%s" % (METHODS[name][0], what) for name in OURS for what in
                  (", KiB", " / better", ": no more than it", " / whole maps, time", ": at most %.1f x, in %.2f x the time" % (SMALLER, SLOWER))])
    counts = {name: [0, 0, 0, 0] for name in OURS}
    known = sum(runs.rivals(network) is not None for network in runs.networks)
    for network in runs.networks:
        rival = runs.rivals(network)
        cells = ["%s (%s)" % (kib(rival[0]), METHODS[rival[1]][0]) if rival else "-"]
        for name in OURS:
            part, time = judged(runs, network, name)
            marks = [part is not None and part <= 1, part is not None and part <= SMALLER, time is not None and time <= SLOWER]
            counts[name] = [count + mark for count, mark in zip(counts[name], marks + [all(marks)])]
            cells += [kib(runs.arena(network, name)) or "-", ratio_text(part), yes(marks[0]) if rival else "-", ratio_text(time), yes(all(marks)) if rival else "-"]
        table.row([network] + cells)
    lines = ["*Ours* is the least arena regardless of time. *Ours, in time* was chosen by measurement for each network, so it is in time by construction; compare its bytes. "
             "If no other candidate is in time, it is whole maps. Its time in the table was measured separately from the choice. FFMT's tiles may compute overlap again, which ours never do; they are "
             "included in the comparison.", ""]
    for name in OURS:
        never, smaller, fast, every = counts[name]
        text = "- %s: at most %.2f x the time of whole maps on %d of %d" % (METHODS[name][0], SLOWER, fast, len(runs.networks))
        if known:
            text += "; not more than the better of FDT and MOTES on %d of %d, at most %.1f x of it on %d; at most %.1f x and in time on %d" % (
                never, known, SMALLER, smaller, SMALLER, every)
        lines.append(text + ".")
    if not known:
        lines.append("\nThe program that made this page has neither FDT's nor MOTES' search.")
    return "\n".join(lines) + "\n\n" + str(table)


def saved(runs, network, name):
    ours, whole = runs.arena(network, name), runs.arena(network, "tflm") or runs.arena(network, "whole")
    return None if ours is None else 100 * (1 - ours / whole)


def number(value):
    return "-" if value is None else "%.1f" % value


def fdt_table(runs):
    table = Table(["FDT's networks", "kB untiled, paper / thesis", "FFMT saves, %: paper / thesis", "here", "FDT saves, %: paper / thesis", "here", "both, here", "whole maps save, here",
                   "FFMT's more multiply-adds, %: paper / thesis", "here", "both save as published"])
    for network, paper in FDT_PAPER.items():
        if network not in runs.networks:
            continue
        thesis = FDT_THESIS[network]
        more = None
        row = runs.row(network, "ffmt")
        if row:
            more = 100 * int(row["redundant_macs"]) / max(1, int(row["macs"]) - int(row["redundant_macs"]))
        table.row([network, two(paper[0], thesis[0]), two(paper[3], thesis[3]), number(saved(runs, network, "ffmt")), two(paper[4], thesis[4]),
                   number(saved(runs, network, "fdt")), number(saved(runs, network, "fdt_both")), number(saved(runs, network, "whole")), two(paper[5], thesis[5]), number(more),
                   verdict([(saved(runs, network, "ffmt"), min(paper[3], thesis[3])), (saved(runs, network, "fdt"), min(paper[4], thesis[4]))])])
    return str(table)


def verdict(pairs):
    """"yes" if each reaches the published figure to its printed digits."""
    return "-" if any(here is None for here, _ in pairs) else yes(all(round(here, 1) >= there for here, there in pairs))


def two(a, b):
    return "%g" % a if a == b else "%g / %g" % (a, b)


def motes_table(runs):
    table = Table(["MOTES' networks, KiB", "TinyEngine", "published", "HMCOS, its count", "published", "MOTES, live bytes", "its arena", "published", "live bytes within it", "arena within it", "ours"])
    for network in MOTES_NETWORKS:
        if network not in runs.networks:
            continue
        own = runs.rows.get((network, "hmcos"), {}).get("own_bytes")
        table.row([network, kib(runs.arena(network, "tinyengine")) or "-", at_most(TINYENGINE_MOST.get(network), "more than %d" % MOTES_LIMIT), kib(float(own)) if own else "-",
                   at_most(HMCOS_MOST.get(network), "more than %d" % MOTES_LIMIT), kib(alive(runs, network)) or "-", kib(runs.arena(network, "motes")) or "-",
                   at_most(MOTES_MOST[network], ""), *("-" if size is None else yes(size <= 1024 * MOTES_MOST[network])
                                                       for size in (alive(runs, network), runs.arena(network, "motes"))), kib(runs.arena(network, "least"))])
    return str(table)


def alive(runs, network):
    """Peak live bytes of MOTES' plan, as in its publication, which has no arenas."""
    bound, constant = (runs.number(network, "motes", field) for field in ("bound_bytes", "constant_bytes"))
    return None if bound is None else bound - constant


def at_most(limit, otherwise):
    return "at most %d" % limit if limit else otherwise


def differences(runs):
    return "\n".join("- %s: %s" % (network, DIFFERENCES[network]) for network in runs.networks) + "\n"


def absent(runs):
    lines = []
    for name in SEARCHES:
        notes = {runs.rows[network, name]["note"] for network in runs.networks if (network, name) in runs.rows and not runs.rows[network, name]["arena_bytes"]}
        if notes:
            lines.append("- %s: %s" % (METHODS[name][0], "; ".join(sorted(notes))))
    missing = [network for network in NETWORKS if network not in runs.networks]
    if missing:
        lines.append("- missing models: " + ", ".join(missing))
    return "Omitted:\n\n" + "\n".join(lines) + "\n" if lines else ""


def published_counts(folder):
    rows = read(folder, "joins.csv")
    if not rows:
        return ""
    table = Table(["concatenation as an operator, KiB", "reverse post-order", "HMCOS", "published"])
    for (network, _), row in rows.items():
        limit = HMCOS_MOST.get(network)
        table.row([network, kib(float(row["post_order_bytes"])), kib(float(row["hmcos_bytes"])), at_most(limit, "-")])
    return ("Publications count a concatenation of channels as an operator that copies. By that count (the graphs of experiments/networks, elementwise operators in place):\n\n" + str(table) + "\n")


def figures(folder, runs):
    lines = ["![%s](live_%s.svg)" % (network, network) for network in runs.networks if os.path.exists(os.path.join(folder, "live_%s.svg" % network))]
    maps = [network for network in runs.networks if os.path.exists(os.path.join(folder, "map_%s.svg" % network))]
    text = "## Bytes over the steps\n\nA step is a layer, a part of it, or a group whose layers alternate; methods differ in their number of steps.\n\n" + "\n".join(lines) + "\n"
    if maps:
        text += "\nOffsets in the arena with mafat's plan (`run_inference --predict --map`): " + ", ".join("[%s](map_%s.svg)" % (one, one) for one in maps) + ".\n"
    return text


def write(folder):
    runs = Runs(folder)
    parts = [INTRO, "![Arenas of all methods](arenas.svg)\n", absent(runs), "## Bytes\n\nThe whole arena: activations, input, scratch, gaps, without constants. "
             "Bold: the least.\n", bytes_table(runs), used_text(runs), checks_text(folder),
             "The schedulers' own counts: bytes of maps, by their own rules for in-place operators.\n", own_table(runs), published_counts(folder),
             "## Ours relative to FDT and MOTES\n", bars(runs),
             "## Time, work, planning\n\nFor whole maps the least milliseconds of several alternating runs; for the others the ratio to it. One thread, " + machines(runs) + ".\n",
             table_of(runs, "time of whole maps'", lambda network, name: "%.3f ms" % runs.number(network, name, "ms") if name == "whole" and runs.number(network, name, "ms")
                      else ratio_text(runs.ratio(network, name, "ms"))),
             "Multiply-adds computed again:\n", table_of(runs, "additional multiply-adds", macs_cell(runs)),
             "Processor seconds to plan; for mafat's searches those of `run_inference --predict`, which also searches for alternatives:\n",
             table_of(runs, "seconds", seconds_cell(runs)),
             "## Relative to the publications\n\nSavings of FDT and FFMT here are relative to the arena of TFLite Micro's order, in which nothing is fused or tiled. Whole maps "
             "with mafat's fusion (pools, depthwise layers) may need less or more; a column has their saving.\n",
             fdt_table(runs), "MOTES' figures are legible only as far as its text states limits that are met or not.\n", motes_table(runs), "How the networks differ:\n", differences(runs),
             figures(folder, runs)]
    with open(os.path.join(folder, "README.md"), "w", encoding="utf-8") as file:
        file.write(wrapped("\n".join(part for part in parts if part)))
