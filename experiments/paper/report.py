"""experiments/paper/README.md, written from the CSV files: every number in it is taken from them, every claim asked of them first."""

import os
import statistics

import plans
from figures import FIGURES, cut_plans
from measured import MEGABYTE, megabytes

DARKNET_KEEPS = (("output", "outputs, each layer's own"), ("delta", "a second map of every layer, for gradients: set to zero before every layer"),
                 ("x", "a third one where there is batch norm: the values before it, copied"), ("x_norm", "a fourth, which only training writes"),
                 ("workspace", "one im2col matrix, the largest layer's (layer 2)"), ("indexes", "where each maximum of a maxpool was"),
                 ("weights", "weights"), ("weight_updates", "their gradients"), ("input", "a second input, unused"),
                 ("picture", "the decoded picture, as floats"), ("letterbox", "the same at the network's size"),
                 ("rest", "the program, libdarknet and what it links"), ("process", "**the process**"))


# ---- words and numbers ----

def ms(value):
    return "" if value is None else "%.1f" % value if value < 100 else "%.0f" % value


def seconds(value):
    """In running text."""
    if value < 1000:
        return ms(value) + " ms"
    return "%.1f s" % (value / 1000) if value < 100e3 else "%.0f s" % (value / 1000)


def mb(value, decimals=1):
    """Of bytes."""
    return "" if value is None else "%.*f" % (decimals, value / MEGABYTE)


def limit_text(limit):
    return "none" if limit is None else "%g" % limit


def times(value):
    return "%.2f" % value if value < 10 else "%.0f" % value


def listed(words):
    words = list(words)
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]


def table(heads, lines):
    rows = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return "\n".join(rows + ["| " + " | ".join(line) + " |" for line in lines]) + "\n"


def paragraph(*sentences):
    return " ".join(sentence for sentence in sentences if sentence) + "\n"


def picture(name, text, drawn):
    return "![%s](figures/%s.png)\n\n[SVG](figures/%s.svg)\n" % (text, name, name) if name in drawn else ""


def failure_text(runs, label, limit):
    return {None: "", "oom": "killed: out of memory", "timeout": "time-out", "failed": "failed", "refused": "refused: does not fit",
            "given-up": "not tried: failed in more"}[runs.mark(label, limit)]


def latency_cell(runs, label, limit):
    value = runs.median(label, limit)
    return ms(value) if value is not None else failure_text(runs, label, limit)


# ---- what was run ----

def span(values):
    low, high = min(values), max(values)
    return "%d" % low if low == high else "%d to %d" % (low, high)


def counts(runs, labels):
    """How many runs a cell had."""
    found = [len(rows) for (label, _), rows in runs.cells.items() if label in labels]
    return span(found) if found else "0"


def span_of_days(runs):
    days = sorted({text[:10] for text in runs.texts("date")}) or ["unknown"]
    return days[0] if len(days) == 1 else "%s to %s" % (days[0], days[-1])


def what_was_run(runs, limits):
    measured = [label for label in plans.ALL_PLANS if label in runs.labels()]
    ours = [label for label in plans.OURS if label in runs.labels()]
    lines = []

    def add(label, names, what):
        here = runs.limits(names)
        if names and here:
            lines.append([label, what, ", ".join(limit_text(limit) for limit in reversed(here)), counts(runs, names)])

    add("Darknet", [plans.DARKNET] if plans.DARKNET in runs.labels() else [], "Debian's libdarknet, `experiments/peers/peer_darknet.c`")
    add("plans of tiles", measured, "`%s`: %d plans" % (plans.program_of_plan("P"), len(measured)))
    add("Algorithm 2", [plans.SEARCH] if plans.SEARCH in runs.labels() else [], "`%s`" % plans.SEARCH_PROGRAM)
    for label in ours:
        add(label, [label], "`%s`" % plans.OURS[label])
    about = ["Machine: %s; Linux %s; memory groups %s; CPU %s." % tuple(
        listed(runs.texts(column)) if runs.texts(column) else "unknown" for column in ("machine", "kernel", "cgroup", "cpus")),
        "Swap: %s." % "; ".join(runs.texts("swap") or ["unknown"]),
        "mafat at commit %s, measured on %s: %d runs, %.0f minutes%s." % (
            listed(runs.texts("commit") or ["unknown"]), span_of_days(runs), len(runs.rows), sum(row["wall_ms"] or 0 for row in runs.rows) / 60e3,
            "; and the search for %d least limits, %d runs" % (len(limits), sum(line["runs"] or 0 for line in limits.values())) if limits else "")]
    return "## What was run\n\n" + paragraph(
        "The first %d layers of `yolov2.cfg` at 608 x 608 with random weights, on dog.jpg, on one CPU. Every run is a process of its own in a fresh memory" % plans.LAYERS,
        "group (`build/memory_limit`), swap at hand, its files evicted from the page cache before it starts. Latency is taken by the process itself, from before the",
        "picture is opened to after the last layer; of several runs the median. MB are 1048576 bytes, as the groups count them.") + "\n" + \
        "\n".join("- " + line for line in about) + "\n\n" + table(["program", "what runs", "limits, MB", "runs of each"], lines)


# ---- figure 1 ----

def darknet_swaps(runs):
    """(the least limit without swap, the greatest with), as far as tried."""
    known = [limit for limit in runs.limits([plans.DARKNET]) if limit is not None and runs.good(plans.DARKNET, limit)]
    dry = [limit for limit in known if runs.is_dry(plans.DARKNET, limit)]
    return min(dry, default=None), max(set(known) - set(dry), default=None)


def observers_sentence(runs):
    """Does what the paper saw, system-wide once a second, say what the group's own counters say?"""
    worst, at, what = 0, None, ""
    for limit in runs.limits([plans.DARKNET]):
        for name in ("swap_in_bytes", "swap_out_bytes"):   # of its own, a v1 group counts only what comes in
            own, system = (runs.median(plans.DARKNET, limit, prefix + name) for prefix in ("", "system_"))
            if own and system is not None and own >= 10 * MEGABYTE and abs(system / own - 1) >= worst:
                worst, at, what = abs(system / own - 1), limit, "read from" if name == "swap_in_bytes" else "written to"
    if at is None:
        return ""
    if worst <= 0.1:
        return "What the whole system %s swap, taken once a second as in the paper, is within %.1f %% of the group's own counter at every limit where it is more than 10 MB." % (
            what, max(0.1, 100 * worst))
    return "What the whole system %s swap, taken once a second as in the paper, differs from the group's own counter by up to %.0f %% (at %s MB): others may swap as well, pages are read ahead, and a group's pages may still be written after it has ended." % (
        what, 100 * worst, limit_text(at))


def darknet_sentences(runs):
    dry, wet = darknet_swaps(runs)
    base_limit = next((limit for limit in (None, *reversed(runs.limits([plans.DARKNET]))) if runs.median(plans.DARKNET, limit)), None)
    base, least = runs.median(plans.DARKNET, base_limit), min((limit for limit in runs.limits([plans.DARKNET]) if limit and runs.median(plans.DARKNET, limit)), default=None)
    text = []
    if wet is not None:
        text.append("Debian's Darknet swaps at %s MB and below%s; the authors' began below %d MB." % (
            limit_text(wet), ", at %s MB it does not" % limit_text(dry) if dry is not None else "", plans.PAPER_DARKNET_SWAPS))
    if base and least:
        text.append("It takes %s %s and %s at %s MB, %s times as long (the authors' at 16 MB: more than %.1f times)." % (
            seconds(base), "without a limit" if base_limit is None else "at %s MB" % limit_text(base_limit), seconds(runs.median(plans.DARKNET, least)),
            limit_text(least), times(runs.median(plans.DARKNET, least) / base), plans.PAPER_SLOWER))
    bad = ["%s MB (%s)" % (limit_text(limit), failure_text(runs, plans.DARKNET, limit)) for limit in runs.limits([plans.DARKNET])
           if limit and runs.median(plans.DARKNET, limit) is None]
    if bad:
        text.append("It did not end well at %s." % listed(bad))
    return text


def buffers_text(buffers):
    """Which of Darknet's buffers a run touches: why its curve begins where it does."""
    if not buffers:
        return ""
    allocated, resident = {}, {}
    for line in buffers:
        allocated[line["buffer"]] = allocated.get(line["buffer"], 0) + (line["allocated_bytes"] or 0)
        resident[line["buffer"]] = resident.get(line["buffer"], 0) + (line["resident_bytes"] or 0)
    lines = [[text, "" if name in ("rest", "process") else mb(allocated[name]), mb(resident[name])] for name, text in DARKNET_KEEPS if name in resident]
    kept = resident.get("output", 0) + resident.get("workspace", 0)
    sentences = ["What it holds (`darknet_memory.c` counts the pages of each buffer that one inference has touched):"]
    layers = {}
    for line in buffers:
        if line["layer"] is not None:
            layers.setdefault(int(line["layer"]), {})[line["buffer"]] = line
    parts = []
    for number, found in sorted(layers.items()):
        first = next(iter(found.values()))
        parts.append(["%d" % number, first["type"], "%d x %d x %d" % (first["width"], first["height"], first["channels"])] +
                     [mb(found[name]["resident_bytes"]) if name in found else "" for name in ("output", "delta", "x", "x_norm", "indexes", "weights")])
    after = []
    if resident.get("delta", 0) and resident.get("x", 0):
        after.append("Two of the three copies beside the outputs are written in inference, too: %s MB that no later layer reads." % mb(resident["delta"] + resident["x"]))
    if kept > plans.PAPER_DARKNET_SWAPS * MEGABYTE:
        after.append("The outputs and the workspace alone are %s MB, more than the %d MB where the authors' Darknet began to swap: theirs must have kept less, and is not what Debian ships." % (
            mb(kept), plans.PAPER_DARKNET_SWAPS))
    return paragraph(*sentences) + "\n" + table(["buffers", "allocated MB", "touched MB"], lines) + "\n" + paragraph(*after) + \
        "\nTouched, layer by layer, MB:\n\n" + table(["layer", "", "output map", "output", "delta", "x", "x_norm", "indexes", "weights"], parts)


def figure_1(runs, limits, buffers, drawn):
    here = runs.limits([plans.DARKNET])
    if not here:
        return ""
    lines = []
    for limit in reversed(here):
        lines.append([limit_text(limit), latency_cell(runs, plans.DARKNET, limit)] + [
            mb(runs.median(plans.DARKNET, limit, column)) for column in ("system_swap_out_bytes", "system_swap_in_bytes", "swap_in_bytes", "swap_peak_bytes")])
    measured = limits.get(plans.DARKNET)
    return "## Figure 1: Darknet\n\n" + picture("fig1", "Darknet: latency and swapped bytes against the memory limit", drawn) + "\n" + paragraph(
        *darknet_sentences(runs),
        "The least limit in which it swaps nothing is %s MB (to %s MB, by bisection)." % (mb(measured["least_bytes"], 0), mb(measured["step_bytes"], 0))
        if measured and measured["least_bytes"] else "",
        observers_sentence(runs)) + "\n" + table(
            ["limit MB", "ms", "swapped out MB, system-wide", "in MB, system-wide", "in MB, its group", "most in swap at once MB, its group"], lines) + "\n" + buffers_text(buffers)


# ---- figure 2 ----

def deviations(limits, column):
    """Predicted less measured, in MB."""
    return {label: megabytes(line[column] - line["least_bytes"]) for label, line in limits.items()
            if line[column] is not None and line["least_bytes"] is not None}


def deviation_text(values):
    low, high = min(values), max(values)
    if low >= 0:
        return "%.1f to %.1f MB more than was measured" % (low, high) if high - low >= 0.05 else "%.1f MB more than was measured" % low
    if high <= 0:
        return "%.1f to %.1f MB less than was measured" % (-high, -low)
    return "between %.1f MB less and %.1f MB more than was measured" % (-low, high)


def figure_2(limits, drawn):
    tiles = {label: limits[label] for labels in plans.FIGURE_2.values() for label in labels if label in limits}
    if not tiles:
        return ""
    lines = [[label, mb(line["paper_bytes"]), mb(line["predicted_charge_bytes"], 2), mb(line["least_bytes"], 2), line["below"]] for label, line in tiles.items()]
    paper, exact = deviations(tiles, "paper_bytes"), deviations(tiles, "predicted_charge_bytes")
    first, confirmed = next(iter(tiles.values())), min(line["dry_runs"] or 1 for line in tiles.values())
    text = ["Measured is the least limit in which nothing is swapped, to %s MB%s; *one step below* is what was swapped when the limit was lower by that." % (
        mb(first["step_bytes"], 2), ", in %d runs of %d" % (confirmed, confirmed) if confirmed > 1 else "")]
    if exact:
        text.append("The exact prediction is %s; Algorithm 1 as printed, its bias of %d MB included, %s: it counts an im2col matrix that our kernels do not have." % (
            deviation_text(exact.values()), plans.BIAS, deviation_text(paper.values())))
    finest = tiles.get("5x5/8/2x2")
    if finest and finest["least_bytes"]:
        text.append("5x5/8/2x2 runs without swap in %s MB here, the authors' in %d MB; Algorithm 1 says %s." % (
            mb(finest["least_bytes"], 2), plans.PAPER_FLOOR, mb(finest["paper_bytes"])))
    return "## Figure 2: predicted and measured limits\n\n" + picture("fig2", "Predicted and measured limits of ten plans", drawn) + "\n" + \
        paragraph(*text) + "\n" + table(["plan", "Algorithm 1, MB", "exact, MB", "measured, MB", "one step below"], lines)


# ---- figure 3 ----

def tilings_sentence(runs, limits):
    tilings = [plan for plan in plans.FIGURE_2["8/2x2"] if plan in runs.labels()]
    winners = {limit: runs.best(limit, tilings)[0] for limit in limits}
    winners = {limit: plan for limit, plan in winners.items() if plan}
    if not winners or len(tilings) < 2:
        return ""
    groups = {}
    for limit in sorted(winners, reverse=True):
        groups.setdefault(winners[limit], []).append(limit_text(limit))
    return "Of the tilings cut at 8, the quickest: %s." % "; ".join("%s at %s MB" % (plan, listed(found)) for plan, found in groups.items())


def spread_sentence(runs, limits, least):
    """Where every plan fits, the limit does not matter: all runs of a plan together."""
    roomy = [limit for limit in limits if limit and least and limit >= least]
    medians = {}
    for label in runs.labels():
        found = [row["latency_ms"] for limit in roomy for row in runs.good(label, limit)] if plans.is_plan(label) else []
        if found:
            medians[label] = statistics.median(found)
    if len(medians) < 2:
        return ""
    quickest, slowest = min(sorted(medians), key=medians.get), max(sorted(medians), key=medians.get)
    return ("From %s MB on all plans fit, the limit does not matter any more, and they differ by what they compute again: of all runs there, the median is %s ms for the quickest, %s, "
            "and %s ms for the slowest, %s, %s times as long." % (limit_text(min(roomy)), ms(medians[quickest]), quickest, ms(medians[slowest]), slowest, times(medians[slowest] / medians[quickest])))


def figure_3(runs, limits, drawn):
    measured = [label for label in plans.ALL_PLANS if label in runs.labels()]
    here = [limit for limit in runs.limits(measured) if limit] if measured else []
    if not here:
        return ""
    tilings = [plan for plan in plans.FIGURE_2["8/2x2"] if plan in measured]
    first = [[limit_text(limit)] + [latency_cell(runs, plan, limit) for plan in tilings] for limit in reversed(here)]
    cuts = [cut for cut in (None, 4, 8, 12) if any(plan in measured for plan in cut_plans(cut))]
    second = []
    for limit in reversed(here):
        cells = []
        for cut in cuts:
            plan, value = runs.best(limit, [plan for plan in cut_plans(cut) if plan in measured])
            cells.append("%s: %s" % (plan, ms(value)) if plan else "")
        second.append([limit_text(limit)] + cells)
    least = max((line["least_bytes"] or 0 for label, line in limits.items() if label in measured), default=0) / MEGABYTE
    return "## Figure 3: tilings and cuts\n\n" + picture("fig3", "Latency against the limit for tilings and for cuts", drawn) + "\n" + \
        paragraph(tilings_sentence(runs, here), spread_sentence(runs, here, least)) + "\nTilings cut at 8, ms:\n\n" + \
        table(["limit MB"] + tilings, first) + "\nCuts, each with its best tiling above, 2x2 below, ms:\n\n" + \
        table(["limit MB"] + ["cut at %d" % cut if cut else "NoCut" for cut in cuts], second)


# ---- figure 4, table 1 ----

def named(plan, value):
    """A plan and its milliseconds, in one cell."""
    return "%s: %s" % (plan, ms(value)) if plan and value else ""


def beside(value, best):
    return "%+.0f %%" % (100 * (value / best - 1)) if value and best else ""


def table_1_lines(runs, limits, measured):
    lines = []
    for limit in limits:
        paper = plans.TABLE_1.get(limit)
        plan, best = runs.best(limit, measured)
        chosen, search = runs.plan(plans.SEARCH, limit), runs.median(plans.SEARCH, limit)
        near = sum(1 for label in measured if best and (runs.median(label, limit) or best * 2) <= 1.05 * best)
        lines.append([limit_text(limit)] + ([named(*paper[:2]), named(*paper[2:]), beside(paper[3], paper[1])] if paper else [""] * 3) + [
            named(plan, best), "%d of %d" % (near, len([label for label in measured if runs.rows_of(label, limit)])) if best else "",
            named(chosen, search) if search else failure_text(runs, plans.SEARCH, limit), beside(search, best)])
    return lines


def speed_up_lines(runs, limits, measured):
    lines = []
    for limit in limits:
        darknet, search, best = runs.median(plans.DARKNET, limit), runs.median(plans.SEARCH, limit), runs.best(limit, measured)[1]
        if runs.rows_of(plans.DARKNET, limit):
            lines.append([limit_text(limit), latency_cell(runs, plans.DARKNET, limit), mb(runs.median(plans.DARKNET, limit, "swap_in_bytes")),
                          latency_cell(runs, plans.SEARCH, limit), mb(runs.median(plans.SEARCH, limit, "swap_in_bytes")),
                          times(darknet / search) if darknet and search else "", times(darknet / best) if darknet and best else "",
                          "%.2f" % plans.SPEED_UPS[limit] if limit in plans.SPEED_UPS else ""])
    return lines


def search_sentence(runs, limits, measured):
    excess = {}
    for limit in limits:
        best, search = runs.best(limit, measured)[1], runs.median(plans.SEARCH, limit)
        if best and search:
            excess[limit] = search / best - 1
    if not excess:
        return ""
    worst = max(excess, key=excess.get)
    text = "Algorithm 2's choice takes at most %.0f %% longer than the best measured plan (at %s MB); the paper: within 6 %%." % (100 * max(excess[worst], 0), limit_text(worst))
    chosen = runs.plan(plans.SEARCH, worst)
    if excess[worst] > 0.06 and plans.is_plan(chosen) and plans.cut_of(chosen) is None and plans.top_of(chosen) > 1:
        text += " There it chooses %s: all 16 layers in one group, whose tiles overlap most and compute most again. By Algorithm 1 it is the first that fits; in what our kernels need, %s fits as well." % (
            chosen, runs.best(worst, measured)[0])
    return text


def speed_up_sentences(runs, measured):
    text = []
    for limit, paper in plans.SPEED_UPS.items():
        darknet, search, best = runs.median(plans.DARKNET, limit), runs.median(plans.SEARCH, limit), runs.best(limit, measured)[1]
        if darknet and search and best:
            text.append("At %d MB Algorithm 2's choice is %s times as fast as Darknet, the best plan %s times (the paper: %.2f)." % (
                limit, times(darknet / search), times(darknet / best), paper))
        elif search and runs.mark(plans.DARKNET, limit):
            text.append("At %d MB Algorithm 2's choice takes %s, and Darknet: %s (the paper's speed-up: %.2f)." % (
                limit, seconds(search), failure_text(runs, plans.DARKNET, limit), paper))
    return text


def same_choice_sentence(runs, limits):
    rows = [limit for limit in limits if limit in plans.TABLE_1 and runs.plan(plans.SEARCH, limit)]
    same = [limit for limit in rows if runs.plan(plans.SEARCH, limit) == plans.TABLE_1[limit][2]]
    return "" if not rows else "It chooses what the paper's Table 1 says in %d of %d rows: the listing does not give the table ([doc/paper.md](../../doc/paper.md))." % (
        len(same), len(rows)) if len(same) < len(rows) else "It chooses what the paper's Table 1 says in all %d rows." % len(rows)


def figure_4(runs, drawn):
    measured = [label for label in plans.ALL_PLANS if label in runs.labels()]
    limits = [limit for limit in reversed(runs.limits(measured + [plans.SEARCH])) if limit] if measured else []
    if plans.SEARCH not in runs.labels() or not limits:
        return ""
    return "## Figure 4 and Table 1: Darknet, the search, the best measured\n\n" + picture("fig4", "Darknet, Algorithm 2's choice and the best measured plan", drawn) + "\n" + paragraph(
        *speed_up_sentences(runs, measured), search_sentence(runs, limits, measured), same_choice_sentence(runs, limits)) + "\n" + \
        "Milliseconds; the paper's on a Raspberry Pi 3. *over best*: how much longer Algorithm 2's choice takes than the best measured plan; *within 5 %*: how many of the measured plans are that near to the best.\n\n" + \
        table(["limit MB", "paper: best measured", "Algorithm 2", "over best", "here: best measured", "within 5 %", "Algorithm 2", "over best"],
              table_1_lines(runs, limits, measured)) + "\nBeside Darknet; *speed-up* is Darknet's time over the other's:\n\n" + \
        table(["limit MB", "Darknet ms", "swapped in MB", "Algorithm 2 ms", "swapped in MB", "its speed-up", "the best plan's", "the paper's"],
              speed_up_lines(runs, list(reversed(runs.limits([plans.DARKNET]))), measured))


# ---- everything we have ----

def everything_sentences(runs, ours):
    text = []
    for label in ours:
        dry = [limit for limit in runs.limits([label]) if limit and runs.is_dry(label, limit)]
        if dry:
            text.append("`%s` swaps nothing from %s MB on." % (plans.OURS[label], limit_text(least_of_run(dry, [limit for limit in runs.limits([label]) if limit]))))
    for limit in (64, 16):
        darknet = runs.median(plans.DARKNET, limit)
        label, value = runs.best(limit, ours)
        if darknet and value:
            text.append("At %d MB the quickest of ours (%s) takes %s, Darknet %s: %s times as long." % (limit, label, seconds(value), seconds(darknet), times(darknet / value)))
        elif value and runs.mark(plans.DARKNET, limit):
            text.append("At %d MB the quickest of ours (%s) takes %s; Darknet: %s." % (limit, label, seconds(value), failure_text(runs, plans.DARKNET, limit)))
    return text


def least_of_run(dry, tried):
    """The least of the limits from which on upwards all that were tried are dry; None where the greatest is not."""
    least = None
    for limit in sorted(tried, reverse=True):
        if limit not in dry:
            break
        least = limit
    return least


def chosen_lines(runs, ours):
    """A line for each plan that a label chose, with the limits."""
    lines = []
    for label in ours:
        limits_of = {}
        for limit in reversed(runs.limits([label])):
            limits_of.setdefault(runs.plan(label, limit), []).append(limit_text(limit))
        lines += [[label, ", ".join(limits), "`%s`" % plan] for plan, limits in limits_of.items() if plan]
    return lines


def figure_5(runs, drawn):
    ours = [label for label in plans.OURS if label in runs.labels()]
    if not ours:
        return ""
    limits = list(reversed(runs.limits(ours)))
    measured = [label for label in plans.ALL_PLANS if label in runs.labels()]
    lines = []
    for limit in limits:
        darknet = runs.median(plans.DARKNET, limit)
        best = runs.best(limit, ours)[1]
        lines.append([limit_text(limit), latency_cell(runs, plans.DARKNET, limit), ms(runs.best(limit, measured)[1])] + [latency_cell(runs, label, limit) for label in ours] +
                     [times(darknet / best) if darknet and best else ""])
    return "## Everything mafat has\n\n" + picture("fig5", "Darknet, the paper's plans, and mafat's own", drawn) + "\n" + paragraph(
        "The paper's plans keep all weights and cut tiles only. mafat's own search has rows and panels, weights read while it runs, and (without `--algorithm direct`) Winograd's algorithm where it pays; *packed* reads its weights from a file of `pack_weights`.",
        *everything_sentences(runs, ours)) + "\nMilliseconds; the last column is Darknet's time over that of our quickest:\n\n" + \
        table(["limit MB", "Darknet", "best plan of tiles"] + ours + ["x Darknet"], lines) + "\nWhat its search chose:\n\n" + table(["", "limit MB", "plan"], chosen_lines(runs, ours))


# ---- where it differs ----

def differences(runs, limits):
    two, five = limits.get("2x2/NoCut"), limits.get("5x5/8/2x2")
    said = ""
    if two and five and two["paper_bytes"] and five["paper_bytes"]:
        said = ("Algorithm 1 as printed predicts %s MB for 2x2/NoCut, where Table 1 implies more than 96, and %s MB for 5x5/8/2x2, where the paper says %d. "
                % (mb(two["paper_bytes"]), mb(five["paper_bytes"]), plans.PAPER_FLOOR))
    shares = [line["paper_bytes"] / line["least_bytes"] for line in limits.values() if line["paper_bytes"] and line["least_bytes"]]
    less = ""
    if shares and min(shares) > 1:
        less = " The plans of Figure 2 need %s to %s times less than the paper's predictor says, so swap begins further left: for this the limits below 32 MB were added." % (times(min(shares)), times(max(shares)))
    slower = slow_down(runs, 16)
    points = [
        "**No im2col scratch.** Algorithm 1 counts the im2col matrix of every tile; our kernels read the map itself." + less,
        "**No data-reuse buffers.** " + said + "The printed listing does not count the buffers in which DeepThings, whose code the authors built on, keeps overlaps for reuse; counting them in one"
        " of many conceivable ways gives all nine rows of Table 1. That variant is analysed in [doc/paper.md](../../doc/paper.md); it is neither in the program nor run here. Our tiles compute their overlaps again.",
        "**Another Darknet.** Debian's keeps every layer's output, a gradient and a copy for batch norm (the table of Figure 1)" +
        (", so its curve begins further right than the authors'." if (darknet_swaps(runs)[1] or 0) > plans.PAPER_DARKNET_SWAPS else "."),
        "**Another swap.** An SD card there; here: %s." % "; ".join(runs.texts("swap") or ["unknown"]),
        "**Another processor.** One core of a Cortex-A53 there, one of this machine here: %s.%s" % (
            listed(runs.texts("machine") or ["unknown"]), " Computing has become quicker by more than swapping has: at 16 MB Darknet takes %s times as long as without a limit, there more than %.1f times." % (
                times(slower), plans.PAPER_SLOWER) if slower and slower > plans.PAPER_SLOWER else ""),
        "**Swap is counted by the group**, not by the system once a second; the system's figures stand beside it in Figure 1.",
    ]
    return "## Where and why our numbers differ from the paper's\n\n" + "\n".join("- " + point for point in points) + "\n"


def slow_down(runs, limit):
    """Of Darknet, against no limit."""
    free, tight = runs.median(plans.DARKNET, None), runs.median(plans.DARKNET, limit)
    return tight / free if free and tight else None


# ---- the whole ----

def markdown(runs, limits, buffers, drawn=tuple(FIGURES)):
    head = ("# The paper again\n\n" + paragraph(
        "J. Farley, A. Gerstlauer, *MAFAT: Memory-Aware Fusing and Tiling of Neural Networks for Accelerated Edge Inference* (2021), Figures 1 to 4 and Table 1, repeated with",
        "mafat beside Debian's Darknet; then the same with everything mafat has. `make paper` runs it (as root; within two hours, `PAPER=--quick` in minutes; `PAPER=--help`) and writes",
        "this page from [runs.csv](runs.csv), [limits.csv](limits.csv) and [darknet.csv](darknet.csv); `make paper PAPER=--report-only` writes it anew from them without running anything."))
    parts = [head, what_was_run(runs, limits), figure_1(runs, limits, buffers, drawn), figure_2(limits, drawn), figure_3(runs, limits, drawn),
             figure_4(runs, drawn), figure_5(runs, drawn), differences(runs, limits)]
    return "\n".join(part for part in parts if part)


def write(folder, runs, limits, buffers, drawn):
    path = os.path.join(folder, "README.md")
    with open(path + ".part", "w", encoding="utf-8") as file:
        file.write(markdown(runs, limits, buffers, drawn))
    os.replace(path + ".part", path)
    return path
