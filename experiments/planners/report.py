"""README.md from runs.csv: every figure of what was measured comes from there, every published one from published.py."""

import os

from figure import arena, read
from methods import METHODS, SEARCHES
from published import (DIFFERENCES, FDT_PAPER, FDT_THESIS, HMCOS_MOST, MOTES_LIMIT, MOTES_MOST, MOTES_NETWORKS, NETWORKS, TINYENGINE_MOST)

LINE = 64            # bytes that buffers are multiples of
SMALLER, SLOWER = 0.8, 1.05
ORDERS = ("tflm", "milp", "serenity", "hmcos")
RIVALS = ("fdt", "ffmt", "fdt_both", "motes")

INTRO = """# Published planners of memory, beside ours

What do the published methods that shrink activations by order, patches, tiles and splits come to, on the same networks, by the same kernels, in arenas that
are laid out alike? `make planners` asks each of them for a plan, lays it out, runs it, and writes this page from what was measured (runs.csv, live.csv); no
figure is typed by hand. Models of TFLite come from the folder that `MAFAT_MODELS` names, the others from `make networks`; what is missing is left out.

    make planners                                            # PLANNERS='--only kws,radar --methods hmcos,least', '--help'
    experiments/planners/run.py --report-only                # this page and its figures from the CSV
    build/lay_plans --graph MODEL                            # operators, what they read, bytes: what planners go by
    echo PLAN | build/lay_plans --rounds 5 MODEL             # what becomes of a plan
    tests/planners/check.py --all                            # the methods beside exhaustive search (minutes)
    make planners-check                                      # all plans again: bits and arenas; four networks under valgrind

| method | what it does here |
|---|---|
| whole maps | the program's own `1x1/NoCut/order=file`: the file's order; what it computes inside a reader's step stays there. The reference |
| TFLite Micro | the file's order, operator by operator, nothing in place; its count: the largest buffers first, each as low as it can lie |
| FDT's integer programmes | order and layout of whole operators as mixed integer programmes, solved by cbc or lp_solve, of networks of up to 16 operators |
| Serenity | dynamic programming over sets of operators under an adaptive budget; nothing in place |
| HMCOS | cells as groups, opened where the peak is; element by element in place by its count, by its plan whatever the kernels can (`/inplace`). Reimplemented from its publication and public code |
| TinyEngine | the leading layers in n x n patches (2 to 7) of the map that ends them, overlap computed again; then operator by operator, depthwise in place. The least arena of all n and ends |
| FFMT, FDT, both | `--search fdt:tiling=ffmt`, `fdt`, `both`: tiles with overlap, channels, or either, by the published flow |
| MOTES | `--search motes:delta=1.05`: axes cut in equal parts, beam search |
| ours | `--search least`: weights kept, nothing computed twice, the least arena |
| ours, in time | of ours, of the program's plans for every budget (`--pareto`) that keep their weights, of these with some groups cut more coarsely, of groups between any two places where one of all these plans cuts (timed.py), and of all that the methods above found: the least arena of those that take no longer than 1.05 x whole maps, as measured |

An order of whole operators is a plan of one group for each (`1x1/0,4/1x1/0,2/...`), so that nothing is computed inside anything else and the arena is that order's.
Convolutions are direct, weights kept, one thread. A join of channels is no operator here, and has no copy: the counts of publications have one (of cell networks see below).
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
    """What was measured."""

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
        """Of FDT in all its tilings and MOTES: (bytes, method) of the better."""
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
    """How many more than the network has, which every plan without overlap computes once."""
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
    return "on " + " and ".join(found) if found else "on a machine that is not known"


def used_text(runs):
    """Predicted beside written."""
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
    lines = ["Each plan was run in an arena that was filled with bytes of two kinds before, and what had changed was counted. Of %d plans, %d wrote up to the last "
             "line of %d bytes that was predicted (behind it are %d more where maps are of bytes, which are read and never written)%s" %
             (held + len(others), held, LINE, LINE, "." if not others else "; the others:\n")]
    lines += ["- " + other for other in others]
    lines.append("")
    lines.append("Outputs: %s." % ("the same bits by every plan as by whole maps" if not bits else "**other bits than by whole maps**: " + "; ".join(bits)) +
                 (" What the arena held before changed nothing." if not filled else " **What the arena held before changed outputs**: " + "; ".join(filled) + "."))
    return "\n".join(lines) + "\n"


def checks_text(folder):
    """What `make planners-check` found, where it was run."""
    rows = read(folder, "checks.csv")
    if not rows:
        return ""
    commands = sorted({command for _, command in rows}, key=lambda command: (command != "plain", command))
    table = Table(["plans checked"] + ["%s: %s" % ("as they are" if command == "plain" else "under " + command, what)
                                       for command in commands for what in ("plans", "the same bits", "written up to the line that is predicted")])
    for network in dict.fromkeys(network for network, _ in rows):
        cells = [rows.get((network, command)) for command in commands]
        table.row([network] + [cell[field] if cell else "-" for cell in cells for field in ("plans", "same_bits", "to_the_line")])
    return ("`make planners-check` runs all of these plans, and vww's, again, in arenas that were filled before, and those of four networks under valgrind, which finds "
            "whatever is read or written outside of what was mapped or allocated:\n\n" + str(table))


OURS = ("least", "quick")


def judged(runs, network, name):
    """(of the better of FDT and MOTES, of the time of whole maps): what ours needs and takes; None where that is not known."""
    rival, ours = runs.rivals(network), runs.arena(network, name)
    return ours / rival[0] if ours and rival else None, runs.ratio(network, name, "ms")


def bars(runs):
    """Each of ours by itself: not more than the better of FDT and MOTES; much less; in time; all of it by one plan."""
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
    lines = ["*Ours* is the least arena, however long it takes. *Ours, in time* was chosen by measurement, here, for each network: of whole maps, of ours with groups cut more "
             "coarsely, of groups between any two of all plans' cuts, each by the quickest way within a limit of bytes, and of what all other methods found, whatever is least within the time. Where nothing else is, it is whole maps; so it is in time because it was "
             "chosen so, and its bytes are what counts. Its time in the table was measured apart from the choice. FFMT's tiles may compute overlap again, which ours never do; they are "
             "compared all the same.", ""]
    for name in OURS:
        never, smaller, fast, every = counts[name]
        text = "- %s: at most %.2f x the time of whole maps on %d of %d" % (METHODS[name][0], SLOWER, fast, len(runs.networks))
        if known:
            text += "; not more than the better of FDT and MOTES on %d of %d, at most %.1f x of it on %d; at most %.1f x and in time on %d" % (
                never, known, SMALLER, smaller, SMALLER, every)
        lines.append(text + ".")
    if not known:
        lines.append("\nNeither FDT's nor MOTES' search is in the program that this page was made with.")
    return "\n".join(lines) + "\n\n" + str(table)


def saved(runs, network, name):
    ours, whole = runs.arena(network, name), runs.arena(network, "tflm") or runs.arena(network, "whole")
    return None if ours is None else 100 * (1 - ours / whole)


def number(value):
    return "-" if value is None else "%.1f" % value


def fdt_table(runs):
    table = Table(["FDT's networks", "kB untiled, paper / thesis", "FFMT saves, %: paper / thesis", "here", "FDT saves, %: paper / thesis", "here", "of both, here", "whole maps save, here",
                   "FFMT's more multiply-adds, %: paper / thesis", "here", "both save what one version says"])
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
    """Is each no less than what was published? To the digit that this was printed with."""
    return "-" if any(here is None for here, _ in pairs) else yes(all(round(here, 1) >= there for here, there in pairs))


def two(a, b):
    return "%g" % a if a == b else "%g / %g" % (a, b)


def motes_table(runs):
    table = Table(["MOTES' networks, KiB", "TinyEngine", "published", "HMCOS, its count", "published", "MOTES, alive", "its arena", "published", "held by what is alive", "by the arena", "ours"])
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
    """What lives at most by MOTES' plan: so its publication counts, which has no arenas."""
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
        lines.append("- models that were not there: " + ", ".join(missing))
    return "Left out:\n\n" + "\n".join(lines) + "\n" if lines else ""


def published_counts(folder):
    rows = read(folder, "joins.csv")
    if not rows:
        return ""
    table = Table(["a join as an operator, KiB", "reverse post-order", "HMCOS", "published"])
    for (network, _), row in rows.items():
        limit = HMCOS_MOST.get(network)
        table.row([network, kib(float(row["post_order_bytes"])), kib(float(row["hmcos_bytes"])), at_most(limit, "-")])
    return ("Publications count a join of channels as an operator that copies. By that count (the graphs of experiments/networks, element by element in place):\n\n" + str(table) + "\n")


def figures(folder, runs):
    lines = ["![%s](live_%s.svg)" % (network, network) for network in runs.networks if os.path.exists(os.path.join(folder, "live_%s.svg" % network))]
    maps = [network for network in runs.networks if os.path.exists(os.path.join(folder, "map_%s.svg" % network))]
    text = "## Bytes over the steps\n\nA step is a layer, a part of it, or a group whose layers take turns: each method has its own number of them.\n\n" + "\n".join(lines) + "\n"
    if maps:
        text += "\nWhat lies where in the arena by our plan (`run_inference --predict --map`): " + ", ".join("[%s](map_%s.svg)" % (one, one) for one in maps) + ".\n"
    return text


def write(folder):
    runs = Runs(folder)
    parts = [INTRO, "![Arenas of all methods](arenas.svg)\n", absent(runs), "## Bytes\n\nThe whole arena: activations, input, scratch, gaps. Constants that lie in it are "
             "not counted. In bold the least.\n", bytes_table(runs), used_text(runs), checks_text(folder),
             "What the planners of orders count themselves: plain bytes of maps, by their own rules for what is in place.\n", own_table(runs), published_counts(folder),
             "## Ours beside FDT and MOTES\n", bars(runs),
             "## Time, work, planning\n\nOf whole maps the least milliseconds of several runs in turn; of the others how many times as long they take. One thread, " + machines(runs) + ".\n",
             table_of(runs, "time of whole maps'", lambda network, name: "%.3f ms" % runs.number(network, name, "ms") if name == "whole" and runs.number(network, name, "ms")
                      else ratio_text(runs.ratio(network, name, "ms"))),
             "Multiply-adds that are computed again:\n", table_of(runs, "more multiply-adds", macs_cell(runs)),
             "Seconds of a processor to plan; those of the program's searches are of `run_inference --predict`, which also looks at what else could be had:\n",
             table_of(runs, "seconds", seconds_cell(runs)),
             "## Beside what was published\n\nSavings of FDT and FFMT here are those of the whole arena, of that of TFLite Micro's order, in which nothing is fused or tiled. Whole maps, "
             "where the program computes some layers inside others (pools, depthwise ones), may need less or more than that: their share of it stands beside.\n",
             fdt_table(runs), "Of MOTES' figures only what its text says is legible: limits that are met, or not.\n", motes_table(runs), "How the networks differ:\n", differences(runs),
             figures(folder, runs)]
    with open(os.path.join(folder, "README.md"), "w", encoding="utf-8") as file:
        file.write("\n".join(part for part in parts if part))
