"""Writes experiments/paper/README.md from the CSV files, and checks each claim against them."""

import os
import statistics

import plans
import words
from figures import cut_plans
from measured import MEGABYTE, megabytes
from pages import wrapped
from words import mb, ms, paragraph, parts, table

UNTILED = plans.plan_text(1)

INTRODUCTION = """# The paper again

This page repeats Figures 1 to 4 and Table 1 of J. Farley, A. Gerstlauer, *MAFAT: Memory-Aware Fusing and Tiling of Neural Networks for Accelerated Edge Inference* (2021), with mafat and Debian's Darknet; then the same with all of mafat's features. To run it:

    make paper                         # as root, within two hours; PAPER=--quick: 10 minutes; PAPER=--help
    make paper PAPER=--report-only     # only this page, from runs.csv, limits.csv and darknet.csv
"""

PROTOCOL = """The first %d layers of `yolov2.cfg` at 608 x 608 with random weights, on dog.jpg, on one CPU. Every run is a process in a fresh control group (`build/memory_limit`), with swap available and its files evicted from the page cache. The process takes the latency, from before the picture is opened to after the last layer; several runs give the median. A process that takes more than 20 s runs once at its limit. MB are 1048576 bytes.
"""

BUFFERS = (("output", "outputs, each layer's own"), ("delta", "a second map of every layer, for gradients, zeroed before every layer"),
           ("x", "a third one with batch norm: a copy of the values before it"), ("x_norm", "a fourth, written only in training"),
           ("workspace", "one im2col matrix, the largest layer's (layer 2)"), ("indexes", "the position of each maximum of a maxpool"),
           ("weights", "weights"), ("weight_updates", "their gradients"), ("input", "a second input, unused"),
           ("picture", "the decoded picture, as floats"), ("letterbox", "the same at the network's size"),
           ("rest", "the program, libdarknet and its libraries"), ("process", "**the process**"))

EVERYTHING = """The paper's plans keep all weights and use only tiles. mafat's own search adds rows and panels, weights read during the run, and (without `--algorithm direct`) Winograd's algorithm where it is faster. *packed* reads its weights from a file of `pack_weights`."""


class Report:
    """runs: measured.Runs; limits: measured.read_limits(); buffers: measured.read_buffers(); drawn: names of the figures there are."""

    def __init__(self, runs, limits, buffers, drawn):
        self.runs, self.limits, self.buffers, self.drawn = runs, limits, buffers, drawn
        self.tiles = [label for label in plans.ALL_PLANS if label in runs.labels()]
        self.ours = [label for label in plans.OURS if label in runs.labels()]

    def text(self):
        return parts(INTRODUCTION, self.what_was_run(), self.figure_1(), self.figure_2(), self.figure_3(), self.figure_4(), self.figure_5(),
                     self.differences())

    # ---- shared

    def picture(self, name, text):
        return "![%s](figures/%s.png)\n\n[SVG](figures/%s.svg)\n" % (text, name, name) if name in self.drawn else ""

    def failure(self, label, limit):
        return {None: "", "oom": "killed: out of memory", "timeout": "time-out", "failed": "failed", "refused": "refused: does not fit",
                "given-up": "not tried: failed in more"}[self.runs.mark(label, limit)]

    def cell(self, label, limit):
        """Milliseconds, or the failure."""
        value = self.runs.median(label, limit)
        return ms(value) if value is not None else self.failure(label, limit)

    def darknet(self, limit, column="latency_ms"):
        return self.runs.median(plans.DARKNET, limit, column)

    def searched(self, limit):
        return self.runs.median(plans.SEARCH, limit)

    def all(self, column):
        return self.runs.texts(column) or ["unknown"]

    # ---- what was run

    def days(self):
        days = sorted({text[:10] for text in self.all("date")})
        return days[0] if len(days) == 1 else "%s to %s" % (days[0], days[-1])

    def run_line(self, name, labels, what):
        counts = [len(rows) for (label, _), rows in self.runs.cells.items() if label in labels]
        return [name, what, ", ".join(words.limits(self.runs.limits(labels))), words.span(counts)] if counts else None

    def what_was_run(self):
        runs, limits = self.runs, self.limits
        lines = [self.run_line("Darknet", [plans.DARKNET], "Debian's libdarknet, `experiments/peers/peer_darknet.c`"),
                 self.run_line("plans of tiles", self.tiles, "`%s`: %d plans" % (plans.program_of_plan("P"), len(self.tiles))),
                 self.run_line("Algorithm 2", [plans.SEARCH], "`%s`" % plans.SEARCH_PROGRAM)]
        lines += [self.run_line(label, [label], "`%s`" % plans.OURS[label]) for label in self.ours]
        minutes = sum(row["wall_ms"] or 0 for row in runs.rows) / 60e3
        least = "; and %d runs to find %d least limits" % (sum(line["runs"] or 0 for line in limits.values()), len(limits)) if limits else ""
        about = ["Machine: %s; Linux %s; memory groups %s; CPU %s." % tuple(
                     words.listed(self.all(column)) for column in ("machine", "kernel", "cgroup", "cpus")),
                 "Swap: %s." % " / ".join(self.all("swap")),
                 "mafat at commit %s, measured on %s: %d runs of %.0f minutes together%s." % (
                     words.listed(self.all("commit")), self.days(), len(runs.rows), minutes, least)]
        return parts("## What was run\n", PROTOCOL % plans.LAYERS, "".join("- %s\n" % line for line in about),
                     table(["program", "command", "limits, MB", "runs of each"], [line for line in lines if line]))

    # ---- figure 1

    def darknet_swaps(self):
        """(the least limit from which it does not swap, the largest in which it swaps), of those
        tried."""
        known = [limit for limit in self.runs.limits([plans.DARKNET]) if limit is not None and self.runs.good(plans.DARKNET, limit)]
        dry = [limit for limit in known if self.runs.is_dry(plans.DARKNET, limit)]
        wet = max(set(known) - set(dry), default=None)
        return min((limit for limit in dry if wet is None or limit > wet), default=None), wet

    def darknet_slow_down(self, limit):
        free, tight = self.darknet(None), self.darknet(limit)
        return tight / free if free and tight else None

    def swap_sentences(self):
        dry, wet = self.darknet_swaps()
        found = self.limits.get(plans.DARKNET)
        if wet is not None:
            yield "Debian's Darknet swaps at %s MB and below%s; the authors' began below %d MB." % (
                words.limit(wet), ", at %s MB it does not" % words.limit(dry) if dry is not None else "", plans.PAPER_DARKNET_SWAPS)
        if found and found["least_bytes"]:
            yield "The least limit without swap is %s MB (to %s MB, by bisection)." % (
                mb(found["least_bytes"], 0), mb(found["step_bytes"], 0))

    def slowness_sentences(self):
        limits = self.runs.limits([plans.DARKNET])
        good = [limit for limit in limits if self.darknet(limit)]
        if len(good) > 1:
            free, least = good[-1], good[0]
            yield "It takes %s %s and %s at %s MB, %s times as long (the authors' at 16 MB: more than %.1f times)." % (
                words.duration(self.darknet(free)), "without a limit" if free is None else "at %s MB" % words.limit(free),
                words.duration(self.darknet(least)), words.limit(least), words.times(self.darknet(least) / self.darknet(free)), plans.PAPER_SLOWER)
        bad = ["%s MB (%s)" % (words.limit(limit), self.failure(plans.DARKNET, limit)) for limit in limits if limit and limit not in good]
        if bad:
            yield "It did not end well at %s." % words.listed(bad)

    def observers_sentence(self):
        """Compares system-wide swap, sampled once a second as in the paper, with the group's counters. (A v1 group counts swap-in.)"""
        worst, at, what = 0, None, ""
        for limit in self.runs.limits([plans.DARKNET]):
            for name, verb in (("swap_in_bytes", "read from"), ("swap_out_bytes", "wrote to")):
                own, system = self.darknet(limit, name), self.darknet(limit, "system_" + name)
                if own and system is not None and own >= 10 * MEGABYTE and abs(system / own - 1) >= worst:
                    worst, at, what = abs(system / own - 1), limit, verb
        if at is None:
            return ""
        start = "The bytes that the whole system %s swap, sampled once a second as in the paper, " % what
        if worst <= 0.1:
            return start + "are within %.1f %% of the group's own counter at every limit with more than 10 MB." % max(0.1, 100 * worst)
        return start + ("differ from the group's own counter by up to %.0f %% (at %s MB): other processes may swap, and read-ahead is"
                        " counted differently." % (100 * worst, words.limit(at)))

    def figure_1(self):
        limits = self.runs.limits([plans.DARKNET])
        if not limits:
            return ""
        columns = ("system_swap_out_bytes", "system_swap_in_bytes", "swap_in_bytes", "swap_peak_bytes")
        lines = [[words.limit(limit), self.cell(plans.DARKNET, limit)] + [mb(self.darknet(limit, column)) for column in columns]
                 for limit in reversed(limits)]
        return parts("## Figure 1: Darknet\n", self.picture("fig1", "Darknet: latency and swapped bytes against the memory limit"),
                     paragraph(*self.swap_sentences(), *self.slowness_sentences(), self.observers_sentence()),
                     table(["limit MB", "ms", "swapped out MB, system-wide", "in MB, system-wide", "in MB, its group",
                            "peak in swap MB, its group"], lines), self.darknet_buffers())

    def darknet_buffers(self):
        """Darknet's buffers that a run touches, which explain where its curve starts."""
        if not self.buffers:
            return ""
        allocated, touched, layers = {}, {}, {}
        for line in self.buffers:
            name = line["buffer"]
            allocated[name] = allocated.get(name, 0) + (line["allocated_bytes"] or 0)
            touched[name] = touched.get(name, 0) + (line["resident_bytes"] or 0)
            if line["layer"] is not None:
                layers.setdefault(line["layer"], {})[name] = line
        totals = [[text, "" if name in ("rest", "process") else mb(allocated[name]), mb(touched[name])]
                  for name, text in BUFFERS if name in touched]
        shown = ("output", "delta", "x", "x_norm", "indexes", "weights")
        by_layer = []
        for number, found in sorted(layers.items()):
            first = next(iter(found.values()))
            by_layer.append(["%d" % number, first["type"], "%d x %d x %d" % (first["width"], first["height"], first["channels"])] +
                            [mb(found[name]["resident_bytes"]) if name in found else "" for name in shown])
        return parts("Its memory (`darknet_memory.c` counts the pages of each buffer that one inference touches):\n",
                     table(["buffers", "allocated MB", "touched MB"], totals), paragraph(*buffer_sentences(touched)),
                     "Touched, layer by layer, MB:\n", table(["layer", "", "output map", *shown], by_layer))

    # ---- figure 2

    def deviation(self, labels, column):
        """Predicted minus measured, as text."""
        values = [megabytes(self.limits[label][column] - self.limits[label]["least_bytes"]) for label in labels
                  if self.limits[label][column] is not None and self.limits[label]["least_bytes"] is not None]
        if not values:
            return "not known"
        low, high = min(values), max(values)
        if low >= 0:
            return "%.2f to %.2f MB more than was measured" % (low, high)
        if high <= 0:
            return "%.2f to %.2f MB less than was measured" % (-high, -low)
        return "between %.2f MB less and %.2f MB more than was measured" % (-low, high)

    def figure_2(self):
        labels = [label for group in plans.FIGURE_2.values() for label in group if label in self.limits]
        if not labels:
            return ""
        found = [self.limits[label] for label in labels]
        confirmed = min(line["dry_runs"] or 1 for line in found)
        sentences = ["Measured is the least limit without swap, to %s MB%s; *one step below* is the swap at a limit lower by that step." % (mb(found[0]["step_bytes"], 2), ", in %d runs of %d" % (confirmed, confirmed) if confirmed > 1 else ""),
                     "The exact prediction is %s; Algorithm 1 as printed, its bias of %d MB included, %s: it counts an im2col matrix that mafat's kernels"
                     " do not need." % (self.deviation(labels, "predicted_charge_bytes"), plans.BIAS, self.deviation(labels, "paper_bytes"))]
        finest = self.limits.get("5x5/8/2x2")
        if finest and finest["least_bytes"]:
            sentences.append("5x5/8/2x2 runs without swap in %s MB here, the authors' in %d MB; Algorithm 1 predicts %s." % (
                mb(finest["least_bytes"], 2), plans.PAPER_FLOOR, mb(finest["paper_bytes"])))
        lines = [[line["label"], mb(line["paper_bytes"]), mb(line["predicted_charge_bytes"], 2), mb(line["least_bytes"], 2), line["below"]]
                 for line in found]
        return parts("## Figure 2: predicted and measured limits\n", self.picture("fig2", "Predicted and measured limits of ten plans"),
                     paragraph(*sentences), table(["plan", "Algorithm 1, MB", "exact, MB", "measured, MB", "one step below"], lines))

    # ---- figure 3

    def roomy(self, limits):
        """Limits in which no plan swaps, descending."""
        found = []
        for limit in reversed(limits):
            if not all(self.runs.is_dry(label, limit) for label in self.tiles if self.runs.rows_of(label, limit)):
                break
            found.append(limit)
        return found

    def single_runs_sentence(self):
        counts = [len(rows) for (label, limit), rows in self.runs.cells.items() if label in self.tiles and limit]
        if counts.count(1) * 2 <= len(counts) or max(counts) == 1:
            return ""
        return ("%d of %d times are of a single run (the best plans at a limit ran %d times): differences of a few per cent and outliers"
                " are not significant." % (counts.count(1), len(counts), max(counts)))

    def tilings_sentence(self, tilings, limits):
        """Limits where some plan swaps; elsewhere differences are noise."""
        if len(tilings) < 2:
            return ""
        groups, roomy = {}, self.roomy(limits)
        for limit in reversed(limits):
            plan = self.runs.best(limit, tilings)[0]
            if plan and limit not in roomy:
                groups.setdefault(plan, []).append(words.limit(limit))
        return "At limits where some plan swaps, the fastest of the tilings cut at 8 is: %s." % "; ".join(
            "%s at %s MB" % (plan, words.listed(found)) for plan, found in groups.items()) if groups else ""

    def room_sentence(self, limits):
        """Limits where no plan swaps: all runs of a plan together."""
        roomy = self.roomy(limits)
        medians = {}
        for label in self.tiles:
            found = [row["latency_ms"] for limit in roomy for row in self.runs.good(label, limit)]
            if found:
                medians[label] = statistics.median(found)
        if len(medians) < 2:
            return ""
        quickest, slowest = min(medians, key=medians.get), max(medians, key=medians.get)
        return ("From %s MB on no plan swaps, and the plans differ by the overlap that they compute again. Over all runs there,"
                " the median of the fastest, %s, is %s ms, of the slowest, %s, %s ms: %s times as long." % (
                    words.limit(min(roomy)), quickest, ms(medians[quickest]), slowest, ms(medians[slowest]),
                    words.times(medians[slowest] / medians[quickest])))

    def figure_3(self):
        limits = [limit for limit in self.runs.limits(self.tiles) if limit]
        if not limits:
            return ""
        tilings = [plan for plan in plans.FIGURE_2["8/2x2"] if plan in self.tiles]
        cuts = {cut: [plan for plan in cut_plans(cut) if plan in self.tiles] for cut in (None, *plans.CUTS)}
        cuts = {cut: found for cut, found in cuts.items() if found}
        first = [[words.limit(limit)] + [self.cell(plan, limit) for plan in tilings] for limit in reversed(limits)]
        second = [[words.limit(limit)] + [words.named(*self.runs.best(limit, found)) for found in cuts.values()] for limit in reversed(limits)]
        return parts("## Figure 3: tilings and cuts\n", self.picture("fig3", "Latency against the limit for tilings and for cuts"),
                     paragraph(self.room_sentence(limits), self.tilings_sentence(tilings, limits), self.single_runs_sentence()),
                     "Tilings cut at 8, ms:\n",
                     table(["limit MB"] + tilings, first), "Cuts, each with its best tiling above, 2x2 below, ms:\n",
                     table(["limit MB"] + ["cut at %d" % cut if cut else "NoCut" for cut in cuts], second))

    # ---- figure 4, table 1

    def speed_up_sentences(self):
        for limit, paper in plans.SPEED_UPS.items():
            darknet, search, best = self.darknet(limit), self.searched(limit), self.runs.best(limit, self.tiles)[1]
            if darknet and search and best:
                yield "At %d MB Algorithm 2's choice is %s times as fast as Darknet, the best plan %s times (the paper: %.2f)." % (
                    limit, words.times(darknet / search), words.times(darknet / best), paper)
            elif search and self.runs.mark(plans.DARKNET, limit):
                yield "At %d MB Algorithm 2's choice takes %s, and Darknet: %s (the paper's speed-up: %.2f)." % (
                    limit, words.duration(search), self.failure(plans.DARKNET, limit), paper)

    def kernels_sentence(self):
        """The speed-up without swap."""
        dry = {label: next((limit for limit in reversed(self.runs.limits([label])) if self.runs.is_dry(label, limit)), 0)
               for label in (plans.DARKNET, UNTILED)}
        if 0 in dry.values():
            return ""
        darknet, untiled = (self.runs.median(label, limit) for label, limit in dry.items())
        return ("Without swap Darknet takes %s times as long as %s: that part of every speed-up here comes from the kernels, the rest from"
                " memory." % (words.times(darknet / untiled), UNTILED))

    def search_sentences(self, limits):
        excess = {}
        for limit in limits:
            best, search = self.runs.best(limit, self.tiles)[1], self.searched(limit)
            if best and search:
                excess[limit] = search / best - 1
        if not excess:
            return
        worst = max(excess, key=excess.get)
        chosen, best = self.runs.plan(plans.SEARCH, worst), self.runs.best(worst, self.tiles)[0]
        yield "Algorithm 2's choice takes at most %.0f %% longer than the best measured plan (at %s MB); the paper: within 6 %%." % (
            100 * max(excess[worst], 0), words.limit(worst))
        if (excess[worst] > 0.06 and plans.is_plan(chosen) and plans.cut_of(chosen) is None and plans.top_of(chosen) > 1 and
                self.runs.is_dry(best, worst)):
            yield ("There it chooses %s: all 16 layers in one group, whose tiles overlap most and compute most again. By Algorithm 1 it is the first"
                   " that fits; with the memory of mafat's kernels, %s fits, too." % (chosen, best))

    def same_choice_sentence(self, limits):
        rows = [limit for limit in limits if limit in plans.TABLE_1 and self.runs.plan(plans.SEARCH, limit)]
        same = [limit for limit in rows if self.runs.plan(plans.SEARCH, limit) == plans.TABLE_1[limit][2]]
        if not rows:
            return ""
        if len(same) == len(rows):
            return "Its choice is that of the paper's Table 1 in all %d rows." % len(rows)
        return ("Its choice is that of the paper's Table 1 in %d of %d rows: the listing does not reproduce the table"
                " ([doc/paper.md](../../doc/paper.md))." % (len(same), len(rows)))

    def table_1_line(self, limit):
        plan, best = self.runs.best(limit, self.tiles)
        search = self.searched(limit)
        tried = [label for label in self.tiles if self.runs.rows_of(label, limit)]
        near = [label for label in tried if best and (self.runs.median(label, limit) or best * 2) <= 1.05 * best]
        line = [words.limit(limit)] + [""] * 3
        if limit in plans.TABLE_1:
            paper = plans.TABLE_1[limit]
            line[1:] = [words.named(*paper[:2]), words.named(*paper[2:]), words.percent(paper[3], paper[1])]
        return line + [words.named(plan, best), "%d of %d" % (len(near), len(tried)) if best else "",
                       words.named(self.runs.plan(plans.SEARCH, limit), search) or self.failure(plans.SEARCH, limit), words.percent(search, best)]

    def speed_up_line(self, limit):
        darknet, search, best = self.darknet(limit), self.searched(limit), self.runs.best(limit, self.tiles)[1]
        return [words.limit(limit), self.cell(plans.DARKNET, limit), mb(self.darknet(limit, "swap_in_bytes")), self.cell(plans.SEARCH, limit),
                mb(self.runs.median(plans.SEARCH, limit, "swap_in_bytes")), words.times(darknet / search) if darknet and search else "",
                words.times(darknet / best) if darknet and best else "", "%.2f" % plans.SPEED_UPS[limit] if limit in plans.SPEED_UPS else ""]

    def figure_4(self):
        limits = [limit for limit in reversed(self.runs.limits(self.tiles + [plans.SEARCH])) if limit]
        if plans.SEARCH not in self.runs.labels() or not limits:
            return ""
        beside = [self.speed_up_line(limit) for limit in reversed(self.runs.limits([plans.DARKNET]))]
        return parts("## Figure 4 and Table 1: Darknet, the search, the best measured\n",
                     self.picture("fig4", "Darknet, Algorithm 2's choice and the best measured plan"),
                     paragraph(*self.speed_up_sentences(), self.kernels_sentence(), *self.search_sentences(limits), self.same_choice_sentence(limits)),
                     "Milliseconds; the paper's on a Raspberry Pi 3. *over best*: additional time of Algorithm 2's choice over the best measured"
                     " plan; *within 5 %*: number of measured plans within 5 % of the best.\n",
                     table(["limit MB", "paper: best measured", "Algorithm 2", "over best", "here: best measured", "within 5 %", "Algorithm 2",
                            "over best"], [self.table_1_line(limit) for limit in limits]),
                     "Relative to Darknet; *speed-up* is Darknet's time over the other's:\n" if beside else "",
                     table(["limit MB", "Darknet ms", "swapped in MB", "Algorithm 2 ms", "swapped in MB", "its speed-up", "the best plan's",
                            "the paper's"], beside) if beside else "")

    # ---- everything we have

    def least_dry(self, label):
        """The least limit from which nothing was swapped, or None."""
        least = None
        for limit in sorted((limit for limit in self.runs.limits([label]) if limit), reverse=True):
            if not self.runs.is_dry(label, limit):
                break
            least = limit
        return least

    def everything_sentences(self):
        for label in self.ours:
            least = self.least_dry(label)
            if least:
                yield "`%s` swaps nothing from %s MB on." % (plans.OURS[label], words.limit(least))
        for limit in plans.SPEED_UPS:
            label, value = self.runs.best(limit, self.ours)
            darknet = self.darknet(limit)
            if value and darknet:
                yield "At %d MB mafat's fastest (%s) takes %s, Darknet %s: %s times as long." % (
                    limit, label, words.duration(value), words.duration(darknet), words.times(darknet / value))
            elif value and self.runs.mark(plans.DARKNET, limit):
                yield "At %d MB mafat's fastest (%s) takes %s; Darknet: %s." % (
                    limit, label, words.duration(value), self.failure(plans.DARKNET, limit))

    def chosen_lines(self):
        """A line for each plan that a label chose, with its limits."""
        for label in self.ours:
            found = {}
            for limit in reversed(self.runs.limits([label])):
                found.setdefault(self.runs.plan(label, limit), []).append(words.limit(limit))
            yield from ([label, ", ".join(limits), "`%s`" % plan] for plan, limits in found.items() if plan)

    def figure_5(self):
        if not self.ours:
            return ""
        lines = []
        for limit in reversed(self.runs.limits(self.ours)):
            darknet, best = self.darknet(limit), self.runs.best(limit, self.ours)[1]
            lines.append([words.limit(limit), self.cell(plans.DARKNET, limit), ms(self.runs.best(limit, self.tiles)[1])] +
                         [self.cell(label, limit) for label in self.ours] + [words.times(darknet / best) if darknet and best else ""])
        return parts("## All of mafat's features\n", self.picture("fig5", "Darknet, the paper's plans, and mafat's own"),
                     paragraph(EVERYTHING, *self.everything_sentences()),
                     "Milliseconds; the last column is Darknet's time over that of mafat's fastest:\n",
                     table(["limit MB", "Darknet", "best plan of tiles"] + self.ours + ["x Darknet"], lines),
                     "The search's choices:\n", table(["", "limit MB", "plan"], self.chosen_lines()))

    # ---- where it differs

    def no_scratch(self):
        shares = [line["paper_bytes"] / line["least_bytes"] for line in self.limits.values() if line["paper_bytes"] and line["least_bytes"]]
        text = "**No im2col scratch.** Algorithm 1 counts the im2col matrix of every tile; mafat's kernels read the map itself."
        if shares and min(shares) > 1:
            text += (" The plans of Figure 2 need %s to %s times less than the paper's predictor says, so swap begins at smaller limits; the"
                     " limits below 32 MB were added for this." % (words.times(min(shares)), words.times(max(shares))))
        return text

    def no_reuse(self):
        text = "**No data-reuse buffers.** "
        two, five = self.limits.get("2x2/NoCut"), self.limits.get("5x5/8/2x2")
        if two and five and two["paper_bytes"] and five["paper_bytes"]:
            text += ("Algorithm 1 as printed predicts %s MB for 2x2/NoCut, where Table 1 implies more than 96, and %s MB for 5x5/8/2x2, where the"
                     " paper says %d. " % (mb(two["paper_bytes"]), mb(five["paper_bytes"]), plans.PAPER_FLOOR))
        return text + ("The printed listing does not count the buffers in which DeepThings, whose code the authors built on, keeps overlaps for reuse."
                       " One of many possible ways to count them gives all nine rows of Table 1 ([doc/paper.md](../../doc/paper.md));"
                       " it is neither in the program nor run here. mafat's tiles compute their overlaps again.")

    def other_darknet(self):
        wet = self.darknet_swaps()[1]
        return "**Another Darknet.** Debian's keeps every layer's output, a gradient and a copy for batch norm (the table of Figure 1)%s." % (
            ", so its curve begins further right than the authors'" if wet and wet > plans.PAPER_DARKNET_SWAPS else "")

    def other_processor(self):
        slower = self.darknet_slow_down(16)
        text = "**Another processor.** One core of a Cortex-A53 there, one of this machine here: %s." % words.listed(self.all("machine"))
        if slower and slower > plans.PAPER_SLOWER:
            text += (" At 16 MB Darknet takes %s times as long as without a limit, there more than %.1f times: swapping has become faster by less than"
                     " computing, and Debian's Darknet has more to swap." % (words.times(slower), plans.PAPER_SLOWER))
        return text

    def differences(self):
        points = [self.no_scratch(), self.no_reuse(), self.other_darknet(),
                  "**Another swap.** A Raspberry Pi's there; here: %s." % " / ".join(self.all("swap")), self.other_processor(),
                  "**The group counts swap**, not the system once a second; Figure 1 has the system's figures, too."]
        return parts("## Differences from the paper's figures\n", "".join("- %s\n" % point for point in points))


def buffer_sentences(touched):
    copies, kept = touched.get("delta", 0) + touched.get("x", 0), touched.get("output", 0) + touched.get("workspace", 0)
    if touched.get("delta") and touched.get("x"):
        yield "Two of the three copies beside the outputs are also written in inference: %s MB that no later layer reads." % mb(copies)
    if kept > plans.PAPER_DARKNET_SWAPS * MEGABYTE:
        yield ("The outputs and the workspace alone are %s MB, more than the %d MB where the authors' Darknet began to swap: theirs must have kept"
               " less, and is not the one that Debian ships." % (mb(kept), plans.PAPER_DARKNET_SWAPS))


def write(folder, runs, limits, buffers, drawn):
    path = os.path.join(folder, "README.md")
    with open(path + ".part", "w", encoding="utf-8") as file:
        file.write(wrapped(Report(runs, limits, buffers, drawn).text()))
    os.replace(path + ".part", path)
    return path
